package gatekeeper

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/test/properties"
)

// The packages of randomFile: some are above others.
var randomPackages = []string{"a", "a.b", "a.b.c", "shop", "shop.web", "lib", "lib.text", "team.one", "team.two", "team.three", "other", "another"}

// randomFile returns a module; some modules are invalid by themselves or together with others.
func randomFile(r *rand.Rand) string {
	pick := func(of []string) string { return of[r.IntN(len(of))] }
	own, to := pick(randomPackages), pick(randomPackages)
	var rules, imports, block []string
	add := func(format string, args ...any) { rules = append(rules, fmt.Sprintf(format, args...)) }
	n := r.IntN(4)
	add("deny contains \"%d\" if input.request.object.metadata.labels.l%d", r.IntN(1000), n)
	for range r.IntN(4) {
		switch r.IntN(28) {
		case 0:
			add("f(x) := x")
		case 1:
			add("f(x) := [x, %d]", n)
		case 2:
			add("g(x, y) := [x, y]")
		case 3:
			add("value := %d", n)
		case 4, 5, 6:
			imports = append(imports, "import data."+to+" as imported")
			add("deny contains sprintf(\"%%v\", [imported.value]) if imported.value > 1")
		case 7, 8:
			add("warn contains sprintf(\"%%v\", [data.%s.f(%d)])", to, n)
		case 9:
			add("warn contains \"%s\" if data.%s[_]", to, to)
		case 10:
			add("warn contains name if { some name; name == \"value\"; data.%s[name] }", to)
		case 11:
			if r.IntN(4) == 0 {
				add("warn contains \"any\" if { some name; data[name]; name == \"%s\" }", to)
			}
		case 12:
			add("deny contains \"listed\" if data.settings.names[_] == input.request.object.metadata.name")
		case 13:
			block = append(block, "#   requires: [{group: \"\", kind: Service}]")
			add("warn contains \"service\" if some service in data.cluster.Service[\"shop\"]; service.spec.type == \"x\"")
		case 14, 26, 27:
			add("warn contains \"read\" if data.cluster.Service[_].web.metadata.labels.l%d", n)
		case 15:
			add("denny contains \"never\" if input.a")
		case 16:
			add("warn contains \"used\" if data.%s.denny", to)
		case 17:
			add("warn contains \"namespace\" if input.namespace.metadata.labels.l%d", n)
		case 18:
			add("warn contains \"signed\" if input.csr")
		case 19:
			add("deny contains \"review\" if input.review.object")
		case 20:
			add("b := {\"c\": %d}", n) // in a, in the way of a.b
		case 21:
			add("warn contains \"with\" if data.%s.deny with input as {\"a\": %d}", to, n)
		case 22:
			add("warn contains \"mocked\" if data.%s.value == 7 with data.%s.value as 7", to, to)
		case 23:
			block = append(block, "#   enforcement: "+pick([]string{"deny", "warn", "audit", "no"}))
		case 24:
			add("%s", pick([]string{"deny contains nope(1)", "deny contains x if input.y", "lintel__x := 1", "deny contains {", "deny contains `1` if time.now_ns() > 1"}))
		case 25:
			add("shared(x) := data.%s.g(x, 1)", to)
		}
	}
	text := ""
	if len(block) > 0 {
		slices.Sort(block)
		text = "# METADATA\n# custom:\n" + strings.Join(slices.Compact(block), "\n") + "\n"
	}
	return text + "package " + own + "\nimport rego.v1\n" + strings.Join(slices.Compact(imports), "\n") + "\n" + strings.Join(rules, "\n") + "\n"
}

