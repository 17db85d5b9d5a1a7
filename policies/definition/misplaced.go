package definition

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/open-policy-agent/opa/v1/ast"
	"sigs.k8s.io/yaml"
)

// OPA ignores unknown keys at the top of a METADATA block, and blocks whose first word is
// misspelled. A policy would then run with settings that its author did not write, so both are
// errors here.

const metadataWord = "METADATA"

// misplaced finds keys at the top of a block that OPA ignores.
func misplaced(a *ast.Annotations) []error {
	if a.Location == nil {
		return nil
	}
	var text strings.Builder
	for line := range strings.Lines(string(a.Location.Text)) {
		text.WriteString(strings.TrimPrefix(line, "# "))
	}
	_, block, _ := strings.Cut(text.String(), "\n")
	if hasOnlyOPAKeys(block) {
		return nil
	}
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(block), &fields); err != nil {
		return nil // OPA has read the block and reports its errors
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch {
		case slices.Contains(customKeys, key):
			errs = append(errs, fmt.Errorf("%s: belongs under custom: write custom.%s", key, key))
		case slices.Contains(matchKeys, key):
			errs = append(errs, fmt.Errorf("%s: belongs under custom.match: write custom.match.%s", key, key))
		case !slices.Contains(opaKeys, key):
			errs = append(errs, fmt.Errorf("%s: %s Keys of your own go under custom", key, sentence(unknown(key, opaKeys))))
		}
	}
	return errs
}

// sentence ends a text as a sentence does.
func sentence(text string) string {
	if strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

// opaKeys are the keys that OPA reads at the top of a block.
var opaKeys = []string{"authors", "compile", "custom", "description", "entrypoint", "organizations", "related_resources", "schemas", "scope", "title"}

// hasOnlyOPAKeys reports that a block certainly has only OPA's keys at the top. It avoids
// decoding YAML, which is slow, for the usual form of a block. If the first key is not indented,
// only keys without indentation are at the same level.
func hasOnlyOPAKeys(block string) bool {
	if strings.ContainsAny(block, "\r\u0085\u2028\u2029") {
		return false // YAML breaks lines there, too
	}
	first := true
	for line := range strings.Lines(block) {
		key, _, isKey := strings.Cut(line, ":")
		isKey = isKey && slices.Contains(opaKeys, key)
		indented := strings.TrimLeft(line, " \t\n") != line // blank lines, too
		if !isKey && (first || !indented) {
			return false
		}
		first = false
	}
	return true
}

// misspelledMetadata finds a block of comments directly above the package whose
// first line is nearly METADATA.
func misspelledMetadata(module *ast.Module) CompileErrorList {
	row := module.Package.Location.Row - 1
	var first *ast.Comment
	for _, comment := range slices.Backward(module.Comments) {
		if comment.Location.Row == row {
			first, row = comment, row-1
			if ast.IsMetadataComment(comment) {
				return nil
			}
		}
	}
	if first == nil {
		return nil
	}
	word := strings.TrimSpace(string(first.Text))
	if levenshtein.ComputeDistance(strings.ToUpper(word), metadataWord) > 2 {
		return nil
	}
	return CompileErrorList{ErrorAt(first.Location, "%q begins no METADATA block, and what follows would be passed over: write `# METADATA`, from the first column", word)}
}
