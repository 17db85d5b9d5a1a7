package serving

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/configfiles"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
)

const (
	databaseLabel = "openvox.voxpupuli.org/database"

	databaseContainer = "openvox-db"
	// credentialsHash is the digest of the address and the credentials of PostgreSQL.
	credentialsHash = "openvox.voxpupuli.org/db-secret-hash"
	// queueVolume contains received data that is not stored yet.
	queueVolume = "queue"

	// databaseHeap is that of an OpenVox DB without a memory limit.
	databaseHeap = "-Xms256m -Xmx512m"
)

func databaseURL(db *v1alpha1.Database) string {
	return fmt.Sprintf("https://%s:%d", layout.DatabaseHost(db), cmp.Or(db.Spec.Service.Port, configfiles.DatabasePort))
}

func databaseConfigMap(db string) string { return db + "-config" }
func databaseSecret(db string) string    { return db + "-db" }

// databaseFacts is the input for the objects of a Database.
type databaseFacts struct {
	db *v1alpha1.Database
	ca *v1alpha1.CertificateAuthority
	// files and secret are the inputs of the Pod.
	files, secret map[string]string
	// pair is the Secret of the Certificate, and bundle has the CA's certificates.
	pair   map[string][]byte
	bundle []byte
	// postgresCA has the CA certificates of PostgreSQL: nil if none are named.
	postgresCA []byte
	// configs are the names of those whose servers are its clients.
	configs []string
	// fsGroup is nil if the cluster assigns a group to each namespace.
	fsGroup *int64
}

func (f databaseFacts) selector() map[string]string {
	return map[string]string{databaseLabel: f.db.Name}
}

func (f databaseFacts) labels() map[string]string {
	labels := map[string]string{layout.NameLabel: "openvox", layout.ManagedByLabel: layout.ManagedBy}
	maps.Copy(labels, f.selector())
	return labels
}

func (f databaseFacts) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: f.db.Namespace, Name: name, Labels: f.labels(),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(f.db, v1alpha1.SchemeGroupVersion.WithKind("Database"))},
	}
}

// objects returns the desired objects of a Database, and those to delete, of which only the name
// matters.
func (f databaseFacts) objects() (wanted, unwanted []client.Object) {
	secret := map[string][]byte{}
	for name, text := range f.secret {
		secret[name] = []byte(text)
	}
	if f.postgresCA != nil {
		secret[configfiles.DatabasePostgresCA] = f.postgresCA
	}
	wanted = []client.Object{
		&corev1.ConfigMap{TypeMeta: layout.KindOf(corev1.SchemeGroupVersion, "ConfigMap"), ObjectMeta: f.meta(databaseConfigMap(f.db.Name)), Data: f.files},
		&corev1.Secret{TypeMeta: layout.KindOf(corev1.SchemeGroupVersion, "Secret"), ObjectMeta: f.meta(databaseSecret(f.db.Name)), Data: secret},
		f.service(), f.statefulSet(),
	}
	spec := f.db.Spec
	for _, each := range []struct {
		object client.Object
		wanted bool
	}{
		{disruptionBudget(f.meta(f.db.Name), f.selector(), spec.PDB), spec.PDB != nil && spec.PDB.Enabled},
		{f.networkPolicy(), spec.NetworkPolicy != nil && spec.NetworkPolicy.Enabled},
	} {
		if each.wanted {
			wanted = append(wanted, each.object)
		} else {
			unwanted = append(unwanted, each.object)
		}
	}
	return wanted, unwanted
}

