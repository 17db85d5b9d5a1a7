package gatekeeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"encoding/json"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/gatekeeper/mutation"
)

// mutatorFile is a mutator with its location.
type mutatorFile struct {
	*mutation.Mutator
	document document
	matcher  *matcher
	applyTo  []applyTo
}

// applyTo selects the kinds and operations of a mutator.
type applyTo struct {
	Groups     []string `json:"groups"`
	Versions   []string `json:"versions"`
	Kinds      []string `json:"kinds"`
	Operations []string `json:"operations"`
}

// mutationOperations are the operations for which mutators are applied.
var mutationOperations = []string{"CREATE", "UPDATE"}

// operations are the operations of an entry, all if none are named.
func (a applyTo) operations() []string {
	if len(a.Operations) == 0 || slices.Contains(a.Operations, "*") {
		return mutationOperations
	}
	return a.Operations
}

func (a applyTo) matches(kind admission.GroupVersionKind) bool {
	return slices.Contains(a.Groups, kind.Group) && slices.Contains(a.Versions, kind.Version) && slices.Contains(a.Kinds, kind.Kind)
}

// mutatorObject is a mutator with all fields that its kind may have.
type mutatorObject struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   json.RawMessage `json:"metadata"`
	Spec       struct {
		ApplyTo []applyTo   `json:"applyTo"`
		Match   matchObject `json:"match"`
		mutation.Spec
	} `json:"spec"`
	Status json.RawMessage `json:"status"`
}

// parameterNames are the fields of spec.parameters of each kind.
var parameterNames = map[string][]string{
	mutation.KindAssign:         {"pathTests", "assign"},
	mutation.KindAssignImage:    {"pathTests", "assignDomain", "assignPath", "assignTag"},
	mutation.KindAssignMetadata: {"assign"},
	mutation.KindModifySet:      {"pathTests", "operation", "values"},
}

// addMutator reads a mutator.
func (f *folder) addMutator(d document) {
	names, known := parameterNames[d.kind]
	if !known {
		f.refuse(d, "it is not one of the mutators Assign, AssignImage, AssignMetadata, ModifySet")
		return
	}
	if other, taken := f.mutatorNamed(d); taken {
		f.fail(d.errorAt("%s %q: already defined at %s:%d; rename one", d.kind, d.name, other.file, other.line))
		return
	}
	before := len(f.errs)
	m := &mutatorFile{document: d}
	if reasons := validation.IsDNS1123Subdomain(d.name); len(reasons) > 0 {
		f.fail(d.errorIn([]any{"metadata", "name"}, "mutator of kind %s: %s", d.kind, reasons[0]))
	}
	var object mutatorObject
	if err := decodeMutator(d, &object); err != nil {
		f.fail(d.errorAt("%v", err))
		return
	}
	f.checkParameters(d, names)
	f.checkApplyTo(d, object.Spec.ApplyTo)
	var errs definition.CompileErrorList
	m.matcher, errs = f.readMutatorMatch(d, object.Spec.Match)
	f.fail(errs...)
	var wrong []*mutation.FieldError
	m.Mutator, wrong = mutation.New(mutation.ID{Kind: d.kind, Name: d.name}, object.Spec.Spec)
	for _, err := range wrong {
		f.fail(d.errorIn(err.Path, "%v", err))
	}
	if len(f.errs) > before {
		return
	}
	m.applyTo = object.Spec.ApplyTo
	for _, a := range m.applyTo {
		for _, group := range a.Groups {
			for _, version := range a.Versions {
				for _, kind := range a.Kinds {
					for _, operation := range a.operations() {
						m.Bindings = append(m.Bindings, mutation.Binding{Group: group, Version: version, Kind: kind, Operation: operation})
					}
				}
			}
		}
	}
	f.mutators = append(f.mutators, m)
}

func (f *folder) mutatorNamed(d document) (document, bool) {
	for _, m := range f.mutators {
		if m.document.kind == d.kind && m.document.name == d.name {
			return m.document, true
		}
	}
	return document{}, false
}