// randomEdit changes files.
func randomEdit(r *rand.Rand, files map[string]string) map[string]string {
	files = maps.Clone(files)
	names := slices.Sorted(maps.Keys(files))
	switch r.IntN(14) {
	case 0:
		delete(files, names[r.IntN(len(names))])
	case 1:
		from := names[r.IntN(len(names))]
		if strings.HasSuffix(from, ".rego") {
			files["renamed-"+fmt.Sprint(r.IntN(20))+".rego"] = files[from]
			delete(files, from)
		}
	case 2:
		files["settings/data.yaml"] = fmt.Sprintf("names: [web, n%d]", r.IntN(5))
	case 3:
		delete(files, "settings/data.yaml")
	case 4:
		files["shop/data.yaml"] = []string{"free: 1", "deny: 1", "web: {value: 1}"}[r.IntN(3)]
	case 5:
		delete(files, "shop/data.yaml")
	case 6, 7:
		kind := fmt.Sprintf("K%d", r.IntN(4))
		files[kind+".yaml"] = makeTemplate(kind, fmt.Sprintf("package x\n\nviolation[{\"msg\": msg}] { msg := \"%d\"; input.review.object.metadata.labels.l%d }", r.IntN(9), r.IntN(4)))
	case 8, 9:
		kind := fmt.Sprintf("K%d", r.IntN(4))
		files[kind+"-one.yaml"] = makeConstraint(kind, "one", fmt.Sprintf("{enforcementAction: %s}", []string{"deny", "warn", "dryrun", "never"}[r.IntN(4)]))
	case 10:
		delete(files, fmt.Sprintf("K%d-one.yaml", r.IntN(4)))
	default:
		files[fmt.Sprintf("%d.rego", r.IntN(14))] = randomFile(r)
	}
	if len(files) == 0 {
		files["0.rego"] = randomFile(r)
	}
	return files
}

// said is all that a set says: of itself, and of some reviews.
func said(t *testing.T, set *engine.PolicySet) []any {
	t.Helper()
	all := []any{
		set.Identity(), set.Digest(), engine.Describe(set), set.Policies(), set.Rules(), set.Warnings(), set.Requires(),
		set.Projection(), set.UndefinedData(), set.NeverEvaluated(), set.Defines("settings.names"), set.Files(),
	}
	for i := range 4 {
		labels := fields{fmt.Sprintf("l%d", i): "x"}
		for _, name := range []string{"web", "n1"} {
			all = append(all, ask(t, set, createPod("shop", name, labels), engine.Options{Offline: true, Namespace: readNamespace(t, []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","labels":{"l1":"x"}}}`))}))
		}
	}
	return all
}

// errorsOf are the errors, without the circle of a recursion: OPA begins it anywhere.
func errorsOf(err error) (out []string) {
	if err == nil {
		return nil
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		line, _, recursive := strings.Cut(line, " recursive: ")
		if recursive {
			line = strings.ReplaceAll(line, "lintel__", "")
		}
		if !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

// TestRecompilingGivesWhatCompilingGives: after any edit, an incremental compilation gives the
// same set and the same errors as a full one.
func TestRecompilingGivesWhatCompilingGives(t *testing.T) {
	t.Parallel()
	compiled, takenOver, failed := 0, 0, 0
	first := properties.Seed(0) << 32
	for seed := first; seed < first+uint64(properties.Count(3, 30)); seed++ {
		r := rand.New(rand.NewPCG(seed, 1))
		files := map[string]string{"0.rego": "package team.one\ndeny contains \"x\" if input.never"}
		var before *engine.PolicySet
		for step := range 120 {
			edited := randomEdit(r, files)
			source := definition.Source{Name: "s", Files: edited, Parameters: []byte(fmt.Sprintf(`{"n": %d}`, step))}
			whole, wrong := policyset.Compile(source, Dialect)
			since, err := policyset.Recompile(source, before, Dialect)
			require.Equal(t, errorsOf(wrong), errorsOf(err), "seed %d, step %d: %v", seed, step, edited)
			if before != nil {
				var known policyset.Known
				text, marshalErr := json.Marshal(before.Known())
				require.NoError(t, marshalErr)
				require.NoError(t, json.Unmarshal(text, &known))
				apart, err := policyset.Verify(source, &known, Dialect)
				require.Equal(t, errorsOf(wrong), errorsOf(err), "seed %d, step %d, in another process", seed, step)
				if err == nil {
					require.Equal(t, since.Compiled(), apart.Compiled(), "seed %d, step %d", seed, step)
				}
			}
			if wrong != nil {
				failed++
				switch r.IntN(4) {
				case 0: // edit it further
					files = edited
				case 1: // return to the last valid files
					if before != nil {
						files = before.Files()
					}
				}
				continue
			}
			files = edited
			require.Equal(t, said(t, whole), said(t, since), "seed %d, step %d: %v", seed, step, edited)
			if since.Compiled() < whole.Compiled() {
				takenOver++
			}
			compiled++
			before = since
		}
	}
	t.Logf("%d compiled, %d of them in part, %d refused", compiled, takenOver, failed)
	require.Greater(t, takenOver, compiled/4)
	require.Greater(t, failed, compiled/20)
}
