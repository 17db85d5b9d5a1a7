package e2e

import (
	"context"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/csr/csrtest"
)

// startOpenVox gives the manager of the tests OpenVox's permissions and no others.
func startOpenVox(ctx context.Context, folder string) (stop func() error, err error) {
	var giveUp context.CancelFunc
	openVoxFolder = folder
	openVoxContext, giveUp = context.WithCancel(ctx)
	if output, err := cluster.Kubectl(ctx, "", "apply", "-k", "config/rbac/openvox"); err != nil {
		giveUp()
		return nil, fmt.Errorf("permitting openvox: %w: %s", err, output)
	}
	return func() error {
		giveUp() // a CA that no test has used does not start now
		if ca, err := puppetCA(); err == nil {
			ca.Stop()
		}
		return nil
	}, nil
}

func openVoxArgs() []string { return []string{"--openvox-key-bits=2048"} }

// openVoxEnv leads the manager to Services by way of a proxy.
func openVoxEnv() []string { return []string{"HTTPS_PROXY=" + services.URL, "NO_PROXY=", "no_proxy="} }

// requestToMain is a CertificateSigningRequest to namespace.main.
func requestToMain(t *testing.T, namespace, name string, template csrtest.Template) string {
	t.Helper()
	t.Cleanup(func() { _, _ = cluster.Kubectl(context.Background(), "", "delete", "csr", name, "--ignore-not-found") })
	return fmt.Sprintf(`{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":%q},
		"spec":{"signerName":"certificateauthorities.openvox.voxpupuli.org/%s.main","usages":["digital signature","client auth"],"request":%q}}`,
		name, namespace, base64.StdEncoding.EncodeToString(template.Make(t)))
}

const signingPolicies = `
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: CertificateAuthority
metadata: {name: main}
spec: {external: {url: "https://ca.example.com:8140"}}
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: SigningPolicy
metadata: {name: web}
spec:
  certificateAuthorityRef: main
  pattern: {allow: ["web*.example.com"]}
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: SigningPolicy
metadata: {name: provisioned}
spec:
  certificateAuthorityRef: main
  csrAttributes: [{name: pp_preshared_key, valueFrom: {secretKeyRef: {name: provisioning, key: psk}}}]
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: Certificate
metadata: {name: server}
spec: {authorityRef: main, certname: web-server.example.com}
`

