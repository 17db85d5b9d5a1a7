package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCheckAsksTheRulesOfSystems: objects that built-in rules refuse in the cluster are refused
// here, with the same messages. The first object in the manifests owns a name.
func TestCheckAsksTheRulesOfSystems(t *testing.T) {
	openvox := func(kind, name, spec string) string {
		return "---\napiVersion: openvox.voxpupuli.org/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: ov}\nspec: " + spec + "\n"
	}
	openzro := func(kind, name, spec string) string {
		return "---\napiVersion: openzro.io/v1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: net}\nspec: " + spec + "\n"
	}
	secret := func(name, annotations string) string {
		return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: " + name + ", namespace: shop, annotations: {" + annotations + "}}\n"
	}
	sync := func(name, spec string) string {
		return "---\napiVersion: zopp.dev/v1alpha1\nkind: ZoppSecretSync\nmetadata: {name: " + name + ", namespace: shop}\nspec: {source: {workspace: w, project: p, environment: e}, " + spec + "}\n"
	}
	const synced = `zopp.dev/sync: "true", zopp.dev/workspace: w, zopp.dev/project: p, zopp.dev/environment: e`
	shop := func(sources string) string {
		return "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: {zopp.dev/allowed-sources: \"" + sources + "\"}}\n"
	}
	certificate := "{authorityRef: main, certname: web.example.com}"
	ofServer := openvox("Certificate", "other", `{authorityRef: main, certname: x, csrExtensions: {ppCliAuth: true}}`)
	route := "{route: {enabled: true, hostname: puppet.example.com, gatewayRef: {name: g}}}"
	for name, c := range map[string]struct {
		manifests string
		flags     []string
		code      int
		says      []string
	}{
		"a heap": {openvox("Server", "heap", "{configRef: c, certificateRef: x, javaArgs: -Xmx3g, resources: {limits: {memory: 2Gi}}}"), nil, exitDenied,
			[]string{"spec.javaArgs: a heap of 3072 MiB does not fit into the memory limit of 2048 MiB"}},
		"one certname twice": {openvox("Certificate", "one", certificate) + openvox("Certificate", "two", certificate), nil, exitDenied,
			[]string{"Certificate ov/one: admitted", `spec.certname: Certificate "one" has "web.example.com" at CertificateAuthority "main" already`}},
		"not the CA's server":           {openvox("CertificateAuthority", "main", "{serverCertificateRef: web}") + ofServer, nil, exitDenied, []string{"only the CA's own server administers it"}},
		"the CA is not known":           {ofServer, nil, exitAllowed, []string{"Certificate ov/other: admitted with warnings"}},
		"one host twice":                {openvox("Pool", "one", route) + openvox("Pool", "two", route), nil, exitDenied, []string{"Pool ov/one: admitted", "spec.route.hostname"}},
		"an address that is not listed": {"---\napiVersion: v1\nkind: Namespace\nmetadata: {name: ov}\n" + openvox("Pool", "one", "{service: {externalIPs: [192.0.2.1]}}"), nil, exitDenied, []string{"spec.service.externalIPs[0]: namespace \"ov\" may not take the traffic to 192.0.2.1"}},
		"two servers of a CA": {
			openvox("Server", "one", "{configRef: c, certificateRef: x, ca: true}") + openvox("Server", "two", "{configRef: c, certificateRef: x, ca: true}") + openvox("Config", "c", "{authorityRef: main}"),
			nil, exitDenied, []string{"Server ov/one: admitted", "spec.ca: "},
		},
		"keys that are not given": {openvox("CertificateAuthority", "main", "{intermediateCA: {enabled: true, secretName: company}}") + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: company, namespace: ov}\n",
			nil, exitDenied, []string{`spec.intermediateCA.secretName: Secret "company" is not marked for this CertificateAuthority`}},
		"a policy":       {openvox("SigningPolicy", "p", "{certificateAuthorityRef: main, csrAttributes: [{name: nothing, value: x}]}"), nil, exitDenied, []string{"nothing"}},
		"a port":         {openzro("OZPolicy", "p", "{name: P, ports: [0], protocols: [tcp], sourceGroups: [a], destinationGroups: [b]}"), nil, exitDenied, []string{"spec.ports[0]: 0 is not a port; they go from 1 to 65535"}},
		"one name twice": {openzro("OZGroup", "one", "{name: Devs}") + openzro("OZGroup", "two", "{name: Devs}"), nil, exitDenied, []string{"OZGroup net/one: admitted", "OZGroup one of this namespace has the name"}},
		"half a source":  {secret("s", `zopp.dev/sync: "true", zopp.dev/workspace: w`) + shop("w/p/e"), nil, exitDenied, []string{"metadata.annotations[zopp.dev/project]: it is missing"}},
		"not permitted":  {secret("s", synced) + shop("w/p/other"), nil, exitDenied, []string{"w/p/e"}},
		"permitted":      {secret("s", synced) + shop("w/p/e"), nil, exitAllowed, []string{"Secret shop/s: admitted"}},
		"open":           {secret("s", synced), []string{"--zopp-namespace-mapping=open"}, exitAllowed, []string{"Secret shop/s: admitted"}},
		"restricted":     {secret("s", synced), nil, exitError, []string{`namespace "shop" is not at hand`}},
		"no such mode":   {secret("s", synced), []string{"--zopp-namespace-mapping=closed"}, exitError, []string{`--zopp-namespace-mapping: "closed" is not one of Restricted, Open`}},
		"one Secret twice": {sync("one", "target: {secretName: s}") + sync("two", "target: {secretName: s}") + secret("s", synced) + shop("w/p/e"), nil, exitDenied,
			[]string{"ZoppSecretSync shop/one: admitted", "ZoppSecretSync shop/two: denied", "Secret shop/s: denied"}},
		"a Secret elsewhere": {sync("one", "target: {secretName: s, namespace: other}"), nil, exitError, []string{`undecided  its Secret is in namespace "other", which is not at hand`}},
		"a plain Secret":     {secret("s", "a: b"), nil, exitError, []string{"no policies: give a folder"}},
		"an object that a system controls": {openzro("OZGroup", "routingpeer-a, ownerReferences: [{apiVersion: openzro.io/v1, kind: OZRoutingPeer, name: a, uid: u, controller: true}], labels: {app.kubernetes.io/managed-by: lintel-openzro}", "{name: Devs}"),
			nil, exitAllowed, []string{"OZGroup net/routingpeer-a: admitted"}},
		"a bundle": {"apiVersion: openclaw.enterprise.io/v1\nkind: PolicyBundle\nmetadata: {name: b, namespace: ns}\nspec: {policies: [{name: p, domain: model_routing, scope: user, rego: \"package x\\nallow if\"}]}\n",
			nil, exitDenied, []string{"PolicyBundle ns/b: denied"}},
	} {
		t.Run(name, func(t *testing.T) { checkSays(t, c.manifests, c.flags, c.code, c.says) })
	}
}

