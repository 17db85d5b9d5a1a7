package restriction

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
)

// writer serializes formulas: two formulas with one text are true for the same inputs. The
// name of an element is its nesting depth in the whole output, since a text may become part
// of another. Therefore, writers that are active at the same time need different prefixes.
type writer struct {
	prefix string
	depth  int
}

// collection is a text that identifies collections with the same elements.
func (w *writer) collection(made collection) string {
	return w.formula(made.kind, made.each(func(key, value term) formula {
		if made.kind == "is_set" {
			return atom{kind: isElement, left: value}
		}
		return atom{kind: isElement, left: key, right: value}
	}))
}

// formula is the text of a formula after a prefix.
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
		at := witness{storedKey{fmt.Sprintf("%s%d", w.prefix, w.depth)}}
		w.depth++
		defer func() { w.depth-- }()
		all("some "+lengthPrefixed(f.in.key()), f.body(at, memberTerm(f.in, at)))
	case atom:
		b.WriteString(lengthPrefixed(f.key()))
	}
}

// lengthPrefixed is a text with its length as a prefix, which marks the end of the text.
func lengthPrefixed(text string) string { return strconv.Itoa(len(text)) + ":" + text }