// TestOpenVoxSigningRequests: requests to a CertificateAuthority are reviewed on creation and
// on approval, and requests to others are not.
func TestOpenVoxSigningRequests(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustKubectl(t, signingPolicies, "apply", "-n", namespace, "-f", "-")
	good := csrtest.Template{CommonName: "web1.example.com"}
	eventually(t, func() bool { // the manager reads policies from a cache
		output, ok := kubectl(t, requestToMain(t, namespace, "good", good), "apply", "-f", "-")
		return ok || strings.Contains(output, "already exists")
	}, "the policies to be known")

	output, ok := apply(t, requestToMain(t, namespace, "ip", csrtest.Template{CommonName: "web1.example.com", IPs: []string{"10.0.0.1"}}))
	require.False(t, ok)
	require.Contains(t, output, `signing policy "web": IP address 10.0.0.1 in subjectAltName is asked for, and signing policies permit DNS names only`)
	require.Contains(t, output, `signing policy "provisioned": it cannot be used: the value of pp_preshared_key: there is no Secret provisioning`)

	output, ok = apply(t, requestToMain(t, namespace, "ip-elsewhere", csrtest.Template{CommonName: "db.example.com", IPs: []string{"10.0.0.1"}}))
	require.False(t, ok)
	require.Contains(t, output, `signing policy "web": certname "db.example.com" matches none of its patterns (web*.example.com)`)
	require.Equal(t, 1, strings.Count(output, "IP address 10.0.0.1 in subjectAltName is asked for"), output)

	output, ok = apply(t, requestToMain(t, namespace, "reserved", csrtest.Template{CommonName: "web-server.example.com"}))
	require.False(t, ok)
	require.Contains(t, output, `certname "web-server.example.com" is reserved`)

	mustKubectl(t, "", "create", "secret", "generic", "provisioning", "-n", namespace, "--from-literal=psk=s3cret")
	key := csrtest.Extension(t, []int{1, 3, 6, 1, 4, 1, 34380, 1, 1, 4}, "s3cret")
	output, ok = apply(t, requestToMain(t, namespace, "provisioned", csrtest.Template{CommonName: "db.example.com", Extensions: []pkix.Extension{key}}))
	require.True(t, ok, output)

	output, ok = apply(t, requestToMain(t, namespace+"-x", "nowhere", good))
	require.False(t, ok)
	require.Contains(t, output, "names no CertificateAuthority that exists")

	// Approval asks again; denial never.
	mustKubectl(t, "", "delete", "signingpolicy", "web", "-n", namespace)
	eventually(t, func() bool {
		output, ok := kubectl(t, "", "certificate", "approve", "good")
		return !ok && strings.Contains(output, "certname") || !ok && strings.Contains(output, "pp_preshared_key is missing")
	}, "the approval to be refused")
	mustKubectl(t, "", "certificate", "deny", "good")

	other := strings.Replace(requestToMain(t, namespace, "other", csrtest.Template{CommonName: "Any Body"}),
		"certificateauthorities.openvox.voxpupuli.org/"+namespace+".main", "example.com/other", 1)
	output, ok = apply(t, other)
	require.True(t, ok, "requests to other signers are not our business: %s", output)
}

