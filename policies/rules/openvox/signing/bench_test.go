package signing

import (
	"fmt"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/csr"
	"github.com/lintel-policy/lintel/policies/csr/csrtest"
)

func fifty() (policies []Policy) {
	for i := range 50 {
		policies = append(policies, Policy{Name: fmt.Sprintf("p%02d", i), Pattern: &Allow{[]string{fmt.Sprintf("n%02d*.example.com", i), fmt.Sprintf("x%02d*", i)}}, DNSAltNames: &Allow{[]string{"*.example.com"}}})
	}
	return policies
}

func BenchmarkRules(b *testing.B) {
	compiler, err := compiled()
	require.NoError(b, err)
	body, err := compiler.QueryCompiler().Compile(ast.MustParseBody("result = data.openvox.signing.refusals"))
	require.NoError(b, err)
	for name, want := range map[string]int{"n49a.example.com": 0, "other.example.com": 50} {
		b.Run(fmt.Sprint(want), func(b *testing.B) {
			q := Question{name, csr.Parse(csrtest.Template{CommonName: name, DNSNames: []string{name}}.Make(b)), Rendered{fifty(), []string{"main-operator"}}}
			input := ast.NewTerm(ast.MustInterfaceToValue(q))
			b.ReportAllocs()
			for b.Loop() {
				results, err := topdown.NewQuery(body).WithCompiler(compiler).WithInput(input).WithStrictBuiltinErrors(true).Run(b.Context())
				require.NoError(b, err)
				require.Equal(b, want, results[0]["result"].Value.(ast.Set).Len())
			}
		})
	}
}
