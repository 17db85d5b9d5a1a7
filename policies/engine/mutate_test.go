package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	library "gopkg.in/evanphx/json-patch.v4"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

func mutate(t *testing.T, object string, rego ...string) (*Mutation, string) {
	t.Helper()
	files := map[string]string{}
	for i, text := range rego {
		files[fmt.Sprintf("p%d.rego", i)] = text
	}
	set := compileSource(t, definition.Source{Name: "test", Files: files})
	mutation := snapshotOf(set).Mutate(context.Background(), makeReview(t, object), Options{})
	after, err := mutation.Review.Object()
	require.NoError(t, err)
	return mutation, string(after)
}

// applied is what the API server makes of the patch, with the library it uses.
func applied(t testing.TB, object string, ops []jsonpatch.Operation) string {
	t.Helper()
	text, err := json.Marshal(ops)
	require.NoError(t, err)
	patch, err := library.DecodePatch(text)
	require.NoError(t, err)
	after, err := patch.Apply([]byte(object))
	require.NoError(t, err, "%s\non %s", text, object)
	return string(after)
}

func TestMutate(t *testing.T) {
	const bare = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"a"},{"name":"b"}],"big":9007199254740993,"none":null}}`
	cases := map[string]struct {
		rego []string
		want string // the object, or the whole denial's words
		fail bool
	}{
		"a missing parent is made": {
			rego: []string{"package p\npatch contains {\"op\": \"add\", \"path\": \"/metadata/labels/team\", \"value\": \"x\"}"},
			want: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"team":"x"}},"spec":{"containers":[{"name":"a"},{"name":"b"}],"big":9007199254740993,"none":null}}`,
		},
		"a null parent is replaced, a missing list is made": {
			rego: []string{`package p
patch contains {"op": "add", "path": "/spec/none/x", "value": 1} if input.request.object.spec.none == null
patch contains [{"op": "add", "path": "/spec/list/-", "value": 1}, {"op": "add", "path": "/spec/list/-", "value": 2}] if not input.request.object.spec.list`},
			want: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"a"},{"name":"b"}],"big":9007199254740993,"none":{"x":1},"list":[1,2]}}`,
		},
		"a pointer's escapes": {
			rego: []string{"package p\npatch contains {\"op\": \"add\", \"path\": \"/metadata/annotations/a.io~1b~0c\", \"value\": \"x\"}"},
			want: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","annotations":{"a.io/b~c":"x"}},"spec":{"containers":[{"name":"a"},{"name":"b"}],"big":9007199254740993,"none":null}}`,
		},
		"defaults fill only what is missing or null": {
			rego: []string{"package p\ndefaults := {\"spec\": {\"none\": \"set\", \"big\": 1, \"containers\": [], \"deep\": {\"er\": true}}, \"metadata\": {\"name\": \"other\"}}"},
			want: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"a"},{"name":"b"}],"big":9007199254740993,"none":"set","deep":{"er":true}}}`,
		},
		"defaults as separate rules, of two policies": {
			rego: []string{"package p\ndefaults.metadata.labels.a := \"1\"", "package q\ndefaults.metadata.labels.b := \"2\""},
			want: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"a":"1","b":"2"}},"spec":{"containers":[{"name":"a"},{"name":"b"}],"big":9007199254740993,"none":null}}`,
		},
		"one patch follows from another": {
			rego: []string{
				"package p\npatch contains {\"op\": \"add\", \"path\": \"/spec/two\", \"value\": 2} if input.request.object.spec.one",
				"package q\npatch contains {\"op\": \"add\", \"path\": \"/spec/one\", \"value\": 1}",
			},
			want: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"a"},{"name":"b"}],"big":9007199254740993,"none":null,"one":1,"two":2}}`,
		},
		"every container": {
			rego: []string{`package p
