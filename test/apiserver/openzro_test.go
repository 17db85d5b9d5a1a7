package apiserver

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sadmission "k8s.io/apiserver/pkg/admission"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/yaml"

	rules "github.com/lintel-policy/lintel/policies/rules/openzro"
)

func openzro(t *testing.T, plural string) server {
	return newServer(t, "openzro/openzro.io_"+plural+".yaml")
}

// TestOpenZroDefaults are of manifests as the original operator took them.
func TestOpenZroDefaults(t *testing.T) {
	for name, c := range map[string]struct {
		plural, text string
		want         map[string]any
	}{
		"a cluster-scoped OZPolicy": {
			"ozpolicies", `
apiVersion: openzro.io/v1
kind: OZPolicy
metadata: {name: ssh}
spec: {name: SSH, description: to the bastions, sourceGroups: [Developers], destinationGroups: [Bastions], protocols: [tcp], ports: [22]}
`,
			map[string]any{
				"name": "SSH", "description": "to the bastions", "sourceGroups": []any{"Developers"}, "destinationGroups": []any{"Bastions"},
				"protocols": []any{"tcp"}, "ports": []any{int64(22)}, "bidirectional": true,
			},
		},
		"an OZRoutingPeer that says nothing": {
			"ozroutingpeers", `{apiVersion: openzro.io/v1, kind: OZRoutingPeer, metadata: {name: router}}`,
			map[string]any{"replicas": int64(3), "ephemeral": false, "exemptFromAdmission": true},
		},
		"an OZSetupKey of a Secret": {
			"ozsetupkeys", `{metadata: {name: key}, spec: {secretKeyRef: {name: key, key: setupkey}, managementURL: "https://openzro.example.com"}}`,
			map[string]any{
				"secretKeyRef": map[string]any{"name": "key", "key": "setupkey"}, "managementURL": "https://openzro.example.com",
				"type": "reusable", "ephemeral": false, "usageLimit": int64(0), "allowExtraDNSLabels": false,
			},
		},
		"an OZHTTPRoute": {
			"ozhttproutes", `{metadata: {name: app}, spec: {domain: app.example.com, targets: [{networkResourceRef: {name: app}}]}}`,
			map[string]any{
				"domain": "app.example.com", "passHostHeader": false, "rewriteRedirects": false,
				"targets": []any{map[string]any{"networkResourceRef": map[string]any{"name": "app"}, "path": "/"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, openzro(t, c.plural).admit(t, c.text)["spec"]) })
	}
}

func TestOpenZroValidation(t *testing.T) {
	for name, c := range map[string]struct {
		plural, text string
		want         string // part of the message; empty when the object is valid
	}{
		"a group":                  {"ozgroups", `{metadata: {name: a}, spec: {name: Backend Team}}`, ""},
		"a group without a name":   {"ozgroups", `{metadata: {name: a}, spec: {name: ""}}`, "spec.name"},
		"a policy without a name":  {"ozpolicies", `{metadata: {name: a}, spec: {name: ""}}`, "spec.name"},
		"protocol":                 {"ozpolicies", `{metadata: {name: a}, spec: {name: a, protocols: [icmp]}}`, `supported values: "tcp", "udp"`},
		"a port that is too large": {"ozpolicies", `{metadata: {name: a}, spec: {name: a, ports: [65536]}}`, "less than or equal to 65535"},
		"a negative port":          {"ozpolicies", `{metadata: {name: a}, spec: {name: a, ports: [-1]}}`, "greater than or equal to 0"},
		"a resource": {"ozresources", `{metadata: {name: a}, spec: {name: a, networkID: net, address: 10.0.0.1, groups: [g], policyName: "p,q", policySourceGroups: [s],
			policyFriendlyName: {p: P}, tcpPorts: [80], udpPorts: [53]}}`, ""},
		"a resource without a network":  {"ozresources", `{metadata: {name: a}, spec: {name: a, address: 10.0.0.1, groups: [g]}}`, "spec.networkID"},
		"a resource without an address": {"ozresources", `{metadata: {name: a}, spec: {name: a, networkID: net, address: "", groups: [g]}}`, "spec.address"},
		"a resource without groups":     {"ozresources", `{metadata: {name: a}, spec: {name: a, networkID: net, address: 10.0.0.1}}`, "spec.groups"},
		"a group that has no name":      {"ozresources", `{metadata: {name: a}, spec: {name: a, networkID: net, address: 10.0.0.1, groups: [""]}}`, "spec.groups[0]"},
		"every override of a routing peer": {"ozroutingpeers", `{metadata: {name: a}, spec: {replicas: 2, resources: {limits: {memory: 64Mi}}, labels: {a: b}, annotations: {a: b},
			nodeSelector: {a: b}, tolerations: [{operator: Exists}], volumes: [{name: v, emptyDir: {}}], volumeMounts: [{name: v, mountPath: /v}], privileged: true, ephemeral: true,
			exemptFromAdmission: false}}`, ""},
		"replicas":                        {"ozroutingpeers", `{metadata: {name: a}, spec: {replicas: -1}}`, "greater than or equal to 0"},
		"a routing peer with a long name": {"ozroutingpeers", `{metadata: {name: ` + strings.Repeat("a", 64) + `}}`, "at most 63 characters"},
		"a key that is made": {"ozsetupkeys", `{metadata: {name: a}, spec: {name: CI, type: one-off, expiresIn: 30d, usageLimit: 1, autoGroups: [g], ephemeral: true,
			allowExtraDNSLabels: true, replaceWhen: [Expired, Overused], volumes: [{name: v, emptyDir: {}}], volumeMounts: [{name: v, mountPath: /v}]}}`, ""},
		"a Secret without a name":  {"ozsetupkeys", `{metadata: {name: a}, spec: {secretKeyRef: {key: a}}}`, "name the Secret"},
		"a type of keys":           {"ozsetupkeys", `{metadata: {name: a}, spec: {type: once}}`, `supported values: "reusable", "one-off"`},
		"a replacement":            {"ozsetupkeys", `{metadata: {name: a}, spec: {replaceWhen: [Always]}}`, `supported values: "Revoked", "Expired", "Overused"`},
		"a network resource":       {"oznetworkresources", `{metadata: {name: a}, spec: {routingPeerRef: {name: r}, serviceRef: {name: s}, groups: [g]}}`, ""},
		"a Service without a name": {"oznetworkresources", `{metadata: {name: a}, spec: {routingPeerRef: {name: r}, serviceRef: {name: ""}}}`, "spec.serviceRef.name"},
		"a route without targets":  {"ozhttproutes", `{metadata: {name: a}, spec: {domain: a.example.com, targets: []}}`, "at least 1 items"},
	} {
		t.Run(name, func(t *testing.T) {
			server := openzro(t, c.plural)
			errs := server.validate(t, server.parse(t, c.text))
			if c.want == "" {
				assert.Empty(t, errs)
				return
			}
			assert.ErrorContains(t, errs.ToAggregate(), c.want)
		})
	}
}

func TestOpenZroImmutable(t *testing.T) {
	for name, c := range map[string]struct {
		plural, was, is string
		want            string // part of the message; empty when the change is valid
	}{
		"name of a group":                             {"ozgroups", `{spec: {name: a}}`, `{spec: {name: b}}`, "spec.name is immutable"},
		"network of a resource":                       {"ozresources", `{spec: {name: a, networkID: net, address: a.example.com, groups: [g]}}`, `{spec: {name: a, networkID: other, address: a.example.com, groups: [g]}}`, "spec.networkID is immutable"},
		"other of a resource":                         {"ozresources", `{spec: {name: a, networkID: net, address: a.example.com, groups: [g]}}`, `{spec: {name: b, networkID: net, address: b.example.com, groups: [h]}}`, ""},
		"name of a policy":                            {"ozpolicies", `{spec: {name: a}}`, `{spec: {name: b}}`, ""},
		"type of a key that was made":                 {"ozsetupkeys", `{spec: {}, status: {setupKeyID: k}}`, `{spec: {type: one-off}, status: {setupKeyID: k}}`, "spec.type is immutable once the server has made the key"},
		"type before":                                 {"ozsetupkeys", `{spec: {}}`, `{spec: {type: one-off}}`, ""},
		"type of a key that was there":                {"ozsetupkeys", `{spec: {}, status: {setupKeyID: k, adopted: true}}`, `{spec: {type: one-off}, status: {setupKeyID: k, adopted: true}}`, ""},
		"ephemeral of a key that was made":            {"ozsetupkeys", `{spec: {}, status: {setupKeyID: k}}`, `{spec: {ephemeral: true}, status: {setupKeyID: k}}`, "spec.ephemeral is immutable once the server has made the key"},
		"ephemeral before":                            {"ozsetupkeys", `{spec: {}}`, `{spec: {ephemeral: true}}`, ""},
		"ephemeral of a key that was there":           {"ozsetupkeys", `{spec: {}, status: {setupKeyID: k, adopted: true}}`, `{spec: {ephemeral: true}, status: {setupKeyID: k, adopted: true}}`, ""},
		"expiresIn of a key that was made":            {"ozsetupkeys", `{spec: {}, status: {setupKeyID: k}}`, `{spec: {expiresIn: 1d}, status: {setupKeyID: k}}`, "spec.expiresIn is immutable once the server has made the key"},
		"expiresIn before":                            {"ozsetupkeys", `{spec: {}}`, `{spec: {expiresIn: 1d}}`, ""},
		"expiresIn of a key that was there":           {"ozsetupkeys", `{spec: {}, status: {setupKeyID: k, adopted: true}}`, `{spec: {expiresIn: 1d}, status: {setupKeyID: k, adopted: true}}`, ""},
		"usageLimit of a key that was made":           {"ozsetupkeys", `{spec: {}, status: {setupKeyID: k}}`, `{spec: {usageLimit: 1}, status: {setupKeyID: k}}`, "spec.usageLimit is immutable once the server has made the key"},
		"usageLimit before":                           {"ozsetupkeys", `{spec: {}}`, `{spec: {usageLimit: 1}}`, ""},
		"usageLimit of a key that was there":          {"ozsetupkeys", `{spec: {}, status: {setupKeyID: k, adopted: true}}`, `{spec: {usageLimit: 1}, status: {setupKeyID: k, adopted: true}}`, ""},
		"allowExtraDNSLabels of a key that was made":  {"ozsetupkeys", `{spec: {}, status: {setupKeyID: k}}`, `{spec: {allowExtraDNSLabels: true}, status: {setupKeyID: k}}`, "spec.allowExtraDNSLabels is immutable once the server has made the key"},
		"allowExtraDNSLabels before":                  {"ozsetupkeys", `{spec: {}}`, `{spec: {allowExtraDNSLabels: true}}`, ""},
		"allowExtraDNSLabels of a key that was there": {"ozsetupkeys", `{spec: {}, status: {setupKeyID: k, adopted: true}}`, `{spec: {allowExtraDNSLabels: true}, status: {setupKeyID: k, adopted: true}}`, ""},
		"groups of a key":                             {"ozsetupkeys", `{spec: {}, status: {setupKeyID: k}}`, `{spec: {autoGroups: [g], replaceWhen: [Revoked]}, status: {setupKeyID: k}}`, ""},
		"routing peer":                                {"oznetworkresources", `{spec: {routingPeerRef: {name: r}, serviceRef: {name: s}}}`, `{spec: {routingPeerRef: {name: q}, serviceRef: {name: s}}}`, "spec.routingPeerRef is immutable"},
		"Service":                                     {"oznetworkresources", `{spec: {routingPeerRef: {name: r}, serviceRef: {name: s}}}`, `{spec: {routingPeerRef: {name: r}, serviceRef: {name: t}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := openzro(t, c.plural)
			was, is := server.parse(t, c.was), server.parse(t, c.is)
			errs, _ := server.cel.Validate(t.Context(), nil, server.structural, is, was, celconfig.RuntimeCELCostBudget)
			if c.want == "" {
				assert.Empty(t, errs)
				return
			}
			assert.ErrorContains(t, errs.ToAggregate(), c.want)
		})
	}
}

// TestOpenZroKinds: `kubectl get` has a column STATUS, which reads Reconciled or the error.
func TestOpenZroKinds(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(configDir, "crd", "openzro", "*_*.yaml"))
	require.NoError(t, err)
	require.Len(t, paths, 8)
	for _, path := range paths {
		spec := load(t, path).Spec
		assert.Equal(t, apiextensionsv1.NamespaceScoped, spec.Scope)
		require.Len(t, spec.Versions, 1)
		assert.Equal(t, "v1", spec.Versions[0].Name)
		assert.NotNil(t, spec.Versions[0].Subresources.Status)
		first := spec.Versions[0].AdditionalPrinterColumns[0]
		assert.Equal(t, "Status", first.Name)
		assert.Equal(t, `.status.conditions[?(@.type=="Ready")].reason`, first.JSONPath)
	}
}

// TestPodsThatAskForNothingAreNeverCalledFor asks the API server's own matcher.
func TestPodsThatAskForNothingAreNeverCalledFor(t *testing.T) {
	matcher := matcherOf(t, rules.PodConditions([]string{"lintel-system", "kube-system"}, []string{"team-*", "kube-system"}))
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	for name, c := range map[string]struct {
		namespace   string
		annotations map[string]string
		called      bool
	}{
		"it asks":                   {"shop", map[string]string{"openzro.io/setup-key": "ci"}, true},
		"no annotations":            {"shop", nil, false},
		"other annotations":         {"shop", map[string]string{"openzro.io/init-sidecar": "true"}, false},
		"profiles may select it":    {"team-a", nil, true},
		"and only there":            {"a-team-a", map[string]string{"a": "b"}, false},
		"a namespace of the system": {"kube-system", map[string]string{"openzro.io/setup-key": "ci"}, false},
		"the platform's namespace":  {"lintel-system", map[string]string{"openzro.io/setup-key": "ci"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "web-", Annotations: c.annotations}}
			kind := corev1.SchemeGroupVersion.WithKind("Pod")
			attributes := k8sadmission.NewAttributesRecord(pod, nil, kind, c.namespace, "", pods, "", k8sadmission.Create, nil, false, &user.DefaultInfo{Name: "jane"})
			result := matcher.Match(t.Context(), &k8sadmission.VersionedAttributes{Attributes: attributes, VersionedKind: kind, VersionedObject: pod}, nil, nil)
			require.NoError(t, result.Error)
			assert.Equal(t, c.called, result.Matches)
		})
	}
}

func TestUpdatesThatChangeNothingAreNotCalledFor(t *testing.T) {
	matcher := matcherOf(t, []admissionregistrationv1.MatchCondition{rules.Changed()})
	group := func(text string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(text), &object.Object))
		return object
	}
	stored := `{metadata: {finalizers: [openzro.io/cleanup]}, spec: {name: a}}`
	for text, called := range map[string]bool{
		`{metadata: {}, spec: {name: a}}`:                    false,
		`{metadata: {labels: {a: b}}, spec: {name: a}}`:      false,
		`{metadata: {}, spec: {name: b}}`:                    true,
		`{metadata: {annotations: {a: b}}, spec: {name: a}}`: true,
		`{metadata: {}}`: true,
		`{metadata: {}, spec: {name: a}, status: {groupID: g}}`: false,
		// An object that the rules deny can be let go.
		`{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", annotations: {a: b}}, spec: {name: a}}`: false,
	} {
		kind := schema.GroupVersionKind{Group: "openzro.io", Version: "v1", Kind: "OZGroup"}
		attributes := k8sadmission.NewAttributesRecord(group(text), group(stored), kind, "shop", "a",
			schema.GroupVersionResource{Group: "openzro.io", Version: "v1", Resource: "ozgroups"}, "", k8sadmission.Update, nil, false, &user.DefaultInfo{Name: "jane"})
		result := matcher.Match(t.Context(), &k8sadmission.VersionedAttributes{
			Attributes: attributes, VersionedKind: kind, VersionedObject: group(text), VersionedOldObject: group(stored),
		}, nil, nil)
		require.NoError(t, result.Error, text)
		assert.Equal(t, called, result.Matches, text)
	}
}

// TestOpenZroSamplesAreValid: in files named after the kinds.
func TestOpenZroSamplesAreValid(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(configDir, "samples", "openzro", "oz*.yaml"))
	require.NoError(t, err)
	require.Len(t, paths, 7)
	plurals := map[string]string{"ozpolicy": "ozpolicies"}
	for _, path := range paths {
		kind := strings.TrimSuffix(filepath.Base(path), ".yaml")
		server := openzro(t, cmp.Or(plurals[kind], kind+"s"))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, document := range strings.Split(string(text), "\n---\n") {
			server.admit(t, document)
		}
	}
}
