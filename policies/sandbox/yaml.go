package sandbox

import (
	"math"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"go.yaml.in/yaml/v3"
)

// This file has the checks of the functions of YAML, which take much longer than those of JSON:
// about 5 microseconds for a value, and 20 nanoseconds for each pair of two keys of a mapping,
// because the library compares all of them with each other.

const (
	// maxYAMLMarks is how many lines, commas, brackets and other marks of structure a text
	// of YAML may have, each of which may be a value.
	maxYAMLMarks = 20_000
	// maxYAMLNodes is how many values yaml.marshal writes.
	maxYAMLNodes = 12_000
	// maxYAMLPairs is the limit for comparisons of two keys in all mappings of a text: those of
	// one mapping of 2,000 keys.
	maxYAMLPairs = 4_000_000
	// maxYAMLDepth is how deep values of YAML may nest.
	maxYAMLDepth = 1_000
	// yamlUnits is what a value of YAML costs.
	yamlUnits = 2
)

// yamlMarks separate the values of a text of YAML: all line breaks that the library knows, and
// the indicators with the space or tab that must follow them.
var yamlMarks = []string{
	"\n", "\r", "\u0085", "\u2028", "\u2029", ",", "{", "[", "- ", ": ", "? ", "-\t", ":\t", "?\t",
}

// marked bounds the values that a text of YAML may have.
func marked(operands []*ast.Term) (int, error) {
	text, marks := textAt(operands, 0), 0
	for _, mark := range yamlMarks {
		marks += strings.Count(text, mark)
	}
	marks -= strings.Count(text, "\r\n") // one break
	if marks > maxYAMLMarks {
		return 0, exceeds("a text of YAML has %d lines, commas, brackets, colons and dashes; the limit is %d", marks, maxYAMLMarks)
	}
	return marks * yamlUnits, nil
}

// keyed bounds the keys of the mappings in a text of YAML, and their depth.
func keyed(operands []*ast.Term) (int, error) {
	pairs, deepest := 0, 0
	var visit func(node *yaml.Node, depth int)
	visit = func(node *yaml.Node, depth int) {
		if deepest = max(deepest, depth); deepest > maxYAMLDepth {
			return
		}
		if node.Kind == yaml.MappingNode {
			pairs += pairsOf(len(node.Content) / 2)
		}
		for _, part := range node.Content {
			visit(part, depth+1)
		}
	}
	for decoder := yaml.NewDecoder(strings.NewReader(textAt(operands, 0))); ; {
		var document yaml.Node
		if err := decoder.Decode(&document); err != nil {
			break // the function reports the error
		}
		visit(&document, 0)
	}
	if deepest > maxYAMLDepth {
		return 0, exceeds("a text of YAML nests deeper than %d", maxYAMLDepth)
	}
	return pairs / (nodesPerStep * stepsPerUnit), checkPairs(pairs)
}

// written bounds what yaml.marshal writes.
func written(operands []*ast.Term) (int, error) {
	count, bytes := nodes(operands[0])
	if count > maxYAMLNodes || bytes > MaxParseBytes {
		return 0, exceeds("a value to write as YAML is larger than %d values or %d bytes; use json.marshal", maxYAMLNodes, MaxParseBytes)
	}
	pairs := 0
	var visit func(*ast.Term) bool
	visit = func(term *ast.Term) bool {
		if object, ok := term.Value.(ast.Object); ok {
			pairs += pairsOf(object.Len())
		}
		return anyPart(term, visit)
	}
	visit(operands[0])
	return count*yamlUnits + pairs/(nodesPerStep*stepsPerUnit), checkPairs(pairs)
}

// pairsOf is the number of comparisons of two keys in a mapping, limited so that sums do not
// overflow.
func pairsOf(keys int) int { return min(keys*keys, math.MaxInt32) }

func checkPairs(pairs int) error {
	if pairs > maxYAMLPairs {
		return exceeds("a mapping of YAML has too many keys; the limit is 2000 for one mapping, fewer for each of several")
	}
	return nil
}
