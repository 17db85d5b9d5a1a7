package serving

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
)

const (
	serverContainer = "openvox-server"
	crlContainer    = "crl"
	ownerContainer  = "owner"
	serverPort      = "https"
)

func (f serverFacts) pod() (corev1.PodSpec, error) {
	spec, image := f.server.Spec, f.image()
	volumes, volumeMounts := f.volumes()
	pullSecrets := slices.Clone(image.PullSecrets)
	codeVolumes, codeMounts, secrets, err := f.codeVolumes()
	if err != nil {
		return corev1.PodSpec{}, err
	}
	volumes, volumeMounts = append(volumes, codeVolumes...), append(volumeMounts, codeMounts...)
	for _, secret := range secrets {
		if reference := (corev1.LocalObjectReference{Name: secret}); !slices.Contains(pullSecrets, reference) {
			pullSecrets = append(pullSecrets, reference)
		}
	}
	security := &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if spec.CA { // the user of the setup Job, which owns the files on the volume
		security.FSGroup, security.FSGroupChangePolicy = f.fsGroup, new(corev1.FSGroupChangeOnRootMismatch)
	}
	layout.OverrideSecurity(security, spec.SecurityContext)
	extraVolumes, extraMounts, err := f.extraVolumes(volumeMounts)
	if err != nil {
		return corev1.PodSpec{}, err
	}
	volumes, volumeMounts = append(volumes, extraVolumes...), append(volumeMounts, extraMounts...)
	extraEnv, envFrom := f.extraEnv()
	var unset []corev1.EnvVar
	if len(envFrom) > 0 { // a Secret may have them, and the JVM prefers the last to spec.javaArgs
		unset = []corev1.EnvVar{{Name: "JAVA_TOOL_OPTIONS"}, {Name: "_JAVA_OPTIONS"}}
	}
	options := javaOptions(spec)
	name, container := layout.ImageName(image.Repository, image.Tag), &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(f.config.Spec.ReadOnlyRootFilesystem),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	var beside []corev1.Container
	if spec.CA { // whose server writes its own CRL
		beside = append(beside, ownFiles(name, image.PullPolicy, container))
	} else {
		beside = append(beside, followCRL(name, image.PullPolicy, container))
	}
	return corev1.PodSpec{
		InitContainers:     beside,
		ServiceAccountName: serverAccountName(f.config.Name), AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
		SecurityContext: security, ImagePullSecrets: pullSecrets, Volumes: volumes, TerminationGracePeriodSeconds: new(int64(60)),
		PriorityClassName: spec.PriorityClassName, Affinity: spec.Affinity, TopologySpreadConstraints: f.spread(),
		Containers: []corev1.Container{{
			Name: serverContainer, Image: name, ImagePullPolicy: image.PullPolicy, Resources: spec.Resources,
			// Java reads the second, and images of openvox-operator the first.
			Env:          slices.Concat([]corev1.EnvVar{{Name: "JAVA_ARGS", Value: options}, {Name: "JDK_JAVA_OPTIONS", Value: options}}, unset, extraEnv),
			EnvFrom:      envFrom,
			Ports:        []corev1.ContainerPort{{Name: serverPort, ContainerPort: layout.Port, Protocol: corev1.ProtocolTCP}},
			VolumeMounts: volumeMounts,
			StartupProbe: f.probe(5, 60), ReadinessProbe: f.probe(10, 3), LivenessProbe: f.probe(30, 3),
			// Wait until no Service routes to this Pod.
			Lifecycle:                &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}},
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			SecurityContext:          container,
		}},
	}, nil
}

// followScript copies a CRL each time that the kubelet updates it. A server reloads a file that is
// replaced, but does not notice a link with a new target, as in volumes of Secrets: until its
// restart, it would accept revoked certificates. The first process of a container must handle the
// signals that end it.
const followScript = `trap 'exit 0' TERM
last=
while :; do
  now=$(readlink /crl/..data)
  if [ "$now" != "$last" ] && cp /crl/` + layout.CRLFile + ` ` + crlFolder + `/.next && mv -f ` + crlFolder + `/.next ` + crlFolder + `/` + layout.CRLFile + `; then
    last=$now
  fi
  sleep 2
done
`

