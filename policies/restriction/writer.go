package restriction

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
)

// writer writes formulas as texts: two formulas with one text are true of the same
// inputs. An element that a formula speaks of is named by how deep it stands in all that
// is being written, since a text may become part of another; so writers that are at work
// at once need prefixes of their own.
type writer struct {
	prefix string
	depth  int
}

// collection is a text that only collections with the same elements have.
func (w *writer) collection(made collection) string {
	return w.formula(made.kind, made.each(func(key, value term) formula {
		if made.kind == "is_set" {
			return atom{kind: isElement, left: value}
		}
		return atom{kind: isElement, left: key, right: value}
	}))
}

// formula is the text of a formula, with something before it.
func (w *writer) formula(before string, f formula) string {
	var b strings.Builder
	b.WriteString(before)
	b.WriteByte(' ')
	w.write(&b, f)
	if b.Len() > 1000 {
		return fmt.Sprintf("%s %x", before, sha256.Sum256([]byte(b.String())))
	}
	return b.String()
}

func (w *writer) write(b *strings.Builder, f formula) {
	all := func(name string, parts ...formula) {
		b.WriteString(name + "(")
		for _, part := range parts {
			w.write(b, part)
			b.WriteByte(';')
		}
		b.WriteByte(')')
	}
	switch f := f.(type) {
	case bool:
		fmt.Fprint(b, f)
	case negation:
		all("not", f.of)
	case conjunction:
		all("and", f...)
	case disjunction:
		all("or", f...)
	case existence:
		at := witness{named{fmt.Sprintf("%s%d", w.prefix, w.depth)}}
		w.depth++
		defer func() { w.depth-- }()
		all("some "+measured(f.in.key()), f.body(at, memberTerm(f.in, at)))
	case atom:
		b.WriteString(measured(f.key()))
	}
}

// measured is a text with its length before it, so that it shows where the text ends.
func measured(text string) string { return strconv.Itoa(len(text)) + ":" + text }
