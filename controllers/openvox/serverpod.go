package openvox

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/configfiles"
	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
)

const (
	serverLabel = "openvox.voxpupuli.org/server"
	roleLabel   = "openvox.voxpupuli.org/role"
	// poolLabelPrefix begins the label of a Pool's servers; its name follows.
	poolLabelPrefix = "openvox.voxpupuli.org/pool-"

	// The hashes of what a server reads when it starts: Pods are replaced when one changes.
	// Signing policies and CRLs are followed as they change, and are not among them.
	configHash      = "openvox.voxpupuli.org/config-hash"
	certificateHash = "openvox.voxpupuli.org/ssl-secret-hash"
	caHash          = "openvox.voxpupuli.org/ca-secret-hash"
	// serverConf is a file of the server itself: what a Server says and its Config does not.
	serverConf = "openvox.voxpupuli.org/server-conf"

	serverContainer = "openvox-server"
	crlContainer    = "crl"
	crlSource       = "crl-source"
	// keysVolume has the key of the Certificate.
	keysVolume = "keys"
	serverPort = "https"

	confFolder   = "/etc/puppetlabs/puppet"
	codeFolder   = "/etc/puppetlabs/code"
	serverFolder = "/etc/puppetlabs/puppetserver"
	sslFolder    = confFolder + "/ssl"
	crlFolder    = confFolder + "/crl"
	lintelFolder = "/etc/puppetlabs/lintel"
	spoolFolder  = "/var/spool/openvox-report"

	// formerJavaArgs is what openvox-operator fills in where javaArgs is left out, so that it
	// says no more than an empty field.
	formerJavaArgs = "-Xms512m -Xmx1024m"
)

// serverFacts are what the objects of a Server are made of.
type serverFacts struct {
	server *v1alpha1.Server
	config *v1alpha1.Config
	ca     *v1alpha1.CertificateAuthority
	// files are those of the Config.
	files map[string]string
	// classifier is the NodeClassifier of the Config: nil where it names none.
	classifier *v1alpha1.NodeClassifier
	// pair is the Secret of the Certificate, and bundle the CA's certificates.
	pair   map[string][]byte
	bundle []byte
	// fsGroup is nil where the cluster gives each namespace its own group.
	fsGroup *int64
	// running is how many Pods the Deployment has now: nil where there is none.
	running *int32
}

func (f serverFacts) compiles() bool { return compiles(f.server) }

// sendsReports says whether there are ReportProcessors, to whom the reports of agents go.
func (f serverFacts) sendsReports() bool {
	return f.compiles() && f.files[configfiles.ReportProcessorFile] != ""
}

func compiles(server *v1alpha1.Server) bool { return ptr.Deref(server.Spec.Server, true) }

// labels are those of the objects of a Server.
func (f serverFacts) labels() map[string]string {
	return map[string]string{
		nameLabel: "openvox", managedByLabel: managedBy, configLabel: f.config.Name, serverLabel: f.server.Name,
	}
}

func (f serverFacts) podLabels() map[string]string {
	labels := f.labels()
	labels[roleLabel] = "server"
	if f.server.Spec.CA {
		labels[caServerLabel], labels[caLabel] = "true", f.ca.Name
		if !f.compiles() {
			labels[roleLabel] = "ca"
		}
	}
	for _, pool := range f.server.Spec.PoolRefs {
		labels[poolLabelPrefix+pool] = "true"
	}
	return labels
}

func (f serverFacts) selector() map[string]string {
	return map[string]string{serverLabel: f.server.Name}
}

func (f serverFacts) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: f.server.Namespace, Name: name, Labels: f.labels(),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(f.server, v1alpha1.SchemeGroupVersion.WithKind("Server"))},
	}
}

