package serving

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/configfiles"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
	"github.com/lintel-policy/lintel/test/certificates"
)

// factsOf are those of a Server that has all it needs.
func factsOf(server *v1alpha1.Server) serverFacts {
	files := map[string]string{}
	for _, name := range []string{"puppet.conf", "puppetdb.conf", "logback.xml", "auth.conf", "metrics.conf", "product.conf", "puppetserver.conf", "auth-ca.conf", "ca.conf", "webserver.conf", "webserver-ca.conf", "ca-enabled.cfg", "ca-disabled.cfg"} {
		files[name] = name
	}
	config := openvoxtest.MakeConfig("main")
	config.Spec.Image = v1alpha1.ImageSpec{Repository: "example.com/puppet", Tag: "8.12.1", PullPolicy: corev1.PullIfNotPresent, PullSecrets: []corev1.LocalObjectReference{{Name: "pull"}}}
	return serverFacts{
		server: server, config: config, ca: openvoxtest.MakeCA("main"), files: files, fsGroup: new(int64(1001)),
		pair: map[string][]byte{layout.CertificateFile: []byte("certificate"), layout.KeyFile: []byte("key")}, bundle: []byte("ca"),
	}
}

func podOf(t *testing.T, f serverFacts) corev1.PodTemplateSpec {
	t.Helper()
	deployment, err := f.deployment()
	require.NoError(t, err)
	again, err := f.deployment()
	require.NoError(t, err)
	require.Equal(t, deployment, again)
	require.True(t, labels.SelectorFromSet(deployment.Spec.Selector.MatchLabels).Matches(labels.Set(deployment.Spec.Template.Labels)))
	return deployment.Spec.Template
}

// TestWhatRollsWhichServers: Pods are replaced when an input that they read at startup changes,
// and for no other reason.
func TestWhatRollsWhichServers(t *testing.T) {
	both := []string{"ca", "catalogs"}
	for name, c := range map[string]struct {
		change func(*serverFacts)
		rolls  []string
	}{
		"puppet.conf":       {func(f *serverFacts) { f.files["puppet.conf"] += "x" }, both},
		"auth.conf":         {func(f *serverFacts) { f.files["auth.conf"] += "x" }, []string{"catalogs"}},
		"auth-ca.conf":      {func(f *serverFacts) { f.files["auth-ca.conf"] += "x" }, []string{"ca"}},
		"puppetserver.conf": {func(f *serverFacts) { f.files["puppetserver.conf"] += "x" }, both},
		"puppetdb.conf":     {func(f *serverFacts) { f.files["puppetdb.conf"] += "x" }, both},
		"routes.yaml":       {func(f *serverFacts) { f.files["routes.yaml"] = "x" }, []string{"catalogs"}},
		"logback.xml":       {func(f *serverFacts) { f.files["logback.xml"] += "x" }, both},
		"metrics.conf":      {func(f *serverFacts) { f.files["metrics.conf"] += "x" }, both},
		"ca.conf":           {func(f *serverFacts) { f.files["ca.conf"] += "x" }, []string{"ca"}},
		"webserver-ca.conf": {func(f *serverFacts) { f.files["webserver-ca.conf"] += "x" }, []string{"ca"}},
		"webserver.conf":    {func(f *serverFacts) { f.files["webserver.conf"] += "x" }, []string{"catalogs"}},
		"a file of nobody":  {func(f *serverFacts) { f.files["other"] = "x" }, nil},
		"the certificate":   {func(f *serverFacts) { f.pair[layout.CertificateFile] = []byte("next") }, both},
		"the key":           {func(f *serverFacts) { f.pair[layout.KeyFile] = []byte("next") }, both},
		"another key of it": {func(f *serverFacts) { f.pair["other"] = []byte("next") }, nil},
		"the CA":            {func(f *serverFacts) { f.bundle = []byte("next") }, both},
		"the image":         {func(f *serverFacts) { f.config.Spec.Image.Tag = "9" }, both},
		"code":              {func(f *serverFacts) { f.config.Spec.Code = codeOf(v1alpha1.CodeSource{Image: "code:1"}) }, []string{"catalogs"}},
		"a variable":        {func(f *serverFacts) { f.server.Spec.ExtraEnv = []corev1.EnvVar{{Name: "A", Value: "b"}} }, both},
		"variables of a Secret": {func(f *serverFacts) {
			f.server.Spec.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}}}
		}, both},
		"a volume": {func(f *serverFacts) {
			f.server.Spec.ExtraVolumes = []v1alpha1.ExtraVolume{{Name: "a", EmptyDir: &corev1.EmptyDirVolumeSource{}}}
		}, both},
		"a user": {func(f *serverFacts) {
			f.server.Spec.SecurityContext = &v1alpha1.PodSecurityContextSpec{RunAsUser: new(int64(7))}
		}, both},
		"a read-only root":     {func(f *serverFacts) { f.config.Spec.ReadOnlyRootFilesystem = true }, both},
		"interpreters":         {func(f *serverFacts) { f.server.Spec.MaxActiveInstances = 3 }, both},
		"replicas":             {func(f *serverFacts) { f.server.Spec.Replicas = new(int32(9)) }, nil},
		"a budget":             {func(f *serverFacts) { f.server.Spec.PDB = &v1alpha1.PDBSpec{Enabled: true} }, nil},
		"a network policy":     {func(f *serverFacts) { f.server.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Enabled: true} }, nil},
		"a classifier":         {func(f *serverFacts) { f.classifier = &v1alpha1.NodeClassifier{} }, []string{"catalogs"}},
		"reports":              {func(f *serverFacts) { f.files["lintel.rb"] = "x" }, []string{"catalogs"}},
		"the CA's CRL":         {func(f *serverFacts) { f.ca.Status.CRL = &v1alpha1.CRLStatus{} }, nil},
		"the CA's status":      {func(f *serverFacts) { f.ca.Status.NotAfter = new(metav1.Now()) }, nil},
		"the Config's status":  {func(f *serverFacts) { f.config.Status.ObservedGeneration = 9 }, nil},
		"the Server's status":  {func(f *serverFacts) { f.server.Status.Ready = 9; f.server.Generation = 9 }, nil},
		"more that is running": {func(f *serverFacts) { f.running = new(int32(7)) }, nil},
	} {
		var rolled []string
		for _, server := range []*v1alpha1.Server{openvoxtest.MakeCAServer(), openvoxtest.MakeServer("catalogs")} {
			if server.Spec.CA {
				server.Spec.Server = new(false)
			}
			before, facts := podOf(t, factsOf(server.DeepCopy())), factsOf(server.DeepCopy())
			c.change(&facts)
			if after := podOf(t, facts); !apiEqual(before, after) {
				rolled = append(rolled, server.Name)
			}
		}
		require.Equal(t, c.rolls, rolled, name)
	}
}

