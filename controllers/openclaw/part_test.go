package openclaw

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	openclawv1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/policies/admission"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openclaw"
	"github.com/lintel-policy/lintel/test/reviews"
)

// bundleWebhook returns the reviewer of PolicyBundles, given the stored objects.
func bundleWebhook(t *testing.T, stored ...client.Object) builtin.Evaluator {
	t.Helper()
	snapshot, err := rules.New()
	require.NoError(t, err)
	scheme := kuberuntime.NewScheme()
	require.NoError(t, openclawv1.AddToScheme(scheme))
	s := &admitter{
		parser: rules.NewParser(), snapshot: snapshot,
		timeout: time.Minute, // a machine may be busy
		bundles: fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored...).Build(),
	}
	return s.products(true)[0].Validate
}

// bundleOf is a bundle of policies of one scope, of the texts below their header.
func bundleOf(name string, scope openclawv1.Scope, texts ...string) *openclawv1.PolicyBundle {
	b := &openclawv1.PolicyBundle{}
	b.Namespace, b.Name = "ns", name
	for i, text := range texts {
		b.Spec.Policies = append(b.Spec.Policies, openclawv1.Policy{
			Scope: scope, Domain: "models", Name: fmt.Sprint("p", i), Content: "package openclaw.enterprise.models\nimport rego.v1\n" + text,
		})
	}
	return b
}

func creation(t *testing.T, bundle *openclawv1.PolicyBundle) *admission.Review {
	t.Helper()
	return reviews.MakeCreation(openclawv1.SchemeGroupVersion.WithKind("PolicyBundle"), "policybundles", bundle).Named(bundle.Namespace, bundle.Name).Obj(t)
}

// TestABundleDoesNotHoldTheWebhook: a user may write a bundle for which OPA, or the comparison
// with broader policies, would take minutes and gigabytes. Each is denied or allowed by its
// counts, with a fraction of the manager's memory.
func TestABundleDoesNotHoldTheWebhook(t *testing.T) {
	const memoryLimit = 256 << 20
	repeated := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i, i+1)
		}
		return b.String()
	}
	times := func(n int, text string) (texts []string) {
		for range n {
			texts = append(texts, text)
		}
		return texts
	}
	brackets := strings.Repeat("[", 900) + "1" + strings.Repeat("]", 900)
	const tooMuch = "up to here the bundle has more than 30000 words"
	for name, c := range map[string]struct {
		texts           []string
		denied, warning string
	}{
		"rules of brackets":      {texts: []string{repeated(200, "r%[1]d := "+brackets+"\n")}, denied: `policy[0] "p0", line 19: ` + tooMuch},
		"a rule of brackets":     {texts: []string{"r := " + brackets}, denied: `policy[0] "p0", line 3, column 1: rego_compile_error: rule r nests deeper than 60`},
		"policies of brackets":   {texts: times(200, "r := "+brackets), denied: `policy[15] "p15", line 3: ` + tooMuch},
		"small policies":         {texts: times(290, "allow if input.x"), denied: `policy[260] "p260", line 1: ` + tooMuch},
		"long bodies":            {texts: times(20, "allow if {\n"+repeated(170, "x%[1]d = x%[2]d\n")+"x170 = 1\n}"), denied: `policy[1] "p1": ` + tooMuch},
		"comprehensions":         {texts: times(4, strings.Repeat("allow if "+strings.Repeat("[x|x:=", 7)+"1"+strings.Repeat("]", 7)+"\n", 70)), denied: `policy[1] "p1": ` + tooMuch},
		"numbers with one hash":  {texts: times(20, "r := {"+repeated(100, "1.%[1]d,")+"1}"), denied: `policy[2] "p2", line 3: up to here the bundle has more than 1000 members`},
		"the largest of strings": {texts: []string{"allow if input.x == \"" + strings.Repeat("a", 1_400_000) + "\""}, denied: "team scope cannot expand"},
		"the most rules":         {texts: []string{repeated(mostRules, "allow if input.x == %[1]d\n")}, denied: "team scope cannot expand"},
		"values in values":       {texts: []string{"allow if {\nx0 := input.x\n" + repeated(40, "x%[2]d := input[x%[1]d][x%[1]d]\n") + "x40 == 4\n}"}, warning: "the policies are too large to compare"},
	} {
		t.Run(name, func(t *testing.T) {
			evaluate := bundleWebhook(t, bundleOf("base", openclawv1.ScopeEnterprise, "allow if input.y"))
			review := creation(t, bundleOf("b", openclawv1.ScopeTeam, c.texts...))
			peak := watchHeap()
			start := time.Now()
			verdict, err := evaluate(t.Context(), review)
			took := time.Since(start)
			used := peak()
			require.NoError(t, err)
			if c.denied != "" {
				require.Len(t, verdict.Denials, 1)
				require.Contains(t, verdict.Denials[0], c.denied)
			} else {
				require.Empty(t, verdict.Denials)
				require.Contains(t, strings.Join(verdict.Warnings, "\n"), c.warning)
			}
			require.Less(t, used, uint64(memoryLimit))
			require.Less(t, took, time.Minute, "on any machine")
			t.Logf("%s, %d MiB", took.Round(time.Millisecond), used>>20)
		})
	}
}

// TestABundleThatIsNotReadInTime: the review fails with an error, and the client has to retry.
func TestABundleThatIsNotReadInTime(t *testing.T) {
	evaluate := bundleWebhook(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	bundle := bundleOf("b", openclawv1.ScopeTeam, "allow if input.x")
	_, err := evaluate(ended, creation(t, bundle))
	require.ErrorContains(t, err, "PolicyBundle ns/b could not be read in time; retry")
	verdict, err := evaluate(t.Context(), creation(t, bundle))
	require.NoError(t, err)
	require.Empty(t, verdict.Denials)
}

// watchHeap samples the heap until the returned function is called, which gives the
// most it grew.
func watchHeap() func() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	before, most := stats.HeapAlloc, stats.HeapAlloc
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(stop)
		<-stopped
		return most - before
	}
}
