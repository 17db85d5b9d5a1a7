package kinds

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// setDefaults sets the fields that the API server sets when it reads an object of a kind of
// Kubernetes, in the version of the API of its type. The values are those of the Kubernetes API
// reference; testdata/arrivals.json compares them with those of an API server.
//
// Values that other objects, flags of the API server or the time decide are not known here.
func setDefaults(object runtime.Object) {
	switch o := object.(type) {
	case *corev1.Pod:
		defaultPod(o)
	case *corev1.PodTemplate:
		defaultPodSpec(&o.Template.Spec)
	case *corev1.ReplicationController:
		defaultReplicationController(o)
	case *corev1.Secret:
		defaultSecret(o)
	case *corev1.Service:
		defaultService(&o.Spec)
	//lint:ignore SA1019 the API server still serves the kind
	case *corev1.Endpoints:
		for i := range o.Subsets {
			for j := range o.Subsets[i].Ports {
				setIfZero(&o.Subsets[i].Ports[j].Protocol, corev1.ProtocolTCP)
			}
		}
	case *corev1.Namespace:
		setIfZero(&o.Status.Phase, corev1.NamespaceActive)
	case *corev1.PersistentVolume:
		defaultPersistentVolume(o)
	case *corev1.PersistentVolumeClaim:
		setIfNil(&o.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	case *corev1.LimitRange:
		for i := range o.Spec.Limits {
			defaultLimit(&o.Spec.Limits[i])
		}
	case *appsv1.Deployment:
		defaultDeployment(&o.Spec)
	case *appsv1.StatefulSet:
		defaultStatefulSet(&o.Spec)
	case *appsv1.DaemonSet:
		defaultDaemonSet(&o.Spec)
	case *appsv1.ReplicaSet:
		setIfNil(&o.Spec.Replicas, 1)
		defaultPodSpec(&o.Spec.Template.Spec)
	case *batchv1.Job:
		defaultJob(o)
	case *batchv1.CronJob:
		defaultCronJob(&o.Spec)
	case *autoscalingv1.HorizontalPodAutoscaler:
		setIfNil(&o.Spec.MinReplicas, 1)
		setIfNil(&o.Spec.TargetCPUUtilizationPercentage, defaultUtilization)
	case *autoscalingv2.HorizontalPodAutoscaler:
		defaultAutoscaler(&o.Spec)
	default:
		setDefaultsOfOthers(object)
	}
}

// setDefaultsOfOthers is the part of setDefaults about kinds that run nothing.
func setDefaultsOfOthers(object runtime.Object) {
	switch o := object.(type) {
	case *authenticationv1.TokenRequest:
		setIfNil(&o.Spec.ExpirationSeconds, tokenSeconds)
	case *discoveryv1.EndpointSlice:
		for i := range o.Ports {
			setIfNil(&o.Ports[i].Name, "")
			setIfNil(&o.Ports[i].Protocol, corev1.ProtocolTCP)
		}
	case *flowcontrolv1.FlowSchema:
		setIfZero(&o.Spec.MatchingPrecedence, matchingPrecedence)
	case *networkingv1.IngressClass:
		if o.Spec.Parameters != nil {
			setIfNil(&o.Spec.Parameters.Scope, networkingv1.IngressClassParametersReferenceScopeCluster)
		}
	case *networkingv1.NetworkPolicy:
		defaultNetworkPolicy(&o.Spec)
	case *rbacv1.RoleBinding:
		defaultBinding(&o.RoleRef, o.Subjects)
	case *rbacv1.ClusterRoleBinding:
		defaultBinding(&o.RoleRef, o.Subjects)
	case *schedulingv1.PriorityClass:
		setIfNil(&o.PreemptionPolicy, corev1.PreemptLowerPriority)
	case *storagev1.StorageClass:
		setIfNil(&o.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
		setIfNil(&o.VolumeBindingMode, storagev1.VolumeBindingImmediate)
	case *storagev1.CSIDriver:
		defaultDriver(&o.Spec)
	case *apiextensionsv1.CustomResourceDefinition:
		defaultDefinition(o)
	}
}

// wipe removes from an object that is created the fields by which the API server records a deletion.
// uid and creationTimestamp stay: the policies that validate the object see new ones.
func wipe(object metav1.Object) {
	object.SetDeletionTimestamp(nil)
	object.SetDeletionGracePeriodSeconds(nil)
}

// setIfZero sets a field that has no value.
func setIfZero[T comparable](field *T, value T) {
	var none T
	if *field == none {
		*field = value
	}
}

// setIfNil sets a field that is missing.
func setIfNil[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// defaultSecret moves stringData to data.
func defaultSecret(secret *corev1.Secret) {
	setIfZero(&secret.Type, corev1.SecretTypeOpaque)
	if secret.Data == nil && len(secret.StringData) > 0 {
		secret.Data = map[string][]byte{}
	}
	for key, value := range secret.StringData {
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
}

// defaultBinding completes references to kinds of RBAC.
func defaultBinding(role *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	setIfZero(&role.APIGroup, rbacv1.GroupName)
	for i := range subjects {
		if subjects[i].Kind == rbacv1.UserKind || subjects[i].Kind == rbacv1.GroupKind {
			setIfZero(&subjects[i].APIGroup, rbacv1.GroupName)
		}
	}
}

func defaultDefinition(definition *apiextensionsv1.CustomResourceDefinition) {
	spec := &definition.Spec
	setIfZero(&spec.Names.Singular, strings.ToLower(spec.Names.Kind))
	if spec.Names.Kind != "" {
		setIfZero(&spec.Names.ListKind, spec.Names.Kind+"List")
	}
	setIfNil(&spec.Conversion, apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter})
	if webhook := spec.Conversion.Webhook; webhook != nil && webhook.ClientConfig != nil && webhook.ClientConfig.Service != nil {
		setIfNil(&webhook.ClientConfig.Service.Port, webhookPort)
	}
	if len(definition.Status.StoredVersions) > 0 {
		return
	}
	for _, version := range spec.Versions {
		if version.Storage {
			definition.Status.StoredVersions = append(definition.Status.StoredVersions, version.Name)
		}
	}
}

const (
	tokenSeconds       = 3600
	matchingPrecedence = 1000
	webhookPort        = 443
)
