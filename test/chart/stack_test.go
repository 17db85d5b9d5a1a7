package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/action"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/policies/engine"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
	"github.com/lintel-policy/lintel/test/reviews"
)

const stackFolder = "../../config/chart/openvox-stack"

func renderStack(t *testing.T, values string) (objects, error) {
	t.Helper()
	return renderFrom(t, stackFolder, "openvox", values)
}

// multi are the values of several servers that the chart brings.
func multi(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(stackFolder + "/values-multi.yaml")
	require.NoError(t, err)
	return string(text)
}

// stackOf has all optional objects in addition to a CA in the cluster.
const stackOf = `
config:
  image: {repository: registry.example/server, pullSecrets: [{name: registry}]}
  imageHasAutosign: true
  databaseRef: db
  puppet: {storeconfigs: false, extraConfig: {server: {strict: error}}}
  puppetserver: {borrowTimeout: 1200000, httpClient: {connectTimeoutMs: 0}}
  metrics: {enabled: true, graphite: {enabled: false}}
ca:
  name: authority
  allowAutoRenewal: false
  intermediateCA: {enabled: false}
signingPolicies:
  - {name: web, pattern: {allow: ["web*"]}, dnsAltNames: {allow: ["web*"]}}
  - {name: key, csrAttributes: [{name: pp_preshared_key, valueFrom: {secretKeyRef: {name: provisioning, key: preshared-key}}}]}
servers:
  - name: ca
    ca: true
    server: false
    certificate: {certname: ca.example.com, dnsAltNames: [puppet, 10.0.0.1], renewBefore: 30d, csrExtensions: {ppRole: ca}}
  - name: web
    replicas: 0
    poolRefs: [a, b]
    autoscaling: {enabled: true, minReplicas: 2}
    resources: {requests: {cpu: 1}, limits: {memory: 2147483648}}
    pdb: {enabled: true, minAvailable: 50%}
    networkPolicy: {enabled: true, additionalIngress: [{ports: [{port: 9100}]}]}
    code: {claimName: code}
pools:
  - {name: a, service: {type: NodePort, nodePort: 30140}, route: {enabled: true, hostname: a.example.com, gatewayRef: {name: own}}}
  - {name: b, route: {enabled: true, hostname: b.example.com}}
  - {name: c, route: {enabled: false}}
gateway: {name: shared, namespace: gateways}
`

func TestStackLints(t *testing.T) {
	for name, values := range map[string]string{"values.yaml": "", "values-multi.yaml": multi(t), "more": stackOf} {
		given := map[string]any{}
		require.NoError(t, sigsyaml.Unmarshal([]byte(values), &given))
		lint := action.NewLint()
		lint.Strict, lint.Namespace = true, "openvox"
		result := lint.Run([]string{stackFolder}, given)
		assert.Empty(t, result.Errors, name)
		assert.Equal(t, 1, result.TotalChartsLinted)
	}
}

// typed are rendered objects, by their kinds.
type typed struct {
	all          map[string]metav1.Object
	authorities  []v1alpha1.CertificateAuthority
	certificates []v1alpha1.Certificate
	configs      []v1alpha1.Config
	pools        []v1alpha1.Pool
	servers      []v1alpha1.Server
}

// typedOf decodes objects, of which no field may be unknown.
func typedOf(t *testing.T, rendered objects) (all typed) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	all.all = map[string]metav1.Object{}
	for _, u := range rendered {
		object, err := scheme.New(u.GroupVersionKind())
		require.NoError(t, err)
		require.NoError(t, sigsyaml.UnmarshalStrict([]byte(asYAML(t, u)), object))
		all.all[u.GetKind()+"/"+u.GetName()] = object.(metav1.Object)
		switch o := object.(type) {
		case *v1alpha1.CertificateAuthority:
			all.authorities = append(all.authorities, *o)
		case *v1alpha1.Certificate:
			all.certificates = append(all.certificates, *o)
		case *v1alpha1.Config:
			all.configs = append(all.configs, *o)
		case *v1alpha1.Pool:
			all.pools = append(all.pools, *o)
		case *v1alpha1.Server:
			all.servers = append(all.servers, *o)
		}
	}
	require.Len(t, all.all, len(rendered), "each object has a name of its own")
	require.Len(t, all.authorities, 1)
	return all
}