func apiEqual(a, b corev1.PodTemplateSpec) bool {
	left, _ := a.Marshal()
	right, _ := b.Marshal()
	return slices.Equal(left, right)
}

// TestPodOfServer: what the two roles mount, and as whom they run.
func TestPodOfServer(t *testing.T) {
	mounts := func(pod corev1.PodSpec) map[string]string {
		found := map[string]string{}
		for _, m := range pod.Containers[0].VolumeMounts {
			require.NotContains(t, found, m.MountPath, "one mount for a path")
			found[m.MountPath] = m.Name + " " + m.SubPath
			require.True(t, slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name }), m.Name)
		}
		return found
	}
	server := openvoxtest.MakeServer("catalogs")
	server.Spec.Code = codeOf(v1alpha1.CodeSource{Image: "example.com/code:1", ImagePullPolicy: corev1.PullAlways, ImagePullSecret: "code"})
	server.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone"}}
	server.Spec.MaxActiveInstances = 4
	facts := factsOf(server)
	facts.config.Spec.ReadOnlyRootFilesystem = true
	template := podOf(t, facts)
	pod := template.Spec
	require.Equal(t, "server", template.Labels[roleLabel])
	require.Equal(t, "true", template.Labels[poolLabelPrefix+"puppet"])
	require.NotContains(t, template.Labels, layout.CAServerLabel)
	require.Equal(t, "jruby-puppet: { max-active-instances: 4 }\n", template.Annotations[serverConf])
	found := mounts(pod)
	require.Equal(t, "config webserver.conf", found["/etc/puppetlabs/puppetserver/conf.d/webserver.conf"])
	require.Equal(t, "config ca-disabled.cfg", found["/etc/puppetlabs/puppetserver/services.d/ca.cfg"])
	require.Equal(t, "server-conf lintel-server.conf", found["/etc/puppetlabs/puppetserver/conf.d/lintel-server.conf"])
	require.Equal(t, "crl ", found["/etc/puppetlabs/puppet/crl"])
	require.Len(t, pod.InitContainers, 1, "who copies CRLs there, for a server notices no link that leads elsewhere")
	require.Equal(t, corev1.ContainerRestartPolicyAlways, *pod.InitContainers[0].RestartPolicy)
	require.Equal(t, pod.Containers[0].Image, pod.InitContainers[0].Image)
	require.Equal(t, "code ", found["/etc/puppetlabs/code/environments"])
	require.NotContains(t, found, "/etc/puppetlabs/puppetserver/ca")
	require.NotContains(t, found, "/etc/puppetlabs/lintel")
	require.Equal(t, []corev1.LocalObjectReference{{Name: "pull"}, {Name: "code"}}, pod.ImagePullSecrets)
	require.Equal(t, map[string]string{serverLabel: "catalogs"}, pod.TopologySpreadConstraints[0].LabelSelector.MatchLabels)
	require.Nil(t, server.Spec.TopologySpreadConstraints[0].LabelSelector, "the object itself is left as it is")
	require.Equal(t, "c-server", pod.ServiceAccountName)
	require.False(t, *pod.AutomountServiceAccountToken)
	require.Nil(t, pod.SecurityContext.RunAsUser, "any user does")
	require.Nil(t, pod.SecurityContext.FSGroup)
	require.True(t, *pod.SecurityContext.RunAsNonRoot)
	container := pod.Containers[0]
	require.True(t, *container.SecurityContext.ReadOnlyRootFilesystem)
	require.False(t, *container.SecurityContext.AllowPrivilegeEscalation)
	require.Equal(t, []corev1.Capability{"ALL"}, container.SecurityContext.Capabilities.Drop)
	require.Equal(t, "/status/v1/simple", container.StartupProbe.HTTPGet.Path)
	facts.config.Spec.PuppetServer.ClientAuth = "need"
	require.NotNil(t, podOf(t, facts).Spec.Containers[0].ReadinessProbe.TCPSocket, "the kubelet has no certificate to show")

	template = podOf(t, factsOf(openvoxtest.MakeCAServer()))
	pod = template.Spec
	require.Equal(t, "server", template.Labels[roleLabel])
	require.Equal(t, "true", template.Labels[layout.CAServerLabel])
	require.Equal(t, "main", template.Labels[layout.CALabel])
	require.EqualValues(t, 1001, *pod.SecurityContext.FSGroup, "as the setup Job, whose files it writes")
	found = mounts(pod)
	require.Equal(t, "config webserver-ca.conf", found["/etc/puppetlabs/puppetserver/conf.d/webserver.conf"])
	require.Equal(t, "config ca-enabled.cfg", found["/etc/puppetlabs/puppetserver/services.d/ca.cfg"])
	require.Equal(t, "ca ", found["/etc/puppetlabs/puppetserver/ca"])
	require.Equal(t, "lintel ", found["/etc/puppetlabs/lintel"], "a folder, so that policies take effect at once")
	require.NotContains(t, found, "/etc/puppetlabs/puppet/crl")
	require.Equal(t, "config auth-ca.conf", found["/etc/puppetlabs/puppetserver/conf.d/auth.conf"])
	require.Len(t, pod.InitContainers, 1, "the CA's server writes its own CRL")
	require.Equal(t, "owner", pod.InitContainers[0].Name)
	paused := factsOf(openvoxtest.MakeCAServer())
	delete(paused.files, "auth-ca.conf")
	require.Equal(t, "config auth.conf", mounts(podOf(t, paused).Spec)["/etc/puppetlabs/puppetserver/conf.d/auth.conf"])

	whole := factsOf(openvoxtest.MakeCAServer())
	whole.classifier = &v1alpha1.NodeClassifier{Spec: v1alpha1.NodeClassifierSpec{Cache: &v1alpha1.NodeClassifierCache{Enabled: true, Directory: "/var/cache/openvox-enc"}}}
	whole.files[configfiles.ReportProcessorFile] = "x"
	pod = podOf(t, whole).Spec
	found = mounts(pod)
	require.Equal(t, "classifications ", found["/var/cache/openvox-enc"])
	require.Equal(t, "reports ", found["/var/spool/openvox-report"])
	require.Equal(t, "lintel ", found["/etc/puppetlabs/lintel"])
	var paths []string
	for _, volume := range pod.Volumes {
		if volume.Name == "lintel" {
			for _, source := range volume.Projected.Sources {
				if source.Secret != nil {
					paths = append(paths, source.Secret.Name+" "+source.Secret.Items[0].Path)
					require.Equal(t, source.Secret.Name == "c-enc", source.Secret.Optional == nil, "without policies the hook signs nothing, and the CA goes on")
				} else {
					paths = append(paths, source.ConfigMap.Name+" "+source.ConfigMap.Items[0].Path)
				}
			}
		}
	}
	require.Equal(t, []string{"main-autosign-policy signing-policies.yaml", "c-enc enc/enc.yaml", "c-report-webhook report/report-webhook.yaml", "c-config ruby/puppet/reports/lintel.rb"}, paths)

	only := openvoxtest.MakeCAServer()
	only.Spec.Server, only.Spec.Code = new(false), codeOf(v1alpha1.CodeSource{ClaimName: "code"})
	template = podOf(t, factsOf(only))
	require.Equal(t, "ca", template.Labels[roleLabel])
	require.NotContains(t, mounts(template.Spec), "/etc/puppetlabs/code/environments", "it compiles nothing")
}

