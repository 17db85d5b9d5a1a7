package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// differences is where the table is.
var differences = filepath.Join("..", "..", "docs", "openvox", "differences-from-openvox-operator.md")

const (
	tableBegins = "<!-- go test ./cmd/lintel -run TestDifferencesFromOpenVoxOperator -update -->\n"
	tableEnds   = "<!-- end -->\n"
)

// upstreamField is a field or value that manifests for openvox-operator have, by its
// documentation up to September 2026, in a manifest of ours.
type upstreamField struct {
	field, kind, spec string
	// note is what differs although the manifest is admitted: "" for nothing.
	note string
	// existing are manifests that are admitted before it.
	existing string
}

func openvoxObject(kind, name, spec string) string {
	return "---\napiVersion: openvox.voxpupuli.org/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: ov}\nspec: " + spec + "\n"
}

var allUpstreamFields = []upstreamField{
	{"code: one object", "Config", `{image: {repository: r, tag: "1"}, code: {image: "code:1"}}`, "", ""},
	{"code: a list, with environment and mountPath", "Config", `{image: {repository: r, tag: "1"}, code: [{image: "code:1", environment: production}, {claimName: modules, mountPath: /etc/puppetlabs/code/modules}]}`, "", ""},
	{"code: an empty list", "Server", `{configRef: c, certificateRef: s, code: []}`, "the Server has the Config's sources; without any, the code of its image is used, and no empty folder is mounted", ""},
	{"code: several sources without a target", "Config", `{image: {repository: r, tag: "1"}, code: [{image: a}, {image: b}]}`, "", ""},
	{"puppet.autosignCommand", "Config", `{image: {repository: r, tag: "1"}, authorityRef: main, puppet: {autosignCommand: /hooks/sign.sh}}`, "not together with SigningPolicies, which openvox-operator ignores then: the second of the two is refused", ""},
	{"puppet.externalNodesCommand", "Config", `{image: {repository: r, tag: "1"}, puppet: {externalNodesCommand: /hooks/enc.sh}}`, "", ""},
	{"puppet.externalNodesCommand with nodeClassifierRef", "Config", `{image: {repository: r, tag: "1"}, nodeClassifierRef: foreman, puppet: {externalNodesCommand: /hooks/enc.sh}}`, "", ""},
	{"readOnlyRootFilesystem not set", "Config", `{image: {repository: r, tag: "1"}}`, "the default is false, openvox-operator's is true: another default would replace all servers at the upgrade, and images of your own may write elsewhere. Images of `make image-openvox` run with `true`", ""},
	{"image without the major in its name", "Config", `{image: {repository: ghcr.io/slauger/openvox-server-9, tag: latest}}`, "the default repository is `ghcr.io/slauger/openvox-server`, and tags default to `latest`; openvox-operator requires both", ""},
	{"extraEnv, envFrom, extraVolumes, extraVolumeMounts", "Server", `{configRef: c, certificateRef: s, extraEnv: [{name: A, value: b}], envFrom: [{secretRef: {name: env}}], extraVolumes: [{name: files, secret: {secretName: files}}, {name: hooks, configMap: {name: hooks, defaultMode: 0755}}], extraVolumeMounts: [{name: files, mountPath: /etc/puppetlabs/extra-files, readOnly: true}]}`, "the user needs the permission to get the Secrets, or to create Pods; names of volumes begin with `extra-` in Pods", ""},
	{"extraVolumes with hostPath", "Server", `{configRef: c, certificateRef: s, extraVolumes: [{name: host, hostPath: {path: /}}]}`, "", ""},
	{"extraVolumeMounts below /etc/puppetlabs/code", "Server", `{configRef: c, certificateRef: s, extraVolumes: [{name: a, emptyDir: {}}], extraVolumeMounts: [{name: a, mountPath: /etc/puppetlabs/code/modules}]}`, "", ""},
	{"securityContext", "Server", `{configRef: c, certificateRef: s, securityContext: {runAsUser: 1001, runAsGroup: 0, runAsNonRoot: true, fsGroup: 1001, fsGroupChangePolicy: Always}}`, "without it, Pods run as the user of the image, and only those of a CA have an `fsGroup`", ""},
	{"securityContext as root", "Server", `{configRef: c, certificateRef: s, securityContext: {runAsUser: 0}}`, "", ""},
	{"securityContext", "Database", `{certificateRef: db, postgres: {host: pg, credentialsSecretRef: pg}, securityContext: {runAsUser: 1001, fsGroup: 1001}}`, "", ""},
	{"securityContext", "CertificateAuthority", `{securityContext: {fsGroup: 1001}}`, "of the setup Job's Pod; that of the CA's server is in its Server", ""},
	{"certname", "Certificate", `{authorityRef: main, certname: puppet, dnsAltNames: [puppet]}`, "required and immutable, as there", ""},
	{"certname left out", "Certificate", `{authorityRef: main}`, "", ""},
	{"certname of the operator", "Certificate", `{authorityRef: main, certname: main-operator}`, "", ""},
	{"configRef and selector, as in its sample pool.yaml", "Pool", `{configRef: production, selector: {openvox.voxpupuli.org/role: server}}`, "", ""},
	{"ca with several replicas", "Server", `{configRef: c, certificateRef: s, ca: true, replicas: 2}`, "", ""},
	{"ca with autoscaling", "Server", `{configRef: c, certificateRef: s, ca: true, autoscaling: {enabled: true}}`, "", ""},
	{"pdb that lets no Pod go", "Server", `{configRef: c, certificateRef: s, replicas: 1, pdb: {enabled: true, minAvailable: 1}}`, "a warning, because no node can be drained", ""},
	{"two Certificates of one certname", "Certificate", `{authorityRef: main, certname: puppet}`, "", openvoxObject("Certificate", "first", "{authorityRef: main, certname: puppet}")},
}

