package issuing

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/cadir"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

const (
	// setupHash identifies the settings of a setup Job, to detect an outdated one.
	setupHash = "openvox.voxpupuli.org/setup-hash"

	caPrivateKey = "ca_key.pem"

	workFolder         = "/tmp"
	tokenFolder        = "/var/run/secrets/kubernetes.io/serviceaccount"
	intermediateFolder = "/run/intermediate-ca"
	// setupProgram is cmd/openvox-ca-setup, in images that have it; setupFinal is its exit
	// code where running it again will not help.
	setupProgram = "/usr/local/bin/lintel-openvox-ca-setup"
	setupFinal   = 2
)

// setupScript is what the setup Job runs.
//
//go:embed setup.sh
var setupScript string

// setupMissing are the exit codes by which shells and container runtimes say that the image
// lacks a program, or has none that the node can run.
var setupMissing = []int32{126, 127, 128}

func caKeySecret(ca string) string   { return ca + "-ca-key" }
func setupName(ca string) string     { return ca + "-ca-setup" }
func serviceName(ca string) string   { return ca + "-internal" }
func signingSecret(ca string) string { return layout.TLSSecret(layout.SigningCertificate(ca)) }
func standbySecret(ca string) string { return layout.TLSSecret(layout.StandbyCertificate(ca)) }

// signerSecrets returns the Secrets with keys that may sign requests at an in-cluster CA, in
// order of preference.
func signerSecrets(ca string) []string {
	return []string{signingSecret(ca), standbySecret(ca), setupName(ca)}
}

// keptSecrets outlive their CA unless its deletionPolicy is different: the three Secrets of the
// CA, and the certificate that the setup Job has created for the CA's server.
func keptSecrets(ca string) []string {
	return []string{ca + "-ca", caKeySecret(ca), layout.CRLSecret(ca), setupName(ca)}
}

// serviceHost is by what the CA's server is reached in the cluster.
func serviceHost(ca *v1alpha1.CertificateAuthority) string {
	return serviceName(ca.Name) + "." + ca.Namespace + ".svc"
}

func internalURL(ca *v1alpha1.CertificateAuthority) string {
	return "https://" + serviceHost(ca) + ":" + strconv.Itoa(layout.Port)
}

// setup is what the objects of an internal CA are made of.
type setup struct {
	ca *v1alpha1.CertificateAuthority
	// image is that of the Config.
	image v1alpha1.ImageSpec
	// certificate is the Certificate of the CA's server, or nil if it is missing. server is its
	// desired content.
	certificate *v1alpha1.Certificate
	server      v1alpha1.CertificateSpec
	// exists says that the Secrets have a CA already: another one is never set up.
	exists bool
	// served says that the CA's server has a pair, and may be running on it.
	served bool
	// nextSerial is the first one that an imported CA has not used, and optional are the keys of
	// its Secret that the Job reads, too.
	nextSerial string
	optional   []string
	// rescue makes the Job create another signing key, because none is left.
	rescue bool
	// node is where the CA's server has the volume: empty for none.
	node string
	// fsGroup is nil where the cluster gives each namespace its own group.
	fsGroup *int64
}

// serverSpec is what the certificate of the CA's server is to have: what its Certificate asks
// for, and the name of the Service.
func serverSpec(ca *v1alpha1.CertificateAuthority, certificate *v1alpha1.Certificate) v1alpha1.CertificateSpec {
	spec := v1alpha1.CertificateSpec{Certname: serviceName(ca.Name)}
	if certificate != nil {
		spec.Certname, spec.DNSAltNames = certificate.Spec.Certname, slices.Clone(certificate.Spec.DNSAltNames)
	}
	spec.DNSAltNames = withNames(spec.DNSAltNames, []string{serviceHost(ca)})
	return spec
}

// serverCertificate is the Certificate of the CA's server, which the CertificateAuthority
// names: nil where it is not there.
func serverCertificate(ca *v1alpha1.CertificateAuthority, certificates []v1alpha1.Certificate) *v1alpha1.Certificate {
	name := rules.ServerCertificate(ca)
	for i := range certificates {
		if c := &certificates[i]; c.Name == name && c.Spec.AuthorityRef == ca.Name && c.DeletionTimestamp.IsZero() {
			return c
		}
	}
	return nil
}

// meta is of an object that goes with the CA.
func (s setup) meta(name string) metav1.ObjectMeta {
	kept := s.keptMeta(name)
	kept.OwnerReferences = []metav1.OwnerReference{ownerOf(s.ca)}
	return kept
}

// keptMeta returns the metadata of an object that outlives the CA, unless the deletionPolicy is
// different.
func (s setup) keptMeta(name string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: s.ca.Namespace, Name: name, Labels: labelsOf(s.ca.Name)}
	if s.ca.Spec.DeletionPolicy == v1alpha1.DeletionDelete {
		m.OwnerReferences = []metav1.OwnerReference{ownerOf(s.ca)}
	}
	return m
}

func ownerOf(ca *v1alpha1.CertificateAuthority) metav1.OwnerReference {
	return *metav1.NewControllerRef(ca, v1alpha1.SchemeGroupVersion.WithKind("CertificateAuthority"))
}

// claim returns the volume of the CA. An existing volume is never changed.
func (s setup) claim() *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		TypeMeta: layout.KindOf(corev1.SchemeGroupVersion, "PersistentVolumeClaim"), ObjectMeta: s.keptMeta(layout.CAClaim(s.ca.Name)),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: s.ca.Spec.Storage.Size}},
		},
	}
	if class := s.ca.Spec.Storage.StorageClass; class != "" {
		claim.Spec.StorageClassName = &class
	}
	return claim
}