func TestImageOfServer(t *testing.T) {
	server := openvoxtest.MakeServer("canary")
	facts := factsOf(server)
	server.Spec.Image = v1alpha1.ServerImageSpec{Tag: "8.13.0"}
	image := podOf(t, facts).Spec.Containers[0]
	require.Equal(t, "example.com/puppet:8.13.0", image.Image, "the rest is the Config's")
	require.Equal(t, corev1.PullIfNotPresent, image.ImagePullPolicy)
	server.Spec.Image = v1alpha1.ServerImageSpec{Repository: "example.com/own@sha256:1", PullPolicy: corev1.PullAlways, PullSecrets: []corev1.LocalObjectReference{{Name: "own"}}}
	pod := podOf(t, facts).Spec
	require.Equal(t, "example.com/own@sha256:1", pod.Containers[0].Image)
	require.Equal(t, corev1.PullAlways, pod.Containers[0].ImagePullPolicy)
	require.Equal(t, []corev1.LocalObjectReference{{Name: "own"}}, pod.ImagePullSecrets)
}

// TestHeap: 90 % of the limit, unless the spec sets another value.
func TestHeap(t *testing.T) {
	for _, c := range []struct{ args, limit, want string }{
		{"", "", "-Xms512m -Xmx1024m"},
		{"", "2Gi", "-Xms1843m -Xmx1843m"},
		{formerJavaArgs, "2Gi", "-Xms1843m -Xmx1843m"},
		{"-XX:+UseSerialGC", "1000Mi", "-Xms900m -Xmx900m -XX:+UseSerialGC"},
		{" -Xmx3g ", "4Gi", "-Xmx3g"},
		{"-XX:MaxRAMPercentage=70", "4Gi", "-XX:MaxRAMPercentage=70"},
		{"-Dx=-Xmx1g", "1000Mi", "-Xms900m -Xmx900m -Dx=-Xmx1g"},
	} {
		spec := v1alpha1.ServerSpec{JavaArgs: c.args}
		if c.limit != "" {
			spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(c.limit)}
		}
		require.Equal(t, c.want, javaOptions(spec), "%+v", c)
	}
}

func TestFolderOfCode(t *testing.T) {
	for path, want := range map[string]string{
		"": "/etc/puppetlabs/code/environments", "/a/b/:/c": "/a/b", "$codedir/environments": "/etc/puppetlabs/code/environments",
		"$confdir/environments": "/etc/puppetlabs/puppet/environments", "environments": "", "/": "", "$vardir/x": "", ":": "",
	} {
		facts := factsOf(openvoxtest.MakeServer("s"))
		facts.config.Spec.Puppet.EnvironmentPath = path
		got, err := facts.environments()
		require.Equal(t, want == "", err != nil, path)
		require.Equal(t, want, got, path)
	}
}

// TestCodeOfServer: each source has its folder, those of a Server replace those of its Config, and
// none overlaps another.
func TestCodeOfServer(t *testing.T) {
	t.Parallel()
	facts := factsOf(openvoxtest.MakeServer("s"))
	facts.config.Spec.Code = codeOf(v1alpha1.CodeSource{Image: "unused"})
	facts.server.Spec.Code = codeOf(
		v1alpha1.CodeSource{Image: "example.com/production:1", Environment: "production", ImagePullSecret: "pull"},
		v1alpha1.CodeSource{ClaimName: "modules", MountPath: "/etc/puppetlabs/code/modules"},
	)
	pod := podOf(t, facts).Spec
	mounts := map[string]string{}
	for _, mount := range pod.Containers[0].VolumeMounts {
		mounts[mount.MountPath] = mount.Name
	}
	require.Equal(t, "code-0", mounts["/etc/puppetlabs/code/environments/production"])
	require.Equal(t, "code-1", mounts["/etc/puppetlabs/code/modules"])
	require.NotContains(t, mounts, "/etc/puppetlabs/code/environments")
	require.Equal(t, []corev1.LocalObjectReference{{Name: "pull"}}, pod.ImagePullSecrets)
	for _, volume := range pod.Volumes {
		switch volume.Name {
		case "code-0":
			require.Equal(t, &corev1.ImageVolumeSource{Reference: "example.com/production:1", PullPolicy: corev1.PullIfNotPresent}, volume.Image)
		case "code-1":
			require.Equal(t, &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "modules", ReadOnly: true}, volume.PersistentVolumeClaim)
		}
	}
	facts.server.Spec.Code.List[1].MountPath = "/etc/puppetlabs/code/environments/production/modules"
	_, err := facts.deployment()
	require.ErrorContains(t, err, "spec.code[1]: /etc/puppetlabs/code/environments/production/modules overlaps /etc/puppetlabs/code/environments/production of spec.code[0]")
}

func TestReplicasOfServer(t *testing.T) {
	facts := factsOf(openvoxtest.MakeServer("s"))
	require.EqualValues(t, 2, *facts.replicas())
	facts.server.Spec.Replicas = nil
	require.EqualValues(t, 1, *facts.replicas())
	facts.server.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{Enabled: true, MinReplicas: 2, MaxReplicas: 5}
	require.EqualValues(t, 2, *facts.replicas())
	for running, want := range map[int32]int32{1: 2, 4: 4, 9: 5} {
		facts.running = &running
		require.Equal(t, want, *facts.replicas(), "what the load has asked for stays")
	}
}

