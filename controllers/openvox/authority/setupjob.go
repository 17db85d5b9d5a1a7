package authority

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// job sets the CA up, or brings back from the volume what the Secrets have lost.
func (s inClusterCA) job() *batchv1.Job {
	const day = 24 * 60 * 60
	job := &batchv1.Job{
		TypeMeta: layout.KindOf(batchv1.SchemeGroupVersion, "Job"), ObjectMeta: s.meta(setupJobName(s.ca.Name)),
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(3)), TTLSecondsAfterFinished: new(int32(day)),
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
				{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
					Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: append([]int32{setupFinal}, setupMissing...),
				}},
				{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
					{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
				}},
			}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: layout.ObjectLabels(s.ca.Name)}, Spec: s.pod()},
		},
	}
	job.Annotations = map[string]string{setupHash: s.hash()}
	if s.imports() {
		job.Annotations[setupImport] = strings.Join(append([]string{s.nextSerial}, s.optional...), ",")
	}
	if s.node != "" {
		// The volume is for one node at a time. The field is the node's name: its label may differ.
		job.Annotations[setupNode] = s.node
		job.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				{MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{s.node}}}},
			}},
		}}
	}
	return job
}

// serverNode returns the node on which the server of a CA has the CA's volume: empty for none.
func serverNode(pods []corev1.Pod) string {
	for i := range pods {
		if phase := pods[i].Status.Phase; pods[i].Spec.NodeName != "" && phase != corev1.PodSucceeded && phase != corev1.PodFailed {
			return pods[i].Spec.NodeName
		}
	}
	return ""
}

// hash is of what a setup Job is made of. That there is a CA is not part of it, nor that
// it serves: the Job itself brings that about.
func (s inClusterCA) hash() string {
	s.exists, s.served, s.nextSerial, s.optional = false, false, "", nil
	text, err := json.Marshal(s.pod())
	if err != nil {
		panic(err) // plain values
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func (s inClusterCA) pod() corev1.PodSpec {
	mounts := []corev1.VolumeMount{
		{Name: "ca", MountPath: layout.CAFolder},
		{Name: "tmp", MountPath: workFolder},
		{Name: "run", MountPath: "/run/puppetserver"},
		{Name: "token", MountPath: tokenFolder, ReadOnly: true},
	}
	empty := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	volumes := []corev1.Volume{
		{Name: "ca", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: layout.CAClaim(s.ca.Name)}}},
		{Name: "tmp", VolumeSource: empty},
		{Name: "run", VolumeSource: empty},
		{Name: "token", VolumeSource: corev1.VolumeSource{Projected: tokenVolume()}},
	}
	if s.imports() {
		var items []corev1.KeyToPath
		for _, key := range append(slices.Clone(intermediateKeys), s.optional...) {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
		mounts = append(mounts, corev1.VolumeMount{Name: "intermediate-ca", MountPath: intermediateFolder, ReadOnly: true})
		volumes = append(volumes, corev1.Volume{Name: "intermediate-ca", VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: s.ca.Spec.IntermediateCA.SecretName, Items: items},
		}})
	}
	security := &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), FSGroup: s.fsGroup, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	layout.OverrideSecurity(security, s.ca.Spec.SecurityContext)
	return corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: setupJobName(s.ca.Name), AutomountServiceAccountToken: new(false),
		ImagePullSecrets: s.image.PullSecrets, Volumes: volumes,
		// No user is named: images have theirs, and OpenShift gives one by namespace.
		SecurityContext: security,
		Containers: []corev1.Container{{
			Name: "ca-setup", Image: layout.ImageName(s.image.Repository, s.image.Tag), ImagePullPolicy: s.image.PullPolicy,
			Command: []string{"/bin/bash", "-c", setupScript}, Env: s.environment(), Resources: s.ca.Spec.Resources, VolumeMounts: mounts,
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}
}

// tokenVolume is where Pods have their token, and for an hour only.
func tokenVolume() *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(3600))}},
		{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
		}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}},
		}}},
	}}
}

func (s inClusterCA) environment() []corev1.EnvVar {
	ttl, err := layout.Duration(s.ca.Spec.TTL, layout.DefaultCATTL)
	if err != nil {
		ttl = layout.DefaultCATTL // the CRD admits no other
	}
	rescue := ""
	if s.rescue {
		rescue = rules.SetupCertname(s.ca.Name)
	}
	intermediate := ""
	if s.imports() {
		intermediate = intermediateFolder
	}
	return []corev1.EnvVar{
		{Name: "CA_NAME", Value: s.ca.Name},
		{Name: "CA_TTL", Value: strconv.FormatInt(int64(ttl/time.Second), 10)},
		{Name: "CA_EXISTS", Value: strconv.FormatBool(s.exists)},
		{Name: "CA_SERVED", Value: strconv.FormatBool(s.served)},
		{Name: "RESCUE_CERTNAME", Value: rescue},
		{Name: "CERTNAME", Value: s.server.Certname},
		{Name: "DNS_ALT_NAMES", Value: altNames(s.server.DNSAltNames)},
		{Name: "CA_SECRET_NAME", Value: s.ca.Name + "-ca"},
		{Name: "CA_KEY_SECRET_NAME", Value: caKeySecret(s.ca.Name)},
		{Name: "CA_CRL_SECRET_NAME", Value: layout.CRLSecret(s.ca.Name)},
		{Name: "SSL_SECRET_NAME", Value: setupJobName(s.ca.Name)},
		{Name: "CA_DIR", Value: layout.CAFolder},
		{Name: "WORK_DIR", Value: workFolder},
		{Name: "SETUP_PROGRAM", Value: setupProgram},
		{Name: "TOKEN_DIR", Value: tokenFolder},
		{Name: "INTERMEDIATE_DIR", Value: intermediate},
		{Name: "NEXT_SERIAL", Value: s.nextSerial},
	}
}

func altNames(names []string) string {
	var prefixed []string
	for _, name := range names {
		kind := "DNS:"
		if net.ParseIP(name) != nil {
			kind = "IP:"
		}
		prefixed = append(prefixed, kind+name)
	}
	return strings.Join(prefixed, ",")
}
