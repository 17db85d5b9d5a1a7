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
	"sync"

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
	// Kinds are those that the packages match, for messages.
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
		out = append(out, matched{p.Package, p.Match})
	}
	return out
}

// referenceChecks groups the packages that match the same kinds. Packages that match
// something without a schema are left out.
func referenceChecks(ctx context.Context, schemas Schemas, packages []matched) []ReferenceCheck {
	type group struct {
		kinds    []admission.GroupVersionKind
		packages []string
	}
	groups := map[string]*group{}
	for _, p := range packages {
		if !sameObject(p.Match) {
			continue
		}
		kinds := slices.SortedFunc(slices.Values(p.Match.Kinds), func(a, b admission.GroupVersionKind) int {
			return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
		})
		kinds = slices.Compact(kinds)
		key := fmt.Sprint(kinds)
		if groups[key] == nil {
			groups[key] = &group{kinds: kinds}
		}
		groups[key].packages = append(groups[key].packages, p.Package)
	}
	var kinds []admission.GroupVersionKind
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		kinds = append(kinds, groups[key].kinds...)
	}
	known := schemas.Schemas(ctx, kinds)
	var checks []ReferenceCheck
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		found := union(known, groups[key].kinds)
		if found == nil {
			continue
		}
		check := ReferenceCheck{Packages: groups[key].packages, Input: input(found).JSON()}
		for _, kind := range groups[key].kinds {
			check.Kinds = append(check.Kinds, kind.String())
		}
		check.Kinds = slices.Compact(check.Kinds)
		checks = append(checks, check)
	}
	return checks
}

// ownSubresources are those whose requests carry the object itself.
var ownSubresources = []string{"status", "ephemeralcontainers", "resize", "finalizers", "finalize", "approval"}

// sameObject says whether all that a match lets through are objects of kinds that it
// names: other subresources come with objects of kinds of their own.
func sameObject(match definition.Match) bool {
	named := func(kind admission.GroupVersionKind) bool {
		return kind.Group != "*" && kind.Kind != "*" && kind.Version != "*"
	}
	for _, kind := range match.Kinds {
		if !named(kind) {
			return false
		}
	}
	for _, subresource := range match.Subresources {
		if !slices.Contains(ownSubresources, subresource) {
			return false
		}
	}
	return len(match.Kinds) > 0
}

// union is nil where one of the kinds has no schema.
func union(known map[admission.GroupVersionKind]*schema.Schema, kinds []admission.GroupVersionKind) *schema.Schema {
	var all []*schema.Schema
	for _, kind := range kinds {
		if known[kind] == nil {
			return nil
		}
		all = append(all, known[kind])
	}
	return schema.Union(all...)
}

var requestSchema = schema.OfType(reflect.TypeFor[admissionv1.AdmissionRequest]())

// input is the schema of the input whose object is given.
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

// keptClean is of how many sources it is kept what was checked.
const keptClean = 64

// cleanPackages are, by source, the packages of its last sets that were checked and refer
// to nothing wrong. The zero value is empty.
type cleanPackages struct {
	mu   sync.Mutex // over kept
	kept map[string][]checkedSet
}

type checkedSet struct {
	identity string
	clean    checkedPackages
}

// checkedPackages are the packages of a set that refer to nothing wrong.
type checkedPackages map[string]checkedPackage

type checkedPackage struct {
	key   string // of cleanPackage
	input [sha256.Size]byte
}

func (c *cleanPackages) of(source, identity string) checkedPackages {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, set := range c.kept[source] {
		if set.identity == identity {
			return set.clean
		}
	}
	return nil
}

func (c *cleanPackages) keep(source, identity string, clean checkedPackages) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.kept[source]; c.kept == nil || !known && len(c.kept) >= keptClean {
		c.kept = map[string][]checkedSet{}
	}
	others := slices.DeleteFunc(c.kept[source], func(set checkedSet) bool { return set.identity == identity })
	others = others[max(0, len(others)+1-keptOfOne):]
	c.kept[source] = append(slices.Clone(others), checkedSet{identity, clean})
}

func (p checkedPackages) keys() (keys []string) {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		keys = append(keys, p[name].key)
	}
	return keys
}

// left are the checks without those packages that were taken over, and were checked with
// the same input before: they are clean.
func (p checkedPackages) left(checks []ReferenceCheck, taken []string) (left []ReferenceCheck, clean checkedPackages) {
	clean = checkedPackages{}
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
func (p checkedPackages) add(checks []ReferenceCheck, found []cleanPackage) {
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
