package openzro

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "k8s.io/api/apps/v1"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
)

// clientContainer is the name of the client's container.
const clientContainer = "openzro"

// probe asks a client how it is: in words that older clients do not know, where it does.
func probe(question string, period, failures int32) *corev1.Probe {
	script := `case "$(openzro status --help 2>&1)" in *--check*) exec openzro status --check ` + question + `;; *) exec openzro status;; esac`
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", script}}},
		PeriodSeconds: period, TimeoutSeconds: 10, FailureThreshold: failures,
	}
}

// deployment is that of the clients of an OZRoutingPeer.
func deployment(of *v1.OZRoutingPeer, image, url string, key corev1.SecretKeySelector) *appsv1.Deployment {
	spec := of.Spec
	selector := map[string]string{"app.kubernetes.io/name": "openzro-router", "app.kubernetes.io/instance": of.Name}
	replicas := int32(3)
	if spec.Replicas != nil {
		replicas = *spec.Replicas
	}
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: of.Namespace, Name: of.Name, Annotations: maps.Clone(spec.Annotations),
			Labels:          union(spec.Labels, selector, map[string]string{managedByLabel: managedBy}),
			OwnerReferences: []metav1.OwnerReference{controllerReference(of, "OZRoutingPeer")},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: union(spec.Labels, selector), Annotations: maps.Clone(spec.Annotations)},
				Spec: corev1.PodSpec{
					AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
					NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations, Volumes: spec.Volumes,
					Containers: []corev1.Container{{
						Name: clientContainer, Image: image, Resources: spec.Resources, VolumeMounts: spec.VolumeMounts,
						Env: []corev1.EnvVar{
							{Name: "OZ_SETUP_KEY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &key}},
							{Name: "OZ_MANAGEMENT_URL", Value: url},
							{Name: "OZ_LOG_LEVEL", Value: "info"},
						},
						SecurityContext: &corev1.SecurityContext{
							Privileged:   spec.Privileged,
							Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}},
						},
						StartupProbe:   probe("startup", 5, 60),
						ReadinessProbe: probe("ready", 10, 3),
					}},
				},
			},
		},
	}
}

// union is a new map: the later ones win.
func union(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, one := range all {
		maps.Copy(out, one)
	}
	return out
}
