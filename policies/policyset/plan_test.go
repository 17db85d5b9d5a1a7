package policyset

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
)

// TestWhatCannotBePlannedIsRefused: at the gate, with the file, the line and a remedy.
func TestWhatCannotBePlannedIsRefused(t *testing.T) {
	chain := "package p\nf(x) := x\ng(_) := 1\nh(_) := 2\nr0 if f(0) == 1\n"
	for i := 1; i <= 40; i++ {
		chain += fmt.Sprintf("r%[1]d if r%[2]d with f as g\nr%[1]d if r%[2]d with f as h\n", i, i-1)
	}
	library := "package p\n"
	for i := range 48 {
		library += fmt.Sprintf("lib.m%[1]d.v := %[1]d\n", i)
	}
	for name, c := range map[string]struct{ rego, want string }{
		"with by with":           {chain + "deny contains \"x\" if r40", "policy.rego:58:8: this reference is planned again for every rule or package that it may mean"},
		"packages by packages":   {library + "deny contains \"x\" if { some a, b, c; data.p.lib[a].v + data.p.lib[b].v == data.p.lib[c].v }", "policy.rego:50:"},
		"a name shared by rules": {"package p\nq[x].a := 1 if some x in [\"m\"]\nq[x].b := y if { some x in [\"m\"]; y := data.p.q.m.a }\ndeny contains \"x\" if q.m.b", "policy.rego:3:1: a rule refers to data.p.q, with which it shares the beginning of its name"},
		"a pattern out of order": {"package p\ndeny contains w if { [w, v] = [v, input.name] }", "policy.rego:2:1: a variable of this pattern is used before the part of it that gives it a value"},
		"rules of unlike depth":  {"package p\nq.x.b := 1\nq.b.b := 2\nq.a[l] := v if some l, v in {\"x\": \"b\"}\ndeny contains \"x\" if { k := q.a.x; q[k].b }", "policy.rego:5:36: a variable stands here in the place of keys of which some are rules and others have rules below them: name the keys"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(definition.Source{Name: "s", Files: map[string]string{"policy.rego": c.rego}})
			require.ErrorContains(t, err, c.want)
			require.IsType(t, definition.CompileErrorList{}, err)
		})
	}
}
