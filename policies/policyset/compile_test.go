package policyset

import (
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
)

func TestCompileErrorsNameFileLineAndColumn(t *testing.T) {
	header := func(custom string) string {
		return "# METADATA\n# custom:\n" + custom + "package p\ndeny contains \"x\"\n"
	}
	cases := map[string]struct {
		files map[string]string
		want  string
	}{
		"syntax":              {one("package p\n\ndeny contains msg if {\n"), "policy.rego:4: unexpected eof token"},
		"v0 by its imports":   {one("package p\nimport future.keywords.if\ndeny[msg] { msg := }"), "policy.rego:3:20: unexpected } token"},
		"empty file":          {one("\n# nothing\n"), "policy.rego: empty module"},
		"undefined function":  {one("package p\ndeny contains nope(1)"), "policy.rego:2:15: rego_type_error: undefined function nope"},
		"network":             {one("package p\ndeny contains http.send({})"), "policy.rego:2:15: http.send is not available to policies: it reaches the network; declare the cluster objects that a policy reads in custom.requires, and keep other data in data files"},
		"environment":         {one("package p\ndeny contains opa.runtime().env.HOME"), "policy.rego:2:15: opa.runtime is not available to policies: it reads the environment of the process; keep settings in input.parameters or data files"},
		"pure, and unbounded": {one("package p\ndeny contains graph.reachable_paths({}, [])"), "policy.rego:2:15: graph.reachable_paths is not available to policies: the time that it takes is not bounded by the size of its operands, and it cannot be stopped; use graph.reachable"},
		"clock without leave": {one("package p\ndeny contains sprintf(\"%d\", [time.now_ns()])"), "policy.rego:2:30: time.now_ns needs `clock: true` under custom in the METADATA of the package"},
		"Rego v2":             {one("package p\nimport rego.v2\ndeny contains 1 if not { input.a }"), "policy.rego:2:8: invalid import, `rego.v2` is not supported"},
		"keyword of Rego v2":  {one("package p\nimport future.keywords.not\ndeny contains 1 if not { input.a }"), "policy.rego:2:8: unexpected keyword, must be one of [contains every if in]"},
		"unsafe variable":     {one("package p\ndeny contains x if input.y"), "policy.rego:2:15: rego_unsafe_var_error: var x is unsafe"},
		"recursion":           {one("package p\ndeny contains x if some x in deny"), "policy.rego:2:1: rego_recursion_error: rule data.p.deny is recursive: data.p.deny -> data.p.deny"},
		"reserved rule names": {one("package p\nlintel__x := 1"), "policy.rego:2:1: rule names that start with lintel__ are reserved"},
		"deny as a function":  {one("package p\ndeny(x) if x"), "policy.rego:2:1: deny is a function here; an entry point takes no arguments: read input instead, or rename it"},
		"deny as an object":   {one("package p\ndeny[msg] if { msg := \"x\" }"), "policy.rego:2:1: deny must be a set of messages: write `deny contains msg if { … }`"},
		"patch no set":        {one("package p\npatch := {}"), "policy.rego:2:1: patch must be a set: write `patch contains op if { … }` or `patch contains [op, …] if { … }`"},
		"defaults a set":      {one("package p\ndefaults contains 1"), "policy.rego:2:1: defaults is a set here; it must be an object: write `defaults := {…}` or `defaults.spec.field := value`"},
		"match on a rule":     {one("package p\n# METADATA\n# custom:\n#   match: {}\ndeny contains 1"), "policy.rego:2:1: match is read from the METADATA of the package only, not of a rule; move it above `package p`"},
		"match without rules": {one("# METADATA\n# custom:\n#   match: {}\npackage p\nx := 1"), "policy.rego:1:1: package p has a match but none of deny, warn, patch, defaults: nothing would ever be asked"},
		"match twice": {map[string]string{"a.rego": header("#   match: {}\n"), "b.rego": header("#   match: {}\n")},
			"b.rego:1:1: METADATA: custom.match: the package has one already, at a.rego:1; keep one"},
		"unknown match field":  {one(header("#   match: {kind: [Pod]}\n")), "policy.rego:1:1: METADATA: custom.match.kind: unknown; did you mean kinds?"},
		"unlike any field":     {one(header("#   match: {colours: [red]}\n")), "METADATA: custom.match.colours: unknown; there are kinds, operations, subresources, namespaces, excludedNamespaces, namespaceSelector, objectSelector, expand"},
		"camel case":           {one(header("#   match: {excludeNamespaces: [a]}\n")), "custom.match.excludeNamespaces: unknown; did you mean excludedNamespaces?"},
		"kind as text":         {one(header("#   match: {kinds: [Deployment]}\n")), "custom.match.kinds[0]: is a string; a kind looks like {group: \"\", kind: Deployment}"},
		"kinds as text":        {one(header("#   match: {kinds: Pod}\n")), "custom.match.kinds: is a string, not a list such as [{group: \"\", kind: Pod}]"},
		"unknown part of kind": {one(header("#   match: {kinds: [{groups: a, kind: Pod}]}\n")), "custom.match.kinds[0].groups: unknown; did you mean group?"},
		"number as kind":       {one(header("#   match: {kinds: [{group: \"\", kind: 1}]}\n")), "custom.match.kinds[0].kind: is a number where a string belongs"},
		"match as a list":      {one(header("#   match: [Pod]\n")), "custom.match: is a list, not an object such as"},
		"operations as text":   {one(header("#   match: {operations: CREATE}\n")), "custom.match.operations: is a string where a list belongs"},
		"clock as text":        {one(header("#   clock: \"yes\"\n")), "custom.clock: is a string where true or false belongs"},
		"match at the top":     {one("# METADATA\n# match: {}\npackage p\ndeny contains 1"), "policy.rego:1:1: METADATA: match: belongs under custom: write custom.match"},
		"timeout at the top":   {one("# METADATA\n# title: T\n# timeout: 1s\npackage p\ndeny contains 1"), "METADATA: timeout: belongs under custom: write custom.timeout"},
		"match after a list":   {one("# METADATA\n# authors:\n# - A\n# match: {}\npackage p\ndeny contains 1"), "METADATA: match: belongs under custom"},
		"match after a block":  {one("# METADATA\n# custom:\n#   a: 1\n# match: {}\npackage p\ndeny contains 1"), "METADATA: match: belongs under custom"},
		"all of it indented":   {one("# METADATA\n#   title: T\n#   match: {}\npackage p\ndeny contains 1"), "METADATA: match: belongs under custom"},
		"another line break":   {one("# METADATA\n# title: T\u0085match: {}\npackage p\ndeny contains 1"), "METADATA: match: belongs under custom"},
		"kinds at the top":     {one("# METADATA\n# kinds: []\npackage p\ndeny contains 1"), "METADATA: kinds: belongs under custom.match: write custom.match.kinds"},
		"custom misspelled":    {one("# METADATA\n# customs:\n#   match: {}\npackage p\ndeny contains 1"), "policy.rego:1:1: METADATA: customs: unknown; did you mean custom? Keys of your own go under custom"},
		"an unknown key":       {one("# METADATA\n# severity: high\npackage p\ndeny contains 1"), "METADATA: severity: unknown; there are authors, compile, custom,"},
		"unknown on a rule":    {one("package p\n# METADATA\n# descripton: x\ndeny contains 1"), "policy.rego:2:1: METADATA: descripton: unknown; did you mean description?"},
		"kinds under custom":   {one(header("#   kinds: []\n")), "METADATA: custom.kinds: belongs under custom.match: write custom.match.kinds"},
		"misspelled block":     {one("# METDATA\n# custom:\n#   enforcement: warn\npackage p\ndeny contains 1"), "policy.rego:1:1: \"METDATA\" begins no METADATA block"},
		"block in lower case":  {one("# Licence\n\n# metadata\n# title: T\npackage p\ndeny contains 1"), "policy.rego:3:1: \"metadata\" begins no METADATA block"},
		"wrong operation":      {one(header("#   match: {operations: [PATCH]}\n")), "policy.rego:1:1: METADATA: custom.match.operations[0]: \"PATCH\" is not one of CREATE, UPDATE, DELETE, CONNECT"},
		"wrong selector":       {one(header("#   match: {objectSelector: {matchLabels: {\"a b\": c}}}\n")), "policy.rego:1:1: METADATA: custom.match.objectSelector.matchLabels: key: Invalid value: \"a b\""},
		"wrong glob":           {one(header("#   match: {namespaces: [\"[\"]}\n")), "policy.rego:1:1: METADATA: custom.match.namespaces[0]: \"[\" is not a glob"},
		"kind missing":         {one(header("#   match: {kinds: [{group: apps}]}\n")), "policy.rego:1:1: METADATA: custom.match.kinds[0]: kind is empty; write \"*\" for any"},
		"expand without Pod":   {one(header("#   match: {kinds: [{group: apps, kind: Deployment}], expand: warn}\n")), "policy.rego:1:1: METADATA: custom.match.expand: kinds does not name Pod"},
		"expand of Pods":       {one(header("#   match: {kinds: [{group: \"\", kind: Pods}], expand: warn}\n")), "custom.match.expand: kinds does not name Pod, whose policies it extends to Pod templates; did you mean kind Pod in group \"\"?"},
		"wrong enforcement":    {one(header("#   enforcement: dryrun\n")), "policy.rego:1:1: METADATA: custom.enforcement: \"dryrun\" is not one of deny, warn, audit"},
		"misspelled key":       {one(header("#   enforcment: warn\n")), "policy.rego:1:1: METADATA: custom.enforcment: unknown; did you mean enforcement?"},
		"timeout too long":     {one(header("#   timeout: 2s\n")), "policy.rego:1:1: METADATA: custom.timeout: 2s is not between 0 and 1s"},
		"timeout no duration":  {one(header("#   timeout: soon\n")), "policy.rego:1:1: METADATA: custom.timeout: \"soon\" is not a duration such as 100ms"},
		"requires a wildcard":  {one(header("#   requires: [{group: \"*\", kind: Pod}]\n")), "policy.rego:1:1: METADATA: custom.requires[0]: name one kind and its group"},
		"data no object":       {map[string]string{"data.yaml": "[1]"}, "data.yaml: data files hold an object at the top"},
		"data reserved":        {map[string]string{"cluster/data.yaml": "a: 1"}, "cluster/data.yaml: data.cluster is reserved; use another key"},
		"data malformed":       {map[string]string{"data.json": "{"}, "data.json: reading data: "},
		"data twice":           {map[string]string{"a/data.yaml": "x: 1", "data.yaml": "a: {x: 2}"}, "data.yaml: sets a value that another data file sets, too"},
		"data against package": {map[string]string{"p/data.yaml": "deny: 1", "policy.rego": "package p\ndeny contains \"x\""}, "policy.rego:2:1: conflicting rule for data path p/deny found"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(definition.Source{Name: "s", Files: c.files})
			require.Error(t, err)
			require.IsType(t, definition.CompileErrorList{}, err)
			require.Contains(t, err.Error(), c.want)
			require.NotContains(t, err.Error(), "lintel__d", "generated rules are no concern of the author")
		})
	}
}

