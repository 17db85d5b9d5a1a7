package library

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Policy is what the METADATA of a policy contain.
type Policy struct {
	Name string `json:"name"`
	// Folder is the path of its folder in the library, which begins with its category.
	Folder      string   `json:"folder"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Severity    string   `json:"severity"`
	Category    string   `json:"category"`
	Rationale   string   `json:"rationale"`
	Remedy      string   `json:"remedy"`
	Bundles     []string `json:"bundles,omitempty"`
	// Parameters are descriptions of spec.parameters of the PolicySource, by their names.
	Parameters map[string]string `json:"parameters,omitempty"`
	References []Reference       `json:"references,omitempty"`
}

// Reference is a document about the subject of a policy.
type Reference struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

// Severities are the values of severity, the highest first.
var Severities = []string{"critical", "high", "medium", "low", "info"}

// readPolicy reads the METADATA of a policy's package. Its errors begin with the file.
func readPolicy(file string, files map[string]string) (Policy, error) {
	p := Policy{Folder: path.Dir(file), Name: path.Base(path.Dir(file))}
	module, err := ast.ParseModuleWithOpts(file, files[file], ast.ParserOptions{ProcessAnnotation: true})
	if err != nil {
		return p, err
	}
	at := slices.IndexFunc(module.Annotations, func(a *ast.Annotations) bool { return a.Scope == "package" })
	if at < 0 {
		return p, fmt.Errorf("%s: METADATA of the package are missing", file)
	}
	annotations := module.Annotations[at]
	custom, err := json.Marshal(annotations.Custom)
	if err != nil {
		return p, fmt.Errorf("%s: reading METADATA: %w", file, err)
	}
	if err := json.Unmarshal(custom, &p); err != nil {
		return p, fmt.Errorf("%s: reading METADATA: %w", file, err)
	}
	p.Folder, p.Name, p.Bundles = path.Dir(file), path.Base(path.Dir(file)), nil
	p.Title, p.Description = annotations.Title, annotations.Description
	for _, related := range annotations.RelatedResources {
		p.References = append(p.References, Reference{related.Ref.String(), related.Description})
	}
	return p, p.check(file)
}

// check checks that a user can find the policy, and can decide whether to use it.
func (p Policy) check(file string) error {
	for field, text := range map[string]string{
		"title": p.Title, "description": p.Description, "custom.rationale": p.Rationale, "custom.remedy": p.Remedy,
	} {
		if text == "" {
			return fmt.Errorf("%s: METADATA %s is missing", file, field)
		}
	}
	if !slices.Contains(Severities, p.Severity) {
		return fmt.Errorf("%s: METADATA custom.severity is %q, not one of %s", file, p.Severity, strings.Join(Severities, ", "))
	}
	if folder, _, _ := strings.Cut(file, "/"); p.Category != folder {
		return fmt.Errorf("%s: METADATA custom.category is %q, but the folder is %q", file, p.Category, folder)
	}
	if len(p.References) == 0 {
		return fmt.Errorf("%s: METADATA related_resources are missing", file)
	}
	return nil
}

// searchText is what Search looks at, in lower case.
func (p Policy) searchText() string {
	parts := []string{p.Name, strings.ReplaceAll(p.Name, "_", " "), p.Title, p.Description, p.Severity, p.Category, p.Rationale}
	for _, reference := range p.References {
		parts = append(parts, reference.Description)
	}
	return strings.ToLower(strings.Join(append(parts, p.Bundles...), "\n"))
}
