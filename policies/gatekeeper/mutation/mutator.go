package mutation

import (
	"errors"
	"fmt"
	"slices"
)

// The kinds of mutators.
const (
	KindAssign         = "Assign"
	KindAssignImage    = "AssignImage"
	KindAssignMetadata = "AssignMetadata"
	KindModifySet      = "ModifySet"
)

// maxNameLength is the longest name of a mutator, as in Gatekeeper.
const maxNameLength = 63

// ID identifies a mutator.
type ID struct{ Kind, Name string }

// String is Kind/name.
func (id ID) String() string { return id.Kind + "/" + id.Name }

// Mutator is a mutator that is ready to be applied.
type Mutator struct {
	ID ID
	// Location is the location that the mutator changes.
	Location Location
	// Bindings are the kinds and operations whose implied schema contains the location. They are
	// empty for AssignMetadata.
	Bindings []Binding
	// Matches reports whether the mutator applies to an object. The error is one of the caller,
	// such as a missing Namespace.
	Matches func(object map[string]any) (bool, error)

	tests  map[int]condition // by index of Location
	setter setter
}

// Binding is a kind and an operation.
type Binding struct{ Group, Version, Kind, Operation string }

// condition is the condition of a pathTest.
type condition string

const (
	mustExist    condition = "MustExist"
	mustNotExist condition = "MustNotExist"
)

// FieldError is an error in a field of a mutator. Path consists of names and indices.
type FieldError struct {
	Path []any
	Err  error
}

func (e FieldError) Error() string { return e.Err.Error() }

func newFieldError(err error, path ...any) *FieldError { return &FieldError{Path: path, Err: err} }

// PathTest is a condition for a prefix of the location.
type PathTest struct {
	SubPath   string `json:"subPath"`
	Condition string `json:"condition"`
}

// Spec is the part of a mutator that says what to change.
type Spec struct {
	Location   string     `json:"location"`
	Parameters Parameters `json:"parameters"`
}

// Parameters are the parameters of all kinds. Each kind has some of them.
type Parameters struct {
	PathTests []PathTest `json:"pathTests"`
	// Assign is for Assign and AssignMetadata.
	Assign *AssignValue `json:"assign"`
	// AssignDomain, AssignPath and AssignTag are for AssignImage.
	AssignDomain string `json:"assignDomain"`
	AssignPath   string `json:"assignPath"`
	AssignTag    string `json:"assignTag"`
	// Operation and Values are for ModifySet.
	Operation string     `json:"operation"`
	Values    *SetValues `json:"values"`
}

// SetValues are the values of a ModifySet.
type SetValues struct {
	FromList []any `json:"fromList"`
}