func (f databaseFacts) service() *corev1.Service {
	spec := f.db.Spec.Service
	s := &corev1.Service{
		TypeMeta: layout.KindOf(corev1.SchemeGroupVersion, "Service"), ObjectMeta: f.meta(f.db.Name),
		Spec: corev1.ServiceSpec{
			Type: cmp.Or(spec.Type, corev1.ServiceTypeClusterIP), Selector: f.selector(),
			// A Database whose PostgreSQL is down is not ready, but still accepts data.
			PublishNotReadyAddresses: true,
			Ports: []corev1.ServicePort{{
				Name: serverPort, Protocol: corev1.ProtocolTCP, Port: cmp.Or(spec.Port, configfiles.DatabasePort), TargetPort: intstr.FromString(serverPort),
			}},
		},
	}
	s.Annotations = maps.Clone(spec.Annotations)
	return s
}

func (f databaseFacts) statefulSet() *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{
		TypeMeta: layout.KindOf(appsv1.SchemeGroupVersion, "StatefulSet"), ObjectMeta: f.meta(f.db.Name),
		Spec: appsv1.StatefulSetSpec{
			ServiceName: f.db.Name, Replicas: new(ptr.Deref(f.db.Spec.Replicas, 1)), RevisionHistoryLimit: new(int32(3)),
			PodManagementPolicy: appsv1.ParallelPodManagement,
			Selector:            &metav1.LabelSelector{MatchLabels: f.selector()},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: f.labels(), Annotations: map[string]string{
					configHash:      hashOfFiles(f.files),
					credentialsHash: hashOf([]byte(hashOfFiles(f.secret)), f.postgresCA),
					certificateHash: hashOf(f.pair[layout.CertificateFile], f.pair[layout.KeyFile]),
					caHash:          hashOf(f.bundle),
				}},
				Spec: f.pod(),
			},
		},
	}
	if storage := f.db.Spec.Storage; storage != nil {
		claim := corev1.PersistentVolumeClaim{
			TypeMeta: layout.KindOf(corev1.SchemeGroupVersion, "PersistentVolumeClaim"), ObjectMeta: metav1.ObjectMeta{Name: queueVolume, Labels: f.labels()},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: storage.Size}},
			},
		}
		if storage.StorageClass != "" {
			claim.Spec.StorageClassName = new(storage.StorageClass)
		}
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim}
	}
	return set
}

func hashOfFiles(files map[string]string) string {
	var parts [][]byte
	for _, name := range slices.Sorted(maps.Keys(files)) {
		parts = append(parts, []byte(name), []byte(files[name]))
	}
	return hashOf(parts...)
}

func (f databaseFacts) pod() corev1.PodSpec {
	spec := f.db.Spec
	volumes, mounts := f.volumes()
	security := &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
	if spec.Storage != nil {
		security.FSGroup, security.FSGroupChangePolicy = f.fsGroup, new(corev1.FSGroupChangeOnRootMismatch)
	}
	layout.OverrideSecurity(security, spec.SecurityContext)
	options := withHeap(spec.JavaArgs, spec.Resources, 6, databaseHeap)
	status := func(period, failures int32) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/status/v1/simple", Port: intstr.FromString(serverPort), Scheme: corev1.URISchemeHTTPS}},
			PeriodSeconds: period, FailureThreshold: failures, TimeoutSeconds: 5,
		}
	}
	// One whose PostgreSQL is down waits for it, and is not to be started again for that.
	connects := func(period, failures int32) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString(serverPort)}},
			PeriodSeconds: period, FailureThreshold: failures, TimeoutSeconds: 5,
		}
	}
	return corev1.PodSpec{
		AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false), SecurityContext: security,
		ImagePullSecrets: slices.Clone(spec.Image.PullSecrets), Volumes: volumes, TerminationGracePeriodSeconds: new(int64(60)),
		PriorityClassName: spec.PriorityClassName, Affinity: spec.Affinity,
		Containers: []corev1.Container{{
			Name: databaseContainer, Image: layout.ImageName(spec.Image.Repository, spec.Image.Tag), ImagePullPolicy: spec.Image.PullPolicy, Resources: spec.Resources,
			// Java reads the second, and images of openvox-operator the first.
			Env:          []corev1.EnvVar{{Name: "JAVA_ARGS", Value: options}, {Name: "JDK_JAVA_OPTIONS", Value: options}},
			Ports:        []corev1.ContainerPort{{Name: serverPort, ContainerPort: configfiles.DatabasePort, Protocol: corev1.ProtocolTCP}},
			VolumeMounts: mounts,
			StartupProbe: connects(5, 60), ReadinessProbe: status(10, 3), LivenessProbe: connects(30, 3),
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}
}

