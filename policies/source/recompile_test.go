package source

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// manyPackages is a source of packages that have nothing to do with each other.
func manyPackages(count int) definition.Source {
	files := map[string]string{}
	for i := range count {
		files[fmt.Sprintf("p%d.rego", i)] = strings.Replace(policyFor("Pod", fmt.Sprintf("deny contains \"%d\" if input.request.object.spec.hostPID", i)), "package p", fmt.Sprintf("package p%d", i), 1)
	}
	return definition.Source{Name: "s", Files: files}
}

func changed(source definition.Source, name, text string) definition.Source {
	source.Files = maps.Clone(source.Files)
	source.Files[name] = text
	return source
}

// answerOf is what the child says of a source.
func answerOf(t *testing.T, c *CachingCompiler, source definition.Source, before *engine.PolicySet) (answer compileAnswer) {
	t.Helper()
	err := c.child(maxCompileBytes).Run(t.Context(), requestFor(source, before), &answer)
	require.NoError(t, err)
	return answer
}

// TestTheChildCompilesWhatIsNotKnown, and all of a source below the enterprise.
func TestTheChildCompilesWhatIsNotKnown(t *testing.T) {
	compiler := testCompiler(t, patience)
	source := manyPackages(50)
	before, err := compiler.Compile(t.Context(), source)
	require.NoError(t, err)
	next := changed(source, "p7.rego", strings.ReplaceAll(source.Files["p7.rego"], "hostPID", "hostIPC"))
	answer := answerOf(t, compiler, next, before)
	require.Empty(t, answer.Errors)
	require.Len(t, answer.TakenOver, 49)
	require.Len(t, answer.Matches, 1)
	require.Equal(t, "p7", answer.Matches[0].Package)

	answer = answerOf(t, compiler, changed(source, "p7.rego", "package p7\ndeny contains nope(1)"), before)
	require.Equal(t, "p7.rego:2:15: rego_type_error: undefined function nope", answer.Errors.Error())

	next.Scope = hierarchy.Scope{Level: hierarchy.Team, Name: "shop", Namespaces: []string{"shop"}}
	answer = answerOf(t, compiler, next, before)
	require.Empty(t, answer.TakenOver)
	require.Len(t, answer.Matches, 50)
	require.Positive(t, answer.Bytes)
}

// TestWhatIsLiveIsTakenOver: policies of the live revision are reused while it is live, and
// then those of the last compiled one.
func TestWhatIsLiveIsTakenOver(t *testing.T) {
	compiler := testCompiler(t, patience)
	source := manyPackages(20)
	compile := func(n int) *engine.PolicySet {
		set, err := compiler.Compile(t.Context(), changed(source, "p7.rego", fmt.Sprintf("package p7\ndeny contains \"%d\"", n)))
		require.NoError(t, err)
		return set
	}
	live := compile(1)
	require.Equal(t, 20, live.Compiled())
	require.Equal(t, 1, compile(2).Compiled())
	compiler.Forget(live)
	compiler.results.list = nil
	require.Equal(t, 1, compile(3).Compiled())
	runtime.KeepAlive(live)

	compiler.results.list, live = nil, nil
	for compiler.results.before("s") != nil { // no reference to it is left
		runtime.GC()
	}
	require.Equal(t, 20, compile(4).Compiled())
}

// TestReferencesOfWhatIsTakenOver are checked with the current schemas, and a reference that is
// wrong for a policy alone is right if another policy can use it.
func TestReferencesOfWhatIsTakenOver(t *testing.T) {
	compiler := testCompiler(t, patience)
	compiler.Schemas = testSchemas(t)
	source := manyPackages(20)
	source.Files["lib.rego"] = "package lib\nlarge if input.request.object.spec.size > 1"
	source.Files["w.rego"] = strings.Replace(policyFor("Widget.example.com", `deny contains "x" if data.lib.large`), "package p", "package w", 1)
	evaluate := func(next definition.Source) (*engine.PolicySet, error) { return compiler.Compile(t.Context(), next) }
	_, err := evaluate(source)
	require.NoError(t, err)

	next := changed(source, "v.rego", strings.Replace(policyFor("Pod", `deny contains "x" if data.lib.large`), "package p", "package v", 1))
	set, err := evaluate(next)
	require.NoError(t, err, "the policies of Widgets find what it reads")
	require.Equal(t, 2, set.Compiled())

	next = changed(next, "w.rego", strings.Replace(policyFor("Widget.example.com", `deny contains "x" if input.name`), "package p", "package w", 1))
	_, err = evaluate(next)
	require.ErrorContains(t, err, "lib.rego:2:10: ", "nobody finds it any more")

	compiler.Schemas = schemasWith(t, strings.ReplaceAll(widgets, "size:", "large:"))
	_, err = evaluate(changed(source, "p7.rego", source.Files["p7.rego"]+"\n# the same"))
	require.ErrorContains(t, err, "lib.rego:2:10: ", "the field is gone")
}
