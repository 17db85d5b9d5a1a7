package openvox

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
)

// servers are the UIDs of the Servers that run the CA.
func (s *session) servers(ctx context.Context) (uids []types.UID, err error) {
	configs, err := layout.ConfigsIn(ctx, s.kube, s.ca.Namespace)
	if err != nil {
		return nil, err
	}
	servers, err := layout.ServersIn(ctx, s.kube, s.ca.Namespace)
	if err != nil {
		return nil, err
	}
	for i := range servers {
		if spec := servers[i].Spec; spec.CA && slices.ContainsFunc(configs, func(c v1alpha1.Config) bool {
			return c.Name == spec.ConfigRef && c.Spec.AuthorityRef == s.ca.Name
		}) {
			uids = append(uids, servers[i].UID)
		}
	}
	return uids, nil
}

// ownedByServer reports whether a Pod is of the Deployment of a Server. A user who creates Pods can
// set any owner reference: each one is compared with the UID of the stored object, up to the Server.
func (s *session) ownedByServer(ctx context.Context, pod *corev1.Pod, servers []types.UID) (bool, error) {
	set, err := s.controller(ctx, pod, "ReplicaSet", &appsv1.ReplicaSet{})
	if err != nil || set == nil {
		return false, err
	}
	deployment, err := s.controller(ctx, set, "Deployment", &appsv1.Deployment{})
	if err != nil || deployment == nil {
		return false, err
	}
	owner := metav1.GetControllerOf(deployment)
	return owner != nil && owner.APIVersion == v1alpha1.SchemeGroupVersion.String() && owner.Kind == "Server" && slices.Contains(servers, owner.UID), nil
}

// controller reads the workload that controls an object: nil if its controller is another object, or
// does not exist.
func (s *session) controller(ctx context.Context, of client.Object, kind string, into client.Object) (client.Object, error) {
	owner := metav1.GetControllerOf(of)
	if owner == nil || owner.APIVersion != appsv1.SchemeGroupVersion.String() || owner.Kind != kind {
		return nil, nil
	}
	err := s.kube.Get(ctx, client.ObjectKey{Namespace: of.GetNamespace(), Name: owner.Name}, into)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("finding the owner of Pod %s: %w; permit get on replicasets and deployments, or use --address", of.GetName(), err)
	case err != nil:
		return nil, fmt.Errorf("reading %s %s: %w", kind, owner.Name, err)
	case into.GetUID() != owner.UID:
		return nil, nil
	}
	return into, nil
}