// TestSamplesAreAdmittedByCheck: those of all systems, without -p. Only the cluster decides about
// the sample of a certificate request.
func TestSamplesAreAdmittedByCheck(t *testing.T) {
	for _, system := range []string{"openclaw", "openvox", "openzro", "orloj", "zopp"} {
		var stdout, stderr strings.Builder
		exit := run(t.Context(), []string{"lintel", "check", "-f", filepath.Join("..", "..", "config", "samples", system)}, strings.NewReader(""), &stdout, &stderr)
		want, undecided := exitAllowed, 0
		if system == "openvox" {
			want, undecided = exitError, 1
			require.Contains(t, stdout.String(), "CertificateRequest default/web1: undecided")
		}
		require.EqualValues(t, want, exit, stdout.String()+stderr.String())
		require.Equal(t, undecided, strings.Count(stdout.String(), ": undecided\n"))
	}
}

// TestWhySaysWhatItDoesNotExplain: which objects rules are about that ship with Lintel.
func TestWhySaysWhatItDoesNotExplain(t *testing.T) {
	file, policy := filepath.Join(t.TempDir(), "o.yaml"), filepath.Join(t.TempDir(), "p.rego")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: openzro.io/v1\nkind: OZGroup\nmetadata: {name: g, namespace: net}\nspec: {name: Devs}\n"), 0o600))
	require.NoError(t, os.WriteFile(policy, []byte("package p\nimport rego.v1\ndeny contains \"no\" if false\n"), 0o600))
	var stdout, stderr strings.Builder
	run(t.Context(), []string{"lintel", "why", "-p", policy, "-f", file}, strings.NewReader(""), &stdout, &stderr)
	require.Contains(t, stderr.String(), "built-in rules also apply to OZGroup net/g, and are not explained; `lintel check` evaluates them")
}