// service reaches the server of this CA, and of no other in the namespace.
func (s setup) service() *corev1.Service {
	return &corev1.Service{
		TypeMeta: layout.KindOf(corev1.SchemeGroupVersion, "Service"), ObjectMeta: s.meta(serviceName(s.ca.Name)),
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: map[string]string{layout.CAServerLabel: "true", layout.CALabel: s.ca.Name},
			Ports:    []corev1.ServicePort{{Name: "https", Protocol: corev1.ProtocolTCP, Port: layout.Port, TargetPort: intstr.FromInt32(layout.Port)}},
		},
	}
}

// secrets are empty: the setup Job fills those of the CA, and needs no permission to create any.
func (s setup) secrets() (list []*corev1.Secret) {
	for _, name := range append(keptSecrets(s.ca.Name), layout.RevocationsSecret(s.ca.Name)) {
		list = append(list, &corev1.Secret{TypeMeta: layout.KindOf(corev1.SchemeGroupVersion, "Secret"), ObjectMeta: s.keptMeta(name)})
	}
	return list
}

func (s setup) serviceAccount() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta: layout.KindOf(corev1.SchemeGroupVersion, "ServiceAccount"), ObjectMeta: s.meta(setupName(s.ca.Name)),
		AutomountServiceAccountToken: new(false),
	}
}

// role permits to fill the CA's own Secrets: not to read them, nor others.
func (s setup) role() *rbacv1.Role {
	return &rbacv1.Role{
		TypeMeta: layout.KindOf(rbacv1.SchemeGroupVersion, "Role"), ObjectMeta: s.meta(setupName(s.ca.Name)),
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: keptSecrets(s.ca.Name), Verbs: []string{"patch"}}},
	}
}

func (s setup) roleBinding() *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta: layout.KindOf(rbacv1.SchemeGroupVersion, "RoleBinding"), ObjectMeta: s.meta(setupName(s.ca.Name)),
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: setupName(s.ca.Name)},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: setupName(s.ca.Name), Namespace: s.ca.Namespace}},
	}
}

// signing returns the two Certificates that sign requests: neither can sign its own successor.
// They are retained together with the keys. Without them, a CA that takes the keys over under
// the same name could not sign.
func (s setup) signing() (list []*v1alpha1.Certificate) {
	add := func(name, certname string) {
		list = append(list, &v1alpha1.Certificate{
			TypeMeta: layout.KindOf(v1alpha1.SchemeGroupVersion, "Certificate"), ObjectMeta: s.keptMeta(name),
			Spec: v1alpha1.CertificateSpec{AuthorityRef: s.ca.Name, Certname: certname},
		})
	}
	add(layout.SigningCertificate(s.ca.Name), rules.OperatorCertname(s.ca.Name))
	add(layout.StandbyCertificate(s.ca.Name), rules.StandbyCertname(s.ca.Name))
	return list
}

// made is the Certificate of the CA's server, where the CertificateAuthority names none.
func (s setup) made() *v1alpha1.Certificate {
	return &v1alpha1.Certificate{
		TypeMeta: layout.KindOf(v1alpha1.SchemeGroupVersion, "Certificate"), ObjectMeta: s.keptMeta(rules.OwnServerCertificate(s.ca.Name)),
		Spec: v1alpha1.CertificateSpec{AuthorityRef: s.ca.Name, Certname: serviceName(s.ca.Name)},
	}
}

// job sets the CA up, or brings back from the volume what the Secrets have lost.
func (s setup) job() *batchv1.Job {
	const day = 24 * 60 * 60
	job := &batchv1.Job{
		TypeMeta: layout.KindOf(batchv1.SchemeGroupVersion, "Job"), ObjectMeta: s.meta(setupName(s.ca.Name)),
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
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labelsOf(s.ca.Name)}, Spec: s.pod()},
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

// setupImport is the annotation of a setup Job with the next serial of the CA that it imports, and
// the optional keys that it reads. It is not part of the hash: both are unknown once the Job has
// filled a Secret.
const setupImport = v1alpha1.GroupName + "/setup-import"

// setupNode is the annotation of a setup Job with the node that its Pod is for.
const setupNode = v1alpha1.GroupName + "/setup-node"

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
func (s setup) hash() string {
	s.exists, s.served, s.nextSerial, s.optional = false, false, "", nil
	text, err := json.Marshal(s.pod())
	if err != nil {
		panic(err) // plain values
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// intermediateKeys are those of the Secret with a CA's own keys, and nothing else of it is mounted.
var intermediateKeys = []string{cadir.ImportCertificates, cadir.ImportKey, cadir.ImportCRLs}

// intermediateOptional are those that it may have, too.
var intermediateOptional = []string{cadir.ImportSerial, cadir.ImportInventory}

// imports says whether the Job needs keys from elsewhere: a CA that is there has its own.
func (s setup) imports() bool { return s.ca.Spec.IntermediateCA.Enabled && !s.exists }

func (s setup) pod() corev1.PodSpec {
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
		RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: setupName(s.ca.Name), AutomountServiceAccountToken: new(false),
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

func (s setup) environment() []corev1.EnvVar {
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
		{Name: "SSL_SECRET_NAME", Value: setupName(s.ca.Name)},
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