func TestAllThatIsWrongWithABlockIsSaid(t *testing.T) {
	_, err := Compile(definition.Source{Name: "s", Files: one(`# METADATA
# enforcement: warn
# custom:
#   enforcment: warn
#   expand: warn
#   match: {kind: [Pod], kinds: [Pod, {kinds: Pod}], operations: all}
#   timeout: soon
package p
deny contains "x"`)})
	require.Equal(t, []string{
		`policy.rego:1:1: METADATA: enforcement: belongs under custom: write custom.enforcement`,
		`policy.rego:1:1: METADATA: custom.enforcment: unknown; did you mean enforcement?`,
		`policy.rego:1:1: METADATA: custom.expand: belongs under custom.match: write custom.match.expand`,
		`policy.rego:1:1: METADATA: custom.match.kind: unknown; did you mean kinds?`,
		`policy.rego:1:1: METADATA: custom.match.kinds[0]: is a string; a kind looks like {group: "", kind: Pod}`,
		`policy.rego:1:1: METADATA: custom.match.kinds[1].kinds: unknown; did you mean kind?`,
		`policy.rego:1:1: METADATA: custom.match.operations: is a string where a list belongs`,
		`policy.rego:1:1: METADATA: custom.timeout: "soon" is not a duration such as 100ms`,
	}, strings.Split(err.Error(), "\n"))
}