// TestExtrasOfServer: what a Server adds is in its Pods, next to what Lintel adds.
func TestExtrasOfServer(t *testing.T) {
	t.Parallel()
	named := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	server := openvoxtest.MakeServer("catalogs")
	server.Spec.ExtraEnv = []corev1.EnvVar{{Name: "URL", Value: "https://inventory"}, {Name: "GONE", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named("gone"), Key: "k", Optional: new(true)}}}}
	server.Spec.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named("env")}}, {SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named("gone"), Optional: new(true)}}}
	server.Spec.ExtraVolumes = []v1alpha1.ExtraVolume{
		{Name: "config", Secret: &corev1.SecretVolumeSource{SecretName: "client"}},
		{Name: "gone", Secret: &corev1.SecretVolumeSource{SecretName: "gone", Optional: new(true)}},
		{Name: "all", Projected: &v1alpha1.ExtraProjection{Sources: []v1alpha1.ExtraSource{{Secret: &corev1.SecretProjection{LocalObjectReference: named("gone")}}, {ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("map")}}}}},
	}
	server.Spec.ExtraVolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: "/etc/puppetlabs/client", ReadOnly: true}}
	server.Spec.SecurityContext = &v1alpha1.PodSecurityContextSpec{RunAsUser: new(int64(7)), FSGroup: new(int64(8))}
	require.Equal(t, []string{"gone", "env", "client"}, rules.SecretsOf(&server.Spec))
	facts := factsOf(server)
	facts.missing = map[string]bool{"gone": true}
	pod := podOf(t, facts).Spec
	require.Equal(t, "URL", pod.Containers[0].Env[4].Name)
	require.Len(t, pod.Containers[0].Env, 5)
	require.Equal(t, server.Spec.EnvFrom[:1], pod.Containers[0].EnvFrom)
	last := len(pod.Volumes)
	require.Equal(t, "client", pod.Volumes[last-3].Secret.SecretName)
	require.NotNil(t, pod.Volumes[last-2].EmptyDir)
	require.Len(t, pod.Volumes[last-1].Projected.Sources, 1)
	require.Contains(t, pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "extra-config", MountPath: "/etc/puppetlabs/client", ReadOnly: true})
	require.Equal(t, "config", server.Spec.ExtraVolumeMounts[0].Name, "the object itself is left as it is")
	require.EqualValues(t, 7, *pod.SecurityContext.RunAsUser)
	require.EqualValues(t, 8, *pod.SecurityContext.FSGroup)
	require.True(t, *pod.SecurityContext.RunAsNonRoot)

	facts.classifier = &v1alpha1.NodeClassifier{Spec: v1alpha1.NodeClassifierSpec{Cache: &v1alpha1.NodeClassifierCache{Enabled: true, Directory: "/etc/puppetlabs/client/cache"}}}
	_, err := facts.deployment()
	require.ErrorContains(t, err, `spec.extraVolumeMounts[0].mountPath: "/etc/puppetlabs/client" overlaps /etc/puppetlabs/client/cache`)
}

// TestRulesKnowMounts: the rules refuse mounts at each path that servers mount, except those that
// depend on the Config, which extraVolumes checks.
func TestRulesKnowMounts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../policies/rules/openvox/extras.rego")
	require.NoError(t, err)
	_, list, ok := strings.Cut(string(text), "own_paths := {")
	require.True(t, ok)
	list, _, _ = strings.Cut(list, "}")
	whole := factsOf(openvoxtest.MakeCAServer())
	whole.files[configfiles.ReportProcessorFile], whole.files[configfiles.RoutesFile] = "x", "x"
	for _, facts := range []serverFacts{whole, factsOf(openvoxtest.MakeServer("catalogs"))} {
		for _, mount := range podOf(t, facts).Spec.Containers[0].VolumeMounts {
			require.True(t, slices.ContainsFunc(strings.Split(list, `"`), func(own string) bool {
				return strings.HasPrefix(own, "/") && (mount.MountPath == own || strings.HasPrefix(mount.MountPath, own+"/"))
			}), mount.MountPath)
		}
	}
}

// TestMissingSecret: Pods are created once the Secret is there, which the rules then have seen.
func TestMissingSecret(t *testing.T) {
	t.Parallel()
	server := openvoxtest.MakeServer("catalogs")
	server.Spec.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "env"}}}}
	s := newServerSite(t, server)
	require.Equal(t, "Pending False SecretNotFound: spec.envFrom[0].secretRef: there is no Secret env; create it, or set optional: true", s.run())
	require.Nil(t, s.deployment())
	require.NoError(t, s.Client.Create(t.Context(), openvoxtest.MakeSecret("env", nil)))
	require.Contains(t, s.run(), "RollingOut")

	// Once Pods refer to it, its loss holds up no change.
	s.become(appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2})
	require.NoError(t, s.Client.Delete(t.Context(), openvoxtest.MakeSecret("env", nil)))
	s.change(func(spec *v1alpha1.ServerSpec) { spec.Replicas, spec.JavaArgs = new(int32(1)), "-Xmx600m" })
	require.Equal(t, "Running False SecretNotFound: spec.envFrom[0].secretRef: there is no Secret env; create it, or set optional: true; 2 of the former servers are ready", s.run())
	require.EqualValues(t, 1, *s.deployment().Spec.Replicas)
	container := s.deployment().Spec.Template.Spec.Containers[0]
	require.Equal(t, "-Xmx600m", container.Env[0].Value)
	require.Equal(t, server.Spec.EnvFrom, container.EnvFrom, "the kubelet waits for it")
	s.change(func(spec *v1alpha1.ServerSpec) { spec.Replicas = new(int32(0)) })
	s.run()
	require.Zero(t, *s.deployment().Spec.Replicas)
	s.change(func(spec *v1alpha1.ServerSpec) { spec.Replicas = new(int32(2)) })
	require.Contains(t, s.run(), "SecretNotFound")
	require.Zero(t, *s.deployment().Spec.Replicas, "no Pod is created before the Secret is known")
}

// TestEnvironmentOfTheJVM: nothing that is in envFrom replaces the heap.
func TestEnvironmentOfTheJVM(t *testing.T) {
	t.Parallel()
	facts := factsOf(openvoxtest.MakeServer("s"))
	require.Len(t, podOf(t, facts).Spec.Containers[0].Env, 2, "Pods without envFrom stay as they are")
	facts.server.Spec.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "a"}}}}
	env := podOf(t, facts).Spec.Containers[0].Env
	require.Contains(t, env, corev1.EnvVar{Name: "JAVA_TOOL_OPTIONS"})
	require.Contains(t, env, corev1.EnvVar{Name: "_JAVA_OPTIONS"})
}