// objects are those that a Server has, and those that it has not, of which no more than the
// name counts.
func (f serverFacts) objects() (wanted, unwanted []client.Object, err error) {
	deployment, err := f.deployment()
	if err != nil {
		return nil, nil, err
	}
	wanted = []client.Object{deployment}
	spec := f.server.Spec
	for _, each := range []struct {
		object client.Object
		wanted bool
	}{
		{f.disruptionBudget(), spec.PDB != nil && spec.PDB.Enabled},
		{f.autoscaler(), spec.Autoscaling != nil && spec.Autoscaling.Enabled},
		{f.networkPolicy(), spec.NetworkPolicy != nil && spec.NetworkPolicy.Enabled},
	} {
		if each.wanted {
			wanted = append(wanted, each.object)
		} else {
			unwanted = append(unwanted, each.object)
		}
	}
	return wanted, unwanted, nil
}

func (f serverFacts) deployment() (*appsv1.Deployment, error) {
	pod, err := f.pod()
	if err != nil {
		return nil, err
	}
	strategy := appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType}
	if f.server.Spec.CA { // its volume is for one at a time
		strategy.Type = appsv1.RecreateDeploymentStrategyType
	}
	annotations := map[string]string{
		configHash:      f.filesHash(),
		certificateHash: hashOf(f.pair[certPEMKey], f.pair[keyPEMKey]),
		caHash:          hashOf(f.bundle),
		serverConf:      fmt.Sprintf("jruby-puppet: { max-active-instances: %d }\n", max(f.server.Spec.MaxActiveInstances, 1)),
	}
	return &appsv1.Deployment{
		TypeMeta: kindOf(appsv1.SchemeGroupVersion, "Deployment"), ObjectMeta: f.meta(f.server.Name),
		Spec: appsv1.DeploymentSpec{
			Replicas: f.replicas(), Strategy: strategy, RevisionHistoryLimit: new(int32(3)),
			Selector: &metav1.LabelSelector{MatchLabels: f.selector()},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: f.podLabels(), Annotations: annotations}, Spec: pod},
		},
	}, nil
}

// replicas is how many Pods are wanted. As many as run stay where the load decides.
func (f serverFacts) replicas() *int32 {
	scaling := f.server.Spec.Autoscaling
	if scaling == nil || !scaling.Enabled {
		return new(ptr.Deref(f.server.Spec.Replicas, 1))
	}
	least := max(scaling.MinReplicas, 1)
	return new(min(max(ptr.Deref(f.running, least), least), max(scaling.MaxReplicas, least)))
}

// mounted is a file of a Config and where a server reads it.
type mounted struct{ file, path string }

// mounts are the files that a server reads: others of its Config do not concern it.
func (f serverFacts) mounts() []mounted {
	conf := serverFolder + "/conf.d/"
	list := []mounted{
		{"puppet.conf", confFolder + "/puppet.conf"},
		{"puppetdb.conf", confFolder + "/puppetdb.conf"},
		{"logback.xml", serverFolder + "/logback.xml"},
		{"auth.conf", conf + "auth.conf"},
		{"metrics.conf", conf + "metrics.conf"},
		{"product.conf", conf + "product.conf"},
		{"puppetserver.conf", conf + "puppetserver.conf"},
	}
	if f.server.Spec.CA {
		return append(list, mounted{"ca.conf", conf + "ca.conf"}, mounted{"webserver-ca.conf", conf + "webserver.conf"}, mounted{"ca-enabled.cfg", serverFolder + "/services.d/ca.cfg"})
	}
	return append(list, mounted{"webserver.conf", conf + "webserver.conf"}, mounted{"ca-disabled.cfg", serverFolder + "/services.d/ca.cfg"})
}

func (f serverFacts) filesHash() string {
	used := map[string]string{}
	for _, m := range f.mounts() {
		used[m.file] = f.files[m.file]
	}
	if f.sendsReports() {
		used[configfiles.ReportProcessorFile] = f.files[configfiles.ReportProcessorFile]
	}
	return configfiles.Hash(used)
}

