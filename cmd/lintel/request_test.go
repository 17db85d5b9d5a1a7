package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/cmd/lintel/review"
)

// seen is the input of a policy for the first object of a manifest.
func seen(t *testing.T, manifest string, args ...string) map[string]any {
	t.Helper()
	dir := folder(t, map[string]string{"p.rego": `# METADATA
# custom:
#   match: {operations: [CREATE, UPDATE, DELETE]}
package p

import rego.v1

deny contains json.marshal({"request": input.request, "name": input.name})
`})
	got := lintel(t, manifest, append([]string{"check", "-p", dir, "-f", "-", "-o", "json"}, args...)...)
	require.Equal(t, 1, got.code, got.stderr)
	var report review.Report
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
	text := report.Results[0].Deny[0].Msg
	var input map[string]any
	require.NoError(t, json.NewDecoder(strings.NewReader(text)).Decode(&input), text)
	return input
}

func TestRequest(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"
	input := seen(t, object, "--namespace", "shop")
	request := input["request"].(map[string]any)
	uid := request["uid"]
	delete(request, "uid")
	assert.Equal(t, map[string]any{
		"kind":            map[string]any{"group": "", "version": "v1", "kind": "ConfigMap"},
		"resource":        map[string]any{"group": "", "version": "v1", "resource": "configmaps"},
		"requestKind":     map[string]any{"group": "", "version": "v1", "kind": "ConfigMap"},
		"requestResource": map[string]any{"group": "", "version": "v1", "resource": "configmaps"},
		"name":            "web",
		"namespace":       "shop",
		"operation":       "CREATE",
		"userInfo":        map[string]any{},
		"object": map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "web", "namespace": "shop"},
		},
		"oldObject": nil,
		"dryRun":    false,
		"options":   map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
	}, request)
	assert.Len(t, uid, 36)
	assert.Equal(t, uid, seen(t, object, "--namespace", "shop")["request"].(map[string]any)["uid"])
}

func TestRequestByKindAndOperation(t *testing.T) {
	const crontab = "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: a}\n"
	const crd = "\n---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\nspec: {group: stable.example.com, scope: Cluster, names: {kind: CronTab, plural: ctabs}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n"
	for name, test := range map[string]struct {
		manifest  string
		args      []string
		resource  string
		namespace any
		object    any // metadata
		oldObject any // metadata
	}{
		"own namespace":  {"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}", []string{"-n", "other"}, "pods", "shop", map[string]any{"name": "a", "namespace": "shop"}, nil},
		"default":        {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}", nil, "pods", "default", map[string]any{"name": "a", "namespace": "default"}, nil},
		"no metadata":    {"apiVersion: v1\nkind: Pod", nil, "pods", "default", map[string]any{"namespace": "default"}, nil},
		"cluster-scoped": {"apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: a, namespace: x}", nil, "persistentvolumes", nil, map[string]any{"name": "a"}, nil},
		"Namespace":      {"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}", nil, "namespaces", "a", map[string]any{"name": "a", "labels": map[string]any{"kubernetes.io/metadata.name": "a"}}, nil},
		"unknown kind":   {crontab, nil, "crontabs", "default", map[string]any{"name": "a", "namespace": "default"}, nil},
		"defined kind":   {crontab + crd, nil, "ctabs", nil, map[string]any{"name": "a"}, nil},
		"update":         {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}", []string{"--operation", "update"}, "configmaps", "default", map[string]any{"name": "a", "namespace": "default"}, map[string]any{"name": "a", "namespace": "default"}},
		"delete":         {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}", []string{"--operation", "DELETE"}, "configmaps", "default", nil, map[string]any{"name": "a", "namespace": "default"}},
	} {
		t.Run(name, func(t *testing.T) {
			request := seen(t, test.manifest, test.args...)["request"].(map[string]any)
			metadata := func(field string) any {
				if object, ok := request[field].(map[string]any); ok {
					return object["metadata"]
				}
				return nil
			}
			assert.Equal(t, test.resource, request["resource"].(map[string]any)["resource"])
			assert.Equal(t, request["kind"].(map[string]any)["version"], request["resource"].(map[string]any)["version"])
			assert.Equal(t, test.namespace, request["namespace"])
			assert.Equal(t, test.object, metadata("object"))
			assert.Equal(t, test.oldObject, metadata("oldObject"))
		})
	}
}

