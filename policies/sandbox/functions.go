package sandbox

import (
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// ClockBuiltin reads the time; a package may call it with `clock: true` only.
const ClockBuiltin = "time.now_ns"

// allowedBuiltins are the functions a policy may call, each admitted by name: an
// OPA release that adds a builtin adds nothing here. unavailable has the reasons for
// the others.
var allowedBuiltins = strings.Fields(`
	abs all and any array.concat array.flatten array.reverse array.slice assign
	base64.decode base64.encode base64.is_valid
	base64url.decode base64url.encode base64url.encode_no_pad
	bits.and bits.lsh bits.negate bits.or bits.rsh bits.xor
	cast_array cast_boolean cast_null cast_object cast_set cast_string
	ceil concat contains count
	crypto.hmac.equal crypto.hmac.md5 crypto.hmac.sha1 crypto.hmac.sha256 crypto.hmac.sha512
	crypto.md5 crypto.sha1 crypto.sha256
	crypto.x509.parse_certificate_request crypto.x509.parse_certificates
	div endswith eq equal floor format_int glob.match glob.quote_meta
	graph.reachable gt gte hex.decode hex.encode
	indexof indexof_n internal.member_2 internal.member_3 internal.print
	internal.template_string internal.test_case intersection
	io.jwt.decode io.jwt.verify_eddsa
	io.jwt.verify_es256 io.jwt.verify_es384 io.jwt.verify_es512
	io.jwt.verify_hs256 io.jwt.verify_hs384 io.jwt.verify_hs512
	io.jwt.verify_ps256 io.jwt.verify_ps384 io.jwt.verify_ps512
	io.jwt.verify_rs256 io.jwt.verify_rs384 io.jwt.verify_rs512
	is_array is_boolean is_null is_number is_object is_set is_string
	json.filter json.is_valid json.marshal json.patch json.remove json.unmarshal
	lower lt lte max min minus mul neq
	net.cidr_contains net.cidr_contains_matches net.cidr_expand net.cidr_intersects
	net.cidr_is_valid net.cidr_merge net.cidr_overlap
	numbers.range numbers.range_step
	object.filter object.get object.keys object.remove object.subset
	object.union object.union_n or plus print product
	re_match regex.find_all_string_submatch_n regex.find_n regex.globs_match
	regex.is_valid regex.match regex.replace regex.split regex.template_match
	rego.metadata.chain rego.metadata.rule rem replace round
	semver.compare semver.is_valid set_diff sort split sprintf startswith
	strings.any_prefix_match strings.any_suffix_match strings.count
	strings.replace_n strings.reverse strings.split_n substring sum
	time.add_date time.clock time.date time.diff time.format time.now_ns
	time.parse_duration_ns time.parse_ns time.parse_rfc3339_ns time.weekday
	to_number trace trim trim_left trim_prefix trim_right trim_space trim_suffix
	type_name union units.parse units.parse_bytes upper uri.is_valid uri.parse
	urlquery.decode urlquery.decode_object urlquery.encode urlquery.encode_object
	uuid.parse walk yaml.is_valid yaml.marshal yaml.unmarshal
`)

// Capabilities restricts OPA's parser and compiler to allowedBuiltins, to no network,
// and to Rego v0 and v1.
var Capabilities = sync.OnceValue(func() *ast.Capabilities {
	all := ast.CapabilitiesForThisVersion()
	restricted := *all
	restricted.Builtins = slices.DeleteFunc(slices.Clone(all.Builtins), func(builtin *ast.Builtin) bool { return !Allows(builtin.Name) })
	restricted.FutureKeywords = []string{"contains", "every", "if", "in"}
	restricted.Features = slices.DeleteFunc(slices.Clone(all.Features), func(feature string) bool {
		return feature == ast.FeatureRegoV2 || feature == ast.FeatureRegoV2Import
	})
	// nil would mean that every host may be called.
	restricted.AllowNet = []string{}
	return &restricted
})

// ParserOptions name the capabilities that the parser would gather and sort again
// for every text.
func ParserOptions(version ast.RegoVersion) ast.ParserOptions {
	return ast.ParserOptions{RegoVersion: version, Capabilities: Capabilities()}
}

// What keeps a function of OPA from policies, which decide from the request and declared
// data alone, within limits that hold before a function is called.
const (
	reachesNetwork   = "it reaches the network; declare the cluster objects that a policy reads in custom.requires, and keep other data in data files"
	readsEnvironment = "it reads the environment of the process; keep settings in input.parameters or data files"
	isRandom         = "its result is random, so that the same request could be decided in two ways"
	usesPrivateKeys  = "it uses private keys, which policies must not hold"
	isUnbounded      = "the time that it takes is not bounded by the size of its operands, and it cannot be stopped"
)

// unavailable are OPA's functions that policies cannot call, with the reason.
var unavailable = map[string]string{
	"http.send":          reachesNetwork,
	"net.lookup_ip_addr": reachesNetwork,
	"opa.runtime":        readsEnvironment,
	"rand.intn":          isRandom,
	"uuid.rfc4122":       isRandom,

	"crypto.parse_private_keys":         usesPrivateKeys,
	"crypto.x509.parse_keypair":         usesPrivateKeys,
	"crypto.x509.parse_rsa_private_key": usesPrivateKeys,
	"io.jwt.encode_sign":                usesPrivateKeys,
	"io.jwt.encode_sign_raw":            usesPrivateKeys,
	"providers.aws.sign_req":            usesPrivateKeys,

	"crypto.x509.parse_and_verify_certificates":              "it reads the time; use crypto.x509.parse_certificates",
	"crypto.x509.parse_and_verify_certificates_with_options": "it reads the time; use crypto.x509.parse_certificates",
	"io.jwt.decode_verify":                                   "it reads the time; use io.jwt.decode, and io.jwt.verify_rs256 or another of its family",

	"graph.reachable_paths":     isUnbounded + "; use graph.reachable",
	"graphql.is_valid":          isUnbounded,
	"graphql.parse":             isUnbounded,
	"graphql.parse_and_verify":  isUnbounded,
	"graphql.parse_query":       isUnbounded,
	"graphql.parse_schema":      isUnbounded,
	"graphql.schema_is_valid":   isUnbounded,
	"json.marshal_with_options": isUnbounded + "; use json.marshal",
	"json.match_schema":         isUnbounded + "; write the conditions in Rego",
	"json.verify_schema":        isUnbounded,
	"rego.parse_module":         isUnbounded,
	"strings.render_template":   isUnbounded + "; use sprintf or a string template",
}

// ExplainUndefined replaces OPA's "undefined function" where the function exists but is
// not for policies.
func ExplainUndefined(message string) string {
	name, ok := strings.CutPrefix(message, "rego_type_error: undefined function ")
	if reason := unavailable[name]; ok && reason != "" {
		return name + " is not available to policies: " + reason
	}
	return message
}
