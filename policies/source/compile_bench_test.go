package source

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/lru"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// manyPolicies are the sample policies again and again, each time in packages of
// their own.
func manyPolicies(tb testing.TB, sources int) definition.Source {
	tb.Helper()
	files, err := ReadFolder("../../config/samples/policies", definition.IsPolicyFile, MaxArtifactBytes)
	require.NoError(tb, err)
	many := map[string]string{}
	for i := range sources {
		for name, text := range files {
			if strings.HasSuffix(name, ".rego") && !strings.HasSuffix(name, "_test.rego") {
				folder := fmt.Sprintf("samples%d", i)
				many[folder+"/"+name] = strings.NewReplacer("package samples.", "package "+folder+".", "import data.samples.", "import data."+folder+".").Replace(text)
			}
		}
	}
	return definition.Source{Name: "many", Files: many}
}

// BenchmarkCompile500 is what the gate takes for a source of 500 policies, without
// and with the check of references.
func BenchmarkCompile500(b *testing.B) {
	many := manyPolicies(b, 50)
	for name, schemas := range map[string]Schemas{"plain": nil, "references": schemasWith(b)} {
		b.Run(name, func(b *testing.B) {
			for i := range b.N {
				compiler := testCompiler(b, time.Minute)
				compiler.Schemas = schemas
				many.Revision = fmt.Sprint(i)
				set, err := compiler.Compile(b.Context(), many)
				require.NoError(b, err)
				require.Equal(b, 500, set.Policies())
			}
		})
	}
}

// BenchmarkRecompile is what a push takes of a source of 250 policies of which one has
// changed, and of one of which nothing is known: the manager's processor time, and that
// of its child.
func BenchmarkRecompile(b *testing.B) {
	many := manyPolicies(b, 25)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(many.Files)), func(name string) bool { return !strings.HasSuffix(name, ".rego") })
	for name, schemas := range map[string]Schemas{"plain": nil, "references": schemasWith(b)} {
		for _, since := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/known=%v", name, since), func(b *testing.B) {
				compiler := testCompiler(b, time.Minute)
				compiler.Schemas = schemas
				_, err := compiler.Compile(b.Context(), many)
				require.NoError(b, err)
				own, childs := processorTimes(b)
				for i := range b.N {
					next := many
					next.Files = maps.Clone(many.Files)
					next.Files[names[i%len(names)]] += fmt.Sprintf("\n# %d\n", i)
					if !since {
						compiler.results, compiler.clean = results{}, lru.New(keptClean)
					}
					set, err := compiler.Compile(b.Context(), next)
					require.NoError(b, err)
					require.Equal(b, 250, set.Policies())
					require.Equal(b, since, set.Compiled() < 25)
				}
				ownAfter, childsAfter := processorTimes(b)
				b.ReportMetric((ownAfter-own).Seconds()*1000/float64(b.N), "manager-ms/op")
				b.ReportMetric((childsAfter-childs).Seconds()*1000/float64(b.N), "child-ms/op")
			})
		}
	}
}

// BenchmarkMemory is what a set of 250 policies takes for as long as it is live.
func BenchmarkMemory(b *testing.B) {
	many := manyPolicies(b, 25)
	_, err := Compile(many) // what is made once in a process is made now
	require.NoError(b, err)
	for b.Loop() {
		before := heapInUse()
		set, err := Compile(many)
		require.NoError(b, err)
		b.ReportMetric(float64(heapInUse()-before)/250, "B/policy")
		runtime.KeepAlive(set)
	}
}

// processorTimes are those of this process and of its children that have ended.
func processorTimes(tb testing.TB) (own, childs time.Duration) {
	tb.Helper()
	of := func(who int) time.Duration {
		var usage syscall.Rusage
		require.NoError(tb, syscall.Getrusage(who, &usage))
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return of(syscall.RUSAGE_SELF), of(syscall.RUSAGE_CHILDREN)
}

func keysOf(clean []cleanPackage) (keys []string) {
	for _, one := range clean {
		keys = append(keys, one.Key)
	}
	return keys
}

// BenchmarkReferences500 is the check of references alone: of all policies, and of one
// that changed.
func BenchmarkReferences500(b *testing.B) {
	many := manyPolicies(b, 50)
	set, err := policyset.Verify(many, nil)
	require.NoError(b, err)
	request := referenceRequest{Checks: referenceChecks(b.Context(), schemasWith(b), matchesOf(set))}
	first, err := checkReferences(set, matchesOf(set), request)
	require.NoError(b, err)
	require.Len(b, first.Clean, 500)
	for name, clean := range map[string][]string{"all": nil, "one": keysOf(first.Clean[1:])} {
		b.Run(name, func(b *testing.B) {
			request := referenceRequest{Checks: request.Checks, Clean: clean}
			for b.Loop() {
				answer, err := checkReferences(set, matchesOf(set), request)
				require.NoError(b, err)
				require.Empty(b, answer.Errors)
			}
		})
	}
}