// TestForbiddenPods: Pods that have, or would have as soon as they start, the keys of a CA are
// stopped if the Server is not carried out.
func TestForbiddenPods(t *testing.T) {
	t.Parallel()
	claim := func(name string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}}
	}
	for name, c := range map[string]struct {
		claim  string
		change func(*serverSite)
		want   string
		stays  bool
	}{
		"a CA is created": {"b-data", func(s *serverSite) {
			require.NoError(s.T, s.Client.Create(s.T.Context(), openvoxtest.MakeCA("b")))
		}, "claim b-data is the volume of a CA, with its keys, and is not mounted; name another in spec.extraVolumes; Deployment catalogs is scaled to zero, since its Pods refer to claim b-data, the volume of a CA", false},
		"the claim is deleted": {"b-data", func(s *serverSite) { require.NoError(s.T, s.Client.Delete(s.T.Context(), claim("b-data"))) },
			"spec.extraVolumes: there is no PersistentVolumeClaim b-data; create it, or name another; Deployment catalogs is scaled to zero", false},
		"the Secret becomes Lintel's own": {"b-data", func(s *serverSite) {
			secret := &corev1.Secret{}
			require.True(s.T, s.Get("mine", secret))
			secret.Labels = map[string]string{layout.ManagedByLabel: layout.ManagedBy}
			require.NoError(s.T, s.Client.Update(s.T.Context(), secret))
			s.refused = "no"
		}, "no; Deployment catalogs is scaled to zero, since its Pods refer to Secret mine, which is OpenVox's own", false},
		"another reason": {"b-data", func(s *serverSite) { s.refused = "no" }, "Error False NotAdmitted: no", true},
	} {
		server := openvoxtest.MakeServer("catalogs")
		server.Spec.ExtraVolumes = []v1alpha1.ExtraVolume{
			{Name: "a", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.claim}},
			{Name: "b", Secret: &corev1.SecretVolumeSource{SecretName: "mine"}},
		}
		s := newServerSite(t, server)
		require.NoError(t, s.Client.Create(t.Context(), openvoxtest.MakeSecret("mine", nil)))
		require.Equal(t, "Pending False ClaimNotFound: spec.extraVolumes: there is no PersistentVolumeClaim b-data; create it, or name another", s.run())
		require.Nil(t, s.deployment(), "its volume may become that of a CA")
		require.NoError(t, s.Client.Create(t.Context(), claim(c.claim)))
		s.run()
		require.EqualValues(t, 2, *s.deployment().Spec.Replicas)
		c.change(s)
		require.Contains(t, s.run(), c.want, name)
		require.Equal(t, c.stays, *s.deployment().Spec.Replicas == 2, name)
		require.Contains(t, s.run(), c.want, "it is said for as long as it lasts")
	}
}

// serverSite is an API server with one Server and the objects it refers to.
type serverSite struct {
	*site
	fake         *openvoxtest.CA
	server       *v1alpha1.Server
	refused      string
	externalOnly bool
	err          error
}

// newServerSite has a CA that is set up, a rendered Config and a signed Certificate.
func newServerSite(t *testing.T, server *v1alpha1.Server) *serverSite {
	t.Helper()
	fake := openvoxtest.NewCA(t)
	ca, config := openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main")
	config.UID, config.Generation = "config", 3
	config.Status = v1alpha1.ConfigStatus{ObservedGeneration: 3, FilesHash: configfiles.Hash(factsOf(server).files)}
	object.Conditions{List: &ca.Status.Conditions, Generation: ca.Generation}.Set(v1alpha1.ConditionInitialized, true, "CAInitialized", "")
	certificate := certificates.MakeCertificate(server.Spec.CertificateRef, "web.example.com").Obj()
	pair := openvoxtest.NewPair(t, fake, &x509.Certificate{Subject: pkix.Name{CommonName: "web.example.com"}})
	s := &serverSite{site: newSite(t, server, ca, config, certificate,
		configMap(config, factsOf(server).files), openvoxtest.MakeSecret(server.Spec.CertificateRef+"-tls", pair),
		openvoxtest.MakeSecret("main-ca", map[string][]byte{layout.CAFile: fake.Bundle()}), openvoxtest.MakeSecret("main-ca-crl", map[string][]byte{layout.CRLFile: fake.List(1)})), fake: fake, server: server}
	require.True(t, s.Get(server.Name, server))
	return s
}

// run reconciles the Server, and says what its status is.
func (s *serverSite) run() string {
	s.T.Helper()
	r := &ServerReconciler{
		client: s.Client, secrets: secrets{s.Client, s.Client}, applier: s.Applier, events: s.Events, externalOnly: s.externalOnly, outdated: s.outdated, now: func() time.Time { return s.Now },
		admit: func(context.Context, builtin.Object) (builtin.Verdict, error) {
			return openvoxtest.Verdict(s.refused), s.err
		},
	}
	_, err := r.Reconcile(s.T.Context(), object.Request("ns", s.server.Name)[0])
	require.ErrorIs(s.T, err, s.err)
	require.True(s.T, s.Get(s.server.Name, s.server))
	for _, c := range s.server.Status.Conditions {
		if c.Type == v1alpha1.ConditionReady {
			return string(s.server.Status.Phase) + " " + string(c.Status) + " " + c.Reason + ": " + c.Message
		}
	}
	return ""
}

func (s *serverSite) deployment() *appsv1.Deployment {
	s.T.Helper()
	d := &appsv1.Deployment{}
	if !s.Get(s.server.Name, d) {
		return nil
	}
	return d
}

// become has the Deployment's controller report.
func (s *serverSite) become(status appsv1.DeploymentStatus) {
	s.T.Helper()
	d := s.deployment()
	d.Status = status
	d.Status.ObservedGeneration = d.Generation
	require.NoError(s.T, s.Client.Status().Update(s.T.Context(), d))
}

func (s *serverSite) change(change func(*v1alpha1.ServerSpec)) {
	s.T.Helper()
	require.True(s.T, s.Get(s.server.Name, s.server))
	change(&s.server.Spec)
	s.server.Generation++
	require.NoError(s.T, s.Client.Update(s.T.Context(), s.server))
}

// TestServer covers the life of a Server, from the first object until all are deleted.
func TestServer(t *testing.T) {
	s := newServerSite(t, openvoxtest.MakeServer("catalogs"))
	require.Equal(t, "Pending False RollingOut: servers are being started or replaced: 0 of 2 are ready, 0 of them of the latest version", s.run())
	d := s.deployment()
	require.True(t, metav1.IsControlledBy(d, s.server))
	require.Equal(t, appsv1.RollingUpdateDeploymentStrategyType, d.Spec.Strategy.Type)
	require.EqualValues(t, 2, *d.Spec.Replicas)
	require.EqualValues(t, 2, s.server.Status.Desired)
	s.become(appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 1})
	require.Contains(t, s.run(), "Running False RollingOut")
	s.become(appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2})
	require.Equal(t, `Running True Running: 2 of 2 servers are ready; spec.poolRefs: Pool puppet does not exist, so clients cannot reach these servers by it`, s.run())
	require.NoError(t, s.Client.Create(t.Context(), openvoxtest.MakeRoutedPool("puppet", "puppet.example.com", 1)))
	require.Equal(t, "Running True Running: 2 of 2 servers are ready", s.run())
	require.EqualValues(t, 2, s.server.Status.Ready)
	s.Writes = 0
	s.run()
	require.Zero(t, s.Writes, "nothing changed, nothing written")
	files := &corev1.ConfigMap{}
	require.True(t, s.Get("c-config", files))
	files.Data["beside"] = "x"
	require.NoError(t, s.Client.Update(t.Context(), files))
	require.Equal(t, "Running True Running: 2 of 2 servers are ready", s.run(), "who adds to the files holds nothing up")

	// What goes with it comes and goes.
	s.change(func(spec *v1alpha1.ServerSpec) {
		spec.PDB = &v1alpha1.PDBSpec{Enabled: true}
		spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Enabled: true, AdditionalIngress: []networkingv1.NetworkPolicyIngressRule{{}}}
		spec.Autoscaling = &v1alpha1.AutoscalingSpec{Enabled: true, MinReplicas: 2, MaxReplicas: 4}
	})
	s.run()
	budget, policy, scaler := &policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{}, &autoscalingv2.HorizontalPodAutoscaler{}
	require.True(t, s.Get("catalogs", budget))
	require.EqualValues(t, intstr.FromInt32(1), *budget.Spec.MinAvailable)
	require.True(t, s.Get("catalogs-netpol", policy))
	require.Len(t, policy.Spec.Ingress, 2)
	require.True(t, s.Get("catalogs", scaler))
	require.EqualValues(t, 4, scaler.Spec.MaxReplicas)
	require.EqualValues(t, 75, *scaler.Spec.Metrics[0].Resource.Target.AverageUtilization)

	d = s.deployment()
	d.Spec.Replicas = new(int32(3))
	require.NoError(t, s.Client.Update(t.Context(), d), "as the autoscaler does")
	s.run()
	require.EqualValues(t, 3, *s.deployment().Spec.Replicas)
	require.EqualValues(t, 3, s.server.Status.Desired)
	s.change(func(spec *v1alpha1.ServerSpec) {
		spec.PDB, spec.NetworkPolicy, spec.Autoscaling.Enabled = nil, nil, false
	})
	s.run()
	require.False(t, s.Get("catalogs", budget))
	require.False(t, s.Get("catalogs-netpol", policy))
	require.False(t, s.Get("catalogs", scaler))
	require.EqualValues(t, 2, *s.deployment().Spec.Replicas)
	s.change(func(spec *v1alpha1.ServerSpec) { spec.Replicas = new(int32(0)) })
	s.run()
	s.become(appsv1.DeploymentStatus{})
	require.Equal(t, "Pending False ScaledToZero: no servers are wanted: spec.replicas is 0", s.run())
}

