package restriction

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// This file has the lemmas that infer the one operand that is not constant from the result
// of a function.

// inverseLemmas adds the lemmas of an atom that compares a function result with a constant.
func (p *problem) inverseLemmas(g grounded, value ast.Value) {
	switch left := g.left.(type) {
	case application:
		if operand, values, known := inverse(left, value); known && g.kind == isEqual {
			var any []formula
			for _, value := range values {
				any = append(any, constantAtom(isEqual, operand, value))
			}
			p.imply(g.variable, or(any...))
		}
		p.trimmedLemma(g, left, value)
		p.arithmeticLemmas(g, left, value)
	case member:
		p.splitLemma(g, left, value)
	}
}

// inverse returns all values of the operand that is not constant for which a function has a
// result, if they are known and few.
func inverse(call application, result ast.Value) (operand term, values []ast.Value, known bool) {
	text, isText := result.(ast.String)
	if !isText || len(text) > 200 {
		return nil, nil, false
	}
	var candidates []string
	switch call.function {
	case "trim_prefix":
		if affix, ok := textOperand(call, 1); ok {
			operand, candidates = call.operands[0], []string{string(text), affix + string(text)}
		}
	case "trim_suffix":
		if affix, ok := textOperand(call, 1); ok {
			operand, candidates = call.operands[0], []string{string(text), string(text) + affix}
		}
	case "replace":
		old, ok := textOperand(call, 1)
		by, okToo := textOperand(call, 2)
		if ok && okToo && old != "" && by != "" {
			if candidates, ok = replacedFrom(string(text), old, by); ok {
				operand = call.operands[0]
			}
		}
	case "concat", "sprintf":
		operand, candidates = joinedFrom(call, string(text))
	}
	if _, isConstant := operand.(constant); operand == nil || isConstant {
		return nil, nil, false
	}
	for _, candidate := range candidates {
		value := ast.String(candidate)
		actual, sure := evaluate(call, func(t term) (ast.Value, bool) { return value, t.key() == operand.key() })
		if !sure {
			return nil, nil, false
		}
		if actual != nil && ast.Compare(actual, result) == 0 && !slices.ContainsFunc(values, func(v ast.Value) bool { return ast.Compare(v, value) == 0 }) {
			values = append(values, value)
		}
	}
	return operand, values, true
}

// textOperand is the operand at a position if it is a constant string.
func textOperand(call application, at int) (string, bool) {
	if at >= len(call.operands) {
		return "", false
	}
	c, ok := call.operands[at].(constant)
	if !ok {
		return "", false
	}
	text, ok := c.value.(ast.String)
	return string(text), ok
}

// maxOccurrences limits the occurrences of a replacement in a text.
const maxOccurrences = 6

// replacedFrom returns all strings that replace may turn into a text: in each of them, some of
// the occurrences of by, which do not overlap, are old.
func replacedFrom(text, old, by string) (all []string, known bool) {
	var places []int
	for i := 0; i+len(by) <= len(text); i++ {
		if strings.HasPrefix(text[i:], by) {
			places = append(places, i)
		}
	}
	if len(places) > maxOccurrences {
		return nil, false
	}
	for chosen := range 1 << len(places) {
		var made strings.Builder
		at, overlap := 0, false
		for i, place := range places {
			if chosen&(1<<i) == 0 {
				continue
			}
			if place < at {
				overlap = true
				break
			}
			made.WriteString(text[at:place])
			made.WriteString(old)
			at = place + len(by)
		}
		if !overlap {
			all = append(all, made.String()+text[at:])
		}
	}
	return all, true
}

// joinedFrom returns the one operand of concat or sprintf that is not constant, and its values
// with which the result is the text. The operand is nil if several operands are unknown, or if
// other values than strings may also yield the text.
func joinedFrom(call application, text string) (operand term, candidates []string) {
	before, ok := textOperand(call, 0)
	parts, isList := call.operands[1].(list)
	if !ok || !isList {
		return nil, nil
	}
	var texts []string // between the elements
	switch call.function {
	case "concat":
		texts = append(texts, "")
		for range len(parts.elements) - 1 {
			texts = append(texts, before)
		}
		texts = append(texts, "")
	default:
		texts = strings.Split(strings.ReplaceAll(before, "%v", "%s"), "%s")
		if strings.Contains(strings.Join(texts, ""), "%") {
			return nil, nil
		}
	}
	if len(texts) != len(parts.elements)+1 {
		return nil, nil
	}
	prefix, suffix := "", texts[len(texts)-1]
	for i, element := range parts.elements {
		c, isConstant := element.(constant)
		if !isConstant {
			if operand != nil {
				return nil, nil
			}
			operand, prefix, suffix = element, prefix+texts[i], texts[len(texts)-1]
			continue
		}
		known, isText := c.value.(ast.String)
		if !isText {
			return nil, nil
		}
		if operand == nil {
			prefix += texts[i] + string(known)
		} else {
			candidates = append(candidates, texts[i]+string(known))
		}
	}
	suffix, candidates = strings.Join(candidates, "")+suffix, nil
	if operand == nil {
		return nil, nil
	}
	middle, begins := strings.CutPrefix(text, prefix)
	middle, ends := strings.CutSuffix(middle, suffix)
	switch {
	case !begins || !ends: // no value yields the text
		return operand, nil
	case call.function == "sprintf" && !isOnlyText(middle):
		return nil, nil
	}
	return operand, []string{middle}
}

