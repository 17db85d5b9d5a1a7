package sandbox

import (
	"math"
	"regexp/syntax"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// This file has the checks of table.go for functions of text.

// textAt is a string operand; other types are for the function itself to refuse.
func textAt(operands []*ast.Term, i int) string {
	text, _ := operands[i].Value.(ast.String)
	return string(text)
}

// shorter bounds the bytes of a string operand.
func shorter(i, limit int) checkFunc {
	return func(operands []*ast.Term) (int, error) {
		if n := len(textAt(operands, i)); n > limit {
			return 0, exceeds("operand %d has %d bytes; the limit is %d", i+1, n, limit)
		}
		return 0, nil
	}
}

// matching bounds a regular expression at pattern applied to a text.
func matching(pattern, text int) checkFunc {
	return func(operands []*ast.Term) (int, error) {
		expression := textAt(operands, pattern)
		if len(expression) > MaxPatternBytes {
			return 0, exceeds("a pattern has %d bytes; the limit is %d", len(expression), MaxPatternBytes)
		}
		size := patternSize(expression)
		if size > maxPatternSize {
			return 0, exceeds("a pattern has %d parts once its repetitions are written out; the limit is %d", size, maxPatternSize)
		}
		work := size * (len(textAt(operands, text)) + 1)
		if work > MaxMatchWork {
			return 0, exceeds("a pattern of %d bytes on a text of %d bytes is too much work; match a shorter text", len(expression), len(textAt(operands, text)))
		}
		return min(work, shortMatch)/matchedPerUnit + max(0, work-shortMatch)/longMatchedPerUnit, nil
	}
}

// The work of a regular expression for a unit: short texts are matched faster.
const (
	shortMatch         = 1 << 14
	matchedPerUnit     = 320
	longMatchedPerUnit = 128
)

// maxPatternSize is how many parts a regular expression may have. OPA keeps a hundred
// compiled expressions, at about a hundred bytes for each part.
const maxPatternSize = 20_000

// patternSize is how many parts a pattern has once repetitions such as x{100}, which
// nest, are written out.
func patternSize(pattern string) int {
	if !strings.Contains(pattern, "{") {
		return len(pattern) + 1
	}
	if size, known := patternSizeCache.Load(pattern); known {
		return size.(int)
	}
	size := len(pattern) + 1
	if parsed, err := syntax.Parse(pattern, syntax.Perl); err == nil { // else, the function returns the error
		size = parts(parsed)
	}
	if patternSizeCount.Add(1) <= maxCachedPatterns {
		patternSizeCache.Store(strings.Clone(pattern), size)
	}
	return size
}

// maxCachedPatterns is how many sizes of patterns are stored.
const maxCachedPatterns = 1000

// patternSizeCache contains sizes by pattern. Those of policies that are no longer in force stay: they are
// few, and short.
var (
	patternSizeCache sync.Map
	patternSizeCount atomic.Int64
)

func parts(pattern *syntax.Regexp) int {
	count := 1 + len(pattern.Rune)
	if pattern.Op == syntax.OpCharClass {
		count = 1
	}
	for _, sub := range pattern.Sub {
		count += parts(sub)
	}
	if pattern.Op == syntax.OpRepeat {
		count *= max(1, pattern.Min, pattern.Max)
	}
	return count
}

func checkBytes(count int) error {
	if count > MaxStringBytes {
		return exceeds("the result would have %d bytes; the limit is %d", count, MaxStringBytes)
	}
	return nil
}

// concatenated bounds concat.
func concatenated(operands []*ast.Term) (int, error) {
	_, bytes := nodes(operands[1])
	total := bytes + len(textAt(operands, 0))*size(operands[1])
	return total / bytesPerStep, checkBytes(total)
}

// replaced bounds replace: operands are text, old, new.
func replaced(operands []*ast.Term) (int, error) {
	text, old, replacement := textAt(operands, 0), textAt(operands, 1), textAt(operands, 2)
	return 0, checkBytes(len(text) + strings.Count(text, old)*len(replacement))
}

// replacing is replace. OPA compiles a replacer for each call, which takes far longer than replacing
// in a short text. Other operands than texts, and an empty text to replace, are left to OPA.
func replacing(call topdown.BuiltinFunc) topdown.BuiltinFunc {
	return func(context topdown.BuiltinContext, operands []*ast.Term, give func(*ast.Term) error) error {
		text, isText := operands[0].Value.(ast.String)
		old, isOldText := operands[1].Value.(ast.String)
		replacement, isNewText := operands[2].Value.(ast.String)
		if !isText || !isOldText || !isNewText || old == "" {
			return call(context, operands, give)
		}
		if !strings.Contains(string(text), string(old)) {
			return give(operands[0])
		}
		return give(ast.InternedTerm(strings.ReplaceAll(string(text), string(old), string(replacement))))
	}
}

// replacedMany bounds strings.replace_n: operands are an object of patterns, text.
func replacedMany(operands []*ast.Term) (int, error) {
	patterns, ok := operands[0].Value.(ast.Object)
	if !ok {
		return 0, nil
	}
	text := textAt(operands, 1)
	longest := 1
	patterns.Foreach(func(_, value *ast.Term) {
		if replacement, ok := value.Value.(ast.String); ok {
			longest = max(longest, len(replacement))
		}
	})
	work := (len(text) + 1) * max(longest, patterns.Len())
	if work > 16*MaxStringBytes {
		return 0, exceeds("replacing %d patterns in %d bytes by up to %d is too much work", patterns.Len(), len(text), longest)
	}
	return work / bytesPerStep, nil
}

// rewritten bounds regex.replace: operands are text, pattern, new.
func rewritten(operands []*ast.Term) (int, error) {
	total := (len(textAt(operands, 0)) + 1) * (len(textAt(operands, 2)) + 1)
	if total > 16*MaxStringBytes {
		return 0, exceeds("the result could have %d bytes; the limit is %d", total, MaxStringBytes)
	}
	return total/bytesPerStep + 2*len(textAt(operands, 0))/3, nil // each letter may be a match
}

// formatted bounds sprintf: widths and precisions, and the size of the printed values.
func formatted(operands []*ast.Term) (int, error) {
	format := textAt(operands, 0)
	verbs := strings.Count(format, "%")
	widest, wide, indexed, starred := readVerbs(format)
	_, bytes := nodes(operands[1])
	switch {
	case widest > 999:
		return 0, exceeds("the verb %s is wider than 999", wide)
	case max(widest, widestNumber)*verbs > MaxStringBytes:
		return 0, exceeds("%d verbs up to %d wide are too much; print less", verbs, max(widest, widestNumber))
	case indexed && bytes*verbs > MaxStringBytes:
		return 0, exceeds("%d verbs that may each print all operands, of %d bytes, are too much; print less", verbs, bytes)
	case starred:
		return 0, exceeds("a width or precision * is not available; write the number")
	}
	steps, err := whole(1)(operands)
	return steps + widest*verbs/bytesPerStep, err
}

// widestNumber is how wide a verb may print a number that is short, such as 1e300 by %f.
const widestNumber = 320

// readVerbs finds the largest width or precision of the verbs of a format, the verb that has
// it, whether any takes its operand by an index such as %[1]s, and whether any takes its
// width from an operand.
func readVerbs(format string) (widest int, wide string, indexed, starred bool) {
	for rest := format; ; {
		_, after, found := strings.Cut(rest, "%")
		if !found {
			return widest, wide, indexed, starred
		}
		rest = strings.TrimLeft(after, "+-# 0123456789.[]")
		verb := after[:len(after)-len(rest)]
		indexed = indexed || strings.Contains(verb, "[")
		starred = starred || strings.HasPrefix(rest, "*")
		for _, digits := range strings.FieldsFunc(verb, func(c rune) bool { return c < '0' || c > '9' }) {
			width, err := strconv.Atoi(digits)
			if err != nil {
				width = math.MaxInt32
			}
			if width > widest {
				widest, wide = width, "%"+verb
			}
		}
		rest = strings.TrimPrefix(rest, "%")
	}
}

// trimmed bounds functions that look up each letter at an end of a text among others.
func trimmed(operands []*ast.Term) (int, error) {
	text, letters := len(textAt(operands, 0)), len(textAt(operands, 1))
	work := text * letters
	if work > MaxMatchWork {
		return 0, exceeds("trimming %d letters off %d bytes is too much work", letters, text)
	}
	return work / (16 * bytesPerStep), nil
}

// separated bounds the pieces or places that split and indexof_n find.
func separated(operands []*ast.Term) (int, error) {
	count := strings.Count(textAt(operands, 0), textAt(operands, 1)) + 1
	return count / elementsPerStep, checkElements(count)
}

// soughtAgain charges indexof_n, which compares a text with the part at every place of another.
func soughtAgain(operands []*ast.Term) (int, error) {
	text, part := len(textAt(operands, 0)), len(textAt(operands, 1))
	return text/16 + text*part/comparedBytesPerUnit, nil
}

// comparedBytesPerUnit is how many bytes are compared for a unit.
const comparedBytesPerUnit = 32 << 10

// grouped bounds regular expressions that collect matches with their groups.
func grouped(operands []*ast.Term) (int, error) {
	work := (strings.Count(textAt(operands, 0), "(") + 1) * (len(textAt(operands, 1)) + 1)
	if work > 4*MaxElements {
		return 0, exceeds("collecting the matches of a pattern with %d groups in %d bytes is too much work; match a shorter text",
			strings.Count(textAt(operands, 0), "("), len(textAt(operands, 1)))
	}
	return work / elementsPerStep, nil
}