// facts are those of admission for an object, in relation to the others.
func (a typed) facts(object metav1.Object) any {
	switch o := object.(type) {
	case *v1alpha1.Certificate:
		return rules.Claims(o, a.certificates).At(&a.authorities[0], o)
	case *v1alpha1.SigningPolicy:
		return rules.KnownNames()
	case *v1alpha1.CertificateAuthority:
		return rules.AuthorityFacts{}
	case *v1alpha1.Server:
		if !o.Spec.CA {
			return rules.ServerFacts{}
		}
		return rules.CAServers(o, a.servers, a.configs, func(other, of *v1alpha1.Server) bool { return other.Name != of.Name })
	case *v1alpha1.Pool:
		return rules.PoolFacts{HostTakenBy: rules.HostTaken(o, a.pools)}
	}
	return struct{}{}
}

// references are the names of what an object refers to in the release, with their kinds.
func references(object metav1.Object) (names []string) {
	switch o := object.(type) {
	case *v1alpha1.Certificate:
		names = []string{"CertificateAuthority/" + o.Spec.AuthorityRef}
	case *v1alpha1.SigningPolicy:
		names = []string{"CertificateAuthority/" + o.Spec.CertificateAuthorityRef}
	case *v1alpha1.CertificateAuthority:
		names = []string{"Certificate/" + o.Spec.ServerCertificateRef}
	case *v1alpha1.Config:
		names = []string{"CertificateAuthority/" + o.Spec.AuthorityRef}
	case *v1alpha1.Server:
		names = []string{"Config/" + o.Spec.ConfigRef, "Certificate/" + o.Spec.CertificateRef}
		for _, pool := range o.Spec.PoolRefs {
			names = append(names, "Pool/"+pool)
		}
	}
	return names
}

// TestStackIsAdmitted: what values make has no unknown field, refers to itself, and is
// admitted by the rules, with the warnings that are meant.
func TestStackIsAdmitted(t *testing.T) {
	snapshot, err := rules.New()
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		values   string
		objects  int
		warnings []string
	}{
		"one server": {values: `{}`, objects: 6, warnings: []string{
			"spec.any signs any certname",
			"spec.image: nothing says that ghcr.io/slauger/openvox-server has /usr/local/bin/lintel-openvox-autosign",
		}},
		"one server, of an image that signs": {values: `{config: {imageHasAutosign: true}}`, objects: 6, warnings: []string{"spec.any signs any certname"}},
		"several servers":                    {values: multi(t), objects: 11},
		"more":                               {values: stackOf, objects: 11},
	} {
		t.Run(name, func(t *testing.T) {
			rendered, err := renderStack(t, tt.values)
			require.NoError(t, err)
			require.Len(t, rendered, tt.objects)
			all := typedOf(t, rendered)
			var warnings []string
			for _, u := range rendered {
				kind, object := u.GroupVersionKind(), all.all[u.GetKind()+"/"+u.GetName()]
				assert.True(t, u.GetName() == "mine" || strings.HasPrefix(u.GetName(), "mine-"), u.GetName())
				assert.Equal(t, "openvox", u.GetNamespace())
				for _, reference := range references(object) {
					assert.Contains(t, all.all, reference, "%s %s", kind.Kind, u.GetName())
				}
				facts, err := engine.ReadFacts(all.facts(object))
				require.NoError(t, err)
				plural, _ := meta.UnsafeGuessKindToResource(kind)
				review := reviews.MakeCreation(kind, plural.Resource, u.Object).Named(u.GetNamespace(), u.GetName()).Obj(t)
				decision := snapshot.Validate(t.Context(), review, engine.Options{Facts: facts})
				assert.Empty(t, decision.Denials, "%s %s", kind.Kind, u.GetName())
				for _, warning := range decision.Warnings {
					warnings = append(warnings, warning.Words)
				}
			}
			slices.Sort(warnings)
			if assert.Len(t, warnings, len(tt.warnings), "%v", warnings) {
				for i, warning := range warnings {
					assert.Contains(t, warning, tt.warnings[i])
				}
			}
		})
	}
}

