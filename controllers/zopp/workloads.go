package zopp

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// workloadKind is a kind whose Pods are created from a template, and replaced when the template
// changes.
type workloadKind struct {
	kind schema.GroupVersionKind
	// empty is an object of the kind, and template that of one.
	empty    func() client.Object
	template func(client.Object) *corev1.PodTemplateSpec
}

var workloads = []workloadKind{
	workloadOf("Deployment", func(o *appsv1.Deployment) *corev1.PodTemplateSpec { return &o.Spec.Template }),
	workloadOf("StatefulSet", func(o *appsv1.StatefulSet) *corev1.PodTemplateSpec { return &o.Spec.Template }),
	workloadOf("DaemonSet", func(o *appsv1.DaemonSet) *corev1.PodTemplateSpec { return &o.Spec.Template }),
}

func workloadOf[T any, P interface {
	*T
	client.Object
}](kind string, template func(P) *corev1.PodTemplateSpec) workloadKind {
	return workloadKind{
		kind:     appsv1.SchemeGroupVersion.WithKind(kind),
		empty:    func() client.Object { return P(new(T)) },
		template: func(o client.Object) *corev1.PodTemplateSpec { return template(o.(P)) },
	}
}

// referencedSecrets returns the names of the Secrets that Pods of a template reference. It does not
// cover reads through the API server.
func referencedSecrets(template *corev1.PodTemplateSpec) sets.Set[string] {
	names := sets.New[string]()
	for _, pull := range template.Spec.ImagePullSecrets {
		names.Insert(pull.Name)
	}
	for i := range template.Spec.Volumes {
		ofVolume(&template.Spec.Volumes[i], names)
	}
	for i := range template.Spec.InitContainers {
		ofContainer(template.Spec.InitContainers[i].EnvFrom, template.Spec.InitContainers[i].Env, names)
	}
	for i := range template.Spec.Containers {
		ofContainer(template.Spec.Containers[i].EnvFrom, template.Spec.Containers[i].Env, names)
	}
	for i := range template.Spec.EphemeralContainers {
		ofContainer(template.Spec.EphemeralContainers[i].EnvFrom, template.Spec.EphemeralContainers[i].Env, names)
	}
	return names
}

func ofVolume(volume *corev1.Volume, names sets.Set[string]) {
	if volume.Secret != nil {
		names.Insert(volume.Secret.SecretName)
	}
	if volume.Projected == nil {
		return
	}
	for _, source := range volume.Projected.Sources {
		if source.Secret != nil {
			names.Insert(source.Secret.Name)
		}
	}
}

func ofContainer(all []corev1.EnvFromSource, each []corev1.EnvVar, names sets.Set[string]) {
	for _, from := range all {
		if from.SecretRef != nil {
			names.Insert(from.SecretRef.Name)
		}
	}
	for _, variable := range each {
		if variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil {
			names.Insert(variable.ValueFrom.SecretKeyRef.Name)
		}
	}
}