// TestOpenVoxSigningRequestNeedsThePermission: naming a signer is a permission of its own.
func TestOpenVoxSigningRequestNeedsThePermission(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustKubectl(t, signingPolicies, "apply", "-n", namespace, "-f", "-")
	signer := "certificateauthorities.openvox.voxpupuli.org/" + namespace + ".main"
	mustKubectl(t, "", "create", "clusterrole", "e2e-requester", "--verb=create,get", "--resource=certificatesigningrequests")
	mustKubectl(t, "", "create", "clusterrolebinding", "e2e-requester", "--clusterrole=e2e-requester", "--user=ann")
	// kubectl create checks that the resource exists, which signers do not.
	mustKubectl(t, fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"e2e-signer"},
		"rules":[{"apiGroups":["certificates.k8s.io"],"resources":["signers"],"resourceNames":[%q],"verbs":["reference"]}]}`, signer), "apply", "-f", "-")
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "clusterrole", "e2e-requester", "e2e-signer")
		_, _ = cluster.Kubectl(context.Background(), "", "delete", "clusterrolebinding", "e2e-requester", "e2e-signer", "--ignore-not-found")
	})
	request := requestToMain(t, namespace, "by-ann", csrtest.Template{CommonName: "web1.example.com"})
	eventually(t, func() bool {
		output, ok := kubectl(t, request, "create", "-f", "-", "--as=ann")
		return !ok && strings.Contains(output, `user "ann" may not ask signer `+signer) && !strings.Contains(output, "names no CertificateAuthority")
	}, "the request to be refused")
	mustKubectl(t, "", "create", "clusterrolebinding", "e2e-signer", "--clusterrole=e2e-signer", "--user=ann")
	eventually(t, func() bool {
		_, ok := kubectl(t, request, "create", "-f", "-", "--as=ann")
		return ok
	}, "the request to be admitted")
}

// TestOpenVoxCertificateRequests: cert-manager's requests to a CertificateAuthority are
// reviewed by the same rules.
func TestOpenVoxCertificateRequests(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustKubectl(t, signingPolicies, "apply", "-n", namespace, "-f", "-")
	request := func(group string, template csrtest.Template) string {
		return fmt.Sprintf(`{"apiVersion":"cert-manager.io/v1","kind":"CertificateRequest","metadata":{"generateName":"r-","namespace":%q},
			"spec":{"issuerRef":{"group":%q,"kind":"CertificateAuthority","name":"main"},"usages":["client auth"],"request":%q}}`,
			namespace, group, base64.StdEncoding.EncodeToString(template.Make(t)))
	}
	eventually(t, func() bool {
		_, ok := kubectl(t, request("openvox.voxpupuli.org", csrtest.Template{CommonName: "web1.example.com"}), "create", "-f", "-")
		return ok
	}, "a request that a policy matches")
	output, ok := kubectl(t, request("openvox.voxpupuli.org", csrtest.Template{CommonName: "db.example.com"}), "create", "-f", "-")
	require.False(t, ok)
	require.Contains(t, output, `signing policy "web": certname "db.example.com" matches none of its patterns (web*.example.com)`)
	output, ok = kubectl(t, request("other.example.com", csrtest.Template{CommonName: "db.example.com"}), "create", "-f", "-")
	require.True(t, ok, output)
}

// TestOpenVoxKinds: the CRDs and the rules refuse invalid objects, and no object waits for the
// objects that it refers to.
func TestOpenVoxKinds(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustKubectl(t, "", "apply", "-n", namespace, "-f", "config/samples/openvox")
	object := func(kind, spec string) string {
		return fmt.Sprintf(`{"apiVersion":"openvox.voxpupuli.org/v1alpha1","kind":%q,"metadata":{"name":"x","namespace":%q},"spec":%s}`, kind, namespace, spec)
	}
	const aSize = "a volume's size is a quantity above 0, such as 1Gi"
	for _, c := range [][3]string{
		{"SigningPolicy", `{"certificateAuthorityRef":"production-ca","pattern":{"allow":["web["]}}`, `spec.pattern.allow[0]: "web[" is not a glob`},
		{"SigningPolicy", `{"certificateAuthorityRef":"production-ca","pattern":{"allow":[]}}`, "spec.pattern.allow"},
		{"SigningPolicy", `{"certificateAuthorityRef":"production-ca","csrAttributes":[{"name":"pp_role"}]}`, "give exactly one of value and valueFrom"},
		{"SigningPolicy", `{"certificateAuthorityRef":"production-ca","csrAttributes":[{"name":"pp_role","value":"a","valueFrom":{"secretKeyRef":{"name":"b","key":"c"}}}]}`, "give exactly one of value and valueFrom"},
		{"SigningPolicy", `{"certificateAuthorityRef":"production-ca","csrAttributes":[{"name":"","value":"a"}]}`, "spec.csrAttributes[0].name"},
		{"SigningPolicy", `{"certificateAuthorityRef":"production-ca","pattern":{"allow":[""]}}`, "spec.pattern.allow[0]"},
		{"SigningPolicy", `{"certificateAuthorityRef":"production-ca","csrAttributes":[{"name":"pp_role","value":"a"},{"name":"pp_role","value":"b"}]}`, "Duplicate value"},
		{"SigningPolicy", `{"certificateAuthorityRef":"production-ca","csrAttributes":[{"name":"pp_rolle","value":"a"}]}`, `there is no extension or attribute "pp_rolle"`},
		{"SigningPolicy", `{"certificateAuthorityRef":"production-ca","csrAttributes":[{"name":"pp_role","value":"a"},{"name":"1.3.6.1.4.1.34380.1.1.13","value":"b"}]}`, "1.3.6.1.4.1.34380.1.1.13 is the same attribute as pp_role in spec.csrAttributes[0], with another value"},
		{"Certificate", `{"authorityRef":"production-ca","certname":"Puppet"}`, `spec.certname: Invalid value: "Puppet"`},
		{"Certificate", `{"authorityRef":"production-ca","certname":"production-ca-operator"}`, "is the operator's own"},
		{"Certificate", `{"authorityRef":"production-ca","certname":"x","dnsAltNames":["x.production-ca-operator"]}`, "is the operator's own"},
		{"Certificate", `{"authorityRef":"production-ca","certname":"puppet.example.com"}`, `spec.certname: Certificate "puppet" has "puppet.example.com" at CertificateAuthority "production-ca" already`},
		{"Certificate", `{"authorityRef":"production-ca","certname":"x","renewBefore":"1h30m"}`, "spec.renewBefore"},
		{"Certificate", `{"authorityRef":"production-ca"}`, "spec.certname: Required value"},
		{"Server", `{"configRef":"c","certificateRef":"s","extraVolumes":[{"name":"a","hostPath":{"path":"/"}}]}`, `unknown field "spec.extraVolumes[0].hostPath"`},
		{"Server", `{"configRef":"c","certificateRef":"s","extraVolumes":[{"name":"a"}]}`, "set exactly one of secret, configMap, emptyDir"},
		{"Server", `{"configRef":"c","certificateRef":"s","envFrom":[{"secretRef":{"name":"production-ca-autosign-policy"}}]}`, `spec.envFrom[0].secretRef.name: Secret "production-ca-autosign-policy"`},
		{"Server", `{"configRef":"c","certificateRef":"s","securityContext":{"runAsUser":0}}`, "spec.securityContext.runAsUser: Invalid value 0"},
		{"Server", `{"configRef":"c","certificateRef":"s","code":[{"image":"a"},{"image":"b"}]}`, "spec.code[0]: Required value: environment or mountPath"},
		{"Config", `{"image":{},"code":{"imgae":"a"}}`, "spec.code.imgae: unknown field"},
		{"Config", `{"image":{},"authorityRef":"production-ca","puppet":{"autosignCommand":"/hooks/sign"}}`, `spec.puppet.autosignCommand: CertificateAuthority "production-ca" has SigningPolicies (`},
		{"CertificateAuthority", `{"ttl":"1h30m"}`, "spec.ttl"},
		{"CertificateAuthority", `{"external":{"url":"https://a"},"storage":{"size":"5Gi"}}`, "an external CA has no storage here"},
		{"CertificateAuthority", `{"storage":{"size":"0"}}`, aSize},
		{"CertificateAuthority", `{"storage":{"size":0}}`, aSize},
		{"CertificateAuthority", `{"storage":{"size":"-1Gi"}}`, aSize},
		{"CertificateAuthority", `{"storage":{"size":-5}}`, aSize},
		{"CertificateAuthority", `{"storage":{"size":"0.0Mi"}}`, aSize},
		{"CertificateAuthority", `{"storage":{"size":"lots"}}`, aSize},
		{"CertificateAuthority", `{"storage":{"size":""}}`, aSize},
		{"CertificateAuthority", `{"intermediateCA":{"enabled":true}}`, "secretName is required where enabled is true"},
		{"Config", `{"image":{},"databaseRef":"a","puppetdb":{"serverUrls":["https://b"]}}`, "give one of databaseRef and puppetdb.serverUrls"},
		{"Config", `{"image":{},"puppet":{"extraConfig":{"server":{"autosign":"true"}}}}`, "this setting is rendered from"},
		{"Config", `{"image":{},"puppet":{"extraConfig":{"agent":{"a":"b\n[server]\nautosign = true"}}}}`, "spec.puppet.extraConfig.agent.a: a setting has"},
		{"Config", `{"image":{},"puppet":{"reports":"store\nautosign = true"}}`, "spec.puppet.reports: the value has one line"},
		{"Config", `{"image":{},"puppetserver":{"authorizationRules":[{"name":"a","matchRequest":{"path":"/a"}}]}}`, "give allow, deny or allowUnauthenticated"},
		{"Config", `{"image":{},"puppetserver":{"authorizationRules":[{"name":"a","allow":"*","matchRequest":{"path":"/a","method":["patch"]}}]}}`, `there is no method "patch"`},
		{"Config", `{"image":{},"logging":{"level":"LOUD"}}`, "spec.logging.level"},
		{"NodeClassifier", `{"url":"foreman.example.com"}`, "spec.url: it is http or https with a host"},
		{"NodeClassifier", `{"url":"https://a","request":{"body":"facts"}}`, "body is for method POST only"},
		{"NodeClassifier", `{"url":"https://a","request":{"method":"PUT"}}`, "spec.request.method"},
		{"NodeClassifier", `{"url":"https://a","request":{"path":"node"}}`, `spec.request.path: "node" is not a path`},
		{"NodeClassifier", `{"url":"https://a","response":{"format":"xml"}}`, "spec.response.format"},
		{"NodeClassifier", `{"url":"https://a","timeoutSeconds":0}`, "spec.timeoutSeconds"},
		{"NodeClassifier", `{"url":"https://a","auth":{"mtls":true,"bearer":{"secretKeyRef":{"name":"a","key":"b"}}}}`, "give at most one of mtls, token, bearer and basic"},
		{"ReportProcessor", `{"configRef":"","url":"https://a"}`, "spec.configRef"},
		{"ReportProcessor", `{"configRef":"c","url":"https://a","processor":"splunk"}`, "spec.processor"},
		{"ReportProcessor", `{"configRef":"c","url":"https://a","headers":[{"name":"Host","value":"b"}]}`, "the header Host is not to be set"},
		{"ReportProcessor", `{"configRef":"c","url":"https://a","headers":[{"name":"X-A"}]}`, "give exactly one of value and valueFrom"},
		{"ReportProcessor", `{"configRef":"c","url":"https://a","headers":[{"name":"X-A","valueFrom":{}}]}`, "give exactly one of secretKeyRef and configMapKeyRef"},
		{"ReportProcessor", `{"configRef":"c","url":"https://a","headers":[{"name":"X-A","value":"a\nb"}]}`, "more than one line"},
		{"Database", `{"certificateRef":"c"}`, "spec.postgres"},
		{"Database", `{"certificateRef":"c","postgres":{"host":"pg:5432","credentialsSecretRef":"s"}}`, `spec.postgres.host: "pg:5432" is neither a host name nor an IP address`},
		{"Database", `{"certificateRef":"c","postgres":{"host":"pg","credentialsSecretRef":"s","port":0}}`, "spec.postgres.port"},
		{"Database", `{"certificateRef":"c","postgres":{"host":"pg","credentialsSecretRef":"s","sslMode":"maybe"}}`, "spec.postgres.sslMode"},
		{"Database", `{"certificateRef":"c","postgres":{"host":"pg","credentialsSecretRef":"s"},"storage":{"size":"0"}}`, aSize},
		{"Server", `{"configRef":"c","certificateRef":"s","ca":true,"replicas":2}`, "there is one server of a CA, and not 2"},
		{"Server", `{"configRef":"c","certificateRef":"s","javaArgs":"-Xmx2g","resources":{"limits":{"memory":"1Gi"}}}`, "does not fit into the memory limit"},
		{"Pool", `{"route":{"enabled":true,"hostname":"*.example.com","gatewayRef":{"name":"g"}}}`, "spec.route.hostname"},
		{"Config", `{"image":{},"logging":{"loggers":{"${env.HOME}":"INFO"}}}`, "is not a name of a class or package"},
	} {
		output, ok := apply(t, object(c[0], c[1]))
		require.False(t, ok, c[1])
		require.Contains(t, output, c[2], c[1])
	}
	require.Contains(t, mustKubectl(t, object("SigningPolicy", `{"certificateAuthorityRef":"production-ca","any":true}`), "apply", "-f", "-"), "Warning: spec.any signs any certname")
	require.Contains(t, mustKubectl(t, object("SigningPolicy", `{"certificateAuthorityRef":"production-ca","csrAttributes":[{"name":"pp_role","value":"a"},{"name":"1.3.6.1.4.1.34380.1.1.13","value":"a"}]}`), "apply", "-f", "-"),
		"Warning: spec.csrAttributes[1]: 1.3.6.1.4.1.34380.1.1.13 is the same attribute")
	for _, size := range []string{`"1Gi"`, `"500M"`, `1073741824`, `"1.5Gi"`, `"1e9"`} {
		mustKubectl(t, object("CertificateAuthority", `{"storage":{"size":`+size+`}}`), "apply", "-f", "-")
	}
	mustKubectl(t, "", "delete", "ca", "x", "-n", namespace)
	mustKubectl(t, object("Config", `{"image":{}}`), "apply", "-f", "-")
	require.Equal(t, "latest /etc/puppetlabs/code/environments 1200000", mustGet(t, "cfg", "x", "-n", namespace,
		"-o", "jsonpath={.spec.image.tag} {.spec.puppet.environmentPath} {.spec.puppetserver.borrowTimeout}"), "defaults need no parent object")
	require.Empty(t, mustGet(t, "cfg", "x", "-n", namespace, "-o", "jsonpath={.spec.puppet.storeconfigs}{.spec.puppet.reports}"), "no PuppetDB by default")
	mustKubectl(t, object("NodeClassifier", `{"url":"https://a","auth":{"mtls":false,"basic":{"secretRef":{"name":"none yet"}}}}`), "apply", "-f", "-")
	require.Equal(t, "GET /node/{certname} yaml 10 username password", mustGet(t, "nc", "x", "-n", namespace,
		"-o", "jsonpath={.spec.request.method} {.spec.request.path} {.spec.response.format} {.spec.timeoutSeconds} {.spec.auth.basic.secretRef.usernameKey} {.spec.auth.basic.secretRef.passwordKey}"))
	require.Contains(t, mustKubectl(t, object("ReportProcessor", `{"configRef":"none yet","url":"http://a","auth":{"bearer":{"secretKeyRef":{"name":"a","key":"b"}}}}`), "apply", "-f", "-"), "Warning: spec.url is http, by which credentials are sent as plain text")
	const onVolume = `{"certificateRef":"none yet","postgres":{"host":"pg","credentialsSecretRef":"none yet","sslMode":"prefer"},"storage":{"size":%q}}`
	require.Contains(t, mustKubectl(t, object("Database", fmt.Sprintf(onVolume, "1Gi")), "apply", "-f", "-"), "Warning: spec.postgres.sslMode: with prefer the password")
	require.Equal(t, "ghcr.io/slauger/openvox-db openvoxdb 5432 8081", mustGet(t, "db", "x", "-n", namespace,
		"-o", "jsonpath={.spec.image.repository} {.spec.postgres.database} {.spec.postgres.port} {.spec.service.port}"))
	output, ok := apply(t, object("Database", fmt.Sprintf(onVolume, "2Gi")))
	require.False(t, ok)
	require.Contains(t, output, "the volumes of a StatefulSet cannot be changed")
	eventually(t, func() bool {
		return strings.HasPrefix(mustGet(t, "db", "x", "-n", namespace, "-o", `jsonpath={.status.url} {.status.phase} {.status.conditions[?(@.type=="Ready")].reason}`), "https://x."+namespace+".svc:8081 WaitingForCert WaitingForCertificate")
	}, "a Database waits for its certificate")
	mustKubectl(t, object("CertificateAuthority", `{"intermediateCA":{}}`), "apply", "-f", "-")
	require.Equal(t, "5y 5m 1Gi 768Mi", mustGet(t, "ca", "x", "-n", namespace,
		"-o", "jsonpath={.spec.ttl} {.spec.crlRefreshInterval} {.spec.storage.size} {.spec.resources.requests.memory}"))
}
