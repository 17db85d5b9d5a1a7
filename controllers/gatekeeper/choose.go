package gatekeeper

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lintel-policy/lintel/policies/definition"
)

// problem is the reason why an object's current version is not enforced.
type problem struct {
	object  unstructured.Unstructured
	message string
	// kept reports that its previous version stays in force.
	kept bool
}

func (p problem) text() string {
	if p.kept {
		return p.message + "; its previous version stays in force"
	}
	return p.message
}

// firstOfEach returns the first problem of each object.
func firstOfEach(problems []problem) []problem {
	seen := map[string]bool{}
	return slices.DeleteFunc(problems, func(p problem) bool {
		known := seen[id(p.object)]
		seen[id(p.object)] = true
		return known
	})
}

// opinion is the verdict on all files together. The zero value has no errors.
type opinion struct {
	// places are the errors of single objects.
	places definition.CompileErrorList
	// whole is the error of all objects together.
	whole string
	// unknown is the reason why the evaluation was impossible.
	unknown error
}

func (o opinion) passed() bool { return len(o.places) == 0 && o.whole == "" && o.unknown == nil }

// String is equal for equal opinions.
func (o opinion) String() string { return fmt.Sprint(o.places, o.whole, o.unknown) }

// fault is why a candidate is refused.
type fault struct {
	message string
	// conflict reports that another candidate is refused for the same reason.
	conflict bool
}

// choice finds the candidates that can be in force together.
type choice struct {
	evaluate func(files map[string]string) opinion
	kept     []*candidate
	problems []problem
	refused  map[string]string // messages by the id of the refused object
}

// choose removes only the candidates that cannot be in force. For an object whose previous
// version could be in force, it keeps that version.
func choose(list []*candidate, evaluate func(files map[string]string) opinion) ([]*candidate, []problem) {
	s := &choice{evaluate: evaluate, refused: map[string]string{}}
	s.add(list)
	return s.kept, s.problems
}

func (s *choice) add(chunk []*candidate) {
	for len(chunk) > 0 {
		all := layoutOf(append(s.kept[:len(s.kept):len(s.kept)], chunk...))
		found := s.evaluate(all.files)
		wrong := map[*candidate]fault{}
		for _, err := range found.places {
			if c := all.at(err.File, err.Line); c != nil {
				wrong[c] = fault{cmp.Or(wrong[c].message, err.Error()), wrong[c].conflict || err.Conflict}
			}
		}
		if remaining := s.without(chunk, wrong); len(wrong) > 0 && remaining != nil {
			chunk = remaining
			continue
		}
		switch {
		case found.passed():
			s.kept = append(s.kept, chunk...)
			return
		case len(chunk) > 1:
			s.add(chunk[:len(chunk)/2])
			s.add(chunk[len(chunk)/2:])
			return
		case found.unknown != nil && chunk[0].text == chunk[0].last:
			s.kept = append(s.kept, chunk...) // it is in force, and nothing is known against it
			return
		}
		chunk = s.refuse(chunk[0], fault{message: found.message()})
	}
}

// message states why a single candidate is refused.
func (o opinion) message() string {
	switch {
	case o.unknown != nil:
		return "not evaluated, Lintel retries: " + o.unknown.Error()
	case o.whole != "":
		return o.whole
	default:
		return o.places.Error()
	}
}

// without removes the wrong candidates from a chunk. It returns nil if the chunk has none of
// them.
func (s *choice) without(chunk []*candidate, wrong map[*candidate]fault) []*candidate {
	remaining, some := []*candidate{}, false
	for _, c := range chunk {
		found, isWrong := wrong[c]
		if !isWrong {
			remaining = append(remaining, c)
			continue
		}
		some = true
		remaining = append(remaining, s.refuse(c, found)...)
	}
	if !some {
		return nil
	}
	return remaining
}

// refuse removes a candidate and returns its previous version, if there is one, to try instead.
// Objects that conflict have none: otherwise, the previous version of one would be in force, and
// the other would be refused for a conflict that no longer exists.
func (s *choice) refuse(c *candidate, found fault) []*candidate {
	message := found.message
	template := "ConstraintTemplate/" + strings.ToLower(c.object.GetKind())
	if why, out := s.refused[template]; out && c.object.GroupVersionKind().Group == constraintGroup {
		message = "its ConstraintTemplate is not enforced: " + why
	}
	if c.last != "" && c.last != c.text && !found.conflict {
		s.problems = append(s.problems, problem{c.object, message, true})
		return []*candidate{{c.object, c.last, c.last}}
	}
	s.refused[id(c.object)] = message
	for i, p := range s.problems { // its earlier version cannot be in force, either
		if id(p.object) == id(c.object) {
			s.problems[i].kept = false
			return nil
		}
	}
	s.problems = append(s.problems, problem{c.object, message, false})
	return nil
}
