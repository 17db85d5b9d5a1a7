package restriction

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
	"github.com/lintel-policy/lintel/test/properties"
)

// trials are a number of random pairs, or of those that a time allows: LINTEL_PAIRS and LINTEL_FOR
// say more than each run of the tests has, and LINTEL_SEED which they are.
type trials struct {
	t        *testing.T
	seed     uint64
	pairs    int
	until    time.Time
	compared int
	counts   map[Outcome]int
	took     map[Outcome]time.Duration
	reasons  map[string]int
}

func newTrials(t *testing.T, short, long int) *trials {
	r := &trials{
		t: t, seed: properties.Seed(1), pairs: properties.Count(short, long), until: time.Now().Add(24 * time.Hour),
		counts: map[Outcome]int{}, took: map[Outcome]time.Duration{}, reasons: map[string]int{},
	}
	r.pairs = fromEnvironment("LINTEL_PAIRS", r.pairs)
	if d, err := time.ParseDuration(os.Getenv("LINTEL_FOR")); err == nil {
		r.until = time.Now().Add(d)
	}
	return r
}

func fromEnvironment(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

func (r *trials) more() bool { return r.compared < r.pairs && time.Now().Before(r.until) }

// analyze is the verdict on the next pair.
func (r *trials) analyze(c *comparison) Verdict {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	c.changes = fromEnvironment("LINTEL_CHANGES", c.changes)
	start := time.Now()
	verdict := analyzeOne(ctx, c)
	r.compared++
	r.counts[verdict.Outcome]++
	r.took[verdict.Outcome] += time.Since(start)
	if verdict.Outcome == Unknown {
		reason := verdict.Reason
		if _, after, found := strings.Cut(reason, ": "); found {
			reason = after
		}
		r.reasons[reason]++
		if show := os.Getenv("LINTEL_SHOW"); show == "all" || show != "" && strings.Contains(reason, show) {
			r.t.Log(textsOf(c, verdict))
		}
		require.NotEmpty(r.t, verdict.Reason)
		require.NotContains(r.t, verdict.Reason, "went wrong", textsOf(c, verdict))
	}
	if r.compared%1000 == 0 {
		r.progress()
	}
	return verdict
}

func (r *trials) progress() {
	r.t.Logf("%s seed %d: %d pairs, %d proved in %v, %d counterexamples in %v, %d unknown in %v (%.2f %%)", time.Now().Format(time.TimeOnly), r.seed, r.compared,
		r.counts[Proved], r.took[Proved], r.counts[Counterexample], r.took[Counterexample], r.counts[Unknown], r.took[Unknown], 100*float64(r.counts[Unknown])/float64(r.compared))
}

func (r *trials) report() {
	r.progress()
	for _, reason := range slices.Sorted(maps.Keys(r.reasons)) {
		r.t.Log(r.reasons[reason], reason)
	}
}

func textsOf(c *comparison, verdict Verdict) string {
	text := fmt.Sprintf("verdict %+v\n", verdict)
	for _, p := range append(slices.Clone(c.parents), c.child) {
		text += fmt.Sprintf("# %s of %s\n%s\n", p.Name, p.Level, p.Content)
	}
	return text
}

// pool is random inputs, which are used again and again.
type pool struct {
	inputs []ast.Value
	at     int
}

func newPool(seed uint64, input func(*rand.Rand) ast.Value) *pool {
	random := rand.New(rand.NewPCG(seed, 8))
	p := &pool{}
	for range 4000 {
		p.inputs = append(p.inputs, input(random))
	}
	return p
}

func (p *pool) next(n int) []ast.Value {
	if p.at+n > len(p.inputs) {
		p.at = 0
	}
	p.at += n
	return p.inputs[p.at-n : p.at]
}

// verifier holds verdicts to what evaluators say.
type verifier struct {
	t *testing.T
	// gateway is OPA as gateways run it, own the OPA that Lintel is built with, and lintel
	// its own evaluator.
	gateway     *gatewayOPA
	own, lintel *replay
	wrong       int
}

func newVerifier(t *testing.T, inputs ...[]ast.Value) *verifier {
	return &verifier{t: t, gateway: startGatewayOPA(t, inputs...)}
}

// comparedWith says who the parents of the next children are.
func (v *verifier) comparedWith(parents []*sidecar.Policy) {
	v.gateway.forget()
	v.own, v.lintel = replayOfOPA(v.t.Context()), newReplay(v.t.Context())
	v.own.remember(parents...)
	v.lintel.remember(parents...)
}

// verdict evaluates both sides: on all the inputs if the child is said to permit no more, else
// on that of the counterexample.
func (v *verifier) verdict(c *comparison, verdict Verdict, inputs []ast.Value) {
	fail := func(what string) {
		v.t.Errorf("%s\n%s", what, textsOf(c, verdict))
		if v.wrong++; v.wrong == 5 {
			v.t.FailNow()
		}
	}
	switch verdict.Outcome {
	case Counterexample:
		input := inputOf(v.t, verdict)
		for name, replay := range v.replays(c) {
			// On a busy machine, OPA may take longer than its opaTimeout.
			if c.findViolation(replay, input) == nil && !replay.inconclusive {
				fail("a false counterexample, by " + name)
			}
		}
	case Proved:
		for name, replay := range v.replays(c) {
			tried := inputs
			if name == ofGateways {
				tried = v.gateway.prepare(c, inputs)
			}
			for _, input := range tried {
				if found := c.findViolation(replay, input); found != nil {
					fail(fmt.Sprintf("a false proof, by %s: input %v: parent %v, child %v", name, input, found.parent, found.child))
					break
				}
			}
		}
	}
}

const ofGateways = "the OPA of gateways"

// replays are those that agree on what the policies mean.
func (v *verifier) replays(c *comparison) func(yield func(string, *replay) bool) {
	return func(yield func(string, *replay) bool) {
		if !yield("Lintel's evaluator", v.lintel) {
			return
		}
		for _, p := range append(slices.Clone(c.parents), c.child) {
			if strings.Contains(p.Content, "in {input.a, 7}") {
				return // whether OPA finds a member of such a set depends on its release
			}
		}
		if yield("the OPA that Lintel is built with", v.own) {
			yield(ofGateways, v.gateway.replay(v.t.Context()))
		}
	}
}

func inputOf(t *testing.T, verdict Verdict) ast.Value {
	if verdict.InputUndefined {
		return nil
	}
	value, err := ast.InterfaceToValue(verdict.Input)
	require.NoError(t, err)
	return value
}