// followCRL returns the sidecar that updates the CRL. It starts before the server and stops
// after it.
func followCRL(image string, pull corev1.PullPolicy, security *corev1.SecurityContext) corev1.Container {
	return corev1.Container{
		Name: crlContainer, Image: image, ImagePullPolicy: pull, RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		Command: []string{"/bin/sh", "-c", followScript},
		StartupProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", "test -s " + crlFolder + "/" + layout.CRLFile}}},
			PeriodSeconds: 1, FailureThreshold: 60, TimeoutSeconds: 5,
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5m"), corev1.ResourceMemory: resource.MustParse("8Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
		},
		VolumeMounts:             []corev1.VolumeMount{{Name: crlSource, MountPath: "/crl", ReadOnly: true}, {Name: "crl", MountPath: crlFolder}},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          security,
	}
}

// ownScript replaces the files of a CA that belong to another user by copies. A Puppet server that
// replaces a file gives the new one to the owner of the former, which no user but root may do: the
// CA would answer all requests with 500. Files belong to another user if the setup Job ran as
// another, if runAsUser changed, or if the volume was restored in another namespace.
const ownScript = `set -u
refuse() {
  echo "user $(id -u) cannot replace $1: if it belongs to another user, set the same spec.securityContext.fsGroup in the CertificateAuthority and in the Server of the CA; otherwise check the space and the mode of the volume" >&2
  exit 1
}
own() {
  if [ ! -r "$1" ] || [ ! -w "$1" ] || [ ! -x "$1" ]; then
    refuse "$1"
  fi
  for file in "$1"/* "$1"/.[!.]*; do
    case "$file" in
      *.lintel-owner) rm -f "$file"; continue ;;
      */.snapshot | */lost+found) continue ;; # of the file system, not of the CA
    esac
    if [ -L "$file" ]; then
      continue
    elif [ -d "$file" ]; then
      own "$file"
    elif [ -f "$file" ] && [ ! -O "$file" ]; then
      cp -p "$file" "$file.lintel-owner" && mv -f "$file.lintel-owner" "$file" || refuse "$file"
    fi
  done
}
own ` + layout.CAFolder + `
`

// ownFiles runs before a CA's server starts.
func ownFiles(image string, pull corev1.PullPolicy, security *corev1.SecurityContext) corev1.Container {
	return corev1.Container{
		Name: ownerContainer, Image: image, ImagePullPolicy: pull, Command: []string{"/bin/sh", "-c", ownScript},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5m"), corev1.ResourceMemory: resource.MustParse("8Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
		},
		VolumeMounts:             []corev1.VolumeMount{{Name: "ca", MountPath: layout.CAFolder}},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          security,
	}
}

// image returns the image of the Config, with the overrides of the Server.
func (f serverFacts) image() v1alpha1.ImageSpec {
	image, own := f.config.Spec.Image, f.server.Spec.Image
	image.Repository = cmp.Or(own.Repository, image.Repository)
	image.Tag = cmp.Or(own.Tag, image.Tag)
	image.PullPolicy = cmp.Or(own.PullPolicy, image.PullPolicy)
	if own.PullSecrets != nil {
		image.PullSecrets = own.PullSecrets
	}
	return image
}

// probe requests the status of a server. For a server that requires client certificates, it only
// opens a connection, because the kubelet has no certificate.
func (f serverFacts) probe(period, failures int32) *corev1.Probe {
	handler := corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/status/v1/simple", Port: intstr.FromString(serverPort), Scheme: corev1.URISchemeHTTPS}}
	if f.config.Spec.PuppetServer.ClientAuth == "need" {
		handler = corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString(serverPort)}}
	}
	return &corev1.Probe{ProbeHandler: handler, PeriodSeconds: period, FailureThreshold: failures, TimeoutSeconds: 5}
}

// spread has constraints that name no Pods be about those of this Server.
func (f serverFacts) spread() []corev1.TopologySpreadConstraint {
	constraints := slices.Clone(f.server.Spec.TopologySpreadConstraints)
	for i := range constraints {
		if constraints[i].LabelSelector == nil {
			constraints[i].LabelSelector = &metav1.LabelSelector{MatchLabels: f.selector()}
		}
	}
	return constraints
}
