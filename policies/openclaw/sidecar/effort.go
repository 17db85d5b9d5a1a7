package sidecar

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lintel-policy/lintel/policies/bounds"
)

// Any tenant may write a policy, and OPA cannot be interrupted while it reads and compiles one.
// The cost grows with the number of words, unless a construct makes it grow faster. So the words
// are counted before OPA reads them, and constructs that grow faster are rejected: here, and by
// policyBounds in the text that OPA has parsed. Only counts are used, never times, so that a
// text has the same verdict on every machine.

const (
	// MaxEffort is how many words, numbers, strings, brackets, operators and comments the
	// policies of one bundle may have together, with effortOfPolicy for each policy,
	// effortOfDecision for each name of a rule, and hiddenEffort: what takes about a second
	// of one processor and 100 MiB at worst, and a third of that where the text is not made
	// for it.
	MaxEffort        = 30_000
	effortOfPolicy   = 100
	effortOfDecision = 30

	// maxMembers is how many members a set or object may have that is written out, and
	// maxAlike how many parts a bundle may have whose hashes may be chosen: OPA compares
	// each of them with all others in a set whose hashes are close. Those are members of
	// sets that begin with a bracket, and numbers that are not short and whole, which
	// take longer to compare.
	maxMembers    = 2_000
	maxAlike      = 1_000
	alikeFraction = 5
	alikeLong     = 20
	// maxShortNumber is how many digits a whole number may have for its hash to be its
	// own, and maxNumber how long any may be.
	maxShortNumber = 15
	maxNumber      = 40
)

// policyBounds are those of what OPA has read of one policy.
var policyBounds = bounds.Limits{
	Depth: 60, Checks: 1_000, AllChecks: 20_000, Ordering: 6_000_000, Closures: 500, Calls: 1_000, References: 2_000, Branches: 100,
	Dependencies: 20_000, DependencySteps: 200_000, TypeSteps: 10_000_000,
}

// Effort adds up the cost of reading the policies of one bundle. The zero value is an empty
// bundle.
type Effort struct{ total, alike int }

// AddText adds a text that has not been read yet. The error is ParseErrors, of one about
// the first thing in it that is too much, in view of the texts before.
func (e *Effort) AddText(name, content string) error {
	s := scan{text: content, line: 1, alike: e.alike}
	e.total += effortOfPolicy
	for {
		token := s.next()
		if token == "" {
			e.alike = s.alike
			return nil
		}
		wrong := s.admit(token)
		if e.total++; e.total > MaxEffort {
			wrong = tooMuch
		}
		if wrong != "" {
			return ParseErrors{{File: name, Line: s.line, Message: wrong}}
		}
		s.line += strings.Count(token, "\n")
	}
}

// AddPolicy adds what showed when the text was read. The error is ParseErrors.
func (e *Effort) AddPolicy(p *Policy) error {
	if e.total += p.hidden; e.total > MaxEffort {
		return ParseErrors{{File: p.Name, Message: tooMuch}}
	}
	return nil
}

// hiddenEffort is the effort that the words of a policy do not show. It takes as long as
// so many words.
func hiddenEffort(p *Policy, work bounds.Work) int {
	return effortOfDecision*len(p.Decisions) +
		work.Checks/2 + work.Ordering/300 + work.Dependencies/2 + work.DependencySteps/20 + work.TypeSteps/500
}

var tooMuch = fmt.Sprintf("up to here the bundle has more than %d words, numbers, strings, brackets, operators and comments, "+
	"counting %d more for each policy, %d for each name of a rule, and some for what takes longer: long bodies, comprehensions, chains of rules; "+
	"divide it into several bundles", MaxEffort, effortOfPolicy, effortOfDecision)

// scan goes once through a text, of which it knows as much of Rego as it takes to tell
// words apart.
type scan struct {
	text  string
	line  int // of the token, from 1
	alike int
	open  []bracket
	// begins says that a member of braces may begin here.
	begins bool
}

// bracket is one that is open, with the commas in it so far.
type bracket struct {
	kind   byte
	commas int
}

// admit returns the error of a token, or "" if it is valid.
func (s *scan) admit(token string) (wrong string) {
	var within *bracket
	if len(s.open) > 0 {
		within = &s.open[len(s.open)-1]
	}
	inBraces := within != nil && within.kind == '{'
	switch first := token[0]; {
	case isDigit(first) && len(token) > maxNumber:
		return fmt.Sprintf("a number is longer than %d characters; write it as a string", maxNumber)
	case isDigit(first) && (len(token) > maxShortNumber || strings.ContainsAny(token, "eE")):
		s.alike += alikeLong
	case isDigit(first) && strings.Contains(token, "."):
		s.alike += alikeFraction
	case strings.IndexByte("[{(", first) >= 0:
		if s.begins && inBraces {
			s.alike++
		}
		s.open = append(s.open, bracket{kind: first})
	case strings.IndexByte(")]}", first) >= 0 && within != nil:
		s.open = s.open[:len(s.open)-1]
	case first == ',' && within != nil:
		if within.commas++; within.commas >= maxMembers && inBraces {
			return fmt.Sprintf("a set or object is written out with more than %d members; divide it, such as into a | b, or write a list in square brackets", maxMembers)
		}
	}
	s.begins = token == "{" || token == ","
	if s.alike > maxAlike {
		return fmt.Sprintf("up to here the bundle has more than %d members of sets that are lists, sets or objects, counting %d for each number with a point and %d for each with an exponent or over %d characters; write them as strings",
			maxAlike, alikeFraction, alikeLong, maxShortNumber)
	}
	return ""
}

// next takes the next token or comment: "" at the end of the text.
func (s *scan) next() string {
	for len(s.text) > 0 {
		n := tokenLength(s.text)
		token := s.text[:n]
		s.text = s.text[n:]
		switch token[0] {
		case '\n':
			s.line++
		case ' ', '\t', '\r':
		default:
			return token
		}
	}
	return ""
}

// tokenLength returns the length in bytes of the first token, comment or space of a text. A
// template string counts as a string: the gateways' OPA does not support them.
func tokenLength(text string) int {
	switch first := text[0]; {
	case first == '#':
		return lengthTo(text, "\n", 0)
	case first == '`':
		return 1 + lengthTo(text[1:], "`", 1)
	case first == '"':
		return lengthOfString(text)
	case isDigit(first):
		return lengthOf(text, func(i int) bool {
			return isWord(text[i]) || text[i] == '.' || strings.IndexByte("+-", text[i]) >= 0 && strings.IndexByte("eE", text[i-1]) >= 0
		})
	case isWord(first):
		return lengthOf(text, func(i int) bool { return isWord(text[i]) })
	case len(text) > 1 && text[1] == '=' && strings.IndexByte(":=!<>", first) >= 0:
		return 2
	}
	return 1
}

// lengthTo is the number of bytes before a mark, and so many of the mark.
func lengthTo(text, mark string, of int) int {
	if end := strings.Index(text, mark); end >= 0 {
		return end + of
	}
	return len(text)
}

// lengthOfString is the number of bytes up to the quotation mark that ends a string, or
// to the end of the line, where OPA finds none.
func lengthOfString(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		case '\n':
			return i
		}
	}
	return len(text)
}

// lengthOf is the number of bytes that belong together, the first always.
func lengthOf(text string, belongs func(i int) bool) int {
	n := 1
	for n < len(text) && belongs(n) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool {
	return c == '_' || isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf
}