func hashOf(parts ...[]byte) string {
	sum := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(sum, "%d ", len(part))
		sum.Write(part)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

func (f serverFacts) pod() (corev1.PodSpec, error) {
	spec, image := f.server.Spec, f.image()
	volumes, volumeMounts := f.volumes()
	pullSecrets := slices.Clone(image.PullSecrets)
	if code := f.code(); code != nil {
		folder, err := f.environments()
		if err != nil {
			return corev1.PodSpec{}, err
		}
		volume := corev1.Volume{Name: "code"}
		if code.Image != "" {
			volume.Image = &corev1.ImageVolumeSource{Reference: code.Image, PullPolicy: code.ImagePullPolicy}
		} else {
			volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: code.ClaimName, ReadOnly: true}
		}
		if secret := (corev1.LocalObjectReference{Name: code.ImagePullSecret}); secret.Name != "" && !slices.Contains(pullSecrets, secret) {
			pullSecrets = append(pullSecrets, secret)
		}
		volumes = append(volumes, volume)
		volumeMounts = append(volumeMounts, corev1.VolumeMount{Name: volume.Name, MountPath: folder, ReadOnly: true})
	}
	security := &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if spec.CA { // as the setup Job, which has made what is on the volume
		security.FSGroup, security.FSGroupChangePolicy = f.fsGroup, new(corev1.FSGroupChangeOnRootMismatch)
	}
	options := javaOptions(spec)
	name, container := imageName(image.Repository, image.Tag), &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(f.config.Spec.ReadOnlyRootFilesystem),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	var beside []corev1.Container
	if !spec.CA { // whose server writes its own CRL
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
			Env:          []corev1.EnvVar{{Name: "JAVA_ARGS", Value: options}, {Name: "JDK_JAVA_OPTIONS", Value: options}},
			Ports:        []corev1.ContainerPort{{Name: serverPort, ContainerPort: caPort, Protocol: corev1.ProtocolTCP}},
			VolumeMounts: volumeMounts,
			StartupProbe: f.probe(5, 60), ReadinessProbe: f.probe(10, 3), LivenessProbe: f.probe(30, 3),
			// Until no Service leads here any more.
			Lifecycle:                &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}},
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			SecurityContext:          container,
		}},
	}, nil
}

// followScript copies a CRL each time that the kubelet has another. A server notices a file
// that takes the place of the one that it has read, and no link that leads elsewhere, of which
// volumes consist: it would let in whose certificates are revoked until it is started again. The
// first process of a container ends by no signal that it does not ask for.
const followScript = `trap 'exit 0' TERM
last=
while :; do
  now=$(readlink /crl/..data)
  if [ "$now" != "$last" ] && cp /crl/` + crlKey + ` ` + crlFolder + `/.next && mv -f ` + crlFolder + `/.next ` + crlFolder + `/` + crlKey + `; then
    last=$now
  fi
  sleep 2
done
`

