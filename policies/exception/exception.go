// Package exception decides which findings of a policy a PolicyException covers.
//
// Invariant: an exception covers findings of its own policy only, about objects that meet all
// its selectors. It does not cover a finding if a selected property is unknown, such as the container of a field.
package exception

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// Exception exempts objects from a rule until a time. It is immutable.
type Exception struct {
	Name string
	// Scope is the scope that owns the rule, and Source and Policy name the policy. Rule is an
	// entry point; all of them if it is empty.
	Scope                hierarchy.Key
	Source, Policy, Rule string
	// Namespaces, Kinds and Names select objects: all where they are empty. Kinds have no
	// version. Names and Namespaces may contain the wildcard *.
	Namespaces, Names []string
	Kinds             []admission.GroupVersionKind
	// Selector selects objects by labels: nil for all.
	Selector *metav1.LabelSelector
	// Containers and Images select containers by patterns: all where they are empty.
	Containers, Images []string
	Reason             string
	// Expires is the first moment at which the exception has no effect.
	Expires time.Time

	selector labels.Selector // nil for all
}

// Compiled returns the exception with its selector compiled. An exception that is not compiled
// and has a Selector selects nothing.
func (e Exception) Compiled() (*Exception, error) {
	if e.Selector != nil {
		selector, err := metav1.LabelSelectorAsSelector(e.Selector)
		if err != nil {
			return nil, fmt.Errorf("spec.match.selector: %w", err)
		}
		e.selector = selector
	}
	return &e, nil
}

// Compare orders exceptions by their expiry, the last one first, and then by name.
func (e *Exception) Compare(other *Exception) int {
	return cmp.Or(other.Expires.Compare(e.Expires), cmp.Compare(e.Name, other.Name))
}

// Expired reports whether the exception has ended at a time. It compares wall clocks: a
// monotonic reading would ignore a clock that was set.
func (e *Exception) Expired(now time.Time) bool { return !now.Round(0).Before(e.Expires) }

// Covers reports whether the exception is from an entry point.
func (e *Exception) Covers(rule string) bool { return e.Rule == "" || e.Rule == rule }

// LimitsContainers reports whether it covers only findings about some containers.
func (e *Exception) LimitsContainers() bool { return len(e.Containers) > 0 || len(e.Images) > 0 }

// Selects reports whether the exception selects the object of a review. kind is the kind of the
// object's resource. For a Pod that a workload would create, the review is that of the workload.
func (e *Exception) Selects(review *admission.Review, kind admission.GroupVersionKind) bool {
	switch {
	case len(e.Namespaces) > 0 && !matchesAny(e.Namespaces, namespaceOf(review)):
		return false
	case !e.ConcernsKind(kind):
		return false
	case len(e.Names) > 0 && !matchesAny(e.Names, review.DisplayName()):
		return false
	case e.Selector == nil:
		return true
	}
	return e.selectsLabels(review)
}

// ConcernsKind reports whether the exception selects objects of a kind, whose version is ignored.
func (e *Exception) ConcernsKind(kind admission.GroupVersionKind) bool {
	return len(e.Kinds) == 0 || slices.Contains(e.Kinds, kind.WithoutVersion())
}

// selectsLabels requires the labels of the new object, and those of the old one on DELETE: an
// object that is changed must not be exempt for the labels that it had.
func (e *Exception) selectsLabels(review *admission.Review) bool {
	object := review.New
	if object == nil {
		object = review.Old
	}
	return e.selector != nil && object != nil && e.selector.Matches(object.Labels())
}

// namespaceOf returns the namespace of an object. A Namespace counts as being in itself, as in the
// match of a policy.
func namespaceOf(review *admission.Review) string {
	if review.IsNamespace() {
		return review.DisplayName()
	}
	return review.Namespace
}

// matchesAny reports whether a pattern matches a text that is not empty.
func matchesAny(patterns []string, text string) bool {
	return text != "" && slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, text) })
}

// matches reports whether a pattern matches a text: * stands for any number of characters, and
// every other character for itself.
func matches(pattern, text string) bool {
	first, rest, wildcard := strings.Cut(pattern, "*")
	if !wildcard {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	for {
		part, more, another := strings.Cut(rest, "*")
		if !another {
			return strings.HasSuffix(text, part)
		}
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text, rest = text[i+len(part):], more
	}
}