// decodeMutator reads a mutator, in which all fields must be known. Numbers keep their digits.
func decodeMutator(d document, into *mutatorObject) error {
	decoder := json.NewDecoder(bytes.NewReader(d.json))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%s %q cannot be read: %s", d.kind, d.name, strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// checkParameters reports parameters that belong to other kinds.
func (f *folder) checkParameters(d document, names []string) {
	var object struct {
		Spec struct {
			ApplyTo    json.RawMessage            `json:"applyTo"`
			Parameters map[string]json.RawMessage `json:"parameters"`
		} `json:"spec"`
	}
	if d.decode(&object) != nil {
		return // reported already
	}
	if d.kind == mutation.KindAssignMetadata && object.Spec.ApplyTo != nil {
		f.fail(d.errorIn([]any{"spec", "applyTo"}, "AssignMetadata has no applyTo; select kinds by spec.match.kinds"))
	}
	for _, name := range sortedKeys(object.Spec.Parameters) {
		if !slices.Contains(names, name) {
			f.fail(d.errorIn([]any{"spec", "parameters", name}, "%s has no such parameter; use %s", d.kind, strings.Join(names, ", ")))
		}
	}
}

// checkApplyTo checks the kinds and operations of all mutators but AssignMetadata.
func (f *folder) checkApplyTo(d document, all []applyTo) {
	if d.kind == mutation.KindAssignMetadata {
		return
	}
	if len(all) == 0 {
		f.fail(d.errorIn([]any{"spec", "applyTo"}, "must name the groups, versions and kinds of the objects that the mutator changes"))
	}
	for i, a := range all {
		at := []any{"spec", "applyTo", i}
		for _, list := range []struct {
			field  string
			values []string
		}{{"groups", a.Groups}, {"versions", a.Versions}, {"kinds", a.Kinds}} {
			if len(list.values) == 0 {
				f.fail(d.errorIn(append(slices.Clone(at), list.field), "must have at least one entry"))
			}
			if slices.Contains(list.values, "*") {
				f.fail(d.errorIn(append(slices.Clone(at), list.field), "* is not supported, as in Gatekeeper; name each of the %s", list.field))
			}
		}
		for j, operation := range a.Operations {
			path := append(slices.Clone(at), "operations", j)
			switch {
			case operation != "*" && !slices.Contains(mutationOperations, operation):
				f.fail(d.errorIn(path, "%q is not one of CREATE, UPDATE, *", operation))
			case operation == "*" && len(a.Operations) > 1:
				f.fail(d.errorIn(path, "* includes all other operations; name it alone"))
			case slices.Contains(a.Operations[:j], operation):
				f.fail(d.errorIn(path, "%s is named twice", operation))
			}
		}
	}
}

// readMutatorMatch is readMatch with the namespaces that are excluded from mutation.
func (f *folder) readMutatorMatch(d document, match matchObject) (*matcher, definition.CompileErrorList) {
	m, errs := f.readMatch(d, match)
	if m != nil {
		m.excluded = nil // set once all files are read
	}
	return m, errs
}

// mutatorPolicy returns all mutators as one policy: nil if there are none. Mutators with
// conflicting locations are errors.
func (f *folder) mutatorPolicy() *definition.Mutators {
	if len(f.mutators) == 0 {
		return nil
	}
	var all []*mutation.Mutator
	byMutator := map[*mutation.Mutator]*mutatorFile{}
	for _, m := range f.mutators {
		m.matcher.excluded = f.excludedFromMutation
		all = append(all, m.Mutator)
		byMutator[m.Mutator] = m
	}
	for _, c := range mutation.FindConflicts(all) {
		m := byMutator[c.Mutator]
		err := m.document.errorIn([]any{"spec", "location"}, "%s %q: %s", m.ID.Kind, m.ID.Name, c)
		err.Conflict = true
		f.fail(err)
	}
	first := f.mutators[0].document
	policy := &definition.Mutators{
		Location: definition.Location{File: first.file, Line: first.line},
		Match:    f.mutatedKinds(),
	}
	for _, m := range f.mutators {
		policy.ReadsNamespaceLabels = policy.ReadsNamespaceLabels || m.matcher.namespaceLabels != nil
	}
	files := slices.Clone(f.mutators)
	policy.MayRead = func(request definition.MutationRequest, path []any) bool {
		return slices.ContainsFunc(files, func(file *mutatorFile) bool { return file.mayMatch(request) && file.MayRead(path) })
	}
	policy.Apply = func(ctx context.Context, request definition.MutationRequest, object map[string]any) (applied []definition.AppliedMutator, matched bool, err error) {
		system := make([]*mutation.Mutator, 0, len(files))
		for _, file := range files {
			if !file.mayMatch(request) {
				continue
			}
			one := *file.Mutator
			one.Matches = func(object map[string]any) (bool, error) {
				matches, err := file.matches(request, object)
				matched = matched || matches || err != nil
				return matches, err
			}
			system = append(system, &one)
		}
		mutators, err := mutation.NewSystem(system).Apply(ctx, object)
		for _, m := range mutators {
			at := slices.IndexFunc(files, func(file *mutatorFile) bool { return file.ID == m.ID })
			d := files[at].document
			applied = append(applied, definition.AppliedMutator{Name: m.ID.String(), Location: definition.Location{File: d.file, Line: d.line}})
		}
		return applied, matched, err
	}
	return policy
}

// mayMatch reports whether the mutator applies to the kind and the operation of a request.
func (m *mutatorFile) mayMatch(r definition.MutationRequest) bool {
	if m.ID.Kind == mutation.KindAssignMetadata {
		return m.matcher.matchesKind(r.Kind)
	}
	return slices.ContainsFunc(m.applyTo, func(a applyTo) bool {
		return a.matches(r.Kind) && (r.Operation == "" || slices.Contains(a.operations(), r.Operation))
	})
}

// matches reports whether the mutator applies to an object as it is now.
func (m *mutatorFile) matches(r definition.MutationRequest, object map[string]any) (bool, error) {
	metadata, _ := object["metadata"].(map[string]any)
	text := func(field string) string {
		value, _ := metadata[field].(string)
		return value
	}
	subject := definition.Subject{
		Kind: r.Kind, Name: text("name"), GenerateName: text("generateName"), Namespace: text("namespace"),
		NamespaceLabels: r.NamespaceLabels, Labels: map[string]string{},
	}
	if r.Namespace != "" {
		subject.Namespace = r.Namespace
	}
	if subject.IsNamespace() {
		subject.Namespace, subject.NamespaceLabels = "", nil
	}
	labels, _ := metadata["labels"].(map[string]any)
	for key, value := range labels {
		subject.Labels[key], _ = value.(string)
	}
	matches, missing := m.matcher.matches(subject)
	if missing != "" {
		return false, errors.New(missing)
	}
	return matches, nil
}

// mutatedKinds is the match for the registration of all mutators.
func (f *folder) mutatedKinds() definition.Match {
	match := definition.Match{Operations: mutationOperations}
	add := func(groups, kinds []string) {
		for _, group := range groups {
			for _, kind := range kinds {
				one := admission.GroupVersionKind{Group: group, Kind: kind}
				if !slices.Contains(match.Kinds, one) {
					match.Kinds = append(match.Kinds, one)
				}
			}
		}
	}
	for _, m := range f.mutators {
		if m.ID.Kind != mutation.KindAssignMetadata {
			for _, a := range m.applyTo {
				add(a.Groups, a.Kinds)
			}
			continue
		}
		if len(m.matcher.Kinds) == 0 {
			add([]string{"*"}, []string{"*"})
		}
		for _, kinds := range m.matcher.Kinds {
			add(orAny(kinds.APIGroups), orAny(kinds.Kinds))
		}
	}
	if slices.Contains(match.Kinds, admission.GroupVersionKind{Group: "*", Kind: "*"}) {
		match.Kinds = nil // every kind
	}
	return match
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
