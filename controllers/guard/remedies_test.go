package guard

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/controlled"
)

// remedy is a step that a message describes, for a user who may write all objects.
type remedy struct {
	// kind, name and owner are of the object that the user writes. Without an owner, the object is
	// the user's own, or is deleted after its owner: the rule does not concern it.
	kind, name string
	owner      *rules.Owner
	// change is the write: nil for a deletion.
	change func(o object)
	// extra are fields of the object before the write.
	extra object
}

func ownerOfKind(group, kind string) *rules.Owner {
	return &rules.Owner{Group: group, Kind: kind, Namespace: "a", Name: "main"}
}

func annotated(key, value string) func(object) {
	return func(o object) { o["metadata"].(object)["annotations"].(object)[key] = value }
}

const (
	ofOpenVox = "openvox.voxpupuli.org"
	ofOpenZro = "openzro.io"
)

// remedies are the messages that describe a write of an object that a controller creates, by a
// part of the text. The value nil means that the message names objects of users only.
var remedies = map[string][]remedy{
	"Check kubectl logs job/%s, and delete the Job to run it again":                     {{kind: "Job", name: "main-ca-setup", owner: ownerOfKind(ofOpenVox, "CertificateAuthority")}},
	"Stop the CA's server and delete Secret %s; the setup Job then creates one":         {{kind: "Secret", name: "main-ca-setup", owner: ownerOfKind(ofOpenVox, "CertificateAuthority")}},
	"; to discard the record, annotate the CertificateAuthority with %s=%s":             {{kind: "CertificateAuthority", name: "main", change: annotated("openvox.voxpupuli.org/discard-revocations", "1")}},
	"If the new CRL is correct, annotate the CertificateAuthority with %s=%s":           {{kind: "CertificateAuthority", name: "main", change: annotated("openvox.voxpupuli.org/accept-crl", "1")}},
	"For a new CA, delete the CertificateAuthority, both Secrets and the volume":        {{kind: "Secret", name: "main-ca"}, {kind: "Secret", name: "main-ca-key"}},
	"kubectl delete certificates.openvox.voxpupuli.org %s -n %s revokes it, and":        {{kind: "Secret", name: "main-tls", owner: ownerOfKind(ofOpenVox, "Certificate")}},
	"delete Secret %s, and Lintel creates another key":                                  {{kind: "Secret", name: "any", owner: ownerOfKind(ofOpenZro, "OZSetupKey")}},
	"delete it, and create it again without immutable":                                  {{kind: "Secret", name: "any", owner: ownerOfKind(ofOpenZro, "OZSetupKey"), extra: object{"immutable": true}}},
	"the Secret is immutable, and keeps its values; delete it and make it again":        {{kind: "Secret", name: "any", owner: ownerOfKind("zopp.dev", "ZoppSecretSync"), extra: object{"immutable": true}}},
	"it is being deleted and waits for its finalizers; remove them":                     {{kind: "ConfigMap", name: "any", owner: ownerOfKind("openclaw.enterprise.io", "OpenClawInstance"), extra: object{}, change: func(o object) { delete(o["metadata"].(object), "finalizers") }}},
	"annotate it or the Secret %s with %s=%s":                                           {{kind: "OZGroup", name: "routingpeer-main", owner: ownerOfKind(ofOpenZro, "OZRoutingPeer"), change: annotated("openzro.io/account", "2")}},
	"or annotate this object with %s=true to adopt it":                                  {{kind: "OZGroup", name: "routingpeer-main", owner: ownerOfKind(ofOpenZro, "OZRoutingPeer"), change: annotated("openzro.io/adopt", "true")}},
	"; to delete this object and leave its items at the server, annotate it with %s=%s": {{kind: "OZSetupKey", name: "routingpeer-main", owner: ownerOfKind(ofOpenZro, "OZRoutingPeer"), change: annotated("openzro.io/deletion-policy", "Retain")}},

	"set a valid key, or remove the key to create one":                                                      nil,
	"is not controlled by this object and is left alone; delete it, or have this object under another name": nil,
	"is not controlled by this object and is left alone; delete it, so that %s can have its own":            nil,
	"does not belong to this object and is left alone; delete it, or have this object under":                nil,
	"does not belong to this object and is left alone: take another name in spec.target.secretName":         nil,
	"holds something else than this artifact; delete it so that it can be stored":                           nil, // in the manager's namespace
	"set spec.intermediateCA again to finish it, or delete the volume for a new CA":                         nil,
	"delete what starts them":                                                     nil, // after its owner
	"%s starts them again: delete it":                                             nil,
	"Revoke certificates and remove them from the CA, so":                         nil,
	"replace the Secret that spec.external.tlsSecretRef names first":              nil,
	"to have it replaced, put %s into spec.replaceWhen":                           nil, // the keys of OZRoutingPeers have all values
	"choose another name and remove the annotation, or have the administrator":    nil,
	"remove the annotation %s":                                                    nil, // of a paused Config
	"delete that one, or give this one another name or target namespace":          nil,
	"name another claim in its Server, or scale the Server to zero":               nil,
	"restore signed/<certname>.pem, or the CRL, from a backup of the CA":          nil,
	"store the new certificate in Secret ":                                        nil, // of an external CA
	"), which this object did not create: delete it at the server, or rename the": nil,
	"does not accept Services: annotate it with %s=true, which permits users":     nil, // an OZPolicy
	"choose another name, or delete that item (%s)":                               nil, // at the server
	"revoked with --force only. Delete the Certificate instead":                   nil,
	"cleaned with --force only. Delete the Certificate instead":                   nil,
	"spec.dnsZoneRef of the OZRoutingPeer: several namespaces share the account":  nil,
	"; to approve: kubectl annotate --overwrite policysource":                     nil, // a PolicySource
	"%s is damaged; delete it":                                                    nil, // a file
	"is the state of a run with other policies, records or flags: delete it":      nil, // a file
}

