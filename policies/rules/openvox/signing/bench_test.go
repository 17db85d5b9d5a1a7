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
	for name, want := range map[string]int{"n49a.example.com": 0, "other.example.com": 13} {
		b.Run(fmt.Sprint(want), func(b *testing.B) {
			q := Question{name, csr.Parse(csrtest.Template{CommonName: name, DNSNames: []string{name}}.Make(b)), Rendered{fifty(), []string{"main-operator"}}}
			input := ast.NewTerm(ast.MustInterfaceToValue(q))
			b.ReportAllocs()
			for b.Loop() {
				refusals, _, err := evaluate(b.Context(), input)
				require.NoError(b, err)
				require.Equal(b, want, refusals.Len())
			}
		})
	}
}

// certname is who asks in hostile requests.
const certname = "n49a.example.com"

// ending is that of names which nested policies permit.
const ending = "aaaaaaaaaaaaaa.internal.example.com"

// hostile are requests that cost most: as much of one thing as fits into csr.MaxBytes, as much
// as is read, and as much as is evaluated; and of all things together.
func hostile(t testing.TB) map[string][]byte {
	type add func(tpl *csrtest.Template, i int)
	oid := func(i int) asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, i} }
	dns := func(format string) add {
		return func(tpl *csrtest.Template, i int) { tpl.DNSNames = append(tpl.DNSNames, fmt.Sprintf(format, i)) }
	}
	same := func(name string) add {
		return func(tpl *csrtest.Template, _ int) { tpl.DNSNames = append(tpl.DNSNames, name) }
	}
	san := func(ders ...string) add {
		return func(tpl *csrtest.Template, i int) { tpl.SANs = append(tpl.SANs, []byte(ders[i%len(ders)])) }
	}
	extension := func(arc asn1.ObjectIdentifier, value ...byte) add {
		return func(tpl *csrtest.Template, i int) {
			tpl.Extensions = append(tpl.Extensions, pkix.Extension{Id: append(slices.Clone(arc), 1000+i), Value: value})
		}
	}
	attribute := func(tpl *csrtest.Template, i int) {
		tpl.Attributes = append(tpl.Attributes, csrtest.Text{OID: oid(i), Value: "x"})
	}
	together := func(parts ...add) add {
		return func(tpl *csrtest.Template, i int) {
			for _, part := range parts {
				part(tpl, i)
			}
		}
	}
	strangers, matching := dns("%05d"+strings.Repeat("a", 30)), dns("n%04d"+ending)
	rights := extension(asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 34380, 1, 3}, 12, 1, 'x')
	requests := map[string][]byte{}
	for title, c := range map[string]struct {
		most, read int // how many fit, and how many are read
		add        add
	}{
		"DNS names":                        {1200, 800, strangers},
		"DNS names that match":             {1100, 700, matching},
		"equal DNS names":                  {1400, 1000, same("a.example.com")},
		"empty DNS names":                  {20000, 1000, same("")},
		"reserved DNS names":               {1600, 1000, dns("N%05d.Main-Operator")},
		"DNS names that are none":          {1600, 1000, dns("*.%05d.example.com")},
		"DNS names with slashes":           {4000, 1000, dns("a/%05d")},
		"addresses":                        {7500, 1000, func(tpl *csrtest.Template, _ int) { tpl.IPs = append(tpl.IPs, "10.0.0.1") }},
		"different addresses":              {2400, 1000, func(tpl *csrtest.Template, i int) { tpl.IPs = append(tpl.IPs, fmt.Sprintf("2001:db8::%x", i)) }},
		"URIs":                             {4000, 1000, san("\x86\x09http://ab")},
		"other names":                      {20000, 1000, san("\xa4\x00")},
		"names of all types":               {7000, 1000, san("\xa0\x00", "\xa3\x00", "\xa4\x00", "\xa5\x00", "\x88\x00", "\x86\x01a", "\x81\x01a")},
		"extensions":                       {3500, 200, extension(oid(1))},
		"rights":                           {1900, 200, rights},
		"attributes":                       {2800, 199, attribute},
		"equal attributes":                 {3500, 199, func(tpl *csrtest.Template, _ int) { attribute(tpl, 1) }},
		"common names":                     {1600, 199, func(tpl *csrtest.Template, _ int) { tpl.Names = append(tpl.Names, commonName) }},
		"rights and attributes":            {1100, 199, together(rights, attribute)},
		"everything":                       {450, 199, together(strangers, rights, attribute)},
		"everything, and names that match": {450, 199, together(matching, rights, attribute)},
	} {
		for suffix, number := range map[string]int{"": c.most, ", read": c.read, ", judged": 99} {
			tpl := csrtest.Template{CommonName: certname}
			for i := range number {
				c.add(&tpl, i)
			}
			requests[title+suffix] = tpl.Make(t)
		}
	}
	last := csrtest.Template{CommonName: certname}
	for i := range 99 {
		matching(&last, i)
	}
	last.DNSNames = append(last.DNSNames, "www.example.org")
	requests["DNS names, of which the last does not match"] = last.Make(t)
	// By which to check a signature takes seconds.
	large := &rsa.PublicKey{N: new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 180_000), big.NewInt(159)), E: 1<<31 - 1}
	largest := &rsa.PublicKey{N: new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), csr.MaxKeyBits), big.NewInt(159)), E: 1<<31 - 1}
	usages, err := asn1.Marshal(slices.Repeat([]asn1.ObjectIdentifier{oid(1)}, 11000))
	require.NoError(t, err)
	many := strings.Repeat("a", 40000)
	for title, tpl := range map[string]csrtest.Template{
		"usages":             {Extensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Value: usages}}},
		"usages, judged":     {Extensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Value: append([]byte{0x30, 0x82, 1, 144}, usages[4:404]...)}}},
		"a long common name": {Names: []pkix.AttributeTypeAndValue{{Type: commonName.Type, Value: many}}},
		"a long DNS name":    {DNSNames: []string{many[:30000]}},
		"long DNS names":     {DNSNames: slices.Repeat([]string{strings.Repeat("a", 249)}, 16)},
		"a long value":       {Attributes: []csrtest.Text{{OID: oid(1), Value: many}}},
		"a long extension":   {Extensions: []pkix.Extension{{Id: append(slices.Clone(oid(1)), 1), Value: []byte(many)}}},
		"a long OID":         {Attributes: []csrtest.Text{{OID: slices.Repeat(oid(1), 10000)}}},
		"OIDs of 64 parts":   {Attributes: slices.Repeat([]csrtest.Text{{OID: slices.Repeat(asn1.ObjectIdentifier{1}, 64)}}, 99)},
		"a key too large":    {Foreign: large},
		"the largest key":    {Foreign: largest},
	} {
		tpl.CommonName = certname
		requests[title] = tpl.Make(t)
	}
	for title, text := range requests {
		require.LessOrEqual(t, len(text), csr.MaxBytes, title)
	}
	return requests
}

