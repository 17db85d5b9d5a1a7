package policyset

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
)

func TestMissingData(t *testing.T) {
	const deny = "package p\nimport rego.v1\ndeny contains \"x\" if "
	lists := `{"forbidden": ["a"], "names": {"a": 1}}`
	for name, c := range map[string]struct {
		rego            string
		files           map[string]string
		certain, likely string // empty: there is none
	}{
		"a key":                {"data.lists.forbiden", nil, "", `p.rego:3:22: data.lists.forbiden is not in the source; did you mean forbidden?`},
		"by its elements":      {"{ some bad in data.lists.forbiden; bad }", nil, "", "p.rego:3:36: data.lists.forbiden"},
		"in brackets":          {`data.lists["forbiden"]`, nil, "", "did you mean forbidden?"},
		"below a key":          {"data.lists.names.b.c", nil, "", "data.lists.names.b is not in the source"},
		"below a list":         {"data.lists.forbidden.a", nil, "", "data.lists.forbidden.a is not in the source"},
		"a document":           {"data.nowhere.x", nil, "", "data.nowhere is not in the source: no package and no data file defines it"},
		"nearly a document":    {"data.list.forbidden", nil, "", "data.list is not in the source; did you mean lists?"},
		"Gatekeeper's":         {`data.inventory.cluster["v1"].Namespace[x]`, nil, "", "data.inventory is Gatekeeper's"},
		"kube-mgmt's":          {"data.kubernetes.ingresses[ns][name]", nil, "", "custom.requires and read data.cluster"},
		"negated":              {"not data.lists.forbiden", nil, "", "did you mean forbidden?"},
		"imported":             {"data.lib.ok", map[string]string{"lib.rego": "package lib\nimport data.lists as l\nok if l.forbiden"}, "", "lib.rego:3:7: data.lists.forbiden is not"},
		"a rule":               {"data.p.helpr\nhelper if input.name", nil, "p.rego:3:22: data.p.helpr is not in the source; did you mean helper?", ""},
		"another's":            {"data.lib.nothing", map[string]string{"lib.rego": "package lib\nok if input.name"}, "package lib has no such rule", ""},
		"by a library":         {"data.lib.ok", map[string]string{"lib.rego": "package lib\nok if data.lists.forbiden\nunused if data.nowhere"}, "", "lib.rego:2:7: data.lists.forbiden"},
		"beside packages":      {"data.a.nothing", map[string]string{"lib.rego": "package a.b\nok if input.name"}, "", "data.a.nothing is not in the source"},
		"in package and data":  {"data.lists.forbiden", map[string]string{"lib.rego": "package lists\nextra if input.name"}, "", "did you mean forbidden?"},
		"mocked by a test":     {"data.elsewhere.x", map[string]string{"p_test.rego": "package p_test\ntest_x if data.p.deny with data.elsewhere as {}"}, "", ""},
		"a part of it":         {"data.elsewhere", map[string]string{"p_test.rego": "package p_test\ntest_x if data.p.deny with data.elsewhere.x as {}"}, "", ""},
		"by an import":         {"data.elsewhere.x", map[string]string{"p_test.rego": "package p_test\nimport data.elsewhere as e\ntest_x if data.p.deny with e.x as {}"}, "", ""},
		"another is mocked":    {"data.lists.forbiden", map[string]string{"p_test.rego": "package p_test\ntest_x if data.p.deny with data.lists.forbidden as []"}, "", "did you mean forbidden?"},
		"its parent is mocked": {"data.lists.forbiden", map[string]string{"p_test.rego": "package p_test\ntest_x if data.p.deny with data.lists as {}"}, "", "did you mean forbidden?"},
		"mocked by a rule":     {"helper with data.elsewhere as {\"x\": 1}\nhelper if data.elsewhere.x", nil, "", ""},

		"right":              {"data.lists.forbidden[_] == data.lists.names.a", nil, "", ""},
		"all of it":          {"data.lists", nil, "", ""},
		"any key":            {"data.lists[input.name]", nil, "", ""},
		"object.get":         {`object.get(data.lists, "forbiden", [])`, nil, "", ""},
		"a part of a rule":   {"data.lib.value.a.b", map[string]string{"lib.rego": "package lib\nvalue := input.request"}, "", ""},
		"a rule in parts":    {"data.lib.value.a.c", map[string]string{"lib.rego": "package lib\nvalue.a.b := 1\nvalue.a[x] := x if x := input.name"}, "", ""},
		"a function":         {"data.lib.f(1)", map[string]string{"lib.rego": "package lib\nf(x) if x == 1"}, "", ""},
		"packages below":     {"data.a[_].ok", map[string]string{"lib.rego": "package a.b\nok if input.name"}, "", ""},
		"a package":          {"data.lib", map[string]string{"lib.rego": "package lib\nok if input.name"}, "", ""},
		"cluster objects":    {`data.cluster.Pod[ns][name]`, nil, "", ""},
		"read by no policy":  {"true", map[string]string{"lib.rego": "package lib\nok if data.nowhere"}, "", ""},
		"read by a test":     {"true", map[string]string{"p_test.rego": "package p_test\ntest_x if data.nowhere"}, "", ""},
		"parameters are not": {"input.parameters.nope.nope", nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"p.rego": deny + c.rego, "lists/data.json": lists}
			if name == "cluster objects" {
				files["p.rego"] = "# METADATA\n# custom:\n#   requires: [{group: \"\", kind: Pod}]\n" + files["p.rego"]
			}
			for file, text := range c.files {
				files[file] = text
			}
			set, err := Compile(definition.Source{Name: "s", Files: files})
			require.NoError(t, err)
			certain, likely := set.MissingData()
			for want, found := range map[*string]definition.CompileErrorList{&c.certain: certain, &c.likely: likely} {
				if *want == "" {
					require.Empty(t, found)
					continue
				}
				require.Len(t, found, 1)
				require.Contains(t, found[0].Error(), *want)
			}
		})
	}
}