// asksToWrite and namesObject find messages that ask a user to write an object.
var (
	asksToWrite = regexp.MustCompile(`(^|[;:,.(]|\bor|\band|\bthen) ?([Dd]elete|[Rr]emove|[Ee]dit|[Pp]atch|[Rr]estore|[Aa]nnotate|kubectl (delete|edit|patch|annotate)) `)
	namesObject = regexp.MustCompile(`Secret|ConfigMap|\bJob\b|job/|Deployment|StatefulSet|\bService\b|Certificate|OZ[A-Z]|finalizers|annotat|this object|delete (it|that|what)`)
)

// TestRemediesAreAdmitted: a message never asks a user for a write that the rule for controlled
// objects denies.
func TestRemediesAreAdmitted(t *testing.T) {
	t.Parallel()
	snapshot, err := rules.New()
	require.NoError(t, err)
	for message, steps := range remedies {
		for _, step := range steps {
			build := func() object {
				o := object{"apiVersion": "v1", "kind": step.kind, "metadata": object{
					"namespace": "a", "name": step.name, "finalizers": []string{"example.com/stay"},
					"labels":      object{"app.kubernetes.io/managed-by": "operator"},
					"annotations": object{"openzro.io/account": "1"}, // a user has set an older value
				}}
				maps.Copy(o, step.extra)
				return o
			}
			old, now := build(), object(nil)
			if step.change != nil {
				now = build()
				step.change(now)
			}
			product := builtin.BuiltIn{
				Product:  builtin.Product{Name: "controlled", Entry: "controlled.lintel.dev"},
				Snapshot: snapshot,
				Facts: func(context.Context, *admission.Review) (any, error) {
					return rules.Facts{Users: []string{testUser}, Labels: []string{"operator"}, Owner: step.owner, Claimants: []rules.Owner{}}, nil
				},
			}.Validating()
			answer, err := product.Validate(t.Context(), reviewOfObject(t, step.kind, step.name, "tenant", old, now))
			require.NoError(t, err, message)
			require.Empty(t, answer.Denials, message)
		}
	}
}

// TestRemediesAreListed: a new message that asks for a write is added to the table, and so is
// checked against the rule.
func TestRemediesAreListed(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, folder := range []string{"../../controllers", "../../cmd"} {
		require.NoError(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(node ast.Node) bool {
				literal, ok := node.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				isListed := false
				for part := range remedies {
					if strings.Contains(text, part) {
						found[part], isListed = true, true
					}
				}
				if !isListed && len(strings.Fields(text)) > 3 && asksToWrite.MatchString(text) && namesObject.MatchString(text) {
					t.Errorf("%s: %q is in no row of the table of remedies: check that the rule for controlled objects permits the write, and add a row", path, text)
				}
				return true
			})
			return nil
		}))
	}
	for part := range remedies {
		require.True(t, found[part], "no message contains %q", part)
	}
}
