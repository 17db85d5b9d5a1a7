package source

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source/schema"
)

// Schemas knows which fields the objects of kinds have.
type Schemas interface {
	// Schemas are those of kinds; where a kind names no version, that of all its
	// versions together. Kinds that are not known are left out.
	Schemas(ctx context.Context, kinds []admission.GroupVersionKind) map[admission.GroupVersionKind]*schema.Schema
}

// ReferenceCheck is what the policies of some packages can find in their input.
type ReferenceCheck struct {
	Packages []string `json:"packages"`
	// Kinds are those that the packages match, for messages: none where their objects may
	// be anything.
	Kinds []string `json:"kinds"`
	// Input is the JSON schema of the input.
	Input json.RawMessage `json:"input"`
}

// matched is what a package matches.
type matched struct {
	Package string           `json:"package"`
	Match   definition.Match `json:"match"`
}

func matchesOf(set *engine.PolicySet) []matched {
	var out []matched
	for _, p := range engine.NewSnapshot(admission.NewResources(nil), set).Policies() {
		if !p.AnyVersion { // a constraint's template has an input of its own
			out = append(out, matched{p.Package, p.Match})
		}
	}
	return out
}

// referenceChecks groups the packages that find the same in their input. Where a package
// matches something without a schema, its objects may be anything; the input around them
// is the same for every kind.
func referenceChecks(ctx context.Context, schemas Schemas, packages []matched) []ReferenceCheck {
	kindsOf := make([][]admission.GroupVersionKind, len(packages))
	var all []admission.GroupVersionKind
	for i, p := range packages {
		if !p.Match.NamesObjects() {
			continue
		}
		kindsOf[i] = slices.Compact(slices.SortedFunc(slices.Values(p.Match.Kinds), func(a, b admission.GroupVersionKind) int {
			return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
		}))
		all = append(all, kindsOf[i]...)
	}
	known := schemas.Schemas(ctx, all)
	objects := map[string]*schema.Schema{}
	checks := map[string]*ReferenceCheck{}
	for i, p := range packages {
		key := fmt.Sprint(kindsOf[i])
		if objects[key] == nil {
			objects[key] = union(known, kindsOf[i])
		}
		object := objects[key]
		if object == schema.Anything() {
			key, kindsOf[i] = "", nil
		}
		if checks[key] == nil {
			checks[key] = &ReferenceCheck{Input: input(object).JSON()}
			for _, kind := range kindsOf[i] {
				checks[key].Kinds = append(checks[key].Kinds, kind.String())
			}
			checks[key].Kinds = slices.Compact(checks[key].Kinds)
		}
		checks[key].Packages = append(checks[key].Packages, p.Package)
	}
	var out []ReferenceCheck
	for _, key := range slices.Sorted(maps.Keys(checks)) {
		out = append(out, *checks[key])
	}
	return out
}

// union is schema.Anything where one of the kinds has no schema, and where there are none.
func union(known map[admission.GroupVersionKind]*schema.Schema, kinds []admission.GroupVersionKind) *schema.Schema {
	var all []*schema.Schema
	for _, kind := range kinds {
		if known[kind] == nil {
			return schema.Anything()
		}
		all = append(all, known[kind])
	}
	return schema.Union(all...)
}

var requestSchema = schema.OfType(reflect.TypeFor[admissionv1.AdmissionRequest]())

// input is the schema of the input for the schema of its object.
func input(object *schema.Schema) *schema.Schema {
	request := maps.Clone(requestSchema.Fields)
	request["object"], request["oldObject"] = object, object
	fields := map[string]*schema.Schema{}
	for _, name := range engine.InputFields {
		fields[name] = schema.Anything()
	}
	fields["request"] = schema.Of(request)
	return schema.Of(fields)
}

// keptClean is the number of sets whose checked packages are cached.
const keptClean = 128

// packageChecks are the packages of a set that refer to nothing wrong.
type packageChecks map[string]checkedPackage

type checkedPackage struct {
	key   string // of cleanPackage
	input [sha256.Size]byte
}

func (p packageChecks) keys() (keys []string) {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		keys = append(keys, p[name].key)
	}
	return keys
}

// left are the checks without the reused packages that were checked with the same input before:
// they are clean.
func (p packageChecks) left(checks []ReferenceCheck, taken []string) (left []ReferenceCheck, clean packageChecks) {
	clean = packageChecks{}
	for _, check := range checks {
		input := sha256.Sum256(check.Input)
		var packages []string
		for _, name := range check.Packages {
			known, ok := p[name]
			if _, same := slices.BinarySearch(taken, name); ok && same && known.input == input {
				clean[name] = known
			} else {
				packages = append(packages, name)
			}
		}
		if check.Packages = packages; len(packages) > 0 {
			left = append(left, check)
		}
	}
	return left, clean
}

// add adds packages that were found clean in checks.
func (p packageChecks) add(checks []ReferenceCheck, found []cleanPackage) {
	keys := map[string]string{}
	for _, one := range found {
		keys[one.Package] = one.Key
	}
	for _, check := range checks {
		input := sha256.Sum256(check.Input)
		for _, name := range check.Packages {
			if key, clean := keys[name]; clean {
				p[name] = checkedPackage{key, input}
			}
		}
	}
}
