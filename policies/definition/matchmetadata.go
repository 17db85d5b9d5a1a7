package definition

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/terms"
)

// read reads the fields of a match one by one, so that one that is wrong hides no
// other. The errors are as those of metadata.set.
func (m *Match) read(value any) []error {
	fields, ok := value.(map[string]any)
	if !ok && value != nil {
		return []error{fmt.Errorf(": is %s, not an object such as {kinds: [{group: \"\", kind: Pod}]}", terms.KindOf(value))}
	}
	var errs []error
	wrong := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		found := m.readField(key, fields[key])
		wrong[key] = len(found) > 0
		for _, err := range found {
			errs = append(errs, fmt.Errorf(".%s%w", key, err))
		}
	}
	if m.Expand != ExpandNone && !m.Expands() && !wrong["expand"] && !wrong["kinds"] {
		suggestion := ""
		if slices.ContainsFunc(m.Kinds, func(kind admission.GroupVersionKind) bool {
			return admission.Nearest(kind.Kind, []string{admission.PodKind.Kind}) != ""
		}) {
			suggestion = `; did you mean kind Pod in group ""?`
		}
		errs = append(errs, errors.New(".expand: kinds does not name Pod, whose policies it extends to Pod templates"+suggestion))
	}
	return errs
}

func (m *Match) readField(key string, value any) (errs []error) {
	if !slices.Contains(matchKeys, key) {
		return []error{fmt.Errorf(": %s", unknown(key, matchKeys))}
	}
	if key == "kinds" {
		m.Kinds, errs = readKindList(value, `[{group: "", kind: Pod}]`, func(kind admission.GroupVersionKind) error {
			if kind.Kind == "" {
				return errors.New(`kind is empty; write "*" for any`)
			}
			return nil
		})
		return errs
	}
	if err := decodeStrict(map[string]any{key: value}, m); err != nil {
		return []error{fmt.Errorf(": %w", err)}
	}
	switch key {
	case "operations":
		return each(m.Operations, func(operation string) error {
			if slices.Contains(operationNames, operation) {
				return nil
			}
			return fmt.Errorf("%q is not one of %s", operation, strings.Join(operationNames, ", "))
		})
	case "namespaces":
		return each(m.Namespaces, checkGlob)
	case "excludedNamespaces":
		return each(m.ExcludedNamespaces, checkGlob)
	case "namespaceSelector":
		return checkSelector(m.NamespaceSelector)
	case "objectSelector":
		return checkSelector(m.ObjectSelector)
	}
	return nil
}

// each returns the errors of all elements, with their indices.
func each[T any](list []T, check func(T) error) (errs []error) {
	for i, one := range list {
		if err := check(one); err != nil {
			errs = append(errs, fmt.Errorf("[%d]: %w", i, err))
		}
	}
	return errs
}

func checkGlob(glob string) error {
	if _, err := path.Match(glob, ""); err != nil || glob == "" {
		return fmt.Errorf("%q is not a glob", glob)
	}
	return nil
}

// checkSelector reads the parts of a selector one by one.
func checkSelector(whole *metav1.LabelSelector) (errs []error) {
	if whole == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(whole.MatchLabels)) {
		part := &metav1.LabelSelector{MatchLabels: map[string]string{key: whole.MatchLabels[key]}}
		if _, err := metav1.LabelSelectorAsSelector(part); err != nil {
			errs = append(errs, fmt.Errorf(".matchLabels: %w", err))
		}
	}
	for i, expression := range whole.MatchExpressions {
		part := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{expression}}
		if _, err := metav1.LabelSelectorAsSelector(part); err != nil {
			errs = append(errs, fmt.Errorf(".matchExpressions[%d]: %w", i, err))
		}
	}
	return errs
}

// readKindList reads a list of kinds. example is a valid value for messages; check returns an error
// for kinds that the list must not contain.
func readKindList(value any, example string, check func(admission.GroupVersionKind) error) (kinds []admission.GroupVersionKind, errs []error) {
	list, ok := value.([]any)
	if !ok && value != nil {
		return nil, []error{fmt.Errorf(": is %s, not a list such as %s", terms.KindOf(value), example)}
	}
	for i, item := range list {
		kind, found := readKind(item)
		if len(found) == 0 {
			if err := check(kind); err != nil {
				found = []error{fmt.Errorf(": %w", err)}
			}
		}
		for _, err := range found {
			errs = append(errs, fmt.Errorf("[%d]%w", i, err))
		}
		kinds = append(kinds, kind)
	}
	return kinds, errs
}

func readKind(item any) (kind admission.GroupVersionKind, errs []error) {
	fields, ok := item.(map[string]any)
	if !ok {
		name, isText := item.(string)
		if !isText {
			name = "Pod"
		}
		return kind, []error{fmt.Errorf(": is %s; a kind looks like {group: \"\", kind: %s}", terms.KindOf(item), name)}
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(kindKeys, key) {
			errs = append(errs, fmt.Errorf(".%s: %s", key, unknown(key, kindKeys)))
			continue
		}
		if err := decodeStrict(map[string]any{key: fields[key]}, &kind); err != nil {
			errs = append(errs, fmt.Errorf(".%s: %w", key, err))
		}
	}
	return kind, errs
}

// UnmarshalJSON accepts true for warn, and false for no expansion.
func (e *Expand) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "true", `"warn"`:
		*e = ExpandWarn
	case `"deny"`:
		*e = ExpandDeny
	case "false", "null":
		*e = ExpandNone
	default:
		return fmt.Errorf("%s is not warn or deny", text)
	}
	return nil
}
