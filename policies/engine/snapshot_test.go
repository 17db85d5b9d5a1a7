package engine

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// TestSnapshotsSwapUnderLoad evaluates in many goroutines while snapshots are
// replaced: every answer comes whole from one of them.
func TestSnapshotsSwapUnderLoad(t *testing.T) {
	version := func(n int) *Snapshot {
		return snapshotOf(compileSource(t, definition.Source{Name: "s", Revision: fmt.Sprint(n), Files: map[string]string{
			"a.rego": fmt.Sprintf("package a\ndeny contains \"%d\"\ndefaults.spec.x := %d", n, n),
			"b.rego": fmt.Sprintf("package b\ndeny contains \"%d\"\n", n),
		}}))
	}
	var live atomic.Pointer[Snapshot]
	live.Store(version(0))
	review := makeReview(t, pod)
	stop := make(chan struct{})
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				snapshot := live.Load()
				decision := snapshot.Validate(t.Context(), review, Options{})
				mutation := snapshot.Mutate(t.Context(), review, Options{})
				if len(decision.Denials) != 2 || decision.Denials[0].Words != decision.Denials[1].Words ||
					string(mutation.Patch[0].Value) != decision.Denials[0].Words {
					t.Errorf("mixed answer: %v and %v", denials(decision), mutation.Patch)
					return
				}
			}
		})
	}
	for n := 1; n <= 50; n++ {
		live.Store(version(n))
	}
	close(stop)
	workers.Wait()
}

func TestPoliciesAreAskedByScopeSourceAndPackage(t *testing.T) {
	set := func(name string, level hierarchy.Level) *PolicySet {
		return compileSource(t, definition.Source{Name: name, Scope: hierarchy.Scope{Level: level, Name: "s", Namespaces: []string{"*"}}, Files: map[string]string{
			"b.rego": "package b\ndeny contains \"" + name + "\"",
			"a.rego": "package a\ndeny contains \"" + name + "\"",
		}})
	}
	snapshot := snapshotOf(set("t", hierarchy.Team), set("z", hierarchy.Enterprise), set("a", hierarchy.Enterprise))
	var order []string
	for _, info := range snapshot.Policies() {
		order = append(order, info.Source+"/"+info.Package)
	}
	require.Equal(t, []string{"a/a", "a/b", "z/a", "z/b", "t/a", "t/b"}, order)

	var words []string
	for _, denial := range snapshot.Validate(t.Context(), makeReview(t, pod), Options{}).Denials {
		words = append(words, denial.Words+"/"+denial.Policy)
	}
	require.Equal(t, []string{"a/a", "z/a", "a/b", "z/b", "t/a", "t/b"}, words, "sorted by scope, policy, text")
}

func BenchmarkValidate(b *testing.B) {
	for _, count := range []int{0, 10, 45} {
		b.Run(fmt.Sprintf("policies=%d", count), func(b *testing.B) {
			files := map[string]string{}
			for i := range count {
				files[fmt.Sprintf("p%d.rego", i)] = fmt.Sprintf(`package p%d
deny contains msg if {
	some c in input.request.object.spec.containers
	c.securityContext.privileged
	msg := sprintf("%%s is privileged", [c.name])
}`, i)
			}
			set, err := policyset.Compile(definition.Source{Name: "s", Files: files})
			require.NoError(b, err)
			snapshot := snapshotOf(set)
			review := makeReview(b, pod)
			b.ReportAllocs()
			for b.Loop() {
				if !snapshot.Validate(b.Context(), review, Options{}).Allowed() {
					b.Fatal("denied")
				}
			}
		})
	}
}

// TestSetsThatShareAreApart: the properties of one set do not affect the other.
func TestSetsThatShareAreApart(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("%d.rego", i)] = fmt.Sprintf("package many.p%d\nimport rego.v1\ndeny contains \"%d\" if input.request.object.metadata.labels.l%d", i, i, i)
	}
	before := compileSource(t, definition.Source{Name: "s", Revision: "one", Files: files})
	set, err := policyset.Recompile(definition.Source{Name: "s", Revision: "two", FailurePolicy: definition.Ignore, Files: files, Parameters: []byte(`{"a": 1}`)}, before)
	require.NoError(t, err)
	require.Zero(t, set.Compiled())
	review := makeReview(t, strings.Replace(pod, `"app"`, `"l3"`, 1))
	for _, one := range []*PolicySet{before, set, before} {
		decision := snapshotOf(one).Validate(t.Context(), review, Options{})
		require.Equal(t, []string{fmt.Sprintf("3 [many.p3 deny, 3.rego:3, s@%s]", one.Revision())}, denials(decision))
		require.Equal(t, one.Pinned().FailurePolicy, Describe(one)[0].FailurePolicy)
	}
}
