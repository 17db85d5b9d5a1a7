package authority

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/cadir"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// startSetup runs the setup Job.
func (r *InitializeReconciler) startSetup(ctx context.Context, s inClusterCA) (progress, error) {
	configs, err := layout.ConfigsIn(ctx, r.client, s.ca.Namespace)
	if err != nil {
		return progress{}, err
	}
	naming := slices.DeleteFunc(configs, func(c v1alpha1.Config) bool {
		return c.Spec.AuthorityRef != s.ca.Name || !c.DeletionTimestamp.IsZero()
	})
	if len(naming) == 0 {
		return progress{reason: reasonWaitingForConfig, message: "no Config names this CertificateAuthority in spec.authorityRef; the setup Job needs its image"}, nil
	}
	// Use the oldest Config, so that later ones change nothing.
	s.image = slices.MinFunc(naming, func(a, b v1alpha1.Config) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	}).Spec.Image
	if unmet, err := r.unmet(ctx, &s); err != nil || unmet.reason != "" {
		if err == nil { // nor does a Job go on that was permitted before
			err = r.remove(ctx, s, &batchv1.Job{})
		}
		return unmet, err
	}
	if err := r.keep(ctx, s.ca, s.roleBinding()); err != nil {
		return progress{}, err
	}
	return r.runJob(ctx, s)
}

// unmet returns the first unmet precondition of the setup Job. Its reason is empty if all are met.
func (r *InitializeReconciler) unmet(ctx context.Context, s *inClusterCA) (progress, error) {
	if !s.served {
		if p, err := r.checkServer(ctx, *s); err != nil || p.reason != "" {
			return p, err
		}
	}
	if s.imports() {
		return r.checkImport(ctx, s)
	}
	return progress{}, nil
}

// checkImport checks whether the setup Job may import the CA of spec.intermediateCA, and sets the
// first serial that it issues.
func (r *InitializeReconciler) checkImport(ctx context.Context, s *inClusterCA) (progress, error) {
	imported, lacks, err := r.secrets.intermediate(ctx, s.ca)
	if err != nil {
		return progress{}, err
	}
	if lacks != "" {
		return progress{reason: reasonWaitingForCA, message: "spec.intermediateCA: " + lacks, wait: RetryPending}, nil
	}
	next, err := imported.Check(r.now())
	if refused, ok := errors.AsType[*cadir.ImportError](err); ok {
		return progress{reason: refused.Reason, message: fmt.Sprintf("spec.intermediateCA: Secret %s: %v", s.ca.Spec.IntermediateCA.SecretName, err)}, nil
	}
	if err != nil {
		return progress{}, err
	}
	s.nextSerial = strings.TrimSpace(cadir.FormatSerial(next))
	for _, key := range intermediateOptional {
		if content := map[string][]byte{cadir.ImportSerial: imported.Serial, cadir.ImportInventory: imported.Inventory}[key]; len(content) > 0 {
			s.optional = append(s.optional, key)
		}
	}
	return progress{}, nil
}

// checkServer checks whether the setup Job may create a key pair for the Certificate of the CA's
// server, whose names become names of files.
func (r *InitializeReconciler) checkServer(ctx context.Context, s inClusterCA) (progress, error) {
	name := rules.ServerCertificate(s.ca)
	if s.certificate == nil {
		return progress{reason: reasonWaitingForServer, message: fmt.Sprintf("the Certificate of the CA's server, %s, does not exist", name)}, nil
	}
	verdict, err := r.admit(ctx, s.certificate)
	if err != nil {
		return progress{}, fmt.Errorf("evaluating the rules for Certificate %s: %w", name, err)
	}
	if verdict.Denied() {
		return progress{reason: reasonServerDenied, message: fmt.Sprintf("Certificate %s of the CA's server is not admitted: %s", name, verdict.Message()), wait: conflictRetry}, nil
	}
	return progress{}, nil
}

func (r *InitializeReconciler) runJob(ctx context.Context, s inClusterCA) (progress, error) {
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(s.ca.Namespace), client.MatchingLabels{layout.CALabel: s.ca.Name, layout.CAServerLabel: "true"}); err != nil {
		return progress{}, fmt.Errorf("listing the Pods of the CA's server: %w", err)
	}
	s.node = serverNode(pods.Items)
	want, have := s.job(), &batchv1.Job{}
	running := progress{reason: reasonSettingUp, message: "Job " + want.Name + " is setting up the CA"}
	exists, err := r.applier.Find(ctx, ours(s.ca), client.ObjectKeyFromObject(want), have)
	if err != nil {
		return progress{}, err
	}
	if !exists {
		running.message += startOf(want, layout.CAClaim(s.ca.Name))
		return running, r.keep(ctx, s.ca, want)
	}
	if !have.DeletionTimestamp.IsZero() {
		running.wait = setupJobRetry
		return running, nil
	}
	ended, failed := jobEnd(have)
	switch {
	// Its Pod uses the settings of an earlier revision, and is immutable.
	case have.Annotations[setupHash] != want.Annotations[setupHash],
		s.imports() && have.Annotations[setupImport] != want.Annotations[setupImport]:
		running.wait = time.Second
	// The server, and the volume with it, is on another node now.
	case ended.IsZero() && failed == "" && have.Annotations[setupNode] != s.node && ptr.Deref(have.Status.Ready, 0) == 0:
		running.wait = time.Second
	case failed != "":
		return progress{reason: reasonSetupFailed, message: fmt.Sprintf("Job %s failed: %s. Check kubectl logs job/%s, and delete the Job to run it again", want.Name, failed, want.Name)}, nil
	// The Secrets may be in the cache a moment later; then they were emptied since.
	case !ended.IsZero() && r.now().Sub(ended) > setupJobRetry:
		running.wait = setupJobRetry
	case !ended.IsZero():
		running.wait = time.Second
		return running, nil
	default:
		running.message += startOf(have, layout.CAClaim(s.ca.Name))
		return running, nil
	}
	return running, r.remove(ctx, s, have)
}

// startOf returns commands for a Job that has not started: admission may reject its Pod, the nodes
// may lack resources, or its volume or image may be missing.
func startOf(job *batchv1.Job, claim string) string {
	switch {
	case job.Status.Active == 0:
		return fmt.Sprintf(", and waits for its Pod; if this lasts, check kubectl describe job %s", job.Name)
	case ptr.Deref(job.Status.Ready, 0) == 0:
		return fmt.Sprintf(", and its Pod has not started; if this lasts, check kubectl describe pod -l job-name=%s, and kubectl describe pvc %s for its volume", job.Name, claim)
	}
	return ""
}

// jobEnd returns when a Job has succeeded, or why it has failed.
func jobEnd(job *batchv1.Job) (succeeded time.Time, failed string) {
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete:
			return condition.LastTransitionTime.Time, ""
		case batchv1.JobFailed:
			return time.Time{}, condition.Reason + ": " + condition.Message
		}
	}
	return time.Time{}, ""
}

// forbid removes the permission to fill the Secrets when no setup Job runs.
func (r *InitializeReconciler) forbid(ctx context.Context, s inClusterCA) error {
	job := &batchv1.Job{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: s.ca.Namespace, Name: setupJobName(s.ca.Name)}, job)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading Job %s: %w", setupJobName(s.ca.Name), err)
	}
	if succeeded, failed := jobEnd(job); err == nil && succeeded.IsZero() && failed == "" {
		return nil
	}
	return r.remove(ctx, s, &rbacv1.RoleBinding{})
}
