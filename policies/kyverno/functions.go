package kyverno

import (
	"strings"

	jmespath "github.com/kyverno/go-jmespath"
)

// functions are the functions of the library and of Rego by their names in JMESPath.
var functions = map[string]string{
	"length": "kyverno.length", "keys": "kyverno.keys", "values": "kyverno.values",
	"contains": "kyverno.has", "to_number": "kyverno.number", "to_string": "kyverno.text",
	"regex_match": "kyverno.matches_expression", "split": "kyverno.parts", "to_array": "kyverno.as_list",
	"to_upper": "kyverno.upper_case", "to_lower": "kyverno.lower_case", "sort": "kyverno.sorted",
	"join": "kyverno.joined", "starts_with": "kyverno.starts_with", "ends_with": "kyverno.ends_with",
	"replace_all": "kyverno.replaced", "trim": "kyverno.trimmed", "max": "kyverno.largest", "min": "kyverno.smallest",
	"regex_replace_all": "kyverno.replaced_expression", "base64_decode": "kyverno.base64_decoded",
	"base64_encode": "kyverno.base64_encoded", "sum": "kyverno.total", "not_null": "kyverno.first_value",
	"reverse": "kyverno.reversed", "divide": "kyverno.divided", "parse_json": "kyverno.parsed_json", "parse_yaml": "kyverno.parsed_yaml", "label_match": "kyverno.label_match", "merge": "kyverno.merged",
}

// functionHints are next steps for functions without an equivalent.
var functionHints = map[string]string{
	"random":       "policies are deterministic; derive the value from the object",
	"time_now":     "write the rule in Rego with clock: true and time.now_ns",
	"time_now_utc": "write the rule in Rego with clock: true and time.now_ns",
	"time_since":   "write the rule in Rego with clock: true and time.now_ns",
	"x509_decode":  "write the rule in Rego with crypto.x509.parse_certificates",
}

// call translates a function.
func (e *expressions) call(at field, tree jmespath.ASTNode, here place) string {
	name := tree.Value.(string)
	function, ok := functions[name]
	if !ok {
		hint := functionHints[name]
		if hint == "" {
			hint = "the function has no equivalent in the converter; write the rule in Rego"
		}
		e.add(at, "JMESPath function "+name, hint)
		return "null"
	}
	var args []string
	for _, child := range tree.Children {
		args = append(args, e.term(at, child, here, true))
	}
	if name == "not_null" || name == "merge" {
		args = []string{"[" + strings.Join(args, ", ") + "]"}
	}
	return function + "(" + strings.Join(args, ", ") + ")"
}