// TestServerTakesNothingOver: objects of other owners stay unchanged.
func TestServerTakesNothingOver(t *testing.T) {
	s := newServerSite(t, openvoxtest.MakeServer("catalogs"))
	require.NoError(t, s.Client.Create(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "catalogs", Namespace: "ns"}}))
	require.Contains(t, s.run(), "Error False NotOwned: Deployment catalogs does not belong to this object")
	require.Zero(t, s.server.Status.Ready)
}

// TestServerOfCA runs one at a time on the CA's volume.
func TestServerOfCA(t *testing.T) {
	s := newServerSite(t, openvoxtest.MakeCAServer())
	s.run()
	require.Equal(t, appsv1.RecreateDeploymentStrategyType, s.deployment().Spec.Strategy.Type)
}

// TestWhatServersWaitFor: each reason names the missing input, and running Pods stay.
func TestWhatServersWaitFor(t *testing.T) {
	remove := func(object client.Object, name string) func(*serverSite) {
		return func(s *serverSite) {
			object := object.DeepCopyObject().(client.Object)
			require.True(s.T, s.Get(name, object))
			require.NoError(s.T, s.Client.Delete(s.T.Context(), object))
		}
	}
	update := func(object client.Object, name string, change func(client.Object)) func(*serverSite) {
		return func(s *serverSite) {
			object := object.DeepCopyObject().(client.Object)
			require.True(s.T, s.Get(name, object))
			change(object)
			require.NoError(s.T, s.Client.Update(s.T.Context(), object))
		}
	}
	status := func(object client.Object, name string, change func(client.Object)) func(*serverSite) {
		return func(s *serverSite) {
			object := object.DeepCopyObject().(client.Object)
			require.True(s.T, s.Get(name, object))
			change(object)
			require.NoError(s.T, s.Client.Status().Update(s.T.Context(), object))
		}
	}
	for want, change := range map[string]func(*serverSite){
		`Pending False WaitingForConfig: spec.configRef: there is no Config "c"`:           remove(&v1alpha1.Config{}, "c"),
		`Pending False WaitingForConfig: the files of Config c are not rendered yet`:       remove(&corev1.ConfigMap{}, "c-config"),
		`Pending False WaitingForConfig: the files of Config c are not rendered yet#cache`: update(&corev1.ConfigMap{}, "c-config", func(o client.Object) { o.(*corev1.ConfigMap).Data["auth.conf"] = "" }),
		`Pending False WaitingForConfig: the files of Config c are not rendered yet#next`:  update(&v1alpha1.Config{}, "c", func(o client.Object) { o.SetGeneration(4) }),
		`Pending False ConfigNotReady: Config c: it is wrong`: status(&v1alpha1.Config{}, "c", func(o client.Object) {
			object.Conditions{List: &o.(*v1alpha1.Config).Status.Conditions, Generation: 3}.Set(v1alpha1.ConditionConfigReady, false, reasonNotAdmitted, "it is wrong")
		}),
		`Pending False WaitingForCertificateAuthority: Config c names no CertificateAuthority in spec.authorityRef, and servers have their certificates from one`: update(&v1alpha1.Config{}, "c", func(o client.Object) { o.(*v1alpha1.Config).Spec.AuthorityRef = "" }),
		`Pending False WaitingForCertificateAuthority: there is no CertificateAuthority "main", which Config c names`:                                             remove(&v1alpha1.CertificateAuthority{}, "main"),
		`Pending False WaitingForCertificateAuthority: CertificateAuthority main is not set up yet: the Job runs`: status(&v1alpha1.CertificateAuthority{}, "main", func(o client.Object) {
			object.Conditions{List: &o.(*v1alpha1.CertificateAuthority).Status.Conditions, Generation: 1}.Set(v1alpha1.ConditionInitialized, false, "SettingUp", "the Job runs")
		}),
		`WaitingForCert False WaitingForCertificate: spec.certificateRef: there is no Certificate "web"`: remove(&v1alpha1.Certificate{}, "web"),
		`Error False CertificateMismatch: spec.certificateRef: Certificate web is of CertificateAuthority other, and that of Config c is main`: update(&v1alpha1.Certificate{}, "web", func(o client.Object) {
			o.(*v1alpha1.Certificate).Spec.AuthorityRef = "other"
		}),
		`WaitingForCert False WaitingForCertificate: Certificate web has no pair yet in Secret web-tls: it was not looked at yet`: remove(&corev1.Secret{}, "web-tls"),
		`WaitingForCert False WaitingForCertificate: Certificate web has no pair yet in Secret web-tls: it was not looked at yet#foreign`: func(s *serverSite) {
			update(&corev1.Secret{}, "web-tls", func(o client.Object) {
				o.(*corev1.Secret).Data = openvoxtest.NewPair(s.T, openvoxtest.NewCA(s.T), &x509.Certificate{Subject: pkix.Name{CommonName: "web.example.com"}})
			})(s)
		},
		`WaitingForCert False WaitingForCertificate: Secret main-ca has no key ca_crt.pem, the certificate of CertificateAuthority main`:              remove(&corev1.Secret{}, "main-ca"),
		`Pending False WaitingForCertificateAuthority: the CRL of CertificateAuthority main has not been read yet; servers check their clients by it`: remove(&corev1.Secret{}, "main-ca-crl"),
		`Error False NotAdmitted: spec.ca: no`: func(s *serverSite) { s.refused = "spec.ca: no" },
		`Error False ExternalOnly: the manager runs no servers in the cluster (--openvox-external-only)`: func(s *serverSite) { s.externalOnly = true },
		`Error False ConfigNotReady: spec.puppet.environmentPath of Config c begins with "x", at which no code can be mounted; begin with a folder such as /etc/puppetlabs/code/environments`: update(&v1alpha1.Config{}, "c", func(o client.Object) {
			o.(*v1alpha1.Config).Spec.Puppet.EnvironmentPath, o.(*v1alpha1.Config).Spec.Code = "x", codeOf(v1alpha1.CodeSource{Image: "a"})
		}),
		`Error False ConfigNotReady: spec.puppet.environmentPath of Config c begins with "y", at which no code can be mounted; begin with a folder such as /etc/puppetlabs/code/environments`: func(s *serverSite) { // a Config without its command is carried out
			status(&v1alpha1.Config{}, "c", func(o client.Object) {
				object.Conditions{List: &o.(*v1alpha1.Config).Status.Conditions, Generation: 3}.Set(v1alpha1.ConditionConfigReady, false, reasonCommandReplaced, "it is denied")
			})(s)
			update(&v1alpha1.Config{}, "c", func(o client.Object) {
				o.(*v1alpha1.Config).Spec.Puppet.EnvironmentPath, o.(*v1alpha1.Config).Spec.Code = "y", codeOf(v1alpha1.CodeSource{Image: "a"})
			})(s)
		},
	} {
		want, _, _ := strings.Cut(want, "#")
		s := newServerSite(t, openvoxtest.MakeServer("catalogs"))
		change(s)
		require.Equal(t, want, s.run())
		require.Nil(t, s.deployment(), want)

		s = newServerSite(t, openvoxtest.MakeServer("catalogs"))
		s.run()
		s.become(appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2})
		before := s.deployment().Spec
		change(s)
		got := s.run()
		if s.externalOnly {
			require.Equal(t, want, got)
			continue
		}
		reason := strings.SplitN(want, " ", 2)[1]
		require.Contains(t, got, reason+"; 2 of the former servers are ready")
		require.Equal(t, before, s.deployment().Spec, want)
	}
	s := newServerSite(t, openvoxtest.MakeServer("catalogs"))
	s.err = errors.New("the rules give no answer")
	s.run()
	require.Nil(t, s.deployment(), "an error is no permission")
}

