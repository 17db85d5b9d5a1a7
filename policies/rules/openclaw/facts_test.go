package openclaw

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/openclaw/restriction"
	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

const (
	strict = models + "import rego.v1\nallow if input.a == \"x\"\n"
	loose  = models + "import rego.v1\nallow if input.a in {\"x\", \"y\"}\n"
)

func selecting(b *Bundle, tenant string) *Bundle {
	b.Spec.InstanceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tenant": tenant}}
	return b
}

func find(t *testing.T, parser *Parser, bundle, old *Bundle, others []*Bundle, root string) Facts {
	t.Helper()
	facts, err := parser.Find(t.Context(), bundle, old, others, root)
	require.NoError(t, err)
	return facts
}

// TestFindComparesWhatMayMeet: a policy is compared with the broader ones that may bind
// an instance which it binds, too.
func TestFindComparesWhatMayMeet(t *testing.T) {
	child := func() *Bundle { return makeBundle("ns", "child", [3]string{"team", "p", loose}) }
	for name, c := range map[string]struct {
		bundle, other *Bundle
		root          string
		found         bool
	}{
		"of the namespace":               {child(), makeBundle("ns", "b", [3]string{"org", "p", strict}), "", true},
		"within the bundle":              {makeBundle("ns", "b", [3]string{"org", "p", strict}, [3]string{"team", "q", loose}), makeBundle("ns", "c", [3]string{"user", "p", strict}), "", true},
		"of another namespace":           {child(), makeBundle("other", "b", [3]string{"enterprise", "p", strict}), "", false},
		"of the root namespace":          {child(), makeBundle("root", "b", [3]string{"enterprise", "p", strict}), "root", true},
		"no enterprise policy of root":   {child(), makeBundle("root", "b", [3]string{"org", "p", strict}), "root", false},
		"of the same scope":              {child(), makeBundle("ns", "b", [3]string{"team", "p", strict}), "", false},
		"of a narrower scope":            {child(), makeBundle("ns", "b", [3]string{"user", "p", strict}), "", false},
		"of other instances":             {selecting(child(), "a"), selecting(makeBundle("ns", "b", [3]string{"org", "p", strict}), "b"), "", false},
		"of instances in common":         {selecting(child(), "a"), selecting(makeBundle("ns", "b", [3]string{"org", "p", strict}), "a"), "", true},
		"enterprise ignores selectors":   {selecting(child(), "a"), selecting(makeBundle("ns", "b", [3]string{"enterprise", "p", strict}), "b"), "", true},
		"what cannot be read is no part": {child(), makeBundle("ns", "b", [3]string{"org", "p", models + "allow if {"}), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			facts := find(t, NewParser(), c.bundle, nil, []*Bundle{c.other}, c.root)
			require.Equal(t, c.found, len(facts.Comparisons) == 1, "%+v", facts.Comparisons)
			if c.found {
				require.Equal(t, restriction.Counterexample, facts.Comparisons[0].Verdict)
				require.Contains(t, facts.Comparisons[0].Text, `input: {"a":"y"}`)
			}
		})
	}
}

// TestFindLeavesTheUnchangedAlone: existing policies do not block a change.
func TestFindLeavesTheUnchangedAlone(t *testing.T) {
	parent := makeBundle("ns", "parent", [3]string{"enterprise", "p", strict})
	before := makeBundle("ns", "child", [3]string{"team", "p", loose})
	after := makeBundle("ns", "child", [3]string{"team", "p", loose}, [3]string{"team", "q", strict})
	parser := NewParser()
	require.Empty(t, find(t, parser, after, before, []*Bundle{parent}, "").Comparisons)
	require.Len(t, find(t, parser, selecting(after, "a"), before, []*Bundle{parent}, "").Comparisons, 1, "it binds other instances now")
	require.Len(t, find(t, parser, after, nil, []*Bundle{parent}, "").Comparisons, 1)
}

