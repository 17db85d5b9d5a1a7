package restriction

import (
	"context"
	"encoding/gob"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
	"github.com/lintel-policy/lintel/test/opaserver"
)

// replayOfOPA is a replay by the OPA that Lintel is built with.
func replayOfOPA(ctx context.Context) *replay {
	r := newReplay(ctx)
	r.run = func(p *sidecar.Policy, decision string, input ast.Value, _ *eval.Coverage) (ast.Value, error) {
		return p.AskOPA(ctx, decision, input, r.now)
	}
	return r
}

// remember keeps what a replay has evaluated of some policies.
func (r *replay) remember(of ...*sidecar.Policy) {
	run, known := r.run, map[evaluation]outcome{}
	r.run = func(p *sidecar.Policy, decision string, input ast.Value, coverage *eval.Coverage) (ast.Value, error) {
		key := evaluation{p, decision, input}
		if found, ok := known[key]; ok && !found.inconclusive {
			return found.value, found.err
		}
		before := r.inconclusive
		r.inconclusive = false
		value, err := run(p, decision, input, coverage)
		for _, kept := range of {
			if kept == p {
				known[key] = outcome{value, err, r.inconclusive}
			}
		}
		r.inconclusive = r.inconclusive || before
		return value, err
	}
}

// evaluation is that of a decision on an input, which is the same only where it is the same
// object.
type evaluation struct {
	policy   *sidecar.Policy
	decision string
	input    ast.Value
}

type outcome struct {
	value        ast.Value
	err          error
	inconclusive bool
}

// gatewayOPA evaluates by the OPA that gateways run, a program of its own.
type gatewayOPA struct {
	t         *testing.T
	questions *gob.Encoder
	answers   *gob.Decoder
	texts     map[ast.Value]string // of inputs that are asked about often
	values    map[string]ast.Value
	known     map[evaluation]outcome
}

func startGatewayOPA(t *testing.T, inputs ...[]ast.Value) *gatewayOPA {
	program := exec.Command(opaserver.BuildAnswers(t, sidecar.Version))
	program.Stderr = os.Stderr
	in, err := program.StdinPipe()
	require.NoError(t, err)
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		require.NoError(t, program.Wait())
	})
	g := &gatewayOPA{t, gob.NewEncoder(in), gob.NewDecoder(out), map[ast.Value]string{}, map[string]ast.Value{}, nil}
	for _, some := range inputs {
		for _, input := range some {
			g.texts[input] = textOfInput(input)
		}
	}
	g.forget()
	return g
}

func textOfInput(input ast.Value) string {
	if input == nil {
		return ""
	}
	return input.String()
}

// forget leaves only the inputs known.
func (g *gatewayOPA) forget() { g.known = map[evaluation]outcome{} }

// ask evaluates a decision on inputs, where that was not done yet.
func (g *gatewayOPA) ask(p *sidecar.Policy, decision string, inputs []ast.Value) {
	type question struct {
		Module, Rule string
		Inputs       []string
	}
	type answer struct {
		Version        string
		Values, Errors []string
		Failure        string
	}
	q := question{Module: p.Content, Rule: p.Ref(decision).String()}
	var asked []evaluation
	for _, input := range inputs {
		key := evaluation{p, decision, input}
		if _, done := g.known[key]; done {
			continue
		}
		text, known := g.texts[input]
		if !known {
			text = textOfInput(input)
		}
		asked, q.Inputs = append(asked, key), append(q.Inputs, text)
	}
	if len(asked) == 0 {
		return
	}
	require.NoError(g.t, g.questions.Encode(q))
	var a answer
	require.NoError(g.t, g.answers.Decode(&a))
	require.Equal(g.t, sidecar.Version, a.Version)
	require.Empty(g.t, a.Failure, p.Content)
	require.Len(g.t, a.Values, len(asked))
	for i, key := range asked {
		var found outcome
		if a.Errors[i] != "" {
			found.err = errors.New(a.Errors[i])
		}
		if text := a.Values[i]; text != "" {
			value, parsed := g.values[text]
			if !parsed {
				value = valueOfText(g.t, text)
				g.values[text] = value
			}
			found.value = value
		}
		g.known[key] = found
	}
}

func valueOfText(t *testing.T, text string) ast.Value {
	parsed, err := ast.ParseTerm(text)
	require.NoError(t, err, text)
	return parsed.Value
}

// replay is one by the OPA of gateways.
func (g *gatewayOPA) replay(ctx context.Context) *replay {
	r := newReplay(ctx)
	r.run = func(p *sidecar.Policy, decision string, input ast.Value, _ *eval.Coverage) (ast.Value, error) {
		key := evaluation{p, decision, input}
		if _, done := g.known[key]; !done {
			g.ask(p, decision, []ast.Value{input})
		}
		return g.known[key].value, g.known[key].err
	}
	return r
}

// prepare evaluates what a comparison may need on inputs, in few questions, and gives those
// where the child answers: on the others it permits nothing.
func (g *gatewayOPA) prepare(c *comparison, inputs []ast.Value) (answered []ast.Value) {
	g.ask(c.child, c.decision, inputs)
	for _, input := range inputs {
		if value := g.known[evaluation{c.child, c.decision, input}].value; value != nil &&
			(c.order != sidecar.Grant || ast.Compare(value, ast.Boolean(true)) == 0) {
			answered = append(answered, input)
		}
	}
	if c.order == sidecar.Grant {
		for _, denial := range c.denials() {
			g.ask(c.child, denial, answered)
		}
	}
	for _, p := range c.definers {
		g.ask(p, c.decision, answered)
	}
	return answered
}