var commonName = pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: certname}

// fiftyOf are policies that are for every name.
func fiftyOf(kind func(i int) Policy) (policies []Policy) {
	for i := range 50 {
		policy := kind(i)
		policy.Name, policy.Pattern = fmt.Sprintf("p%02d", i), &Allow{[]string{"*", "n[0-9]*", "*.?x*"}}
		policies = append(policies, policy)
	}
	return policies
}

// attacked are policies for every name: demanding ones have globs, attributes and rights;
// nested ones globs of which each matches what the next does.
func attacked() map[string][]Policy {
	return map[string][]Policy{
		"demanding": fiftyOf(func(i int) Policy {
			return Policy{
				DNSAltNames:   &Allow{[]string{fmt.Sprintf("*.%d.example.com", i), fmt.Sprintf("n%d[0-9]*", i), "www.example.com"}},
				CSRAttributes: []Attribute{{"pp_role", "web"}, {"pp_preshared_key", "s3cret"}, {fmt.Sprintf("1.3.6.1.4.1.34380.1.3.%d", 1000+i), "x"}},
			}
		}),
		"nested": fiftyOf(func(i int) Policy {
			end := ending[i%len(ending):]
			return Policy{DNSAltNames: &Allow{[]string{"*" + end, fmt.Sprintf("n*%d*%s", i/len(ending), end), "www.example.com"}}}
		}),
	}
}

func BenchmarkHostile(b *testing.B) {
	for kind, policies := range attacked() {
		for title, text := range hostile(b) {
			b.Run(kind+"/"+title, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, err := Refusals(b.Context(), Question{certname, csr.Parse(text), Rendered{policies, []string{"main-operator", ".main-operator"}}})
					require.NoError(b, err)
				}
			})
		}
	}
}

// TestWork: no request takes much longer to evaluate than another, or has a long answer.
func TestWork(t *testing.T) {
	for kind, policies := range attacked() {
		for title, text := range hostile(t) {
			q := Question{certname, csr.Parse(text), Rendered{policies, []string{"main-operator", ".main-operator"}}}
			refusals, report, err := evaluate(t.Context(), ast.NewTerm(ast.MustInterfaceToValue(q)))
			require.NoError(t, err, title)
			require.Less(t, report.Steps, int64(250_000), "%s: %s", kind, title)
			require.LessOrEqual(t, refusals.Len(), 13, title)
			require.Less(t, len(refusals.String()), 8000, title)
		}
	}
}

// ordinary is what an agent sends.
func ordinary(t testing.TB) []byte {
	return csrtest.Template{CommonName: certname, DNSNames: []string{certname}}.Make(t)
}
