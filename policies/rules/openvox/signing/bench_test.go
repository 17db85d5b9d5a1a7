package signing

import (
	"crypto/rsa"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"slices"
	"strings"
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
	for name, want := range map[string]int{"n49a.example.com": 0, "other.example.com": 13} {
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

// hostile are requests that cost most: about as much of one thing as fits into
// csr.MaxBytes, and as much as the rules judge.
func hostile(t testing.TB) map[string][]byte {
	const name = "n49a.example.com"
	oid := func(i int) asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, i} }
	all := map[string][]byte{}
	for title, c := range map[string]struct {
		number int
		add    func(tpl *csrtest.Template, i int)
	}{
		"DNS names": {1200, func(tpl *csrtest.Template, i int) {
			tpl.DNSNames = append(tpl.DNSNames, fmt.Sprintf("%05d%s", i, strings.Repeat("a", 30)))
		}},
		"short DNS names": {20000, func(tpl *csrtest.Template, _ int) { tpl.DNSNames = append(tpl.DNSNames, "") }},
		"addresses":       {7500, func(tpl *csrtest.Template, _ int) { tpl.IPs = append(tpl.IPs, "10.0.0.1") }},
		"other names":     {20000, func(tpl *csrtest.Template, _ int) { tpl.SANs = append(tpl.SANs, []byte{0xa4, 0}) }},
		"extensions": {4000, func(tpl *csrtest.Template, i int) {
			tpl.Extensions = append(tpl.Extensions, pkix.Extension{Id: oid(i), Value: []byte{}})
		}},
		"rights": {2000, func(tpl *csrtest.Template, i int) {
			tpl.Extensions = append(tpl.Extensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 34380, 1, 3, 1000 + i}, Value: []byte{12, 0}})
		}},
		"attributes":       {3500, func(tpl *csrtest.Template, i int) { tpl.Attributes = append(tpl.Attributes, csrtest.Text{OID: oid(i)}) }},
		"equal attributes": {4000, func(tpl *csrtest.Template, _ int) { tpl.Attributes = append(tpl.Attributes, csrtest.Text{OID: oid(1)}) }},
		"common names": {1600, func(tpl *csrtest.Template, _ int) {
			tpl.Names = append(tpl.Names, pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: name})
		}},
	} {
		for suffix, number := range map[string]int{"": c.number, ", judged": 100} {
			tpl := csrtest.Template{CommonName: name}
			for i := range number {
				c.add(&tpl, i)
			}
			all[title+suffix] = tpl.Make(t)
			require.LessOrEqual(t, len(all[title+suffix]), csr.MaxBytes, title)
		}
	}
	usages, err := asn1.Marshal(slices.Repeat([]asn1.ObjectIdentifier{oid(1)}, 11000))
	require.NoError(t, err)
	all["usages"] = csrtest.Template{CommonName: name, Extensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Value: usages}}}.Make(t)
	many := strings.Repeat("a", 40000)
	all["a long common name"] = csrtest.Template{CommonName: many}.Make(t)
	all["a long DNS name"] = csrtest.Template{CommonName: name, DNSNames: []string{many}}.Make(t)
	all["a long value"] = csrtest.Template{CommonName: name, Attributes: []csrtest.Text{{OID: oid(1), Value: many}}}.Make(t)
	all["a long OID"] = csrtest.Template{CommonName: name, Attributes: []csrtest.Text{{OID: slices.Repeat(oid(1), 10000)}}}.Make(t)
	// By which to check a signature takes seconds.
	large := &rsa.PublicKey{N: new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 180_000), big.NewInt(159)), E: 1<<31 - 1}
	all["a large key"] = csrtest.Template{CommonName: name, Foreign: large}.Make(t)
	return all
}

// demanding are 50 policies that are for every name, each with globs, attributes and rights.
func demanding() (policies []Policy) {
	for i := range 50 {
		policies = append(policies, Policy{
			Name: fmt.Sprintf("p%02d", i), Pattern: &Allow{[]string{"*", "n[0-9]*", "*.?x*"}},
			DNSAltNames:   &Allow{[]string{fmt.Sprintf("*.%d.example.com", i), fmt.Sprintf("n%d[0-9]*", i), "www.example.com"}},
			CSRAttributes: []Attribute{{"pp_role", "web"}, {"pp_preshared_key", "s3cret"}, {fmt.Sprintf("1.3.6.1.4.1.34380.1.3.%d", 1000+i), "x"}},
		})
	}
	return policies
}

func BenchmarkHostile(b *testing.B) {
	rendered := Rendered{demanding(), []string{"main-operator", ".main-operator"}}
	for title, text := range hostile(b) {
		b.Run(title, func(b *testing.B) {
			for b.Loop() {
				_, err := Refusals(b.Context(), Question{"n49a.example.com", csr.Parse(text), rendered})
				require.NoError(b, err)
			}
		})
	}
}

// TestWork: no request takes much more to judge than another, nor has a long answer,
// whatever it holds.
func TestWork(t *testing.T) {
	compiler, err := compiled()
	require.NoError(t, err)
	body, err := compiler.QueryCompiler().Compile(ast.MustParseBody("result = data.openvox.signing.refusals"))
	require.NoError(t, err)
	rendered := Rendered{demanding(), []string{"main-operator", ".main-operator"}}
	for title, text := range hostile(t) {
		q, events := Question{"n49a.example.com", csr.Parse(text), rendered}, counter(0)
		results, err := topdown.NewQuery(body).WithCompiler(compiler).WithInput(ast.NewTerm(ast.MustInterfaceToValue(q))).
			WithStrictBuiltinErrors(true).WithQueryTracer(&events).Run(t.Context())
		require.NoError(t, err, title)
		require.Less(t, int(events), 70_000, title)
		refusals := results[0]["result"].Value.(ast.Set)
		require.Positive(t, refusals.Len(), title)
		require.LessOrEqual(t, refusals.Len(), 13, title)
		require.Less(t, len(refusals.String()), 8000, title)
	}
}

// counter counts what is evaluated.
type counter int

func (c *counter) Enabled() bool               { return true }
func (c *counter) Config() topdown.TraceConfig { return topdown.TraceConfig{} }
func (c *counter) TraceEvent(topdown.Event)    { *c++ }
