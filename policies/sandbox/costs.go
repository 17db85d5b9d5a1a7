package sandbox

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/eval"
)

// defaultCallSteps is the cost of a call, without that of its operands and result: a step for
// every 100 ns that a call with small operands takes. `go test -bench Functions` measures it.
const defaultCallSteps = 4

// callSteps are the costs of functions that take longer.
var callSteps = map[string]int{
	"and": 8, "or": 8, "minus": 8, "set_diff": 6, "intersection": 8, "union": 8,
	"object.union": 6, "object.union_n": 8, "object.filter": 8, "object.remove": 8, "object.subset": 8,
	"json.filter": 20, "json.remove": 20, "json.patch": 60, "json.marshal": 15, "json.unmarshal": 30, "json.is_valid": 15,
	"yaml.marshal": 200, "yaml.unmarshal": 250, "yaml.is_valid": 200,
	"crypto.md5": 8, "crypto.sha1": 8, "crypto.sha256": 10,
	"crypto.hmac.md5": 25, "crypto.hmac.sha1": 25, "crypto.hmac.sha256": 25, "crypto.hmac.sha512": 40,
	"crypto.x509.parse_certificates": 300, "crypto.x509.parse_certificate_request": 300,
	"io.jwt.decode":       60,
	"io.jwt.verify_hs256": 60, "io.jwt.verify_hs384": 60, "io.jwt.verify_hs512": 60,
	"io.jwt.verify_rs256": 800, "io.jwt.verify_rs384": 800, "io.jwt.verify_rs512": 800,
	"io.jwt.verify_ps256": 800, "io.jwt.verify_ps384": 800, "io.jwt.verify_ps512": 800,
	"io.jwt.verify_es256": 2_500, "io.jwt.verify_es384": 12_000, "io.jwt.verify_es512": 25_000, "io.jwt.verify_eddsa": 2_500,
	"regex.match": 10, "re_match": 10, "regex.find_n": 10, "regex.find_all_string_submatch_n": 10, "regex.split": 10, "regex.replace": 15,
	"regex.is_valid": 40, "regex.globs_match": 100, "regex.template_match": 60,
	"glob.match": 10, "glob.quote_meta": 6,
	"sprintf": 12, "internal.template_string": 8, "internal.print": 15, "print": 15,
	"net.cidr_contains": 12, "net.cidr_intersects": 12, "net.cidr_overlap": 12, "net.cidr_contains_matches": 20,
	"net.cidr_merge": 20, "net.cidr_expand": 20, "net.cidr_is_valid": 6,
	"semver.compare": 25, "semver.is_valid": 20, "uuid.parse": 20,
	"time.add_date": 8, "time.clock": 10, "time.date": 10, "time.diff": 15, "time.format": 12, "time.weekday": 8,
	"time.parse_ns": 30, "time.parse_rfc3339_ns": 30, "time.parse_duration_ns": 15,
	"units.parse": 12, "units.parse_bytes": 12, "uri.parse": 15, "uri.is_valid": 10,
	"urlquery.decode_object": 20, "urlquery.encode_object": 8,
	"strings.replace_n": 30, "numbers.range": 6, "numbers.range_step": 6, "walk": 10, "graph.reachable": 8,
	"plus": 3, "mul": 3, "div": 20, "rem": 5, "abs": 2, "ceil": 2, "floor": 2, "round": 2, "eq": 1, "equal": 2, "neq": 2,
}

// Steps of preparing a pattern, of which OPA keeps a hundred.
const (
	expressionSteps = 30 // for a regular expression
	partSteps       = 6  // and for each of its parts
	globSteps       = 30
)

// preparations are the costs of operands that OPA prepares once for many calls.
var preparations = map[string]*eval.Preparation{
	"regex.match":                      expressionAt(0),
	"re_match":                         expressionAt(0),
	"regex.find_n":                     expressionAt(0),
	"regex.find_all_string_submatch_n": expressionAt(0),
	"regex.split":                      expressionAt(0),
	"regex.replace":                    expressionAt(1),
	"glob.match": {
		Key:   func(operands []*ast.Term) string { return textAt(operands, 0) },
		Steps: func(pattern string) int { return globSteps + partSteps*len(pattern) },
	},
}

// expressionAt is the preparation of the regular expression at a position.
func expressionAt(i int) *eval.Preparation {
	return &eval.Preparation{
		Key: func(operands []*ast.Term) string { return textAt(operands, i) },
		Steps: func(pattern string) int {
			if len(pattern) > MaxPatternBytes {
				return 0 // it is refused
			}
			if size := patternSize(pattern); size <= maxPatternSize {
				return expressionSteps + partSteps*size
			}
			return 0
		},
	}
}