// TestCAServersWaitForTheirCertificate: the CA's server mounts exactly the certificate that
// administers the CA.
func TestCAServersWaitForTheirCertificate(t *testing.T) {
	server := openvoxtest.MakeCAServer()
	server.Spec.CertificateRef = "web"
	s := newServerSite(t, server)
	require.Equal(t, "WaitingForCert False WaitingForCertificate: Certificate main-server becomes that of the server of CertificateAuthority main, whose status.serverCertificateName says none now", strings.Replace(s.run(), "Certificate web", "Certificate main-server", 1))
	ca := &v1alpha1.CertificateAuthority{}
	require.True(t, s.Get("main", ca))
	ca.Status.ServerCertificateName = "web"
	require.NoError(t, s.Client.Status().Update(t.Context(), ca))
	s.run()
	require.NotNil(t, s.deployment())

	s = newServerSite(t, server.DeepCopy())
	require.True(t, s.Get("main", ca))
	ca.Spec.ServerCertificateRef = "own"
	require.NoError(t, s.Client.Update(t.Context(), ca))
	require.Equal(t, "Error False CertificateMismatch: spec.certificateRef: the CA's server has Certificate own, as CertificateAuthority main says in spec.serverCertificateRef; name that one", s.run())
	ca.Spec.ServerCertificateRef, ca.Spec.External = "", &v1alpha1.ExternalCA{URL: "https://a"}
	require.NoError(t, s.Client.Update(t.Context(), ca))
	require.Contains(t, s.run(), "Error False CertificateMismatch: spec.ca: CertificateAuthority main runs elsewhere")
}

// TestServerSaysWhyPodsDoNotStart before ten minutes are over.
func TestServerSaysWhyPodsDoNotStart(t *testing.T) {
	for want, status := range map[string]corev1.PodStatus{
		`ImagePullBackOff: Pod a: no such image`: {ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}}}},
		"CrashLoopBackOff: Pod a: back-off; it ended last with OOMKilled (exit code 137): b\nc\nd": {ContainerStatuses: []corev1.ContainerStatus{{
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137, Message: "a\nb\nc\nd\n"}},
		}}},
		`Unschedulable: Pod a: no node has enough memory`:                                                      {Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "no node has enough memory"}}},
		`RollingOut: servers are being started or replaced: 0 of 2 are ready, 2 of them of the latest version`: {ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}},
	} {
		s := newServerSite(t, openvoxtest.MakeServer("catalogs"))
		s.run()
		s.become(appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2})
		require.NoError(t, s.Client.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", Labels: map[string]string{serverLabel: "catalogs"}}, Status: status}))
		phase := "Error"
		if strings.HasPrefix(want, reasonRollingOut) {
			phase = "Pending"
		}
		require.Equal(t, phase+" False "+want, s.run())
		s.become(appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 1, ReadyReplicas: 1})
		require.True(t, strings.HasPrefix(s.run(), "Running False "), "one answers")
	}
	s := newServerSite(t, openvoxtest.MakeServer("catalogs"))
	s.run()
	s.become(appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota"}}})
	require.Equal(t, "Error False FailedCreate: Deployment catalogs: exceeded quota; see kubectl describe pods --selector openvox.voxpupuli.org/server=catalogs", s.run())
}

// TestFilesOfOneServer have an own name each.
func TestFilesOfOneServer(t *testing.T) {
	for _, server := range []*v1alpha1.Server{openvoxtest.MakeServer("s"), openvoxtest.MakeCAServer()} {
		facts, seen := factsOf(server), map[string]bool{}
		for _, m := range facts.mounts() {
			require.Contains(t, slices.Collect(maps.Keys(facts.files)), m.file)
			require.False(t, seen[m.path], m.path)
			seen[m.path] = true
		}
	}
}