func TestEveryWrongValueOfABlockIsSaid(t *testing.T) {
	_, err := Compile(definition.Source{Name: "s", Files: map[string]string{
		"a.rego": `# METADATA
# custom:
#   match:
#     kinds: [{group: apps}, {group: "", kind: 1, version: 2}, {kind: Pod}]
#     operations: [PATCH, CREATE, GET]
#     namespaces: ["[", ""]
#     excludedNamespaces: [a, "[]"]
#     namespaceSelector: {matchLabels: {"a b": c, "d e": f}}
#     objectSelector: {matchExpressions: [{key: a, operator: Is}, {key: a, operator: Exists}, {key: b, operator: In}]}
#     expand: all
#   requires: [{group: "*", kind: Pod}, Service, {group: apps, kind: Deployment, version: v1}]
#   enforcement: dryrun
#   timeout: 2s
package p
deny contains "x"`,
		"b.rego": "# METADATA\n# custom:\n#   match: {kinds: [{group: apps, kind: Deployment}], expand: warn, operations: [X]}\npackage q\ndeny contains \"x\"",
	}})
	require.IsType(t, definition.CompileErrorList{}, err)
	var got []string
	for _, one := range err.(definition.CompileErrorList) {
		place, _, _ := strings.Cut(one.Error(), ": METADATA: ")
		got = append(got, place+" "+strings.SplitN(one.Error(), ": ", 4)[2])
	}
	require.Equal(t, []string{
		"a.rego:1:1 custom.enforcement",
		"a.rego:1:1 custom.match.excludedNamespaces[1]",
		"a.rego:1:1 custom.match.expand",
		"a.rego:1:1 custom.match.kinds[0]",
		"a.rego:1:1 custom.match.kinds[1].kind",
		"a.rego:1:1 custom.match.kinds[1].version",
		"a.rego:1:1 custom.match.namespaceSelector.matchLabels",
		"a.rego:1:1 custom.match.namespaceSelector.matchLabels",
		"a.rego:1:1 custom.match.namespaces[0]",
		"a.rego:1:1 custom.match.namespaces[1]",
		"a.rego:1:1 custom.match.objectSelector.matchExpressions[0]",
		"a.rego:1:1 custom.match.objectSelector.matchExpressions[2]",
		"a.rego:1:1 custom.match.operations[0]",
		"a.rego:1:1 custom.match.operations[2]",
		"a.rego:1:1 custom.requires[0]",
		"a.rego:1:1 custom.requires[1]",
		"a.rego:1:1 custom.requires[2]",
		"a.rego:1:1 custom.timeout",
		"b.rego:1:1 custom.match.operations[0]",
		"b.rego:1:1 custom.match.expand",
	}, got)
}