func TestStackValues(t *testing.T) {
	for _, tt := range []struct {
		name, values, object string
		text                 []string
		missing              []string
	}{
		{name: "an image that signs", values: stackOf, object: "Config/mine", text: []string{"lintel.dev/autosign-image: registry.example/server\n"}},
		{name: "one that is not said to", values: `{}`, object: "Config/mine", missing: []string{"annotations", "imageHasAutosign"}},
		{name: "the kind's own image signs", values: `{config: {imageHasAutosign: true}}`, object: "Config/mine", text: []string{"lintel.dev/autosign-image: ghcr.io/slauger/openvox-server\n", "image: {}\n"}},
		{
			name: "fields of the Config, zeros and all", values: stackOf, object: "Config/mine",
			text: []string{"authorityRef: mine-authority\n", "databaseRef: db\n", "storeconfigs: false\n", "borrowTimeout: 1200000\n", "connectTimeoutMs: 0\n", "strict: error\n", "graphite:\n      enabled: false\n", "- name: registry\n"},
		},
		{
			name: "fields of the CA", values: stackOf, object: "CertificateAuthority/mine-authority",
			text: []string{"allowAutoRenewal: false\n", "intermediateCA:\n    enabled: false\n", "serverCertificateRef: mine-ca\n"}, missing: []string{"name: authority\n"},
		},
		{
			name: "a CA that runs elsewhere", values: `{ca: {external: {url: "https://puppet.example.com:8140"}}, servers: [{name: web}]}`, object: "CertificateAuthority/mine-ca",
			text: []string{"url: https://puppet.example.com:8140\n"}, missing: []string{"serverCertificateRef"},
		},
		{
			name: "a server of one's own for the CA", values: `{ca: {serverCertificateRef: own}, servers: [{name: web}]}`, object: "CertificateAuthority/mine-ca",
			text: []string{"serverCertificateRef: own\n"},
		},
		{
			name: "a server that is the CA only", values: stackOf, object: "Server/mine-ca",
			text: []string{"ca: true\n", "server: false\n", "configRef: mine\n", "certificateRef: mine-ca\n"}, missing: []string{"poolRefs", "certname"},
		},
		{
			name: "fields of a Server, zeros and all", values: stackOf, object: "Server/mine-web",
			text: []string{"replicas: 0\n", "minReplicas: 2\n", "minAvailable: 50%\n", "port: 9100\n", "claimName: code\n", "cpu: 1\n", "memory: 2147483648\n", "poolRefs:\n  - mine-a\n  - mine-b\n"},
		},
		{
			name: "what a Server adds to its Pods", values: `{servers: [{name: ca, ca: true, extraEnv: [{name: A, value: b}], envFrom: [{secretRef: {name: env}}], extraVolumes: [{name: files, secret: {secretName: files}}], extraVolumeMounts: [{name: files, mountPath: /etc/puppetlabs/extra, readOnly: true}], securityContext: {fsGroup: 1001}}]}`,
			object: "Server/mine-ca", text: []string{"secretName: files\n", "mountPath: /etc/puppetlabs/extra\n", "fsGroup: 1001\n", "value: b\n"},
		},
		{
			name: "code from several sources", values: `{config: {code: [{image: "code:1", environment: production}, {claimName: modules, mountPath: /etc/puppetlabs/code/modules}], puppet: {autosignCommand: /hooks/sign}}}`,
			object: "Config/mine", text: []string{"environment: production\n", "claimName: modules\n", "autosignCommand: /hooks/sign\n"},
		},
		{
			name: "a certificate of one's own wish", values: stackOf, object: "Certificate/mine-ca",
			text: []string{"certname: ca.example.com\n", "dnsAltNames:\n  - mine-ca\n  - puppet\n  - 10.0.0.1\n", "renewBefore: 30d\n", "ppRole: ca\n"},
		},
		{
			name: "a certificate for the Services of its pools", values: stackOf, object: "Certificate/mine-web",
			text: []string{"certname: mine-web\n", "dnsAltNames:\n  - mine-web\n  - puppet\n  - mine-a\n  - mine-a.openvox.svc\n  - mine-b\n  - mine-b.openvox.svc\n"},
		},
		{name: "a route to a Gateway of its own", values: stackOf, object: "Pool/mine-a", text: []string{"gatewayRef:\n      name: own\n", "nodePort: 30140\n", "type: NodePort\n"}, missing: []string{"gateways"}},
		{name: "a route to the Gateway of all", values: stackOf, object: "Pool/mine-b", text: []string{"gatewayRef:\n      name: shared\n      namespace: gateways\n", "hostname: b.example.com\n"}},
		{name: "a route that is off", values: stackOf, object: "Pool/mine-c", text: []string{"route:\n    enabled: false\n"}, missing: []string{"gatewayRef"}},
		{name: "a policy", values: stackOf, object: "SigningPolicy/mine-key", text: []string{"certificateAuthorityRef: mine-authority\n", "key: preshared-key\n"}},
		{name: "a classifier", values: `{nodeClassifier: {url: "https://enc.example.com", cache: {enabled: true}}}`, object: "NodeClassifier/mine-enc", text: []string{"url: https://enc.example.com\n", "enabled: true\n"}},
		{name: "servers with a classifier", values: `{nodeClassifier: {name: foreman, url: "https://enc.example.com"}}`, object: "Config/mine", text: []string{"nodeClassifierRef: mine-foreman\n"}},
		{name: "a database", values: `{database: {postgres: {host: pg, credentialsSecretRef: s}, storage: {size: 2Gi}}}`, object: "Database/mine-db", text: []string{"certificateRef: mine-db\n", "host: pg\n", "size: 2Gi\n"}},
		{name: "its certificate", values: `{database: {name: store, postgres: {host: pg, credentialsSecretRef: s}, certificate: {certname: store.example.com}}}`, object: "Certificate/mine-store", text: []string{"certname: store.example.com\n", "authorityRef: mine-ca\n"}},
		{name: "servers with a database", values: `{database: {postgres: {host: pg, credentialsSecretRef: s}}}`, object: "Config/mine", text: []string{"databaseRef: mine-db\n"}},
		{name: "a classifier that is there", values: `{config: {nodeClassifierRef: theirs}}`, object: "Config/mine", text: []string{"nodeClassifierRef: theirs\n"}},
		{name: "reports", values: `{reportProcessors: [{name: sink, url: "https://sink.example.com"}]}`, object: "ReportProcessor/mine-sink", text: []string{"configRef: mine\n", "url: https://sink.example.com\n"}, missing: []string{"name: sink"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rendered, err := renderStack(t, tt.values)
			require.NoError(t, err)
			kind, name, _ := strings.Cut(tt.object, "/")
			found := rendered.find(kind, name)
			require.NotNil(t, found, "%v", rendered.names())
			for _, text := range tt.text {
				assert.Contains(t, asYAML(t, found), text)
			}
			for _, text := range tt.missing {
				assert.NotContains(t, asYAML(t, found), text)
			}
		})
	}
}

