package openzro

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

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

// podTemplate returns the Pod template of the clients of an OZRoutingPeer, with its override.
// The override cannot change labels that select the Deployment's Pods. The error reports an
// invalid override.
func podTemplate(base corev1.PodTemplateSpec, override *runtime.RawExtension, selector map[string]string) (merged corev1.PodTemplateSpec, err error) {
	if override == nil || len(override.Raw) == 0 {
		return base, nil
	}
	before, err := json.Marshal(base)
	if err != nil {
		return merged, err
	}
	text, err := strategicpatch.StrategicMergePatch(before, override.Raw, corev1.PodTemplateSpec{})
	if err != nil {
		return merged, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&merged); err != nil {
		return merged, err
	}
	if !slices.ContainsFunc(merged.Spec.Containers, func(c corev1.Container) bool { return c.Name == clientContainer }) {
		return merged, errors.New("it removes the container " + clientContainer)
	}
	merged.Labels = union(merged.Labels, selector)
	return merged, nil
}

// deployment is that of the clients of an OZRoutingPeer.
func deployment(of *v1.OZRoutingPeer, image, url string, key corev1.SecretKeySelector) (*appsv1.Deployment, error) {
	spec := of.Spec
	selector := map[string]string{"app.kubernetes.io/name": "openzro-router", "app.kubernetes.io/instance": of.Name}
	replicas := int32(3)
	if spec.Replicas != nil {
		replicas = *spec.Replicas
	}
	template, err := podTemplate(clients(of, image, url, key, selector), spec.PodTemplate, selector)
	if err != nil {
		return nil, stalled(v1.ReasonInvalidConfig, "spec.podTemplate: it cannot be merged into the template of the Pods (%s): it has to be a strategic merge patch of a PodTemplateSpec", err)
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
			Template: template,
		},
	}, nil
}

// clients is the template of the clients, without an override.
func clients(of *v1.OZRoutingPeer, image, url string, key corev1.SecretKeySelector, selector map[string]string) corev1.PodTemplateSpec {
	spec := of.Spec
	return corev1.PodTemplateSpec{
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