patch contains {"op": "add", "path": sprintf("/spec/containers/%d/image", [i]), "value": "x"} if {
	some i, c in input.request.object.spec.containers
	not c.image
}`},
			want: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","image":"x"}],"big":9007199254740993,"none":null}}`,
		},
		"remove, move, copy and test": {
			rego: []string{`package p
patch contains [
	{"op": "test", "path": "/spec/containers/0/name", "value": "a"},
	{"op": "copy", "from": "/spec/containers/0/name", "path": "/spec/copied"},
	{"op": "move", "from": "/spec/none", "path": "/spec/moved"},
	{"op": "remove", "path": "/spec/containers/0"},
] if not input.request.object.spec.copied`},
			want: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"b"}],"big":9007199254740993,"copied":"a","moved":null}}`,
		},
		"the same change by two policies": {
			rego: []string{"package p\npatch contains {\"op\": \"add\", \"path\": \"/spec/x\", \"value\": 1}", "package q\ndefaults.spec.x := 1"},
			want: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"a"},{"name":"b"}],"big":9007199254740993,"none":null,"x":1}}`,
		},
		"two policies append to one list, and others change its elements": {
			rego: []string{
				"package p\nimport rego.v1\npatch contains {\"op\": \"add\", \"path\": \"/spec/containers/-\", \"value\": {\"name\": \"p\"}} if not has(\"p\")\nhas(n) if input.request.object.spec.containers[_].name == n",
				"package q\nimport rego.v1\npatch contains {\"op\": \"add\", \"path\": \"/spec/containers/-\", \"value\": {\"name\": \"q\"}} if not has(\"q\")\nhas(n) if input.request.object.spec.containers[_].name == n",
				"package r\nimport rego.v1\npatch contains {\"op\": \"add\", \"path\": sprintf(\"/spec/containers/%d/x\", [i]), \"value\": 1} if { some i, c in input.request.object.spec.containers; not c.x }",
			},
			want: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"a","x":1},{"name":"b","x":1},{"name":"p","x":1},{"name":"q","x":1}],"big":9007199254740993,"none":null}}`,
		},
		"two policies append to a list that is not there yet": {
			rego: []string{
				"package p\nimport rego.v1\npatch contains {\"op\": \"add\", \"path\": \"/spec/new/-\", \"value\": \"p\"} if not has(\"p\")\nhas(n) if input.request.object.spec.new[_] == n",
				"package q\nimport rego.v1\npatch contains {\"op\": \"add\", \"path\": \"/spec/new/-\", \"value\": \"q\"} if not has(\"q\")\nhas(n) if input.request.object.spec.new[_] == n",
			},
			want: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"a"},{"name":"b"}],"big":9007199254740993,"none":null,"new":["p","q"]}}`,
		},
		"another name": {
			rego: []string{"package p\npatch contains {\"op\": \"replace\", \"path\": \"/metadata/name\", \"value\": \"x\"}"},
			want: "policy p cannot mutate the object: path is /metadata/name, which says what the object is; deny instead",
			fail: true,
		},
		"all metadata": {
			rego: []string{"package p\npatch contains {\"op\": \"move\", \"from\": \"/metadata\", \"path\": \"/spec/x\"}"},
			want: "policy p cannot mutate the object: from is /metadata, which says what the object is; deny instead",
			fail: true,
		},
		"conflict": {
			rego: []string{"package p\npatch contains {\"op\": \"add\", \"path\": \"/spec/x\", \"value\": 1}", "package q\npatch contains {\"op\": \"add\", \"path\": \"/spec/x/y\", \"value\": 2}"},
			want: "policy q cannot mutate the object: it changes /spec/x/y, which policy p of source test (patch at p0.rego:2) changes, too; leave the change to one of them, or make both in one member",
			fail: true,
		},
		"two members change one list": {
			rego: []string{"package p\npatch contains {\"op\": \"remove\", \"path\": \"/spec/containers/0\"}\npatch contains {\"op\": \"remove\", \"path\": \"/spec/containers/1\"}"},
			want: "policy p cannot mutate the object: it changes /spec/containers, which policy p of source test (patch at p0.rego:2) changes, too; leave the change to one of them, or make both in one member",
			fail: true,
		},
		"never settles": {
			rego: []string{"package p\npatch contains {\"op\": \"add\", \"path\": \"/spec/containers/-\", \"value\": {}}"},
			want: "policy p cannot mutate the object: it never settles: after 10 rounds it still changes the object (/spec/containers/-); guard the rule so that it finds nothing to do on an object it has patched",
			fail: true,
		},
		"does not apply": {
			rego: []string{"package p\npatch contains {\"op\": \"replace\", \"path\": \"/spec/nothing\", \"value\": 1}"},
			want: "policy p cannot mutate the object: its patch does not apply: replace /spec/nothing: there is no \"nothing\"",
			fail: true,
		},
		"below a scalar": {
			rego: []string{"package p\npatch contains {\"op\": \"add\", \"path\": \"/spec/big/x\", \"value\": 1}"},
			want: "policy p cannot mutate the object: its patch does not apply: add /spec/big/x: \"x\" is below a number, which has no fields",
			fail: true,
		},
		"wrong types": {
			rego: []string{"package p\npatch contains \"x\""},
			want: "policy p cannot mutate the object: an operation is an object {op, path, value}, not a string",
			fail: true,
		},
		"unknown operation": {
			rego: []string{"package p\npatch contains {\"op\": \"delete\", \"path\": \"/x\"}"},
			want: "policy p cannot mutate the object: op is \"delete\", not one of add, remove, replace, move, copy, test",
			fail: true,
		},
		"the whole document": {
			rego: []string{"package p\npatch contains {\"op\": \"replace\", \"path\": \"\", \"value\": {}}"},
			want: "policy p cannot mutate the object: path is \"\", not a JSON pointer such as /metadata/labels/team",
			fail: true,
		},
		"defaults of the wrong type": {
			rego: []string{"package p\ndefaults := [1]"},
			want: "policy p cannot mutate the object: defaults is a list, not an object",
			fail: true,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			mutation, after := mutate(t, bare, c.rego...)
			if c.fail {
				require.Len(t, mutation.Denials, 1)
				require.Equal(t, c.want, mutation.Denials[0].Words)
				require.Empty(t, mutation.Patch)
				require.JSONEq(t, bare, after, "a refused object stays as it came")
				return
			}
			require.Empty(t, denials(&mutation.Decision))
			require.JSONEq(t, c.want, after)
			require.Contains(t, after, "9007199254740993", "numbers keep every digit")
			require.JSONEq(t, c.want, applied(t, bare, mutation.Patch))
		})
	}
}

