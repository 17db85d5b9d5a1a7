package signing

import (
	_ "embed" // of the reference
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/csr"
	"github.com/lintel-policy/lintel/test/properties"
)

//go:embed testdata/reference.rego
var reference string

// TestReference: whether policies match, and the reasons why not, agree with the reference,
// which evaluates each policy by itself.
func TestReference(t *testing.T) {
	plain, err := ast.CompileModules(map[string]string{"reference.rego": reference})
	require.NoError(t, err)
	t.Parallel()
	questions := properties.Count(600, 10_000)
	random := mathrand.New(mathrand.NewPCG(properties.Seed(3), 4))
	matched := 0
	for range questions {
		q := randomQuestion(random)
		want, err := aboutPolicies(t, plain, "data.reference.refusals", q)
		if err != nil {
			want = []string{"error"}
		}
		got := []string{"error"}
		if refusals, _, err := evaluate(t.Context(), ast.NewTerm(ast.MustInterfaceToValue(q))); err == nil {
			got = policyWords(refusals)
		}
		require.Equal(t, want, got, "%+v", q)
		if len(want) == 0 {
			matched++
		}
	}
	require.Greater(t, matched, questions/10)
	require.Less(t, matched, questions*9/10)
}

func aboutPolicies(t *testing.T, compiler *ast.Compiler, rule string, q Question) ([]string, error) {
	t.Helper()
	body, err := compiler.QueryCompiler().Compile(ast.MustParseBody("result = " + rule))
	require.NoError(t, err)
	results, err := topdown.NewQuery(body).WithCompiler(compiler).WithInput(ast.NewTerm(ast.MustInterfaceToValue(q))).WithStrictBuiltinErrors(true).Run(t.Context())
	if err != nil {
		return nil, err
	}
	return policyWords(results[0]["result"].Value.(ast.Set)), nil
}

// policyWords are the refusals that are about policies.
func policyWords(refusals ast.Set) []string {
	words := []string{}
	refusals.Foreach(func(term *ast.Term) {
		if word := string(term.Value.(ast.String)); strings.Contains(word, "signing polic") {
			words = append(words, word)
		}
	})
	slices.Sort(words)
	return words
}

// randomQuestion has short names and globs of few letters, so that they often match.
func randomQuestion(random *mathrand.Rand) Question {
	word := func(alphabet string, longest int) string {
		out := make([]byte, random.IntN(longest+1))
		for i := range out {
			out[i] = alphabet[random.IntN(len(alphabet))]
		}
		return string(out)
	}
	some := func(most int, make func() string) (list []string) {
		for range random.IntN(most + 1) {
			list = append(list, make())
		}
		return orEmpty(list)
	}
	glob := func() string {
		return word([]string{"ab*", "aab**", "ab.*?/", "ab*?[]^-"}[random.IntN(4)], 4)
	}
	named := func() (string, string, string) {
		name := []string{"pp_role", "pp_auth_token", "challengePassword"}[random.IntN(3)]
		return map[string]string{"pp_role": "1.3.6.1.4.1.34380.1.1.13", "pp_auth_token": "1.3.6.1.4.1.34380.1.3.2"}[name], name, word("xy", 1)
	}
	q := Question{Certname: word("ab", 3), CSR: &csr.Request{}}
	if random.IntN(8) == 0 {
		q.Certname = word("ab/", 4)
	}
	q.CSR.DNSNames = some(random.IntN(3), func() string { return word("ab", 2) })
	q.CSR.IPAddresses, q.CSR.URIs, q.CSR.Emails, q.CSR.OtherSANs = []string{}, []string{}, []string{}, []csr.OtherSAN{}
	if random.IntN(8) == 0 {
		q.CSR.IPAddresses = []string{"10.0.0.1"}
	}
	q.CSR.Extensions, q.CSR.Attributes = []csr.Extension{}, []csr.Attribute{}
	q.CSR.Subject.Names, q.CSR.Usages = []csr.Name{}, []string{}
	for range random.IntN(3) {
		oid, name, value := named()
		q.CSR.Extensions = append(q.CSR.Extensions, csr.Extension{OID: oid, Name: name, Value: &value})
	}
	for range random.IntN(2) {
		oid, name, value := named()
		q.CSR.Attributes = append(q.CSR.Attributes, csr.Attribute{OID: oid, Name: name, Value: &value})
	}
	if random.IntN(20) == 0 {
		q.CSR.Error = "garbage"
	}
	for i := range random.IntN(4) {
		p := Policy{Name: string(rune('a' + i)), Any: random.IntN(8) == 0}
		if random.IntN(8) == 0 {
			p.Error = "no Secret"
		}
		if random.IntN(4) > 0 {
			p.Pattern = &Allow{some(3, glob)}
		}
		if random.IntN(2) == 0 {
			p.DNSAltNames = &Allow{some(3, glob)}
		}
		for range random.IntN(2) {
			oid, name, value := named()
			if random.IntN(4) == 0 && oid != "" {
				name = oid
			}
			p.CSRAttributes = append(p.CSRAttributes, Attribute{name, value})
		}
		q.Policies = append(q.Policies, p)
	}
	q.Policies = orEmpty(q.Policies)
	return q
}
