package signing

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509/pkix"
	"encoding/asn1"
	"maps"
	mathrand "math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/csr"
	"github.com/lintel-policy/lintel/policies/csr/csrtest"
	"github.com/lintel-policy/lintel/test/properties"
)

func oid(t *testing.T, name string) asn1.ObjectIdentifier {
	t.Helper()
	oid, ok := csr.OID(name)
	require.True(t, ok, name)
	return oid
}

// TestRefusals asks about requests as an agent may send them. An empty want is signed.
func TestRefusals(t *testing.T) {
	web := Policy{Name: "web", Pattern: &Allow{[]string{"web*.example.com"}}, DNSAltNames: &Allow{[]string{"www.example.com", "web*"}}}
	anyone := Policy{Name: "anyone", Any: true}
	shared := Policy{Name: "shared", CSRAttributes: []Attribute{{"pp_preshared_key", "s3cret"}}}
	challenge := Policy{Name: "challenge", CSRAttributes: []Attribute{{"challengePassword", "s3cret"}}}
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	cube, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	cube.E = 3
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	ca, err := asn1.Marshal(struct{ CA bool }{true})
	require.NoError(t, err)
	certSign, err := asn1.Marshal(asn1.BitString{Bytes: []byte{0x04}, BitLength: 6})
	require.NoError(t, err)
	san := func(tag int, compound bool, value string) [][]byte {
		der, err := asn1.Marshal(asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: tag, IsCompound: compound, Bytes: []byte(value)})
		require.NoError(t, err)
		return [][]byte{der}
	}
	extension := func(name, value string) []pkix.Extension {
		return []pkix.Extension{csrtest.Extension(t, oid(t, name), value)}
	}
	name := "web1.example.com"
	cn := func(value string) []pkix.AttributeTypeAndValue {
		return []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: value}}
	}
	for title, c := range map[string]struct {
		template csrtest.Template
		certname string // web1.example.com unless set
		policies []Policy
		want     []string
	}{
		"by name":                {csrtest.Template{CommonName: name}, "", []Policy{web}, nil},
		"with its SANs":          {csrtest.Template{CommonName: name, DNSNames: []string{"www.example.com", name}}, "", []Policy{web}, nil},
		"any name and SAN":       {csrtest.Template{CommonName: "x", DNSNames: []string{"y.example.com"}}, "x", []Policy{anyone}, nil},
		"one of two":             {csrtest.Template{CommonName: name}, "", []Policy{shared, web}, nil},
		"by a secret":            {csrtest.Template{CommonName: name, Extensions: extension("pp_preshared_key", "s3cret")}, "", []Policy{shared}, nil},
		"by challengePassword":   {csrtest.Template{CommonName: name, Attributes: []csrtest.Text{{OID: oid(t, "challengePassword"), Value: "s3cret"}}}, "", []Policy{challenge}, nil},
		"nobody else's name":     {csrtest.Template{CommonName: "web2.example.com"}, "", []Policy{anyone}, []string{`common names ["web2.example.com"], not the certname "web1.example.com" alone`}},
		"two names":              {csrtest.Template{CommonName: "main-operator", Names: cn(name)}, "", []Policy{anyone}, []string{"common names"}},
		"more of a subject":      {csrtest.Template{CommonName: name, Names: []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{2, 5, 4, 10}, Value: "O"}}}, "", []Policy{anyone}, []string{"the subject has O in addition to"}},
		"forged":                 {csrtest.Template{CommonName: name, Forged: true}, "", []Policy{anyone}, []string{"its signature is not made by the key"}},
		"weak key":               {csrtest.Template{CommonName: name, Key: weak}, "", []Policy{anyone}, []string{"its key is RSA of 1024 bits"}},
		"exotic key":             {csrtest.Template{CommonName: name, Key: edwards}, "", []Policy{anyone}, []string{"its key is Ed25519"}},
		"CA":                     {csrtest.Template{CommonName: name, Extensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: ca}}}, "", []Policy{anyone}, []string{"extension basicConstraints is neither", "asks for a CA certificate"}},
		"CA by usage":            {csrtest.Template{CommonName: name, Extensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 15}, Value: certSign}}}, "", []Policy{anyone}, []string{"extension keyUsage is neither", `usage "cert sign"`}},
		"IP":                     {csrtest.Template{CommonName: name, DNSNames: []string{"www.example.com"}, IPs: []string{"10.0.0.1"}}, "", []Policy{web}, []string{`signing policy "web": IP address 10.0.0.1 in subjectAltName`}},
		"IP, any":                {csrtest.Template{CommonName: name, IPs: []string{"10.0.0.1"}}, "", []Policy{anyone}, []string{`signing policy "anyone": IP address 10.0.0.1`}},
		"URI":                    {csrtest.Template{CommonName: name, SANs: san(6, false, "https://a")}, "", []Policy{anyone}, []string{"URI https://a"}},
		"e-mail":                 {csrtest.Template{CommonName: name, SANs: san(1, false, "a@b")}, "", []Policy{anyone}, []string{"e-mail address a@b"}},
		"otherName":              {csrtest.Template{CommonName: name, SANs: san(0, true, "\x06\x01\x2a")}, "", []Policy{anyone}, []string{"name of another type otherName"}},
		"wildcard":               {csrtest.Template{CommonName: name, DNSNames: []string{"*.example.com"}}, "", []Policy{anyone}, []string{`"*.example.com" in subjectAltName is not a host name`}},
		"SAN outside":            {csrtest.Template{CommonName: name, DNSNames: []string{"db.example.com"}}, "", []Policy{web}, []string{`signing policy "web": subjectAltName has DNS names (db.example.com)`}},
		"SAN, unasked":           {csrtest.Template{CommonName: name, DNSNames: []string{"db"}, Extensions: extension("pp_preshared_key", "s3cret")}, "", []Policy{shared}, []string{"has no dnsAltNames"}},
		"name outside":           {csrtest.Template{CommonName: "db.example.com"}, "db.example.com", []Policy{web, shared}, []string{`signing policy "shared": pp_preshared_key is missing`, `signing policy "web": certname "db.example.com" matches none of its patterns (web*.example.com)`}},
		"wrong secret":           {csrtest.Template{CommonName: name, Extensions: extension("pp_preshared_key", "guess")}, "", []Policy{shared}, []string{`signing policy "shared": pp_preshared_key is not the required value`}},
		"attribute over another": {csrtest.Template{CommonName: name, Extensions: extension("pp_preshared_key", "guess"), Attributes: []csrtest.Text{{OID: oid(t, "pp_preshared_key"), Value: "s3cret"}}}, "", []Policy{shared}, []string{"pp_preshared_key is not the required value"}},
		"pp_authorization":       {csrtest.Template{CommonName: name, Extensions: extension("pp_authorization", "true")}, "", []Policy{anyone}, []string{"pp_authorization gives rights"}},
		"pp_auth_token":          {csrtest.Template{CommonName: name, Extensions: extension("pp_auth_token", "true")}, "", []Policy{anyone}, []string{"pp_auth_token gives rights"}},
		"pp_cli_auth":            {csrtest.Template{CommonName: name, Extensions: extension("pp_cli_auth", "true")}, "", []Policy{anyone}, []string{"extension pp_cli_auth makes"}},
		"extension twice":        {csrtest.Template{CommonName: name, Extensions: append(extension("pp_role", "a"), extension("pp_role", "b")...)}, "", []Policy{anyone}, []string{"duplicate"}},
		"unknown extension":      {csrtest.Template{CommonName: name, Extensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3}, Value: []byte{5, 0}}}}, "", []Policy{anyone}, []string{"extension 1.2.3 is neither"}},
		"outside of the arcs":    {csrtest.Template{CommonName: name, Extensions: []pkix.Extension{csrtest.Extension(t, asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 34380, 1, 33}, "x")}}, "", []Policy{anyone}, []string{"is neither subjectAltName nor Puppet's"}},
		"operator":               {csrtest.Template{CommonName: "main-operator"}, "main-operator", []Policy{anyone}, []string{`certname "main-operator" is reserved`}},
		"operator as SAN":        {csrtest.Template{CommonName: name, DNSNames: []string{"Main-Operator"}}, "", []Policy{anyone}, []string{`DNS name "Main-Operator" in subjectAltName is reserved`}},
		"slash":                  {csrtest.Template{CommonName: "a/b"}, "a/b", []Policy{anyone}, []string{`certname "a/b": a certname has`}},
		"path":                   {csrtest.Template{CommonName: "../ca"}, "../ca", []Policy{anyone}, []string{`certname "../ca": a certname has`}},
		"upper case":             {csrtest.Template{CommonName: "Web1.example.com"}, "Web1.example.com", []Policy{anyone}, []string{`a certname has`}},
		"no policies":            {csrtest.Template{CommonName: name}, "", nil, []string{"there is no signing policy"}},
		"only SANs":              {csrtest.Template{CommonName: name}, "", []Policy{{Name: "s", DNSAltNames: &Allow{[]string{"*"}}}}, []string{"neither pattern nor csrAttributes"}},
		"a broken one":           {csrtest.Template{CommonName: name}, "", []Policy{{Name: "b", Error: "no Secret"}, web}, nil},
		"bad glob":               {csrtest.Template{CommonName: name}, "", []Policy{{Name: "g", Pattern: &Allow{[]string{"[", "web[z-a]*"}}}}, []string{"matches none of its patterns"}},
	} {
		t.Run(title, func(t *testing.T) {
			if c.certname == "" {
				c.certname = name
			}
			got, err := Refusals(t.Context(), Question{c.certname, csr.Parse(c.template.Make(t)), Rendered{c.policies, []string{"main-operator"}}})
			require.NoError(t, err)
			require.Len(t, got, len(c.want), "%q", got)
			for i, want := range c.want {
				require.Contains(t, got[i], want)
			}
			require.NotContains(t, strings.Join(got, " "), "s3cret", "secrets are never shown")
			require.NotContains(t, strings.Join(got, " "), "guess")
		})
	}
	got, err := Refusals(t.Context(), Question{name, csr.Parse([]byte("garbage")), Rendered{[]Policy{anyone}, nil}})
	require.NoError(t, err)
	require.Equal(t, []string{"the certificate request cannot be read: it does not begin with a PEM block"}, got)
}