func (f databaseFacts) volumes() (volumes []corev1.Volume, mounts []corev1.VolumeMount) {
	add := func(name string, source corev1.VolumeSource, readOnly bool, path string) {
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: source})
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: readOnly})
	}
	configFiles := func(names ...string) corev1.VolumeProjection {
		p := &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: databaseConfigMap(f.db.Name)}}
		for _, name := range names {
			p.Items = append(p.Items, corev1.KeyToPath{Key: name, Path: name})
		}
		return corev1.VolumeProjection{ConfigMap: p}
	}
	pair, own := layout.TLSSecret(f.db.Spec.CertificateRef), databaseSecret(f.db.Name)
	ssl := []corev1.VolumeProjection{
		secretFile(pair, layout.CertificateFile, "certs/puppet.pem"), secretFile(pair, layout.KeyFile, "private_keys/puppet.pem"),
		secretFile(layout.CASecret(f.ca), layout.CAFile, "certs/ca.pem"), secretFile(layout.CRLSecret(f.ca.Name), layout.CRLFile, "crl/"+layout.CRLFile),
	}
	named := []corev1.VolumeProjection{configFiles(configfiles.DatabaseLogging, configfiles.DatabaseAllowed)}
	if f.postgresCA != nil {
		named = append(named, secretFile(own, configfiles.DatabasePostgresCA, configfiles.DatabasePostgresCA))
	}
	add("conf", projected(configFiles("auth.conf", "config.conf", "jetty.conf"), secretFile(own, configfiles.DatabaseCredentials, configfiles.DatabaseCredentials)), true, configfiles.DatabaseFolder)
	add("lintel", projected(named...), true, configfiles.DatabaseLintelFolder)
	add("ssl", projected(ssl...), true, configfiles.DatabaseSSLFolder)
	for _, writable := range []struct{ name, path string }{{"log", "/var/log/puppetlabs"}, {"run", "/run/puppetlabs"}, {"tmp", "/tmp"}} {
		add(writable.name, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, false, writable.path)
	}
	if f.db.Spec.Storage == nil {
		add(queueVolume, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, false, configfiles.DatabaseDataFolder)
		return volumes, mounts
	}
	return volumes, append(mounts, corev1.VolumeMount{Name: queueVolume, MountPath: configfiles.DatabaseDataFolder})
}

// networkPolicy lets in the servers of the Configs that name a Database.
func (f databaseFacts) networkPolicy() *networkingv1.NetworkPolicy {
	spec := ptr.Deref(f.db.Spec.NetworkPolicy, v1alpha1.NetworkPolicySpec{})
	policy := &networkingv1.NetworkPolicy{
		TypeMeta: layout.KindOf(networkingv1.SchemeGroupVersion, "NetworkPolicy"), ObjectMeta: f.meta(f.db.Name + "-netpol"),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: f.selector()}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		},
	}
	if len(f.configs) > 0 { // a rule without anybody in it would be one for all
		policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{
			Ports: []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(configfiles.DatabasePort))}},
			From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{
				MatchLabels:      map[string]string{layout.ManagedByLabel: layout.ManagedBy},
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: layout.ConfigLabel, Operator: metav1.LabelSelectorOpIn, Values: f.configs}, {Key: serverLabel, Operator: metav1.LabelSelectorOpExists}},
			}}},
		})
	}
	policy.Spec.Ingress = append(policy.Spec.Ingress, spec.AdditionalIngress...)
	return policy
}