// isOnlyText reports whether sprintf yields a text only for the string itself.
func isOnlyText(text string) bool {
	if text == "" || text == "true" || text == "false" || text == "null" {
		return false
	}
	first := text[0]
	return (first >= 'a' && first <= 'z' || first >= 'A' && first <= 'Z') && !strings.HasPrefix(text, "set(") && text != "Inf" && text != "NaN"
}

// trimmedLemma: the result of a trim function is contained in its operand.
func (p *problem) trimmedLemma(g grounded, call application, value ast.Value) {
	text, isText := value.(ast.String)
	if g.kind != isEqual || !isText || text == "" {
		return
	}
	switch call.function {
	case "trim_space", "trim", "trim_left", "trim_right", "trim_prefix", "trim_suffix":
		p.imply(g.variable, atom{kind: isTrue, left: applicationTerm("contains", call.operands[0], constantTerm(text))})
	}
}

// splitLemma is about an element of a split text. The text equals its first element, or begins
// with the first element and the separator.
func (p *problem) splitLemma(g grounded, part member, value ast.Value) {
	call, isCall := part.of.(application)
	at, isConstant := part.at.(constant)
	if !isCall || !isConstant || call.function != "split" || g.kind != isEqual {
		return
	}
	between, ok := textOperand(call, 1)
	text, isText := value.(ast.String)
	if !ok || between == "" {
		return
	}
	if !isText || strings.Contains(string(text), between) {
		p.solver.Add(-g.variable)
		return
	}
	whole := call.operands[0]
	// OPA reads the element 0 by other numbers, too, such as -0 and 0.0.
	index, isNumber := at.value.(ast.Number)
	if n, isInteger := index.Int64(); !isNumber || !isInteger || strconv.FormatInt(n, 10) != string(index) {
		return
	}
	if index != "0" {
		p.imply(g.variable, atom{kind: isTrue, left: applicationTerm("contains", whole, constantTerm(ast.String(between)+text))})
		return
	}
	begins := atom{kind: isTrue, left: applicationTerm("startswith", whole, constantTerm(text+ast.String(between)))}
	equals := constantAtom(isEqual, whole, text)
	p.imply(g.variable, or(equals, begins))
	p.solver.Add(p.literal(equals, false), g.variable)
	if strings.Index(string(text)+between, between) == len(text) { // and not before, as "aa" is in "aaa"
		p.solver.Add(p.literal(begins, false), g.variable)
	}
}

// maxSmall limits the numbers of arithmeticLemmas. OPA calculates exactly with integers in
// this range, and rounded results do not cross them.
const maxSmall = 1 << 40

// smallInteger is the integer that a value is.
func smallInteger(value ast.Value) (int64, bool) {
	number, ok := value.(ast.Number)
	if !ok {
		return 0, false
	}
	n, ok := number.Int64()
	return n, ok && n <= maxSmall && n >= -maxSmall
}

// arithmeticLemmas are about monotonic functions of a number. They relate the result to the
// operand for which the result is the constant. There are no lemmas for other constants than
// integers, because OPA rounds such results.
func (p *problem) arithmeticLemmas(g grounded, call application, value ast.Value) {
	result, ok := smallInteger(value)
	if !ok || g.kind != isEqual && g.kind != isLess {
		return
	}
	x, bound, rises, known := boundOf(call, result)
	if _, isConstant := x.(constant); !known || isConstant {
		return
	}
	if call.function == "abs" && result < 0 {
		p.solver.Add(-g.variable)
		return
	}
	limit := constantTerm(ast.Number(big.NewInt(bound).String()))
	has := p.literal(defined(call), false)
	less := func(of term, than term) int { return p.literal(atom{kind: isLess, left: of, right: than}, true) }
	equals := func(of term, to term) int { return p.literal(atom{kind: isEqual, left: of, right: to}, true) }
	c := constantTerm(value)
	below, at := less(x, limit), equals(x, limit)
	under, exact := less(call, c), equals(call, c)
	p.solver.Add(has, -at, exact)
	if call.function == "abs" {
		p.solver.Add(-under, below)
		return
	}
	if rises { // x < limit: at most c. x > limit: at least c
		p.solver.Add(has, -below, under, exact)
		p.solver.Add(-under, below)
		return
	}
	p.solver.Add(has, -below, -under)
	p.solver.Add(has, below, at, under, exact)
}

// boundOf returns the operand for which a function has the result, and whether the function
// is increasing.
func boundOf(call application, result int64) (x term, bound int64, rises, known bool) {
	operand := func(at int) (int64, bool) {
		c, ok := call.operands[at].(constant)
		if !ok {
			return 0, false
		}
		return smallInteger(c.value)
	}
	switch call.function {
	case "ceil":
		return call.operands[0], result, true, result > 0 // that of -0.5 is 1 in OPA
	case "floor", "round", "abs":
		return call.operands[0], result, true, true
	case "plus", "minus", "mul":
	default:
		return nil, 0, false, false
	}
	for at := range 2 {
		k, ok := operand(at)
		if !ok {
			continue
		}
		x := call.operands[1-at]
		switch {
		case call.function == "plus":
			return x, result - k, true, true
		case call.function == "minus" && at == 1:
			return x, result + k, true, true
		case call.function == "minus":
			return x, k - result, false, true
		case k != 0 && result%k == 0:
			return x, result / k, k > 0, true
		}
	}
	return nil, 0, false, false
}