// TestFindTellsOfThoseThatExpandNow: the broader scope is tightened all the same.
func TestFindTellsOfThoseThatExpandNow(t *testing.T) {
	child := makeBundle("ns", "child", [3]string{"team", "p", loose})
	before := makeBundle("ns", "parent", [3]string{"enterprise", "p", loose})
	after := makeBundle("ns", "parent", [3]string{"enterprise", "p", strict})
	parser := NewParser()
	facts := find(t, parser, after, before, []*Bundle{child}, "")
	require.Empty(t, facts.Comparisons)
	require.Len(t, facts.Tightened, 1)
	require.Equal(t, "child/p", facts.Tightened[0].Policy)
	require.Empty(t, find(t, parser, before, before, []*Bundle{child}, "").Tightened)

}

// TestFindTellsOfMisspelledRules: a rule that no gateway queries restricts nothing.
func TestFindTellsOfMisspelledRules(t *testing.T) {
	b := makeBundle("ns", "b", [3]string{"team", "p", models + "import rego.v1\nallwo if input.a\n"}, [3]string{"team", "q", strict})
	require.Equal(t, []string{"b/p has no rule such as allow, deny or a limit: is a name misspelled?"}, find(t, NewParser(), b, nil, nil, "").Unordered)
	broken := makeBundle("ns", "b", [3]string{"team", "p", models + "allow if {"})
	require.Len(t, find(t, NewParser(), broken, nil, nil, "").Errors, 1)
	require.Empty(t, find(t, NewParser(), broken, broken, nil, "").Errors, "a label on it may change")
}

// TestFindComparesPeersWithoutAnOrder: of two policies of one scope neither counts for more, so
// that the later one is refused if gateways would get no answer.
func TestFindComparesPeersWithoutAnOrder(t *testing.T) {
	says := func(name, value, condition string) *Bundle {
		return makeBundle("ns", name, [3]string{"team", "p", models + "import rego.v1\npreferred := \"" + value + "\" if input." + condition})
	}
	parser := NewParser()
	facts := find(t, parser, says("b", "large", "b"), nil, []*Bundle{says("a", "small", "a")}, "")
	require.Len(t, facts.Comparisons, 1)
	require.True(t, facts.Comparisons[0].Conflict)
	require.Contains(t, facts.Comparisons[0].Text, "two policies of the team scope contradict each other")
	require.NotEmpty(t, words(decide(t, "PolicyBundle", says("b", "large", "b"), facts).Denials))
	require.Empty(t, find(t, parser, says("b", "small", "b"), nil, []*Bundle{says("a", "small", "a")}, "").Comparisons, "they say the same")
	broader := makeBundle("ns", "c", [3]string{"org", "p", models + "import rego.v1\npreferred := \"none\""})
	require.Empty(t, find(t, parser, says("b", "large", "b"), nil, []*Bundle{says("a", "small", "a"), broader}, "").Comparisons, "a broader scope says it")

	// A conflict that is there already holds up neither an edit nor the older of the two.
	facts = find(t, parser, says("b", "huge", "b"), says("b", "large", "b"), []*Bundle{says("a", "small", "a")}, "")
	require.Empty(t, facts.Comparisons)
	require.Contains(t, facts.Unordered[len(facts.Unordered)-1], "preferred of b/p and of a/p, which are of one scope, differ on input")
	older, newer := says("b", "large", "b"), says("a", "small", "a")
	older.CreationTimestamp, newer.CreationTimestamp = metav1.Unix(1, 0), metav1.Unix(2, 0)
	require.Empty(t, find(t, parser, older, nil, []*Bundle{newer}, "").Comparisons)
	require.Len(t, find(t, parser, newer, nil, []*Bundle{older}, "").Comparisons, 1)
}

// TestFindReadsWhatItCompares and nothing else: other texts do not cause a delay.
func TestFindReadsWhatItCompares(t *testing.T) {
	parser := NewParser()
	team := makeBundle("ns", "b", [3]string{"team", "p", strict})
	find(t, parser, team, team, []*Bundle{
		makeBundle("ns", "narrower", [3]string{"user", "p", strict}),
		makeBundle("elsewhere", "c", [3]string{"enterprise", "p", strict}),
	}, "")
	require.Equal(t, 1, parser.remembered())
	find(t, parser, team, nil, []*Bundle{makeBundle("ns", "broader", [3]string{"org", "p", strict}), makeBundle("elsewhere", "c", [3]string{"org", "p", strict})}, "")
	require.Equal(t, 2, parser.remembered())
}

