package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// demand is what somebody wants to know of a value. One that asks for nothing further
// is about whether there is a value, and of which type (of a boolean: which one).
type demand struct {
	whole bool // all of it
	said  bool // enough to put it into a message: that it can be put there
	// result says that it is what an entry point gives: any message is one.
	result bool
	fields map[string]*demand // of members with these names
	// each is about every member, their number and, in an object, their names. keys is
	// the demand on the names: in a set the members are their own.
	each, keys *demand
}

// maxDemandDepth is how deep demands go; what is below is wanted whole.
const maxDemandDepth = 24

// effort bounds how long a derivation takes: demands of rules that hand on what they
// take apart grow exponentially. nil has no bound.
type effort struct{ left int }

// spend is about n tenths of a microsecond.
func (e *effort) spend(n int) (ok bool) {
	if e == nil {
		return true
	}
	e.left -= n
	return e.left >= 0
}

// add takes over another demand, and says whether that was news. What there is no effort
// left for is wanted whole.
func (d *demand) add(other *demand, depth int, e *effort) (news bool) {
	switch {
	case other == nil || d.whole:
		return false
	case other.whole || !e.spend(1) || depth > maxDemandDepth && (other.each != nil || len(other.fields) > 0):
		*d = demand{whole: true}
		return true
	}
	news = other.said && !d.said || other.result && !d.result
	d.said, d.result = d.said || other.said, d.result || other.result
	for name, field := range other.fields {
		if d.fields == nil {
			d.fields = map[string]*demand{}
		}
		if d.fields[name] == nil {
			d.fields[name], news = &demand{}, true
		}
		news = d.fields[name].add(field, depth+1, e) || news
	}
	for _, part := range []struct {
		into **demand
		from *demand
	}{{&d.each, other.each}, {&d.keys, other.keys}} {
		if part.from == nil {
			continue
		}
		if *part.into == nil {
			*part.into, news = &demand{}, true
		}
		news = (*part.into).add(part.from, depth+1, e) || news
	}
	return news
}

func wholeDemand() *demand { return &demand{whole: true} }

// member is the demand on a member of this name.
func (d *demand) member(name string, e *effort) *demand {
	if d.whole {
		return d
	}
	out := d.passed()
	out.add(d.fields[name], 0, e)
	out.add(d.each, 0, e)
	return out
}

// anyMember is the demand on a member whose name is not known.
func (d *demand) anyMember(e *effort) *demand {
	if d.whole {
		return d
	}
	out := d.passed()
	out.add(d.each, 0, e)
	for _, field := range d.fields {
		out.add(field, 0, e)
	}
	return out
}

// element is the demand on a member of a set, which is its own name.
func (d *demand) element(e *effort) *demand {
	if d.whole || len(d.fields) > 0 {
		return wholeDemand()
	}
	out := d.passed()
	out.add(d.each, 0, e)
	out.add(d.keys, 0, e)
	return out
}

// passed is what a demand on a collection means for all of its members. A result is
// one whatever is in it.
func (d *demand) passed() *demand { return &demand{said: d.said || d.result} }

// onlySaid says that the value is wanted for a message alone.
func (d *demand) onlySaid() bool {
	return !d.whole && len(d.fields) == 0 && d.each == nil && d.keys == nil
}

// read is the demand on a part of the input: there is no result yet, only values.
func (d *demand) read() *demand {
	if d.whole || d.result {
		return wholeDemand()
	}
	out := &demand{said: d.said}
	for name, field := range d.fields {
		if out.fields == nil {
			out.fields = map[string]*demand{}
		}
		out.fields[name] = field.read()
	}
	if d.each != nil || d.keys != nil {
		out.each = &demand{}
		if d.each != nil {
			out.each = d.each.read()
		}
	}
	return out
}

// size counts the parts of a demand.
func (d *demand) size() int {
	if d == nil {
		return 0
	}
	count := 1 + d.each.size()
	for _, field := range d.fields {
		count += field.size()
	}
	return count
}

// at is the demand on a value whose part at a path is wanted.
func (d *demand) at(path ...string) *demand {
	for _, name := range slices.Backward(path) {
		d = &demand{fields: map[string]*demand{name: d}}
	}
	return d
}

// paths lists what is wanted: a path for the value there, one that ends in ? for
// whether it is there, and in what type, and one that ends in ~ for a value that is
// only put into messages.
func (d *demand) paths(prefix string) []string {
	switch {
	case d.whole:
		return []string{prefix}
	case d.each == nil && len(d.fields) == 0 && d.said:
		return []string{prefix + "~"}
	case d.each == nil && len(d.fields) == 0:
		return []string{prefix + "?"}
	}
	var out []string
	for _, name := range sortedKeys(d.fields) {
		ref := ast.Ref{ast.VarTerm("x"), ast.StringTerm(name)}.String()
		out = append(out, d.fields[name].paths(prefix+strings.TrimPrefix(ref, "x"))...)
	}
	if d.each != nil {
		out = append(out, d.each.paths(prefix+"[_]")...)
	}
	return out
}

// spell writes all of a demand: equal if and only if the keys for two are.
func (d *demand) spell(out *strings.Builder) {
	if d == nil {
		return
	}
	fmt.Fprintf(out, "(%t %t", d.whole, d.said)
	for _, name := range sortedKeys(d.fields) {
		fmt.Fprintf(out, " %q", name)
		d.fields[name].spell(out)
	}
	out.WriteString(" ")
	d.each.spell(out)
	out.WriteString(")")
}
