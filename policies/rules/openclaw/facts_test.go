package openclaw

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/scope"
)

const (
	strict = models + "import rego.v1\nallow if input.a == \"x\"\n"
	loose  = models + "import rego.v1\nallow if input.a in {\"x\", \"y\"}\n"
)

func selecting(b *Bundle, tenant string) *Bundle {
	b.Spec.InstanceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tenant": tenant}}
	return b
}

// TestFindComparesWhatMayMeet: a policy is compared with the broader ones that may bind
// an instance which it binds, too.
func TestFindComparesWhatMayMeet(t *testing.T) {
	child := func() *Bundle { return bundle("ns", "child", [3]string{"team", "p", loose}) }
	for name, c := range map[string]struct {
		bundle, other *Bundle
		root          string
		found         bool
	}{
		"of the namespace":               {child(), bundle("ns", "b", [3]string{"org", "p", strict}), "", true},
		"within the bundle":              {bundle("ns", "b", [3]string{"org", "p", strict}, [3]string{"team", "q", loose}), bundle("ns", "c", [3]string{"user", "p", strict}), "", true},
		"of another namespace":           {child(), bundle("other", "b", [3]string{"enterprise", "p", strict}), "", false},
		"of the root namespace":          {child(), bundle("root", "b", [3]string{"enterprise", "p", strict}), "root", true},
		"no enterprise policy of root":   {child(), bundle("root", "b", [3]string{"org", "p", strict}), "root", false},
		"of the same scope":              {child(), bundle("ns", "b", [3]string{"team", "p", strict}), "", false},
		"of a narrower scope":            {child(), bundle("ns", "b", [3]string{"user", "p", strict}), "", false},
		"of other instances":             {selecting(child(), "a"), selecting(bundle("ns", "b", [3]string{"org", "p", strict}), "b"), "", false},
		"of instances in common":         {selecting(child(), "a"), selecting(bundle("ns", "b", [3]string{"org", "p", strict}), "a"), "", true},
		"enterprise ignores selectors":   {selecting(child(), "a"), selecting(bundle("ns", "b", [3]string{"enterprise", "p", strict}), "b"), "", true},
		"what cannot be read is no part": {child(), bundle("ns", "b", [3]string{"org", "p", models + "allow if {"}), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			facts := NewParser().Find(t.Context(), c.bundle, nil, []*Bundle{c.other}, c.root)
			require.Equal(t, c.found, len(facts.Comparisons) == 1, "%+v", facts.Comparisons)
			if c.found {
				require.Equal(t, scope.Counterexample, facts.Comparisons[0].Verdict)
				require.Contains(t, facts.Comparisons[0].Text, `input: {"a":"y"}`)
			}
		})
	}
}

// TestFindLeavesTheUnchangedAlone: nobody is held up by what is there already.
func TestFindLeavesTheUnchangedAlone(t *testing.T) {
	parent := bundle("ns", "parent", [3]string{"enterprise", "p", strict})
	before := bundle("ns", "child", [3]string{"team", "p", loose})
	after := bundle("ns", "child", [3]string{"team", "p", loose}, [3]string{"team", "q", strict})
	parser := NewParser()
	require.Empty(t, parser.Find(t.Context(), after, before, []*Bundle{parent}, "").Comparisons)
	require.Len(t, parser.Find(t.Context(), selecting(after, "a"), before, []*Bundle{parent}, "").Comparisons, 1, "it binds other instances now")
	require.Len(t, parser.Find(t.Context(), after, nil, []*Bundle{parent}, "").Comparisons, 1)
}

// TestFindTellsOfThoseThatExpandNow: the broader scope is tightened all the same.
func TestFindTellsOfThoseThatExpandNow(t *testing.T) {
	child := bundle("ns", "child", [3]string{"team", "p", loose})
	before := bundle("ns", "parent", [3]string{"enterprise", "p", loose})
	after := bundle("ns", "parent", [3]string{"enterprise", "p", strict})
	parser := NewParser()
	facts := parser.Find(t.Context(), after, before, []*Bundle{child}, "")
	require.Empty(t, facts.Comparisons)
	require.Len(t, facts.Tightened, 1)
	require.Equal(t, "child/p", facts.Tightened[0].Policy)
	require.Empty(t, parser.Find(t.Context(), before, before, []*Bundle{child}, "").Tightened)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Empty(t, NewParser().Find(ended, after, before, []*Bundle{child}, "").Tightened, "a warning is not worth waiting for")
}

// TestFindTellsOfMisspelledRules: what nobody asks for restricts nothing.
func TestFindTellsOfMisspelledRules(t *testing.T) {
	b := bundle("ns", "b", [3]string{"team", "p", models + "import rego.v1\nallwo if input.a\n"}, [3]string{"team", "q", strict})
	require.Equal(t, []string{"b/p has no rule such as allow, deny or a limit: is a name misspelled?"}, NewParser().Find(t.Context(), b, nil, nil, "").Unordered)
	broken := bundle("ns", "b", [3]string{"team", "p", models + "allow if {"})
	require.Len(t, NewParser().Find(t.Context(), broken, nil, nil, "").Errors, 1)
	require.Empty(t, NewParser().Find(t.Context(), broken, broken, nil, "").Errors, "a label on it may change")
}

// TestFindComparesPeersWithoutAnOrder: of two policies of one scope neither counts for
// more, so that the later one is refused where gateways would be told nothing.
func TestFindComparesPeersWithoutAnOrder(t *testing.T) {
	says := func(name, value, condition string) *Bundle {
		return bundle("ns", name, [3]string{"team", "p", models + "import rego.v1\npreferred := \"" + value + "\" if input." + condition})
	}
	parser := NewParser()
	facts := parser.Find(t.Context(), says("b", "large", "b"), nil, []*Bundle{says("a", "small", "a")}, "")
	require.Len(t, facts.Comparisons, 1)
	require.True(t, facts.Comparisons[0].Conflict)
	require.Contains(t, facts.Comparisons[0].Text, "two policies of the team scope contradict each other")
	require.NotEmpty(t, words(decide(t, "PolicyBundle", says("b", "large", "b"), facts).Denials))
	require.Empty(t, parser.Find(t.Context(), says("b", "small", "b"), nil, []*Bundle{says("a", "small", "a")}, "").Comparisons, "they say the same")
	broader := bundle("ns", "c", [3]string{"org", "p", models + "import rego.v1\npreferred := \"none\""})
	require.Empty(t, parser.Find(t.Context(), says("b", "large", "b"), nil, []*Bundle{says("a", "small", "a"), broader}, "").Comparisons, "a broader scope says it")

	// A conflict that is there already holds up neither an edit nor the older of the two.
	facts = parser.Find(t.Context(), says("b", "huge", "b"), says("b", "large", "b"), []*Bundle{says("a", "small", "a")}, "")
	require.Empty(t, facts.Comparisons)
	require.Contains(t, facts.Unordered[len(facts.Unordered)-1], "preferred of b/p and of a/p, which are of one scope, differ on input")
	older, newer := says("b", "large", "b"), says("a", "small", "a")
	older.CreationTimestamp, newer.CreationTimestamp = metav1.Unix(1, 0), metav1.Unix(2, 0)
	require.Empty(t, parser.Find(t.Context(), older, nil, []*Bundle{newer}, "").Comparisons)
	require.Len(t, parser.Find(t.Context(), newer, nil, []*Bundle{older}, "").Comparisons, 1)
}
