package kyverno

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// anchors are the keys of a pattern with a modifier: (x), =(x), ^(x), X(x), <(x) and +(x).
var anchor = regexp.MustCompile(`^([+<=X^])?\((.+)\)$`)

const (
	plain     = "plain"
	condition = ""
	equality  = "="
	existence = "^"
	negation  = "X"
	global    = "<"
	addition  = "+"
)

// part is a key of a pattern.
type part struct {
	anchor, key string
	value       any
}

// partsOf are the keys of a pattern, in the order in which Kyverno evaluates them.
func partsOf(pattern map[string]any) (first, second []part) {
	for _, raw := range sortedKeys(pattern) {
		p := part{plain, raw, pattern[raw]}
		if found := anchor.FindStringSubmatch(strings.TrimSpace(raw)); found != nil {
			p.anchor, p.key = found[1], found[2]
		}
		switch p.anchor {
		case condition, equality, existence, negation:
			first = append(first, p)
		case global:
			second = slices.Insert(second, 0, p)
		default:
			if hasAnchors(p.value) {
				second = slices.Insert(second, 0, p)
			} else {
				second = append(second, p)
			}
		}
	}
	return first, second
}

func hasAnchors(pattern any) bool {
	switch typed := pattern.(type) {
	case map[string]any:
		for key, value := range typed {
			if found := anchor.FindStringSubmatch(strings.TrimSpace(key)); found != nil && found[1] != addition || hasAnchors(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(typed, hasAnchors)
	}
	return false
}

// maySkip reports whether a pattern may turn out not to apply to a value.
func maySkip(pattern any) bool {
	switch typed := pattern.(type) {
	case map[string]any:
		first, second := partsOf(typed)
		for _, p := range slices.Concat(first, second) {
			switch p.anchor {
			case condition, global:
				return true
			case existence, negation:
			default:
				if maySkip(p.value) {
					return true
				}
			}
		}
	case []any:
		return len(typed) > 0 && maySkip(typed[0])
	}
	return false
}

// patterns translates patterns to conditions.
type patterns struct {
	*expressions
	at field
	// variables are the names that every and some declare around, so that none repeats.
	taken map[string]bool
}

// declare returns a name for a variable.
func (p *patterns) declare(key string) string {
	singular := identifier(strings.TrimSuffix(key, "s"))
	if strings.HasSuffix(key, "ies") {
		singular = identifier(strings.TrimSuffix(key, "ies") + "y")
	}
	name := singular
	for i := 2; p.taken[name] || p.module.names[name]; i++ {
		name = fmt.Sprintf("%s_%d", singular, i)
	}
	p.taken[name] = true
	return name
}

// notFailing are conditions that hold unless a value violates a pattern: they hold, too, if the
// pattern does not apply.
func (p *patterns) notFailing(pattern any, value string) []string {
	tree, ok := pattern.(map[string]any)
	if !ok {
		p.add(p.at, "pattern that is not a map", "write the rule in Rego")
		return nil
	}
	return p.mapping(tree, value, false)
}

// passing are conditions that hold if a pattern applies to a value and the value meets it.
func (p *patterns) passing(pattern map[string]any, value string) []string {
	return p.mapping(pattern, value, true)
}

// mapping are the conditions of a map. strict also requires that the pattern applies.
func (p *patterns) mapping(pattern map[string]any, value string, strict bool) []string {
	pattern, expanded := p.withoutWildcardKeys(pattern, value)
	first, second := partsOf(pattern)
	conditions := p.conditions(slices.Concat(first, second), value)
	rest := expanded
	requiresMap := len(expanded) > 0
	for _, each := range first {
		rest = append(rest, p.anchored(each, value, strict)...)
		requiresMap = requiresMap || each.anchor == negation || each.anchor == equality && isScalar(each.value)
	}
	rest = append(rest, p.plainParts(second, value, strict)...)
	if guard := p.firstGuard(first, second, value, strict); guard != "" {
		p.add(p.at, "optional list with conditions next to other fields", "split the pattern into several rules")
	}
	for _, each := range second {
		requiresMap = requiresMap || each.anchor == plain && !acceptsAnything(each.value)
	}
	switch {
	case len(conditions) > 0 && strict:
		return append(conditions, rest...)
	case len(conditions) > 0 && len(rest) == 0:
		return []string{"is_object(" + value + ")"}
	case len(conditions) > 0:
		return []string{"is_object(" + value + ")", every("_", "[1 |\n"+indent(conditions)+"]", rest)}
	case !requiresMap:
		return append([]string{"is_object(" + value + ")"}, rest...)
	}
	return rest
}

// acceptsAnything reports whether a plain key does not require that its parent is a map.
func acceptsAnything(pattern any) bool { return isScalar(pattern) && acceptsMissing(pattern) }

func isScalar(pattern any) bool {
	switch pattern.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// conditions are those of the anchors (x) and <(x) of a map.
func (p *patterns) conditions(parts []part, value string) (out []string) {
	for _, each := range parts {
		switch each.anchor {
		case condition:
			out = append(out, p.present(each, value, true)...)
		case global:
			out = append(out, p.optional(each, value, true)...)
		}
	}
	return out
}

// present are the conditions of a key that must exist.
func (p *patterns) present(each part, value string, strict bool) []string {
	child := ref(value, each.key)
	switch typed := each.value.(type) {
	case map[string]any:
		return p.mapping(typed, child, strict)
	case []any:
		return p.list(each, typed, child, strict)
	}
	return []string{"kyverno.matches(" + child + ", " + p.template(p.at, each.value, false) + ")"}
}

// optional are the conditions of a key that may be missing.
func (p *patterns) optional(each part, value string, strict bool) []string {
	if isScalar(each.value) {
		return []string{"kyverno.matches_if_present(" + value + ", " + literal(each.key) + ", " + p.template(p.at, each.value, false) + ")"}
	}
	if list, ok := each.value.([]any); ok && len(list) > 0 && !strict {
		return p.list(each, list, "object.get("+value+", "+literal(each.key)+", [])", strict)
	}
	name := p.declare(each.key)
	inner := p.present(part{plain, each.key, each.value}, "\x00", strict)
	for i := range inner {
		inner[i] = strings.ReplaceAll(inner[i], ref("\x00", each.key), name)
	}
	return []string{every(name, "["+name+" | "+name+" := "+ref(value, each.key)+"]", inner)}
}

// anchored are the conditions of the anchors that are evaluated first.
func (p *patterns) anchored(each part, value string, strict bool) []string {
	switch each.anchor {
	case equality:
		return p.optional(each, value, strict)
	case negation:
		return []string{"kyverno.absent(" + value + ", " + literal(each.key) + ")"}
	case existence:
		return p.exists(each, value)
	}
	return nil
}

// exists are the conditions of ^(x): some element of the list meets each pattern.
func (p *patterns) exists(each part, value string) []string {
	wanted, ok := each.value.([]any)
	if !ok {
		p.add(p.at, "anchor ^( ) without a list", "write the pattern as a list")
		return nil
	}
	list := p.declare(each.key)
	var lines []string
	for _, one := range wanted {
		tree, ok := one.(map[string]any)
		if !ok {
			p.add(p.at, "anchor ^( ) with a scalar", "write the rule in Rego")
			return nil
		}
		element := p.declare("one_" + each.key)
		name := p.module.helperName("meets_" + identifier(each.key))
		lines = append(lines, "some "+element+" in "+list, name+"("+element+")")
		p.module.helpers = append(p.module.helpers, body(name+"("+element+")", p.passing(tree, element)))
	}
	return []string{every(list, "["+list+" | "+list+" := "+ref(value, each.key)+"]", lines)}
}

// plainParts are the conditions of keys without an anchor. A key whose pattern does not apply ends
// the evaluation, so the keys after it are evaluated only if it does.
func (p *patterns) plainParts(parts []part, value string, strict bool) (out []string) {
	for i, each := range parts {
		if each.anchor == global {
			continue
		}
		if each.anchor == addition {
			p.add(p.at, "anchor +( ) in a validation", "remove the anchor")
			continue
		}
		out = append(out, p.plainPart(each, value, strict)...)
		if rest := parts[i+1:]; !strict && len(rest) > 0 && maySkip(each.value) {
			return append(out, p.guarded(each, rest, value)...)
		}
	}
	return out
}

// guarded are the conditions of the keys after one that may not apply.
func (p *patterns) guarded(each part, rest []part, value string) []string {
	lines := p.plainParts(rest, value, false)
	if len(lines) == 0 {
		return nil
	}
	argument := p.declare("checked")
	name := p.module.helperName("applies_to_" + identifier(each.key))
	if list, ok := each.value.([]any); ok {
		if tree, ok := list[0].(map[string]any); ok {
			p.module.helpers = append(p.module.helpers,
				body(name+"("+argument+")", []string{"count(" + ref(argument, each.key) + ") == 0"}),
				body(name+"("+argument+")", append([]string{"some element in " + ref(argument, each.key)}, p.passing(tree, "element")...)))
		}
	} else if tree, ok := each.value.(map[string]any); ok {
		p.module.helpers = append(p.module.helpers, body(name+"("+argument+")", p.passing(tree, ref(argument, each.key))))
	}
	return []string{every("_", "[1 | "+name+"("+value+")]", lines)}
}

// plainPart are the conditions of a key without an anchor.
func (p *patterns) plainPart(each part, value string, strict bool) []string {
	child := ref(value, each.key)
	if each.value == "*" {
		return []string{child + " != null"}
	}
	if isScalar(each.value) && acceptsMissing(each.value) {
		return []string{"kyverno.matches(object.get(" + value + ", " + literal(each.key) + ", null), " + literal(each.value) + ")"}
	}
	return p.present(each, value, strict)
}

// list are the conditions of a list. Kyverno compares each element with the first pattern.
func (p *patterns) list(each part, list []any, value string, strict bool) []string {
	if len(list) == 0 {
		p.add(p.at, "empty list in a pattern", "write the rule in Rego")
		return nil
	}
	switch typed := list[0].(type) {
	case map[string]any:
		element := p.declare(each.key)
		kept, _ := p.withoutWildcardKeys(typed, "")
		out := p.elements(kept, element, value)
		if strict && maySkip(typed) {
			p.add(p.at, "list with conditions inside a condition", "write the rule in Rego")
		}
		return out
	case []any:
		p.add(p.at, "list of lists in a pattern", "write the rule in Rego")
		return nil
	default:
		return []string{"is_array(" + value + ")", "kyverno.matches(" + value + ", " + p.template(p.at, typed, false) + ")"}
	}
}

// elements are the conditions that each element meets to which the pattern applies.
func (p *patterns) elements(pattern map[string]any, element, list string) []string {
	first, second := partsOf(pattern)
	conditions := p.conditions(slices.Concat(first, second), element)
	if len(conditions) == 0 {
		inner := p.mapping(pattern, element, false)
		if len(inner) == 0 {
			inner = []string{"is_object(" + element + ")"}
		}
		return []string{every(element, list, inner)}
	}
	rest := map[string]any{}
	for key, value := range pattern {
		if found := anchor.FindStringSubmatch(strings.TrimSpace(key)); found == nil || found[1] != condition && found[1] != global {
			rest[key] = value
		}
	}
	if len(rest) == 0 {
		return []string{"is_array(" + list + ")"}
	}
	domain := "[" + element + " |\n" + indent(append([]string{"some " + element + " in " + list}, conditions...)) + "]"
	return []string{"is_array(" + list + ")", every(element, domain, p.mapping(rest, element, false))}
}

// firstGuard reports optional keys that alone decide whether the pattern applies.
func (p *patterns) firstGuard(first, second []part, _ string, strict bool) string {
	skipping := 0
	for _, each := range first {
		if each.anchor == equality && maySkip(each.value) {
			skipping++
		}
	}
	if strict || skipping == 0 || skipping < len(first) || len(second) == 0 {
		return ""
	}
	return first[0].key
}

// ofMetadata are the maps in which Kyverno expands wildcards of keys.
var ofMetadata = regexp.MustCompile(`(^|[.\x00])(labels|annotations)$`)

// withoutWildcardKeys translates labels and annotations whose names have wildcards, and returns the
// other keys. Elsewhere, these are refused.
func (p *patterns) withoutWildcardKeys(pattern map[string]any, value string) (map[string]any, []string) {
	var out []string
	rest := map[string]any{}
	for _, key := range sortedKeys(pattern) {
		mark, name := plain, key
		if found := anchor.FindStringSubmatch(strings.TrimSpace(key)); found != nil {
			mark, name = found[1], found[2]
		}
		switch text := pattern[key]; {
		case !strings.ContainsAny(name, "*?"):
			rest[key] = text
		case !ofMetadata.MatchString(value) || !isScalar(text) || hasVariable(name):
			p.add(p.at, "wildcard in a key of a pattern", "write the rule in Rego with a loop over the keys")
		case mark == negation:
			out = append(out, "kyverno.absent_like("+value+", "+literal(name)+")")
		case mark == equality:
			out = append(out, "kyverno.all_like("+value+", "+literal(name)+", "+p.template(p.at, text, false)+")")
		case mark == plain:
			out = append(out, "kyverno.some_like("+value+", "+literal(name)+", "+p.template(p.at, text, false)+")")
		default:
			p.add(p.at, "wildcard in a key of a pattern", "write the rule in Rego with a loop over the keys")
		}
	}
	return rest, out
}