func TestCommentsThatAreNoMetadata(t *testing.T) {
	for _, text := range []string{
		"# About the data of pods\npackage p", "# METDATA\n\npackage p", "package p\n# METDATA\nx := 1",
		"# METADATA\n# title: T\n# custom:\n#   owner: team\npackage p", "# METADATA follows\n# title: T\npackage p",
	} {
		_, err := Compile(definition.Source{Name: "s", Files: one(text + "\ndeny contains \"x\"")})
		require.NoError(t, err, text)
	}
}

func one(text string) map[string]string { return map[string]string{"policy.rego": text} }

func TestEveryErrorOfASourceIsReported(t *testing.T) {
	_, err := Compile(definition.Source{Name: "s", Files: map[string]string{"a.rego": "package a\n}", "b.rego": "package b\n}"}})
	require.Len(t, err, 2)
}

func TestParametersMustBeAnObject(t *testing.T) {
	for _, text := range []string{"[1]", "{", `{"a":1,"a":2}`} {
		_, err := Compile(definition.Source{Name: "s", Parameters: []byte(text)})
		require.ErrorContains(t, err, "parameters: ", text)
	}
}

func TestATemplateNeedsARuleViolation(t *testing.T) {
	module := ast.MustParseModuleWithOpts("package x\n\ndeny[\"x\"] { true }", ast.ParserOptions{RegoVersion: ast.RegoV0})
	_, errs := readTemplateEntry(&definition.Template{Name: "X", Modules: []*ast.Module{module}})
	require.ErrorContains(t, errs, "template X has no rule violation")
}

func TestVersionsMixInOneSource(t *testing.T) {
	set := compileSource(t, definition.Source{Name: "s", Files: map[string]string{
		"v0.rego": "package v0\ndeny[msg] { msg := data.v1.help }",
		"v1.rego": "package v1\nhelp := \"from v1\" if true",
	}})
	require.Equal(t, 1, set.Policies(), "a package without entry points is a library")
	require.Equal(t, 2, set.Rules())
}

func TestTestsAreNotPartOfTheSnapshot(t *testing.T) {
	set := compileSource(t, definition.Source{Name: "s", Files: map[string]string{
		"p.rego":      "package p\ndeny contains \"x\"",
		"p_test.rego": "package p_test\ndeny contains \"never\"",
	}})
	require.Equal(t, 1, set.Policies())
}
