package serving

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
)

// obstacle is the reason why the spec of an object cannot be applied now. Existing objects stay.
type obstacle struct {
	phase           v1alpha1.ServerPhase
	reason, message string
	wait            time.Duration
}

// Error is the message.
func (o *obstacle) Error() string { return o.message }

// among returns the phase and message if some of the existing Pods may be ready.
func (o *obstacle) among(phase v1alpha1.ServerPhase, ready int32, what string) (v1alpha1.ServerPhase, string) {
	if phase == v1alpha1.ServerPending || o.phase == v1alpha1.ServerError {
		phase = o.phase
	}
	if ready > 0 {
		return phase, fmt.Sprintf("%s; %d of the former %s are ready", o.message, ready, what)
	}
	return phase, o.message
}

// obstacleOf returns the obstacle in an error, or nil if there is no error. Transient errors are
// returned.
func obstacleOf(err error) (*obstacle, error) {
	var o *obstacle
	var foreign *object.Foreign
	switch {
	case err == nil, errors.As(err, &o):
		return o, nil
	case errors.As(err, &foreign):
		return &obstacle{phase: v1alpha1.ServerError, reason: reasonNotOwned, message: foreign.Error(), wait: conflictRetry}, nil
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		return &obstacle{phase: v1alpha1.ServerError, reason: reasonNotWritten, message: err.Error(), wait: conflictRetry}, nil
	}
	return nil, err
}

// running is the state of a Server in the cluster.
type running struct {
	// deployment is nil if Lintel has not created one.
	deployment *appsv1.Deployment
	// trouble is the reason why a Pod does not start, or nil.
	trouble *obstacle
}

// mounts reports whether the Pods mount the certificate of a Secret.
func (s running) mounts(pair string) bool {
	return s.deployment != nil && slices.ContainsFunc(s.deployment.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Name == keysVolume && v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(p corev1.VolumeProjection) bool { return p.Secret != nil && p.Secret.Name == pair })
	})
}

func (s running) rollout() *rollout {
	d := s.deployment
	if d == nil {
		return nil
	}
	r := &rollout{
		of: "Deployment " + d.Name, pods: serverLabel + "=" + d.Name, what: "servers",
		want: ptr.Deref(d.Spec.Replicas, 1), observed: d.Status.ObservedGeneration >= d.Generation,
		all: d.Status.Replicas, updated: d.Status.UpdatedReplicas, ready: d.Status.ReadyReplicas, trouble: s.trouble,
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue ||
			c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded" {
			r.failure = &obstacle{reason: c.Reason, message: c.Message}
		}
	}
	return r
}

func (r *ServerReconciler) observe(ctx context.Context, server *v1alpha1.Server) (seen running, err error) {
	if r.externalOnly {
		return seen, nil
	}
	if seen.deployment, err = r.deploymentOf(ctx, server); err != nil || seen.deployment == nil {
		return seen, err
	}
	seen.trouble, err = troubleAmong(ctx, r.client, server.Namespace, client.MatchingLabels{serverLabel: server.Name})
	return seen, err
}

// serverStatus returns the new status of a Server.
func serverStatus(server *v1alpha1.Server, seen running, o *obstacle) *v1alpha1.ServerStatus {
	next := server.Status.DeepCopy()
	next.ObservedGeneration, next.Ready, next.Desired = server.Generation, 0, ptr.Deref(server.Spec.Replicas, 1)
	if seen.deployment != nil {
		next.Ready, next.Desired = seen.deployment.Status.ReadyReplicas, ptr.Deref(seen.deployment.Spec.Replicas, 1)
	}
	c := object.Conditions{List: &next.Conditions, Generation: server.Generation}
	if o == nil || seen.mounts(layout.TLSSecret(server.Spec.CertificateRef)) {
		c.Set(v1alpha1.ConditionSSLBootstrapped, true, reasonBootstrapped, "Certificate "+server.Spec.CertificateRef+" is mounted with its key")
	} else {
		c.Set(v1alpha1.ConditionSSLBootstrapped, false, o.reason, o.message)
	}
	ready, reason, message := false, "", ""
	next.Phase, ready, reason, message = seen.rollout().progress()
	if o != nil {
		ready, reason = false, o.reason
		next.Phase, message = o.among(next.Phase, next.Ready, "servers")
	}
	c.Set(v1alpha1.ConditionReady, ready, reason, message)
	return next
}