// followCRL runs beside a server, from before it starts until after it has ended.
func followCRL(image string, pull corev1.PullPolicy, security *corev1.SecurityContext) corev1.Container {
	return corev1.Container{
		Name: crlContainer, Image: image, ImagePullPolicy: pull, RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		Command: []string{"/bin/sh", "-c", followScript},
		StartupProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", "test -s " + crlFolder + "/" + crlKey}}},
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

// image is the Config's, but for what the Server says.
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

// imageName is an image with its tag: a repository with a digest needs none.
func imageName(repository, tag string) string {
	if strings.Contains(repository, "@") || tag == "" {
		return repository
	}
	return repository + ":" + tag
}

// code is where catalogs are compiled from: nil where it is in the image, or none are.
func (f serverFacts) code() *v1alpha1.CodeSpec {
	switch {
	case !f.compiles():
		return nil
	case f.server.Spec.Code != nil:
		return f.server.Spec.Code
	}
	return f.config.Spec.Code
}

// environments is the folder that code is mounted at: the first of the Config's.
func (f serverFacts) environments() (string, error) {
	first, _, _ := strings.Cut(cmp.Or(f.config.Spec.Puppet.EnvironmentPath, codeFolder+"/environments"), ":")
	folder := strings.NewReplacer("$codedir", codeFolder, "$confdir", confFolder).Replace(first)
	if !path.IsAbs(folder) || strings.Contains(folder, "$") || path.Clean(folder) == "/" {
		return "", fmt.Errorf("spec.puppet.environmentPath of Config %s begins with %q, at which no code can be mounted; begin with a folder such as %s/environments", f.config.Name, first, codeFolder)
	}
	return path.Clean(folder), nil
}

func (f serverFacts) volumes() (volumes []corev1.Volume, mounts []corev1.VolumeMount) {
	add := func(name string, source corev1.VolumeSource, readOnly bool, mountPath string) {
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: source})
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: mountPath, ReadOnly: readOnly})
	}
	pair := tlsSecret(f.server.Spec.CertificateRef)
	for _, writable := range []struct{ name, path string }{
		{"ssl", sslFolder}, {"run", "/run/puppetserver"}, {"run-puppet", "/run/puppetlabs"}, {"cache", "/opt/puppetlabs/puppet/cache"},
		{"log", "/var/log/puppetlabs"}, {"tmp", "/tmp"},
	} {
		add(writable.name, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, false, writable.path)
	}
	add("certificates", projected(secretFile(pair, certPEMKey, "puppet.pem"), secretFile(caSecretName(f.ca), caKey, "ca.pem")), true, sslFolder+"/certs")
	add(keysVolume, projected(secretFile(pair, keyPEMKey, "puppet.pem")), true, sslFolder+"/private_keys")
	var followed []corev1.VolumeProjection // as it changes, since it is mounted as a folder
	if f.server.Spec.CA {
		followed = append(followed, secretFile(autosignSecret(f.ca.Name), policyKey, policyKey))
		add("ca", corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(f.ca.Name)}}, false, caFolder)
	} else {
		add("crl", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, true, crlFolder)
		volumes = append(volumes, corev1.Volume{Name: crlSource, VolumeSource: projected(secretFile(crlSecret(f.ca.Name), crlKey, crlKey))})
	}

	below := func(path string) string { return strings.TrimPrefix(path, lintelFolder+"/") }
	if f.compiles() && f.classifier != nil {
		followed = append(followed, secretFile(classifierSecret(f.config.Name), endpoints.ClassifierKey, below(endpoints.ClassifierFile)))
		if cache := f.classifier.Spec.Cache; cache != nil && cache.Enabled {
			add("classifications", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, false, cache.Directory)
		}
	}
	if f.sendsReports() {
		endpoints := secretFile(reportsSecret(f.config.Name), endpoints.ReportsKey, below(endpoints.ReportsFile))
		endpoints.Secret.Optional = new(true) // it may come after the files that have it read
		followed = append(followed, endpoints, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: configMapName(f.config.Name)},
			Items:                []corev1.KeyToPath{{Key: configfiles.ReportProcessorFile, Path: below(configfiles.ReportsFolder) + "/" + configfiles.ReportProcessorFile}},
		}})
		add("reports", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, false, spoolFolder)
	}
	if len(followed) > 0 {
		add("lintel", projected(followed...), true, lintelFolder)
	}

	config := corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMapName(f.config.Name)}}
	for _, m := range f.mounts() {
		config.Items = append(config.Items, corev1.KeyToPath{Key: m.file, Path: m.file})
		mounts = append(mounts, corev1.VolumeMount{Name: "config", MountPath: m.path, SubPath: m.file, ReadOnly: true})
	}
	volumes = append(volumes, corev1.Volume{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &config}}, corev1.Volume{
		Name: "server-conf", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{
			Path: configfiles.ServerConf, FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + serverConf + "']"},
		}}}},
	})
	return volumes, append(mounts, corev1.VolumeMount{
		Name: "server-conf", MountPath: serverFolder + "/conf.d/" + configfiles.ServerConf, SubPath: configfiles.ServerConf, ReadOnly: true,
	})
}