func TestGeneratedName(t *testing.T) {
	input := seen(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: web-}")
	assert.Equal(t, "web-xxxxx", input["name"])
	request := input["request"].(map[string]any)
	assert.Equal(t, "web-xxxxx", request["name"])
	assert.Equal(t, map[string]any{"generateName": "web-", "name": "web-xxxxx", "namespace": "default"}, request["object"].(map[string]any)["metadata"])
}

// TestOnlyValidationSeesAGeneratedName: an API server generates the name after mutation. check and
// why report that the name is not the one of a cluster.
func TestOnlyValidationSeesAGeneratedName(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"p.rego": "package p\n\nimport rego.v1\n\ndefaults.metadata.labels.seen := object.get(input.request.object.metadata, \"name\", \"none\")\n\nwarn contains sprintf(\"validated %s with label %s\", [input.request.object.metadata.name, input.request.object.metadata.labels.seen])\n"})
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: web-}\n"
	for _, command := range []string{"check", "why"} {
		got := lintel(t, object, command, "-p", dir, "-f", "-")
		require.Equal(t, 0, got.code, got)
		assert.Contains(t, got.stdout, "validated web-xxxxx with label none [p warn")
		assert.Contains(t, got.stderr, `note: standard input:1: document 1: the API server generates the name of ConfigMap after mutation: policies that validate see "web-xxxxx" here, and a name that ends in five random characters in a cluster`)
	}
	named := lintel(t, strings.Replace(object, "{", "{name: a, ", 1), "check", "-p", dir, "-f", "-")
	assert.Contains(t, named.stdout, "validated a with label a")
	assert.Empty(t, named.stderr)

	review := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","kind":{"version":"v1","kind":"ConfigMap"},"resource":{"version":"v1","resource":"configmaps"},"namespace":"shop","operation":"CREATE","userInfo":{},"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"web-"}}}}`
	recorded := lintel(t, review, "check", "-p", dir, "-f", "-")
	assert.NotContains(t, recorded.stdout, "xxxxx", "a recorded request is evaluated as it is")
}

// TestPoliciesSeeWhatTheAPIServerMakes: defaults and conversions apply to the new object, to the old
// one, and to one that is deleted.
func TestPoliciesSeeWhatTheAPIServerMakes(t *testing.T) {
	t.Parallel()
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {q: abc}\n"
	object := func(input map[string]any, field string) map[string]any {
		found, _ := input["request"].(map[string]any)[field].(map[string]any)
		delete(found, "metadata")
		return found
	}
	want := map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": map[string]any{"q": "YWJj"}}
	assert.Equal(t, want, object(seen(t, secret), "object"))
	assert.Equal(t, want, object(seen(t, secret, "--operation", "UPDATE"), "object"))
	assert.Equal(t, want, object(seen(t, secret, "--operation", "UPDATE"), "oldObject"))
	assert.Equal(t, want, object(seen(t, secret, "--operation", "DELETE"), "oldObject"))
	old := folder(t, map[string]string{"old.yaml": secret})
	assert.Equal(t, want, object(seen(t, strings.Replace(secret, "abc", "x", 1), "--old", old), "oldObject"))
}

// TestADeletionHasAnOldObjectOnly: it is the object of --old or of -f.
func TestADeletionHasAnOldObjectOnly(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"p/p.yaml":  "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: t}\nspec:\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [DELETE], resources: [configmaps]}]}\n  validations: [{expression: 'object != null || oldObject.metadata.name != \"kept\"', message: it is kept}]\n---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: t}\nspec: {policyName: t, validationActions: [Deny]}\n",
		"kept.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\n",
		"odd.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\ndata: []\n",
	})
	kept, policies := dir+"/kept.yaml", dir+"/p"
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"old":            {[]string{"--old", kept, "--operation", "DELETE"}, 1, "it is kept"},
		"in lower case":  {[]string{"--old", kept, "--operation", "delete"}, 1, "it is kept"},
		"a collection":   {[]string{"--old", kept, "--operation", "DELETECOLLECTION"}, 1, "it is kept"},
		"the object":     {[]string{"-f", kept, "--operation", "DELETE"}, 1, "it is kept"},
		"both":           {[]string{"-f", kept, "--old", kept, "--operation", "DELETE"}, 2, "--operation DELETE removes one object: give it with -f or with --old, not with both"},
		"another":        {[]string{"-f", kept, "--old", kept, "--operation", "CREATE"}, 2, "--old is about an update or a deletion: leave out --operation CREATE"},
		"old of nothing": {[]string{"--old", kept}, 2, "no manifests: give a file, a folder or - with -f"},
		"cannot exist":   {[]string{"--old", dir + "/odd.yaml", "--operation", "DELETE"}, 2, "a cluster cannot contain this object: ConfigMap in version \"v1\" cannot be handled as a ConfigMap"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, command := range []string{"check", "why"} {
				got := lintel(t, "", append([]string{command, "-p", policies}, test.args...)...)
				assert.Equal(t, test.code, got.code, got)
				assert.Contains(t, got.stdout+got.stderr, test.want)
			}
		})
	}
}

// TestReviewsThatNoAPIServerSends: an answer about another object than the one in the request would
// be false comfort.
func TestReviewsThatNoAPIServerSends(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"p.rego": "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: Pod}], operations: [CREATE, UPDATE, DELETE]}\npackage p\n\nimport rego.v1\n\ndeny contains \"no\" if input.request.oldObject.spec\n"})
	reviewOf := func(kind, requestKind, operation, objects string) string {
		return `{"apiVersion":"admission.k8s.io/v1","kind":"` + kind + `","request":{"uid":"1","kind":{"group":"","version":"v1","kind":"` + requestKind +
			`"},"resource":{"group":"","version":"v1","resource":"pods"},"name":"web","namespace":"shop","operation":"` + operation + `",` + objects + `}}`
	}
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"},"spec":{}}`
	for name, c := range map[string]struct {
		review, want string
		code         int
	}{
		"another kind":         {reviewOf("AdmissionReview", "Secret", "CREATE", `"object":`+pod), "request.object is of kind Pod", 2},
		"the kind's case":      {reviewOf("AdmissionReview", "pod", "CREATE", `"object":`+pod), "request.object is of kind Pod", 2},
		"another old kind":     {reviewOf("AdmissionReview", "Pod", "UPDATE", `"object":`+pod+`,"oldObject":`+strings.Replace(pod, "Pod", "Secret", 1)), "request.oldObject is of kind Secret", 2},
		"the review's case":    {reviewOf("admissionreview", "Pod", "CREATE", `"object":`+pod), "write kind: AdmissionReview", 2},
		"UPDATE without old":   {reviewOf("AdmissionReview", "Pod", "UPDATE", `"object":`+pod), "note: standard input:1: document 1: the request lacks oldObject, which an API server sends on UPDATE", 0},
		"DELETE without old":   {reviewOf("AdmissionReview", "Pod", "DELETE", `"object":`+pod), "lacks oldObject, which an API server sends on DELETE", 0},
		"DELETE as it is sent": {reviewOf("AdmissionReview", "Pod", "DELETE", `"oldObject":`+pod), "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := lintel(t, c.review, "check", "-p", dir, "-f", "-")
			require.Equal(t, c.code, got.code, got.stdout+got.stderr)
			require.Contains(t, got.stderr, c.want)
			require.Equal(t, c.want == "", got.stderr == "")
		})
	}
}