// TestDifferencesFromOpenVoxOperator: how Lintel takes the fields of openvox-operator, as the
// table of docs/openvox/differences-from-openvox-operator.md says.
func TestDifferencesFromOpenVoxOperator(t *testing.T) {
	var table strings.Builder
	table.WriteString("| kind | field or value in openvox-operator | here |\n|---|---|---|\n")
	for _, c := range allUpstreamFields {
		file := filepath.Join(t.TempDir(), "o.yaml")
		require.NoError(t, os.WriteFile(file, []byte(c.existing+openvoxObject(c.kind, "x", c.spec)), 0o600))
		var stdout, stderr strings.Builder
		exit := run(t.Context(), []string{"lintel", "check", "-f", file}, strings.NewReader(""), &stdout, &stderr)
		here := c.note
		switch int(exit) {
		case exitAllowed:
			if here == "" {
				here = "the same"
			}
		case exitDenied:
			require.Empty(t, c.note, "%s of %s is refused:\n%s", c.field, c.kind, stdout.String())
			here = "refused: " + denial(t, stdout.String())
		default:
			require.Fail(t, "undecided", "%s of %s:\n%s%s", c.field, c.kind, stdout.String(), stderr.String())
		}
		fmt.Fprintf(&table, "| %s | %s | %s |\n", c.kind, c.field, strings.ReplaceAll(here, "|", "\\|"))
	}
	text, err := os.ReadFile(differences)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), tableBegins)
	require.True(t, ok, "docs/openvox/differences-from-openvox-operator.md has no %s", tableBegins)
	stored, after, ok := strings.Cut(rest, tableEnds)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(differences, []byte(before+tableBegins+table.String()+tableEnds+after), 0o644))
		return
	}
	require.Equal(t, table.String(), stored, "run %s", tableBegins)
}

// denial is the first reason that check prints.
func denial(t *testing.T, out string) string {
	t.Helper()
	for line := range strings.SplitSeq(out, "\n") {
		if words, ok := strings.CutPrefix(line, "  deny "); ok {
			words = strings.TrimSpace(words)
			if _, after, ok := strings.Cut(words, " is invalid: "); ok {
				words = after
			}
			return words
		}
	}
	require.Fail(t, "no denial", out)
	return ""
}