// TestItLinksNoPlanner: a Puppet server waits for all that is linked to start up.
func TestItLinksNoPlanner(t *testing.T) {
	deps, err := exec.Command("go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	require.Contains(t, string(deps), "open-policy-agent/opa/v1/topdown\n")
	require.NotContains(t, string(deps), "open-policy-agent/opa/v1/rego\n")
}

// TestGlobs: a glob matches what filepath.Match says, or less.
func TestGlobs(t *testing.T) {
	t.Parallel()
	random := mathrand.New(mathrand.NewPCG(properties.Seed(1), 2))
	word := func(alphabet string, longest int) string {
		out := make([]byte, 1+random.IntN(longest))
		for i := range out {
			out[i] = alphabet[random.IntN(len(alphabet))]
		}
		return string(out)
	}
	compiler := ast.MustCompileModules(map[string]string{"signing.rego": Rules})
	body, err := compiler.QueryCompiler().Compile(ast.MustParseBody(`x = [i |
		some i, c in input
		request := {"csr": {"dnsNames": [c[1]]}}
		data.openvox.signing.strays([c[0]]) == [] with input as request
	]`))
	require.NoError(t, err)
	var cases [][2]string
	for range properties.Count(1500, 20_000) {
		cases = append(cases, [2]string{word(`ab.*?[]^-{}+(|$`, 6), word("ab.-", 4)})
	}
	results, err := topdown.NewQuery(body).WithCompiler(compiler).WithInput(ast.NewTerm(ast.MustInterfaceToValue(cases))).WithStrictBuiltinErrors(true).Run(t.Context())
	require.NoError(t, err)
	matched := map[int]bool{}
	results[0]["x"].Value.(*ast.Array).Foreach(func(term *ast.Term) {
		i, _ := term.Value.(ast.Number).Int()
		matched[i] = true
	})
	seen := 0
	for i, c := range cases {
		want, err := filepath.Match(c[0], c[1])
		if err == nil && want {
			seen++
		}
		if matched[i] {
			require.True(t, want && err == nil, "%q matches %q", c[0], c[1])
		} else if !strings.ContainsAny(c[0], "[") {
			require.False(t, want && err == nil, "%q does not match %q", c[0], c[1])
		}
	}
	require.Greater(t, seen, len(cases)/100)
	require.Greater(t, len(matched), len(cases)/100)
}

// TestNamesTogether: of many names, those that no glob of many matches are left, as with
// filepath.Match, for every way in which globs are matched.
func TestNamesTogether(t *testing.T) {
	t.Parallel()
	random := mathrand.New(mathrand.NewPCG(properties.Seed(5), 6))
	words := func(alphabet string, most int) []string {
		list := make([]string, random.IntN(most+1))
		for i := range list {
			for range random.IntN(5) {
				list[i] += string(alphabet[random.IntN(len(alphabet))])
			}
		}
		return list
	}
	type question struct {
		Names    []string `json:"names"`
		Patterns []string `json:"patterns"`
	}
	var questions []question
	var want []any
	left, gone := 0, 0
	for range properties.Count(400, 5000) {
		q, strays := question{words("ab.", 6), words("ab.**?", 4)}, map[string]bool{}
		for _, name := range q.Names {
			if slices.ContainsFunc(q.Patterns, func(pattern string) bool { ok, err := filepath.Match(pattern, name); return ok && err == nil }) {
				gone++
			} else {
				strays["\n"+name+"\r"] = true
				left++
			}
		}
		if random.IntN(4) == 0 { // more than one expression holds
			q.Patterns = append(q.Patterns, slices.Repeat([]string{"?never-matches-any-name"}, 100)...)
		}
		questions, want = append(questions, q), append(want, slices.Sorted(maps.Keys(strays)))
	}
	require.Greater(t, left, len(questions)/2)
	require.Greater(t, gone, len(questions)/2)
	compiler := ast.MustCompileModules(map[string]string{"signing.rego": Rules})
	body, err := compiler.QueryCompiler().Compile(ast.MustParseBody(`x = [strays |
		some q in input
		request := {"csr": {"dnsNames": q.names}}
		strays := data.openvox.signing.strays(q.patterns) with input as request
	]`))
	require.NoError(t, err)
	results, err := topdown.NewQuery(body).WithCompiler(compiler).WithInput(ast.NewTerm(ast.MustInterfaceToValue(questions))).WithStrictBuiltinErrors(true).Run(t.Context())
	require.NoError(t, err)
	for i, q := range questions {
		got := results[0]["x"].Value.(*ast.Array).Elem(i)
		require.Zero(t, ast.MustInterfaceToValue(want[i]).Compare(got.Value), "%q by %q: %v", q.Names, q.Patterns[:min(len(q.Patterns), 4)], got)
	}
}

// TestPolicyFile: the same text for the same policies, which is read as it was written.
func TestPolicyFile(t *testing.T) {
	a := Policy{Name: "a", Pattern: &Allow{[]string{"a*"}}, CSRAttributes: []Attribute{{"pp_role", "x: y\n"}}}
	b := Policy{Name: "b", Any: true}
	one, err := Rendered{[]Policy{b, a}, []string{"y", "x", "y"}}.Write()
	require.NoError(t, err)
	two, err := Rendered{[]Policy{a, b}, []string{"x", "y"}}.Write()
	require.NoError(t, err)
	require.Equal(t, string(one), string(two))
	read, err := Read(one)
	require.NoError(t, err)
	require.Equal(t, Rendered{[]Policy{a, b}, []string{"x", "y"}}, read)
	none, err := Rendered{}.Write()
	require.NoError(t, err)
	require.Equal(t, "{\"apiVersion\":\"signing.lintel.dev/v1\",\"kind\":\"SigningPolicies\",\"signingPolicies\":[],\"reserved\":[]}\n", string(none))
	require.Contains(t, string(one), ",\n{\"name\":\"b\",\"any\":true}]", "one policy per line")

	// Files of earlier versions, and those that an administrator writes, are in YAML.
	var again file
	require.NoError(t, yaml.UnmarshalStrict(one, &again), "programs of earlier versions read it")
	former, err := yaml.Marshal(again)
	require.NoError(t, err)
	fromYAML, err := Read(former)
	require.NoError(t, err)
	require.Equal(t, read, fromYAML)
	for _, text := range []string{
		strings.Replace(string(one), `"any":true`, `"any":false,"any":true`, 1), strings.Replace(string(one), `"any":true`, `"any":true,"patern":{}`, 1),
		strings.Replace(string(one), `"signingPolicies"`, `"signingPolicies":[],"signingPolicies"`, 1),
	} {
		_, err := Read([]byte(text))
		require.Error(t, err, text)
	}
	spaced, err := Read([]byte(strings.ReplaceAll(string(one), `":`, `": `)))
	require.NoError(t, err)
	require.Equal(t, read, spaced)

	for _, text := range []string{
		"signingPolicies: [{name: a, pattern: {allow: ['*']}, csrAttribute: [{name: pp_role, value: x}]}]",
		"signingPolicies: [{name: a, any: 'yes'}]", "signingPolicies: {a: b}", "signingPolicies: []\nsigningPolicies: []", "\x00",
	} {
		_, err := Read([]byte("apiVersion: signing.lintel.dev/v1\nkind: SigningPolicies\n" + text))
		require.Error(t, err, text)
	}
	for _, text := range []string{"", "signingPolicies: []", "kind: SigningPolicies\napiVersion: signing.lintel.dev/v2", "kind: Policies\napiVersion: signing.lintel.dev/v1"} {
		_, err := Read([]byte(text))
		require.ErrorContains(t, err, "not signing.lintel.dev/v1 and SigningPolicies", text)
	}
}

// TestPolicyFileOfOthers: the program in another operator's image reads the list policies of a
// file, and ignores unknown fields. It must not find our policies, and ours must not find those
// of the other operator.
func TestPolicyFileOfOthers(t *testing.T) {
	text, err := Rendered{[]Policy{{Name: "a", Any: true}}, []string{"main-operator"}}.Write()
	require.NoError(t, err)
	var theirs struct {
		Policies []Policy `json:"policies"`
	}
	require.NoError(t, yaml.Unmarshal(text, &theirs))
	require.Empty(t, theirs.Policies)
	_, err = Read([]byte("policies: [{name: a, any: true}]"))
	require.ErrorContains(t, err, `unknown field "policies"`)
}
