package serving

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// extraPrefix begins the names of volumes that a Server adds, so that none has the name of a
// volume that is added here.
const extraPrefix = "extra-"

// overrideSecurity sets the fields that an object overrides.
func overrideSecurity(security *corev1.PodSecurityContext, override *v1alpha1.PodSecurityContextSpec) {
	if override == nil {
		return
	}
	security.RunAsUser, security.RunAsGroup = override.RunAsUser, override.RunAsGroup
	if override.FSGroup != nil {
		security.FSGroup, security.FSGroupChangePolicy = override.FSGroup, new(corev1.FSGroupChangeOnRootMismatch)
	}
	if override.FSGroupChangePolicy != nil && security.FSGroup != nil {
		security.FSGroupChangePolicy = override.FSGroupChangePolicy
	}
}

// extraVolumes are the volumes and mounts that a Server adds. A mount that overlaps one of taken,
// which Pods have in any case, is an error.
func (f serverFacts) extraVolumes(taken []corev1.VolumeMount) (volumes []corev1.Volume, mounts []corev1.VolumeMount, err error) {
	for _, extra := range f.server.Spec.ExtraVolumes {
		volumes = append(volumes, corev1.Volume{Name: extraPrefix + extra.Name, VolumeSource: f.extraSource(extra)})
	}
	for i, mount := range f.server.Spec.ExtraVolumeMounts {
		for _, other := range taken {
			if overlaps(mount.MountPath, other.MountPath) {
				return nil, nil, fmt.Errorf("spec.extraVolumeMounts[%d].mountPath: %q overlaps %s, which Lintel mounts; use another path", i, mount.MountPath, other.MountPath)
			}
		}
		mount.Name = extraPrefix + mount.Name
		mounts = append(mounts, mount)
	}
	return volumes, mounts, nil
}

// overlaps reports whether one path is the other, or below it.
func overlaps(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// extraSource is the source of a volume. An optional Secret that does not exist is an empty
// folder; if it is created, the Pods are replaced.
func (f serverFacts) extraSource(extra v1alpha1.ExtraVolume) corev1.VolumeSource {
	empty := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	if extra.Secret != nil && f.missing[extra.Secret.SecretName] {
		return empty
	}
	source := corev1.VolumeSource{
		Secret: extra.Secret, ConfigMap: extra.ConfigMap, EmptyDir: extra.EmptyDir, PersistentVolumeClaim: extra.PersistentVolumeClaim,
		DownwardAPI: extra.DownwardAPI, Image: extra.Image,
	}
	if extra.Projected == nil {
		return source
	}
	source.Projected = &corev1.ProjectedVolumeSource{DefaultMode: extra.Projected.DefaultMode}
	for _, each := range extra.Projected.Sources {
		if each.Secret == nil || !f.missing[each.Secret.Name] {
			source.Projected.Sources = append(source.Projected.Sources, corev1.VolumeProjection{Secret: each.Secret, ConfigMap: each.ConfigMap, DownwardAPI: each.DownwardAPI})
		}
	}
	if source.Projected.Sources == nil {
		return empty
	}
	return source
}

// extraEnv are the environment variables that a Server adds. Those of missing optional Secrets
// are left out.
func (f serverFacts) extraEnv() (env []corev1.EnvVar, from []corev1.EnvFromSource) {
	for _, variable := range f.server.Spec.ExtraEnv {
		if source := variable.ValueFrom; source != nil && source.SecretKeyRef != nil && f.missing[source.SecretKeyRef.Name] {
			continue
		}
		env = append(env, variable)
	}
	for _, source := range f.server.Spec.EnvFrom {
		if source.SecretRef != nil && f.missing[source.SecretRef.Name] {
			continue
		}
		from = append(from, source)
	}
	return env, from
}

// requiredBy is the first field that names a Secret and is not optional: "" if there is none.
func requiredBy(spec *v1alpha1.ServerSpec, name string) (field string) {
	need := func(path, named string, optional *bool) {
		if named == name && !ptr.Deref(optional, false) {
			field = cmp.Or(field, path)
		}
	}
	for i, variable := range spec.ExtraEnv {
		if from := variable.ValueFrom; from != nil && from.SecretKeyRef != nil {
			need(fmt.Sprintf("spec.extraEnv[%d].valueFrom.secretKeyRef", i), from.SecretKeyRef.Name, from.SecretKeyRef.Optional)
		}
	}
	for i, source := range spec.EnvFrom {
		if source.SecretRef != nil {
			need(fmt.Sprintf("spec.envFrom[%d].secretRef", i), source.SecretRef.Name, source.SecretRef.Optional)
		}
	}
	for i, volume := range spec.ExtraVolumes {
		if volume.Secret != nil {
			need(fmt.Sprintf("spec.extraVolumes[%d].secret", i), volume.Secret.SecretName, volume.Secret.Optional)
		}
		if volume.Projected == nil {
			continue
		}
		for j, source := range volume.Projected.Sources {
			if source.Secret != nil {
				need(fmt.Sprintf("spec.extraVolumes[%d].projected.sources[%d].secret", i, j), source.Secret.Name, source.Secret.Optional)
			}
		}
	}
	return field
}