// secretFile is a key of a Secret as a file.
func secretFile(name, key, path string) corev1.VolumeProjection {
	return corev1.VolumeProjection{Secret: &corev1.SecretProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: []corev1.KeyToPath{{Key: key, Path: path}},
	}}
}

// projected is a folder, whose files follow their sources.
func projected(sources ...corev1.VolumeProjection) corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: new(int32(0o440)), Sources: sources}}
}

// probe asks a server how it is. One that wants a certificate of each client is asked for a
// connection only, for the kubelet has none.
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

// heapOption is one by which a JVM has the size of its heap.
var heapOption = regexp.MustCompile(`(?:^|\s)(?:-Xmx|-XX:MaxHeapSize=|-XX:MaxRAMPercentage=)`)

// javaOptions are those of a server: 90 % of the limit are its heap.
func javaOptions(spec v1alpha1.ServerSpec) string {
	return withHeap(spec.JavaArgs, spec.Resources, 9, formerJavaArgs)
}

// withHeap are javaArgs, and the size of the heap where they have none: tenths of the memory
// limit, or unlimited without one.
func withHeap(javaArgs string, resources corev1.ResourceRequirements, tenths int64, unlimited string) string {
	args := strings.TrimSpace(javaArgs)
	if args == formerJavaArgs {
		args = ""
	}
	if heapOption.MatchString(args) {
		return args
	}
	heap := unlimited
	if limit, ok := resources.Limits[corev1.ResourceMemory]; ok && !limit.IsZero() {
		mebibytes := limit.Value() / 10 * tenths >> 20
		heap = fmt.Sprintf("-Xms%dm -Xmx%[1]dm", mebibytes)
	}
	return strings.TrimSpace(heap + " " + args)
}

func (f serverFacts) disruptionBudget() *policyv1.PodDisruptionBudget {
	return disruptionBudget(f.meta(f.server.Name), f.selector(), f.server.Spec.PDB)
}

func disruptionBudget(meta metav1.ObjectMeta, selector map[string]string, wanted *v1alpha1.PDBSpec) *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{
		TypeMeta: kindOf(policyv1.SchemeGroupVersion, "PodDisruptionBudget"), ObjectMeta: meta,
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: selector}},
	}
	spec := ptr.Deref(wanted, v1alpha1.PDBSpec{})
	switch {
	case spec.MinAvailable != nil:
		budget.Spec.MinAvailable = spec.MinAvailable
	case spec.MaxUnavailable != nil:
		budget.Spec.MaxUnavailable = spec.MaxUnavailable
	default:
		budget.Spec.MinAvailable = new(intstr.FromInt32(1))
	}
	return budget
}

func (f serverFacts) autoscaler() *autoscalingv2.HorizontalPodAutoscaler {
	spec := ptr.Deref(f.server.Spec.Autoscaling, v1alpha1.AutoscalingSpec{})
	least := max(spec.MinReplicas, 1)
	return &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta: kindOf(autoscalingv2.SchemeGroupVersion, "HorizontalPodAutoscaler"), ObjectMeta: f.meta(f.server.Name),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Name: f.server.Name},
			MinReplicas:    new(least), MaxReplicas: max(spec.MaxReplicas, least),
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name:   corev1.ResourceCPU,
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(cmp.Or(spec.TargetCPU, 75))},
			}}},
		},
	}
}

func (f serverFacts) networkPolicy() *networkingv1.NetworkPolicy {
	spec := ptr.Deref(f.server.Spec.NetworkPolicy, v1alpha1.NetworkPolicySpec{})
	everybody := networkingv1.NetworkPolicyIngressRule{Ports: []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(caPort))}}}
	return &networkingv1.NetworkPolicy{
		TypeMeta: kindOf(networkingv1.SchemeGroupVersion, "NetworkPolicy"), ObjectMeta: f.meta(f.server.Name + "-netpol"),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: maps.Clone(f.selector())}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: append([]networkingv1.NetworkPolicyIngressRule{everybody}, spec.AdditionalIngress...),
		},
	}
}
