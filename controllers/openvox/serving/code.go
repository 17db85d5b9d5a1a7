package serving

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// code are the sources that catalogs are compiled from: none if the code is in the image, or the
// server compiles none. Those of a Server replace those of its Config.
func (f serverFacts) code() []v1alpha1.CodeSource {
	switch {
	case !f.compiles():
		return nil
	case !f.server.Spec.Code.IsZero():
		return f.server.Spec.Code.List
	}
	return f.config.Spec.Code.List
}

// environments is the folder of the environments: the first of the Config's.
func (f serverFacts) environments() (string, error) {
	first, _, _ := strings.Cut(cmp.Or(f.config.Spec.Puppet.EnvironmentPath, codeFolder+"/environments"), ":")
	folder := strings.NewReplacer("$codedir", codeFolder, "$confdir", confFolder).Replace(first)
	if !path.IsAbs(folder) || strings.Contains(folder, "$") || path.Clean(folder) == "/" {
		return "", fmt.Errorf("spec.puppet.environmentPath of Config %s begins with %q, at which no code can be mounted; begin with a folder such as %s/environments", f.config.Name, first, codeFolder)
	}
	return path.Clean(folder), nil
}

// codeVolumes are the volumes and mounts of the sources, and the Secrets by which images are
// pulled. Mounts that overlap are an error: the environmentPath of a Config is not known where
// its Servers are admitted.
func (f serverFacts) codeVolumes() (volumes []corev1.Volume, mounts []corev1.VolumeMount, pullSecrets []string, err error) {
	sources := f.code()
	if len(sources) == 0 {
		return nil, nil, nil, nil
	}
	folder, err := f.environments()
	if err != nil {
		return nil, nil, nil, err
	}
	for i, source := range sources {
		volume := corev1.Volume{Name: fmt.Sprintf("code-%d", i)}
		mount := corev1.VolumeMount{MountPath: folder, ReadOnly: true}
		switch {
		case source.MountPath != "":
			mount.MountPath = source.MountPath
		case source.Environment != "":
			mount.MountPath = folder + "/" + source.Environment
		case len(sources) > 1:
			return nil, nil, nil, fmt.Errorf("spec.code[%d]: set environment or mountPath, since there are several sources", i)
		default:
			volume.Name = "code"
		}
		mount.Name = volume.Name
		for j, other := range mounts {
			if overlaps(mount.MountPath, other.MountPath) {
				return nil, nil, nil, fmt.Errorf("spec.code[%d]: %s overlaps %s of spec.code[%d]; use another folder", i, mount.MountPath, other.MountPath, j)
			}
		}
		if source.Image != "" {
			volume.Image = &corev1.ImageVolumeSource{Reference: source.Image, PullPolicy: cmp.Or(source.ImagePullPolicy, corev1.PullIfNotPresent)}
		} else {
			volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: source.ClaimName, ReadOnly: true}
		}
		if source.ImagePullSecret != "" {
			pullSecrets = append(pullSecrets, source.ImagePullSecret)
		}
		volumes, mounts = append(volumes, volume), append(mounts, mount)
	}
	return volumes, mounts, pullSecrets, nil
}