// remembered is how many policies a Parser remembers.
func (c *Parser) remembered() (count int) {
	for _, of := range c.read {
		count += of.policies.Len()
	}
	return count
}

// TestAParserForgets the least recently used policies: each text takes memory.
func TestAParserForgets(t *testing.T) {
	parser := NewParser()
	text := models + "import rego.v1\n"
	for i := range 800 {
		text += fmt.Sprintf("x%d := 1\n", i)
	}
	var first *sidecar.Policy
	for i := range 12 {
		b := makeBundle("ns", fmt.Sprint("b", i), [3]string{"team", "p", text})
		p, err := parser.parse(t.Context(), asker{}, b, b.Spec.Policies[0], candidate)
		require.NoError(t, err)
		if i == 0 {
			first = p
		}
		again, err := parser.parse(t.Context(), asker{}, b, b.Spec.Policies[0], candidate)
		require.NoError(t, err)
		require.Same(t, p, again)
		require.LessOrEqual(t, parser.effort(), parserEffort)
	}
	require.Greater(t, 12*first.Effort, parserEffort)
	require.Less(t, parser.remembered(), 12)
	broken := makeBundle("ns", "b", [3]string{"team", "p", strings.Repeat("x", 1<<20)})
	_, err := parser.parse(t.Context(), asker{}, broken, broken.Spec.Policies[0], candidate)
	require.Error(t, err)
	require.LessOrEqual(t, parser.effort(), parserEffort, "what cannot be read takes the memory of its text")
}

// TestOneTextIsReadAtATime: a request that waits too long has no verdict.
func TestOneTextIsReadAtATime(t *testing.T) {
	parser := NewParser()
	leave, err := parser.reading[0].take(t.Context(), false) // by another request
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error, 1)
	go func() {
		_, err := parser.Find(ctx, makeBundle("ns", "b", [3]string{"team", "p", strict}), nil, nil, "")
		waiting <- err
	}()
	cancel()
	err = <-waiting
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, admission.ErrBusy)
	leave()
	require.Empty(t, find(t, parser, makeBundle("ns", "b", [3]string{"team", "p", strict}), nil, nil, "").Errors)
}

// TestNobodyWaitsForTheRequestsOfAnotherNamespace: a namespace has one turn, and long texts
// hold up no short ones.
func TestNobodyWaitsForTheRequestsOfAnotherNamespace(t *testing.T) {
	parser := NewParser()
	end, err := parser.shares.take(t.Context(), "flood")
	require.NoError(t, err)
	leave, err := parser.reading[1].take(t.Context(), false)
	require.NoError(t, err)
	require.Empty(t, find(t, parser, makeBundle("ns", "b", [3]string{"team", "p", strict}), nil, nil, "").Errors)

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = parser.Find(ctx, makeBundle("flood", "b", [3]string{"team", "p", strict}), nil, nil, "")
	require.ErrorIs(t, err, admission.ErrBusy, "its own namespace has a request")
	_, err = parser.FindStored(t.Context(), makeBundle("flood", "b", [3]string{"team", "p", strict}), nil, "")
	require.NoError(t, err, "the controller waits for no request")
	end()
	require.Empty(t, parser.shares.of, "namespaces without requests take no memory")
	long := makeBundle("ns", "long", [3]string{"team", "p", strict + strings.Repeat("# comment\n", shortText/10)})
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = parser.Find(ctx, long, nil, nil, "")
	require.ErrorIs(t, err, admission.ErrBusy)
	leave()
	require.Empty(t, find(t, parser, long, nil, nil, "").Errors)
}