// TestOnlyTheCAAdministersItself: no other object gets the certificate of the CA's server.
func TestOnlyTheCAAdministersItself(t *testing.T) {
	server := openvoxtest.MakeServer("catalogs")
	server.Spec.CertificateRef = "main-server"
	s := newServerSite(t, server)
	require.Contains(t, s.run(), "Error False CertificateMismatch: spec.certificateRef: Certificate main-server is that of the server of CertificateAuthority main, and administers it")
	require.Nil(t, s.deployment())
	server = openvoxtest.MakeServer("catalogs")
	for _, name := range []string{"main-operator-signing", "later-operator-standby"} { // a CA may be set up later
		server.Spec.CertificateRef = name
		s = newServerSite(t, server.DeepCopy())
		require.Contains(t, s.run(), "Error False CertificateMismatch: spec.certificateRef: Certificate "+name+" is the operator's own, and administers a CA")
		require.Nil(t, s.deployment(), "whoever writes a Server chooses what runs with the pair")
	}

	// Nor is one that was the server's before.
	s = newServerSite(t, openvoxtest.MakeServer("catalogs"))
	fake, tls, ca := openvoxtest.NewCA(t), &corev1.Secret{}, &corev1.Secret{}
	require.True(t, s.Get("web-tls", tls))
	tls.Data = openvoxtest.NewPair(t, fake, &x509.Certificate{Subject: pkix.Name{CommonName: "web.example.com"}, ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 34380, 1, 3, 39}, Value: []byte{12, 4, 't', 'r', 'u', 'e'}}}})
	require.NoError(t, s.Client.Update(t.Context(), tls))
	require.True(t, s.Get("main-ca", ca))
	ca.Data[layout.CAFile] = fake.Bundle()
	require.NoError(t, s.Client.Update(t.Context(), ca))
	require.Contains(t, s.run(), "WaitingForCert False WaitingForCertificate: the certificate of web has the extension 1.3.6.1.4.1.34380.1.3.39 still")
	require.Nil(t, s.deployment())
}

// TestVolumeOfACAIsNoCode: the keys of a CA are on it, and code can read them.
func TestVolumeOfACAIsNoCode(t *testing.T) {
	for name, prepare := range map[string]func(*serverSite){
		"main-data": func(*serverSite) {},
		"kept": func(s *serverSite) { // of a CA that is gone
			require.NoError(s.T, s.Client.Create(s.T.Context(), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "kept", Namespace: "ns", Labels: map[string]string{layout.CALabel: "gone"}}}))
		},
	} {
		server := openvoxtest.MakeServer("catalogs")
		server.Spec.Code = codeOf(v1alpha1.CodeSource{ClaimName: name})
		s := newServerSite(t, server)
		prepare(s)
		require.Contains(t, s.run(), "Error False CodeNotAllowed: claim "+name+" is the volume of a CA")
		require.Nil(t, s.deployment())
	}
	server := openvoxtest.MakeServer("catalogs")
	server.Spec.Code = codeOf(v1alpha1.CodeSource{ClaimName: "code"})
	s := newServerSite(t, server)
	require.Contains(t, s.run(), "Pending False ClaimNotFound: spec.code: there is no PersistentVolumeClaim code")
	require.Nil(t, s.deployment())
	require.NoError(t, s.Client.Create(t.Context(), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "code", Namespace: "ns"}}))
	s.run()
	require.NotNil(t, s.deployment())
}

// TestWhichPairIsMounted: a pair that is waited for is not said to be there, because another
// is.
func TestWhichPairIsMounted(t *testing.T) {
	s := newServerSite(t, openvoxtest.MakeServer("catalogs"))
	s.run()
	mounted := func() string {
		c := meta.FindStatusCondition(s.server.Status.Conditions, v1alpha1.ConditionSSLBootstrapped)
		return string(c.Status) + " " + c.Reason
	}
	require.Equal(t, "True CertificateMounted", mounted())
	s.change(func(spec *v1alpha1.ServerSpec) { spec.CertificateRef = "none" })
	s.run()
	require.Equal(t, "False WaitingForCertificate", mounted())
	s.change(func(spec *v1alpha1.ServerSpec) { spec.CertificateRef, spec.ConfigRef = "web", "none" })
	s.run()
	require.Equal(t, "True CertificateMounted", mounted(), "what waits is not the pair")
}

// TestACRLIsFollowed runs what copies CRLs, with folders as the kubelet writes them.
func TestACRLIsFollowed(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	update := func(version, text string) {
		require.NoError(t, os.Mkdir(filepath.Join(from, version), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(from, version, layout.CRLFile), []byte(text), 0o600))
		require.NoError(t, os.Symlink(version, filepath.Join(from, "..data_tmp")))
		require.NoError(t, os.Rename(filepath.Join(from, "..data_tmp"), filepath.Join(from, "..data")))
	}
	update("..1", "first")
	require.NoError(t, os.Symlink("..data/"+layout.CRLFile, filepath.Join(from, layout.CRLFile)))
	script := strings.NewReplacer("/crl/..data", from+"/..data", "/crl/"+layout.CRLFile+" ", from+"/"+layout.CRLFile+" ", crlFolder, to).Replace(followScript)
	ctx, stop := context.WithCancel(t.Context())
	command := exec.CommandContext(ctx, "/bin/sh", "-c", script)
	require.NoError(t, command.Start())
	defer command.Wait() //nolint:errcheck // it is killed
	defer stop()
	has := func(want string) func() bool {
		return func() bool {
			text, err := os.ReadFile(filepath.Join(to, layout.CRLFile))
			return err == nil && string(text) == want
		}
	}
	require.Eventually(t, has("first"), 10*time.Second, 10*time.Millisecond)
	info, err := os.Lstat(filepath.Join(to, layout.CRLFile))
	require.NoError(t, err)
	require.True(t, info.Mode().IsRegular())
	update("..2", "second")
	require.Eventually(t, has("second"), 10*time.Second, 10*time.Millisecond)
}

// TestPausedServer: while the annotation is set, only the condition Paused is written.
func TestPausedServer(t *testing.T) {
	t.Parallel()
	s := newServerSite(t, openvoxtest.MakeServer("catalogs"))
	s.run()
	before := s.deployment()
	annotate := func(value string) {
		require.True(t, s.Get("catalogs", s.server))
		s.server.Annotations = map[string]string{v1alpha1.PausedAnnotation: value}
		require.NoError(t, s.Client.Update(t.Context(), s.server))
	}
	annotate("true")
	s.change(func(spec *v1alpha1.ServerSpec) { spec.Replicas = new(int32(7)) })
	ready := s.run()
	require.Equal(t, before, s.deployment())
	require.True(t, meta.IsStatusConditionTrue(s.server.Status.Conditions, v1alpha1.ConditionPaused))
	require.Less(t, s.server.Status.ObservedGeneration, s.server.Generation, "what its status says is from before")
	s.Writes = 0
	require.Equal(t, ready, s.run())
	require.Zero(t, s.Writes)
	annotate("false")
	s.run()
	require.EqualValues(t, 7, *s.deployment().Spec.Replicas)
	require.Nil(t, meta.FindStatusCondition(s.server.Status.Conditions, v1alpha1.ConditionPaused))
	require.Equal(t, s.server.Generation, s.server.Status.ObservedGeneration)
}
