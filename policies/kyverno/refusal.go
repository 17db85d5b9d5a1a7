package kyverno

import (
	"fmt"
	"slices"
)

// Refusal is a construct without an equivalent.
type Refusal struct {
	File string `json:"file"`
	Line int    `json:"line"`
	// Field is the path in the policy.
	Field string `json:"field"`
	// Construct names the construct, such as generate; reports count by this name.
	Construct string `json:"construct"`
	// Hint is the next step.
	Hint string `json:"hint"`
}

func (r Refusal) String() string {
	return fmt.Sprintf("%s:%d: %s: %s: %s", r.File, r.Line, r.Field, r.Construct, r.Hint)
}

// refusals collects those of one rule.
type refusals struct {
	file string
	list []Refusal
}

func (r *refusals) add(at field, construct, hint string) {
	refused := Refusal{r.file, at.line(), at.path, construct, hint}
	if !slices.Contains(r.list, refused) {
		r.list = append(r.list, refused)
	}
}

// onlyKeys refuses the keys of a mapping that are not known.
func (r *refusals) onlyKeys(f field, known ...string) {
	for _, e := range f.entries() {
		if !slices.Contains(known, e.key) {
			r.add(e.value, "unknown field "+e.key, "the converter does not know this field; remove it, or convert the policy by hand")
		}
	}
}