func TestStackRefuses(t *testing.T) {
	for _, tt := range []struct{ name, values, want string }{
		{"an unknown value", `{server: []}`, "additional properties 'server' not allowed"},
		{"a source of code without a name", `{config: {code: {imgae: "code:1"}}}`, "at '/config/code'"},
		{"a volume of the host", `{servers: [{name: ca, ca: true, extraVolumes: [{name: a, hostPath: {path: /}}]}]}`, "additional properties 'hostPath' not allowed"},
		{"a reference that the chart sets", `{config: {authorityRef: other}}`, "at '/config': additional properties 'authorityRef' not allowed"},
		{"an unknown field of the Config", `{config: {puppet: {environment_timeout: 3m}}}`, "at '/config/puppet': additional properties 'environment_timeout' not allowed"},
		{"an unknown field of the CA", `{ca: {keyLength: 2048}}`, "at '/ca': additional properties 'keyLength' not allowed"},
		{"an unknown field of a Server", `{servers: [{name: a, ca: true, replica: 2}]}`, "at '/servers/0': additional properties 'replica' not allowed"},
		{"another operator's field of autoscaling", `{servers: [{name: a, ca: true, autoscaling: {enabled: true, targetCPUUtilizationPercentage: 80}}]}`, "at '/servers/0/autoscaling': additional properties 'targetCPUUtilizationPercentage' not allowed"},
		{"autoscaling that is not on", `{servers: [{name: a, ca: true, autoscaling: {maxReplicas: 5}}]}`, "at '/servers/0/autoscaling': missing property 'enabled'"},
		{"a budget that is not on", `{servers: [{name: a, ca: true, pdb: {minAvailable: 1}}]}`, "at '/servers/0/pdb': missing property 'enabled'"},
		{"a network policy that is not on", `{servers: [{name: a, ca: true, networkPolicy: {additionalIngress: []}}]}`, "at '/servers/0/networkPolicy': missing property 'enabled'"},
		{"a route that is not on", `{pools: [{name: puppet, route: {hostname: puppet.example.com}}]}`, "at '/pools/0/route': missing property 'enabled'"},
		{"measurements that are not on", `{config: {metrics: {graphite: {enabled: true, host: h}}}}`, "at '/config/metrics': missing property 'enabled'"},
		{"text for a number", `{servers: [{name: a, ca: true, replicas: "2"}]}`, "at '/servers/0/replicas': got string, want integer"},
		{"an unknown choice", `{pools: [{name: puppet, service: {type: Cluster}}]}`, "at '/pools/0/service/type': value must be one of"},
		{"a duration of two units", `{ca: {ttl: 1h30m}}`, "at '/ca/ttl': '1h30m' does not match pattern"},
		{"no name", `{servers: [{ca: true}]}`, "at '/servers/0': missing property 'name'"},
		{"a name in capitals", `{servers: [{name: CA, ca: true}]}`, "at '/servers/0/name': 'CA' does not match pattern"},
		{"no servers at all", `{servers: null}`, "missing property 'servers'"},
		{"a ReportProcessor of another Config", `{reportProcessors: [{name: a, configRef: other}]}`, "at '/reportProcessors/0': additional properties 'configRef' not allowed"},

		{"two servers of a name", `{servers: [{name: a, ca: true}, {name: a}]}`, `servers: two have the name "a"; use different names`},
		{"a pool that is not there", `{servers: [{name: a, ca: true, poolRefs: [web]}]}`, `servers: "a" has the pool "web" in poolRefs, and pools has puppet; add the pool there, or use one of these`},
		{"no pools", `{pools: []}`, `servers: "ca" has the pool "puppet" in poolRefs, and pools has none`},
		{"two CAs", `{servers: [{name: a, ca: true}, {name: b, ca: true}]}`, "servers: a, b have ca: true, and a CA has one server; remove ca from the others"},
		{"no CA", `{servers: [{name: a}]}`, "servers: no server has ca: true, so nothing runs the CA"},
		{"a CA here and elsewhere", `{ca: {external: {url: "https://ca.example.com"}}}`, `servers: "ca" has ca: true, and with ca.external the CA runs elsewhere; remove one of the two`},
		{"two certificates of the CA", `{ca: {serverCertificateRef: other}}`, `ca.serverCertificateRef: server "ca" has ca: true, and its Certificate is used`},
		{"two databases", `{database: {postgres: {host: pg, credentialsSecretRef: s}}, config: {databaseRef: other}}`, "database and config.databaseRef exclude each other"},
		{"a database of nothing", `{database: {postgres: {credentialsSecretRef: s}}}`, "missing property 'host'"},
		{"a database of nobody", `{database: {postgres: {host: pg}}}`, "missing property 'credentialsSecretRef'"},
		{"a database that is nowhere", `{database: {replicas: 1}}`, "database: postgres is required"},
		{"a database of a server's name", `{database: {name: ca, postgres: {host: pg, credentialsSecretRef: s}}}`, `servers: "ca" is also the name of the database`},
		{"a database that is on", `{database: {enabled: true, postgres: {host: pg, credentialsSecretRef: s}}}`, "enabled"},
		{"two classifiers", `{nodeClassifier: {url: u}, config: {nodeClassifierRef: other}}`, "nodeClassifier and config.nodeClassifierRef exclude each other"},
		{"a route without a Gateway", `{pools: [{name: puppet, route: {enabled: true, hostname: h}}]}`, `pools: the route of "puppet" has no Gateway; set gateway.name, or gatewayRef of the route`},
		{"a route without a host name", `{gateway: {name: g}, pools: [{name: puppet, route: {enabled: true}}]}`, `pools: the route of "puppet" has no hostname`},
		{"a name that is too long", `{pools: [{name: puppet}, {name: ` + strings.Repeat("a", 54) + `}]}`, `has 59 characters, and at most 58 are permitted; shorten it, or the name of the release`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := renderStack(t, tt.values)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

// TestStackNotes: Helm's final message matches the installed objects.
func TestStackNotes(t *testing.T) {
	for _, tt := range []struct {
		name, values  string
		said, notSaid []string
	}{
		{
			name: "one server", values: `{}`,
			said: []string{
				"-n openvox wait --for=condition=Ready", "--selector app.kubernetes.io/instance=mine\n", "get service mine-puppet\n",
				"--server mine-puppet.openvox.svc --ca_server mine-puppet.openvox.svc\n",
				"ghcr.io/slauger/openvox-server may lack", "SigningPolicy mine-autosign has any: true: every client that reaches the CA gets",
			},
		},
		{name: "several", values: multi(t), said: []string{"--server mine-puppet.openvox.svc --ca_server mine-ca.openvox.svc\n"}, notSaid: []string{"any: true", "by itself"}},
		{name: "no policies", values: `{config: {imageHasAutosign: true}, signingPolicies: []}`, said: []string{"The CA signs no request by itself: add a policy to signingPolicies."}},
		{
			name: "a CA that runs elsewhere", values: `{ca: {external: {url: "https://ca.example.com"}}, servers: [{name: web, poolRefs: [puppet]}], signingPolicies: []}`,
			said: []string{"--server mine-puppet.openvox.svc\n"}, notSaid: []string{"--ca_server", "by itself"},
		},
		{name: "no pool", values: `{servers: [{name: web, ca: true}], pools: []}`, said: []string{"wait --for=condition=Ready"}, notSaid: []string{"puppet agent"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			installed, err := dryRun(t, stackFolder, "openvox", tt.values)
			require.NoError(t, err)
			for _, text := range tt.said {
				assert.Contains(t, installed.Info.Notes+"\n", text)
			}
			for _, text := range tt.notSaid {
				assert.NotContains(t, installed.Info.Notes, text)
			}
		})
	}
}

// TestStackOnAControlPlane: Helm installs, upgrades and removes the stack, as the API server
// with the kinds has it.
func TestStackOnAControlPlane(t *testing.T) {
	t.Parallel()
	n := startCluster(t, "--without=cert-manager")
	values := func(text string) string {
		file := filepath.Join(t.TempDir(), "values.yaml")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		return file
	}
	helm := func(args ...string) (string, error) {
		return n.call(exec.CommandContext(t.Context(), n.helmPath, append(args, "--namespace", "openvox")...), "")
	}
	mustHelm := func(args ...string) {
		t.Helper()
		out, err := helm(args...)
		require.NoError(t, err, out)
	}
	stored := func(columns string) string {
		return n.must(t, "", "get", "certificateauthorities,certificates,configs,pools,servers,signingpolicies", "--namespace", "openvox", "-o", "custom-columns="+columns, "--no-headers")
	}

	out, err := helm("install", "mine", stackFolder, "--create-namespace")
	require.Error(t, err)
	require.Contains(t, out, "the cluster has no kind CertificateAuthority of openvox.voxpupuli.org/v1alpha1; install Lintel with systems.openvox.enabled=true first")

	n.must(t, "", "apply", "--server-side", "-k", "../../config/crd/openvox")
	n.must(t, "", "wait", "--for=condition=Established", "crd", "--all", "--timeout=1m")
	mustHelm("install", "mine", stackFolder, "--create-namespace")
	assert.Equal(t, []string{"CertificateAuthority/mine-ca", "Certificate/mine-ca", "Config/mine", "Pool/mine-puppet", "Server/mine-ca", "SigningPolicy/mine-autosign"},
		strings.Split(strings.TrimSpace(regexp.MustCompile(" +").ReplaceAllString(stored(":kind,:metadata.name"), "/")), "\n"))

	mustHelm("upgrade", "mine", stackFolder, "--values", values(multi(t)))
	before := stored(":kind,:metadata.name,:metadata.resourceVersion")
	assert.Contains(t, before, "mine-canary")
	assert.NotContains(t, before, "mine-autosign", "what values no longer say goes")
	mustHelm("upgrade", "mine", stackFolder, "--values", values(multi(t)))
	assert.Equal(t, before, stored(":kind,:metadata.name,:metadata.resourceVersion"), "nothing is written where nothing changed")

	out, err = helm("upgrade", "mine", stackFolder, "--set-json", `servers=[{"name": "other", "ca": true}]`)
	require.Error(t, err)
	require.Contains(t, out, "servers: the server with ca: true would have Certificate mine-other, and CertificateAuthority mine-ca has mine-ca; keep the name of the server")

	out, err = helm("upgrade", "mine", stackFolder, "--values", values(stackOf))
	require.Error(t, err)
	require.Contains(t, out, "certname is immutable")
	mustHelm("upgrade", "mine", stackFolder, "--values", values(strings.Replace(stackOf, "certname: ca.example.com", "certname: mine-ca", 1)))
	assert.Equal(t, "0", n.must(t, "", "get", "server/mine-web", "--namespace", "openvox", "-o", "jsonpath={.spec.replicas}"))
	mustHelm("uninstall", "mine")
	assert.Equal(t, []string{"Certificate", "mine-ca"}, strings.Fields(stored(":kind,:metadata.name")), "the CA that stays needs it")
	mustHelm("install", "mine", stackFolder)
}

// testStack goes from the chart to an agent's first catalog, by what Helm says at the end,
// and leaves nothing that runs.
func (n node) testStack(t *testing.T) {
	n.volume(t, "stack-data", "openvox", "production-ca-data", t.TempDir())
	helm := func(args ...string) (string, error) {
		return n.call(exec.CommandContext(t.Context(), n.helmPath, append(args, "--namespace", "openvox")...), "")
	}
	firstCatalog := func(certname string, more ...string) {
		t.Helper()
		began, notes := time.Now(), ""
		eventually(t, func() bool { // the Service of the webhook may take a moment
			out, err := helm(append([]string{"upgrade", "--install", "production", stackFolder, "--create-namespace",
				"--set", "config.image.repository=" + puppetImage + ",config.image.tag=" + stable + ",config.imageHasAutosign=true,config.code.image=" + codeImage + ":1"}, more...)...)
			notes = out
			return err == nil
		}, "the stack is admitted")
		wait := regexp.MustCompile(`(?s)kubectl (-n openvox wait .*?)\n\n`).FindStringSubmatch(notes)
		require.NotNil(t, wait, notes)
		n.must(t, "", strings.Fields(strings.ReplaceAll(wait[1], "\\", ""))...)
		t.Logf("from the chart to its servers: %s", time.Since(began).Round(time.Second))

		run := regexp.MustCompile(`--server (\S+) --ca_server (\S+)`).FindStringSubmatch(notes)
		require.NotNil(t, run, notes)
		web := n.newAgent(t, certname)
		web.server, web.caServer = run[1], run[2]
		eventually(t, func() bool { // servers that are replaced, and certificates that are issued again
			out, err := web.run(t)
			if err != nil {
				t.Log(out)
			}
			return strings.Contains(out, "compiled from code 1 for "+certname)
		}, "an agent gets its catalog")
		t.Logf("from the chart to an agent's first catalog: %s", time.Since(began).Round(time.Second))
	}
	authority := func() string {
		return n.must(t, "", "get", "secret/production-ca-ca", "--namespace", "openvox", "-o", "jsonpath={.data}")
	}
	firstCatalog("web1.example.com")
	had := authority()

	uninstall := func() {
		t.Helper()
		out, err := helm("uninstall", "production")
		require.NoError(t, err, out)
		eventually(t, func() bool {
			return n.must(t, "", "get", "pods,services,servers", "--namespace", "openvox", "-o", "name") == ""
		}, "nothing runs any more")
		require.Equal(t, had, authority())
	}
	uninstall()

	const java = `"javaArgs": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"`
	firstCatalog("web2.example.com",
		"--set-json", `servers=[{"name": "ca", "ca": true, "server": false, "poolRefs": ["ca"], `+java+`, "resources": {"limits": {"memory": "1Gi"}}}, {"name": "web", "poolRefs": ["puppet"], `+java+`, "resources": {"limits": {"memory": "1500Mi"}}}]`,
		"--set-json", `pools=[{"name": "ca"}, {"name": "puppet"}]`)
	require.Equal(t, had, authority(), "the same CA, with several servers")
	uninstall()
}