func TestTurns(t *testing.T) {
	var all requestQueue
	leave, err := all.take(t.Context(), false)
	require.NoError(t, err)
	order := make(chan string)
	wait := func(name string, ctx context.Context, root bool) {
		queued := len(all.root) + len(all.waiting)
		go func() {
			leave, err := all.take(ctx, root)
			if err != nil {
				order <- err.Error()
				return
			}
			order <- name
			leave()
		}()
		require.Eventually(t, func() bool {
			all.mutex.Lock()
			defer all.mutex.Unlock()
			return len(all.root)+len(all.waiting) > queued
		}, time.Minute, time.Millisecond)
	}
	wait("first", t.Context(), false)
	ctx, cancel := context.WithCancel(t.Context())
	wait("never", ctx, false)
	wait("second", t.Context(), false)
	wait("root", t.Context(), true)
	cancel()
	require.Equal(t, context.Canceled.Error(), <-order)
	leave()
	for _, name := range []string{"root", "first", "second"} {
		require.Equal(t, name, <-order)
	}
	leave, err = all.take(t.Context(), false)
	require.NoError(t, err)
	leave()
}

// TestStoredTextsAreRemembered: dry runs of many long texts do not evict stored ones from the
// cache, and many stored ones do not evict those of the root namespace.
func TestStoredTextsAreRemembered(t *testing.T) {
	parser := NewParser()
	text := models + "import rego.v1\n" + strings.Repeat("allow if input.a\n", 4_000)
	read := func(namespace, name string, is class) *sidecar.Policy {
		b := makeBundle(namespace, name, [3]string{"team", "p", text})
		policy, err := parser.parse(t.Context(), asker{root: "root"}, b, b.Spec.Policies[0], is)
		require.NoError(t, err)
		return policy
	}
	root, own := read("root", "enterprise", stored), read("ns", "b", stored)
	require.Positive(t, parser.read[rooted].effort)
	for i := range 12 {
		read("flood", fmt.Sprint("c", i), candidate)
	}
	require.Same(t, own, read("ns", "b", stored))
	for i := range 12 {
		read("flood", fmt.Sprint("s", i), stored)
	}
	require.Same(t, root, read("root", "enterprise", stored))
	require.LessOrEqual(t, parser.effort(), parserEffort)

	policy := read("ns", "new", candidate)
	require.Same(t, policy, read("ns", "new", stored), "a text is read once")
}

// TestABundleIsReadAsAWhole: an excess is reported once, for the first policy beyond the limit,
// and only if a policy changes.
func TestABundleIsReadAsAWhole(t *testing.T) {
	half := models + "import rego.v1\n" + strings.Repeat("allow if input.a\n", 4_000)
	b := makeBundle("ns", "b", [3]string{"team", "p", half}, [3]string{"org", "q", half}, [3]string{"user", "r", "nonsense"})
	facts := find(t, NewParser(), b, nil, nil, "")
	require.Len(t, facts.Errors, 1)
	require.Equal(t, 1, facts.Errors[0].Index)
	require.Positive(t, facts.Errors[0].Line)
	require.Contains(t, facts.Errors[0].Message, "up to here the bundle has more than 30000 words")
	require.Empty(t, find(t, NewParser(), b, b, nil, "").Errors)
}

// TestFindTellsWhoIsTheFirstToSetALimit: nothing is exceeded, but gateways may have done
// with less before.
func TestFindTellsWhoIsTheFirstToSetALimit(t *testing.T) {
	parent := makeBundle("ns", "base", [3]string{"enterprise", "p", strict + "max_tokens := 9 if input.a\n"})
	child := makeBundle("ns", "b", [3]string{"team", "p", models + "import rego.v1\nmax_tokens := 5\nallowed_models := {\"m\"} if input.a\n"})
	parser := NewParser()
	facts := find(t, parser, child, nil, []*Bundle{parent}, "")
	require.Empty(t, facts.Comparisons)
	require.Len(t, facts.Unordered, 2)
	require.Contains(t, facts.Unordered[0], "b/p defines allowed_models, which no broader scope defines")
	require.Contains(t, facts.Unordered[1], "b/p defines max_tokens, which no broader scope defines")
	require.Equal(t, facts, find(t, parser, child, nil, []*Bundle{parent}, ""), "remembered")
	decision := decide(t, "PolicyBundle", child, facts)
	require.Empty(t, decision.Denials)
	require.Equal(t, facts.Unordered, words(decision.Warnings))
}
