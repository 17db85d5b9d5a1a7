package policyset

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/bounds"
	"github.com/lintel-policy/lintel/policies/definition"
)

// constantPath is the constant prefix of a reference below data. It does not retain the text of
// the reference.
func constantPath(ref ast.Ref) []string {
	path := []string{}
	for _, element := range ref[1:] {
		key, isText := element.Value.(ast.String)
		if !isText {
			break
		}
		path = append(path, strings.Clone(string(key)))
	}
	return path
}

// pathKey is different for different paths.
func pathKey(path []string) string { return strings.Join(path, "\x00") }

// detachedRef is a reference that does not hold the text it comes from.
func detachedRef(ref ast.Ref) ast.Ref {
	out := make(ast.Ref, len(ref))
	for i, element := range ref {
		out[i] = ast.NewTerm(element.Value)
		if text, ok := element.Value.(ast.String); ok {
			out[i] = ast.StringTerm(strings.Clone(string(text)))
		}
	}
	return out
}

// clusterName is that by which a reference reads cluster objects, where it has one.
func clusterName(ref ast.Ref) (name string, ok bool) {
	return constantKey(ref, definition.ClusterKey)
}

// externalName is the DataSource that a reference to data.external reads: "" for a name that is not
// constant, and for all of them.
func externalName(ref ast.Ref) (name string, ok bool) {
	if len(ref) < 2 || !ref[0].Equal(ast.DefaultRootDocument) || !ref[1].Equal(ast.InternedTerm(definition.ExternalKey)) {
		return "", false
	}
	name, _ = constantKey(ref, definition.ExternalKey)
	return name, true
}

// constantKey is the constant key at which a reference reads a document below data.
func constantKey(ref ast.Ref, document string) (key string, ok bool) {
	if len(ref) < 3 || !ref[0].Equal(ast.DefaultRootDocument) || !ref[1].Equal(ast.InternedTerm(document)) {
		return "", false
	}
	text, constant := ref[2].Value.(ast.String)
	return string(text), constant
}

// entryRule is the rule that answers for an entry point of a package.
func entryRule(path ast.Ref, entry string) ast.Ref {
	if entry == definition.EntryDefaults {
		entry = bounds.ReservedPrefix + entry
	}
	return path.Copy().Append(ast.StringTerm(entry))
}