// TestPoliciesTouchDisjointPlaces puts one patch each of two policies side by side,
// in both orders.
func TestPoliciesTouchDisjointPlaces(t *testing.T) {
	const object = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"list":["a","b"],"none":null,"map":{"x":1}}}`
	add := func(path string) string { return fmt.Sprintf(`{"op": "add", "path": %q, "value": "v"}`, path) }
	replace := func(path string) string { return fmt.Sprintf(`{"op": "replace", "path": %q, "value": "v"}`, path) }
	guarded := func(path, value string) string {
		return fmt.Sprintf(`{"op": "test", "path": %q, "value": %s}, %s`, path, value, add("/spec/other"))
	}
	copied := func(from string) string {
		return fmt.Sprintf(`{"op": "copy", "from": %q, "path": "/spec/other"}`, from)
	}
	for name, c := range map[string]struct {
		a, b     string
		conflict string // where; empty: none
	}{
		"append to a list to make, and its index": {add("/spec/new/-"), add("/spec/new/0"), "/spec/new"},
		"append to a list to make, and a map":     {add("/spec/new/-"), add("/spec/new/key"), "/spec/new"},
		"the same in place of null":               {add("/spec/none/-"), add("/spec/none/key"), "/spec/none"},
		"append to a list below one to make":      {add("/spec/new/deep/-"), add("/spec/new/deep"), "/spec/new/deep"},
		"append, and the element that follows":    {add("/spec/list/-"), replace("/spec/list/2"), "/spec/list/-"},
		"test of a changed value":                 {replace("/spec/map/x"), guarded("/spec/map/x", "1"), "/spec/map/x"},
		"test of what holds a changed value":      {replace("/spec/map/x"), guarded("/spec/map", `{"x": 1}`), "/spec/map"},
		"test of a parent to make":                {add("/spec/none/key"), guarded("/spec/none", "null"), "/spec/none"},
		"copy of a changed value":                 {replace("/spec/map/x"), copied("/spec/map/x"), "/spec/map/x"},
		"copy out of a list that shifts":          {add("/spec/list/0"), copied("/spec/list/1"), "/spec/list"},
		"copy of the element that an append adds": {add("/spec/list/-"), copied("/spec/list/2"), "/spec/list/-"},
		"two keys of a map to make":               {add("/spec/new/a"), add("/spec/new/b"), ""},
		"both append to a list to make":           {add("/spec/new/-"), add("/spec/new/-") + ", " + add("/spec/other"), ""},
		"append, and an element that is there":    {add("/spec/list/-"), replace("/spec/list/1"), ""},
		"both test one value":                     {guarded("/spec/map/x", "1"), `{"op": "test", "path": "/spec/map/x", "value": 1}, ` + add("/spec/third"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			policy := func(name, ops string) string {
				return fmt.Sprintf("package %s\npatch contains [%s] if not input.request.object.metadata.labels.%s\ndefaults.metadata.labels.%s := \"done\"", name, ops, name, name)
			}
			for _, rego := range [][]string{{policy("p", c.a), policy("q", c.b)}, {policy("p", c.b), policy("q", c.a)}} {
				mutation, after := mutate(t, object, rego...)
				if c.conflict == "" {
					require.Empty(t, denials(&mutation.Decision))
					require.JSONEq(t, after, applied(t, object, mutation.Patch))
					continue
				}
				require.Len(t, mutation.Denials, 1)
				words := mutation.Denials[0].Words
				require.Contains(t, words, "policy q cannot mutate the object: it ")
				require.Contains(t, words, ", which policy p of source test (patch at p0.rego:2) ")
				require.Contains(t, words, " "+c.conflict)
			}
		})
	}
}

func TestIgnoreLeavesTheFailingPolicyOut(t *testing.T) {
	set := compileSource(t, definition.Source{Name: "test", FailurePolicy: definition.Ignore, Files: map[string]string{
		"bad.rego":  "package bad\npatch contains {\"op\": \"remove\", \"path\": \"/spec/nothing\"}",
		"good.rego": "package good\ndefaults.spec.x := 1",
	}})
	mutation := snapshotOf(set).Mutate(context.Background(), makeReview(t, pod), Options{})
	require.Empty(t, mutation.Denials)
	require.Len(t, mutation.Warnings, 1)
	require.Contains(t, mutation.Warnings[0].Words, "policy bad cannot mutate the object")
	require.Equal(t, []jsonpatch.Operation{{Op: "add", Path: "/spec/x", Value: jsonRaw("1")}}, mutation.Patch)
}

func TestIgnoreKeepsNothingOfAPolicyThatFailsLater(t *testing.T) {
	set := compileSource(t, definition.Source{Name: "test", FailurePolicy: definition.Ignore, Files: map[string]string{
		"restless.rego": "package restless\npatch contains {\"op\": \"add\", \"path\": \"/spec/list/-\", \"value\": \"x\"}",
		"good.rego":     "package good\ndefaults.spec.x := 1",
	}})
	mutation := snapshotOf(set).Mutate(context.Background(), makeReview(t, pod), Options{})
	require.Equal(t, []jsonpatch.Operation{{Op: "add", Path: "/spec/x", Value: jsonRaw("1")}}, mutation.Patch)
	require.Len(t, mutation.Warnings, 1)
	require.Contains(t, mutation.Warnings[0].Words, "it never settles")
}

func TestMutationRunsOnCreateUnlessUpdateIsNamed(t *testing.T) {
	rego := func(operations string) string {
		return "# METADATA\n# custom:\n#   match:\n#     kinds: [{group: \"\", kind: Pod}]\n" + operations + "package p\ndefaults.spec.x := 1"
	}
	for name, c := range map[string]struct {
		rego           string
		create, update int
	}{
		"silent":           {rego(""), 1, 0},
		"update alone":     {rego("#     operations: [UPDATE]\n"), 0, 1},
		"both":             {rego("#     operations: [CREATE, UPDATE]\n"), 1, 1},
		"neither of them":  {rego("#     operations: [DELETE]\n"), 0, 0},
		"with subresource": {rego("#     subresources: [status]\n"), 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			snapshot := snapshotOf(compile(t, c.rego))
			count := func(options ...reviewOption) int {
				return len(snapshot.Mutate(context.Background(), makeReview(t, pod, options...), Options{}).Patch)
			}
			require.Equal(t, c.create, count())
			require.Equal(t, c.update, count(operation("UPDATE")))
			require.Zero(t, count(operation("DELETE")))
			require.Zero(t, count(field("subResource", "status")))
		})
	}
}

// TestWhatIsNeverPatched: policies never patch a deletion, a subresource, or an object that
// is being deleted and only loses a finalizer.
func TestWhatIsNeverPatched(t *testing.T) {
	const always = "# METADATA\n# custom: {match: {operations: [CREATE, UPDATE, DELETE], subresources: [status]}}\npackage p\ndefaults.spec.x := 1"
	const leaving = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["a"]}}`
	left := strings.Replace(leaving, `["a"]`, `[]`, 1)
	snapshot := snapshotOf(compile(t, always))
	for name, c := range map[string]struct {
		object  string
		options []reviewOption
		want    int
	}{
		"an object":           {pod, nil, 1},
		"a deletion":          {pod, []reviewOption{operation("DELETE")}, 0},
		"a subresource":       {pod, []reviewOption{field("subResource", "status")}, 0},
		"a finalizer removed": {left, []reviewOption{operation("UPDATE"), field("oldObject", jsonRaw(leaving))}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			mutation := snapshot.Mutate(t.Context(), makeReview(t, c.object, c.options...), Options{})
			require.Len(t, mutation.Patch, c.want)
		})
	}
}