// New returns a mutator, or all errors of its fields.
func New(id ID, spec Spec) (*Mutator, []*FieldError) {
	m := &Mutator{ID: id}
	var errs []*FieldError
	fail := func(err *FieldError) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(id.Name) > maxNameLength {
		fail(newFieldError(fmt.Errorf("a mutator's name has at most %d characters", maxNameLength), "metadata", "name"))
	}
	location, err := ParseLocation(spec.Location)
	if err != nil {
		return nil, append(errs, newFieldError(err, "spec", "location"))
	}
	m.Location = location
	fail(m.checkLocation())
	var wrong *FieldError
	m.setter, wrong = newSetter(id.Kind, location, spec.Parameters)
	fail(wrong)
	m.tests, wrong = readTests(location, spec.Parameters.PathTests)
	fail(wrong)
	if id.Kind == KindAssignMetadata {
		m.tests = map[int]condition{len(location) - 1: mustNotExist}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return m, nil
}

// checkLocation checks what the kind may change.
func (m *Mutator) checkLocation() *FieldError {
	fail := func(format string, args ...any) *FieldError {
		return newFieldError(fmt.Errorf(format, args...), "spec", "location")
	}
	last := m.Location[len(m.Location)-1]
	if m.ID.Kind == KindAssignMetadata {
		if len(m.Location) != 3 || m.Location[0].field != "metadata" || last.isList() ||
			m.Location[1].field != "labels" && m.Location[1].field != "annotations" {
			return fail("AssignMetadata changes metadata.labels.<name> and metadata.annotations.<name> only")
		}
		return nil
	}
	if root := m.Location[0].field; root == "kind" || root == "apiVersion" {
		return fail("%s says what the object is, and cannot be changed", root)
	}
	if m.Location[0].field == "metadata" {
		return fail("%s cannot change metadata; use AssignMetadata for labels and annotations", m.ID.Kind)
	}
	if last.isList() && m.ID.Kind != KindAssign {
		return fail("%s cannot change an element of a list; name a field of the element", m.ID.Kind)
	}
	if n := len(m.Location); m.ID.Kind != KindModifySet && n > 1 && m.Location[n-2].isList() && last.field == m.Location[n-2].key {
		return fail("%s is the key of the list, and a key cannot be changed", last.field)
	}
	return nil
}

// readTests returns the conditions by index of the location.
func readTests(location Location, tests []PathTest) (map[int]condition, *FieldError) {
	conditions := map[int]condition{}
	for i, test := range tests {
		path := []any{"spec", "parameters", "pathTests", i}
		prefix, err := ParseLocation(test.SubPath)
		switch {
		case err != nil:
			return nil, newFieldError(err, append(path, "subPath")...)
		case !location.hasPrefix(prefix):
			return nil, newFieldError(fmt.Errorf("%q is not the beginning of spec.location", test.SubPath), append(path, "subPath")...)
		}
		want := condition(test.Condition)
		if want != mustExist && want != mustNotExist {
			return nil, newFieldError(fmt.Errorf("%q is not one of MustExist, MustNotExist", test.Condition), append(path, "condition")...)
		}
		if other, ok := conditions[len(prefix)-1]; ok && other != want {
			return nil, newFieldError(fmt.Errorf("%q is both MustExist and MustNotExist", test.SubPath), append(path, "condition")...)
		}
		conditions[len(prefix)-1] = want
	}
	lowestMissing, highestExisting := len(location), -1
	for at, want := range conditions {
		if want == mustNotExist {
			lowestMissing = min(lowestMissing, at)
		} else {
			highestExisting = max(highestExisting, at)
		}
	}
	if highestExisting > lowestMissing {
		return nil, newFieldError(errors.New("a path cannot exist below one that must not exist"), "spec", "parameters", "pathTests")
	}
	return conditions, nil
}

// mayExist reports whether the tests permit that the path up to a segment exists.
func (m *Mutator) mayExist(at int) bool { return m.tests[at] != mustNotExist }

// mayBeMissing reports whether the tests permit that the path up to a segment is missing.
func (m *Mutator) mayBeMissing(at int) bool { return m.tests[at] != mustExist }

// apply changes an object in place. changed is false if a pathTest did not hold.
func (m *Mutator) apply(object map[string]any) (changed bool, err error) {
	a := application{m, object}
	_, changed, err = a.descend(object, 0)
	return changed, err
}

// application is one application of a mutator to an object.
type application struct {
	*Mutator
	object map[string]any
}

// descend applies the mutator to a value at a segment, and returns the new value.
func (a application) descend(value any, at int) (result any, changed bool, err error) {
	if a.Location[at].isList() {
		list, isList := value.([]any)
		if !isList {
			return nil, false, a.mismatch(at, "a list", value)
		}
		return a.descendList(list, at)
	}
	fields, isMap := value.(map[string]any)
	if !isMap {
		return nil, false, a.mismatch(at, "an object", value)
	}
	name := a.Location[at].field
	next, exists := fields[name]
	if exists && !a.mayExist(at) || !exists && !a.mayBeMissing(at) {
		return value, false, nil
	}
	if at == len(a.Location)-1 {
		return value, true, a.setter.set(fields, name, a.object)
	}
	if !exists {
		next = a.missing(at)
	}
	next, changed, err = a.descend(next, at+1)
	if changed {
		fields[name] = next
	}
	return value, changed, err
}

// descendList applies the mutator to the elements that a segment selects. It adds an element if
// there is none with the key.
func (a application) descendList(list []any, at int) (result any, changed bool, err error) {
	s := a.Location[at]
	if at == len(a.Location)-1 {
		return a.setElement(list, at)
	}
	if s.isGlob() && !a.mayExist(at) {
		return list, false, nil
	}
	selected := s.isGlob()
	for i, element := range list {
		if !s.isGlob() {
			fields, _ := element.(map[string]any)
			if value, ok := fields[s.key]; !ok || !s.isKey(value) {
				continue
			}
			if !a.mayExist(at) {
				return list, false, nil
			}
			selected = true
		}
		one, oneChanged, err := a.descend(element, at+1)
		if err != nil {
			return nil, false, err
		}
		if oneChanged {
			list[i], changed = one, true
		}
	}
	if selected || !a.mayBeMissing(at) {
		return list, changed, nil
	}
	element, changed, err := a.descend(map[string]any{s.key: s.keyValue()}, at+1)
	if err != nil {
		return nil, false, err
	}
	return append(slices.Clone(list), element), changed, nil
}

// setElement replaces the element with the key, or adds it.
func (a application) setElement(list []any, at int) (result any, changed bool, err error) {
	s := a.Location[at]
	element := a.setter.(constant).element()
	for i, old := range list {
		fields, isMap := old.(map[string]any)
		if !isMap {
			return nil, false, fmt.Errorf("%s: element %d of the list is not an object", a.Location[:at], i)
		}
		if value, ok := fields[s.key]; !ok || !s.isKey(value) {
			continue
		}
		if !a.mayExist(at) {
			return list, false, nil
		}
		list = slices.Clone(list)
		list[i] = element
		return list, true, nil
	}
	if !a.mayBeMissing(at) {
		return list, false, nil
	}
	return append(slices.Clone(list), element), true, nil
}

// missing is an empty value for the segment after a missing one.
func (a application) missing(at int) any {
	if a.Location[at+1].isList() {
		return []any{}
	}
	return map[string]any{}
}

func (a application) mismatch(at int, want string, value any) error {
	return fmt.Errorf("%s needs %s at %q, but the object has %s there", a.ID, want, a.Location[:at], typeName(value))
}
