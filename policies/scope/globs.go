package scope

import (
	"fmt"
	"path"
	"strings"
)

// nameCharacters are those of a namespace's name (RFC 1123), which has at most 63 and
// neither begins nor ends with a hyphen.
const (
	nameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-"
	maxName        = 63
	// maxStates bounds the comparison of globs.
	maxStates = 50_000
)

// glob is a pattern as path.Match reads it, over the characters of names: at each
// position a set of characters, or a star.
type glob []globToken

type globToken struct {
	star       bool
	characters string
}

func parseGlob(text string) (glob, error) {
	var g glob
	for rest := text; rest != ""; {
		length := 1
		switch rest[0] {
		case '*':
			if len(g) == 0 || !g[len(g)-1].star {
				g = append(g, globToken{star: true})
			}
			rest = rest[1:]
			continue
		case '[':
			length = strings.IndexByte(rest, ']') + 1
		case '\\':
			length = 2
		}
		if length == 0 || length > len(rest) {
			return nil, fmt.Errorf("%q is not a glob", text)
		}
		g = append(g, globToken{characters: matching(rest[:length])})
		rest = rest[length:]
	}
	if len(g) > maxName {
		return nil, fmt.Errorf("%q is longer than any name", text)
	}
	return g, nil
}

// matching are the characters of names that a pattern for one character matches: empty if it is
// not a pattern.
func matching(pattern string) string {
	return strings.Map(func(c rune) rune {
		if matches, err := path.Match(pattern, string(c)); matches && err == nil {
			return c
		}
		return -1
	}, nameCharacters)
}

// states are the positions that a glob may be at, a bit for each.
type states uint64

func (g glob) start() states { return g.skip(1) }

// skip adds the positions behind stars, which may stand for nothing.
func (g glob) skip(at states) states {
	for i, token := range g {
		if token.star && at&(1<<i) != 0 {
			at |= 1 << (i + 1)
		}
	}
	return at
}

func (g glob) after(at states, c byte) states {
	var next states
	for i, token := range g {
		switch {
		case at&(1<<i) == 0:
		case token.star:
			next |= 1 << i
		case strings.IndexByte(token.characters, c) >= 0:
			next |= 1 << (i + 1)
		}
	}
	return g.skip(next)
}

func (g glob) accepts(at states) bool { return at&(1<<len(g)) != 0 }

// alphabet is one character for each class that the globs can tell apart, letters
// first, so that names look like names.
func alphabet(globs []glob) []byte {
	seen := map[string]bool{}
	var out []byte
	for i := range len(nameCharacters) {
		c := nameCharacters[i]
		var signature strings.Builder
		fmt.Fprint(&signature, c == '-', c >= '0' && c <= '9')
		for _, g := range globs {
			for _, token := range g {
				fmt.Fprint(&signature, strings.IndexByte(token.characters, c) >= 0)
			}
		}
		if !seen[signature.String()] {
			seen[signature.String()] = true
			out = append(out, c)
		}
	}
	return out
}

// outside is a name that one of the inner globs matches and none of the outer ones: ""
// where there is none. An error says that the globs could not be compared.
func outside(inner, outer []string) (string, error) {
	var covers []glob
	for _, text := range outer {
		g, err := parseGlob(text)
		if err != nil {
			continue // what matches nothing covers nothing
		}
		covers = append(covers, g)
	}
	for _, text := range inner {
		g, err := parseGlob(text)
		if err != nil {
			return "", err
		}
		if name, err := outsideOne(g, covers); name != "" || err != nil {
			return name, err
		}
	}
	return "", nil
}

// outsideOne goes through the names that a glob matches by their length, keeping one for
// each set of positions in all globs.
func outsideOne(inner glob, outer []glob) (string, error) {
	all := append([]glob{inner}, outer...)
	letters := alphabet(all)
	type reached struct {
		name string
		at   []states
	}
	start := make([]states, len(all))
	for i, g := range all {
		start[i] = g.start()
	}
	seen := map[string]bool{}
	frontier := []reached{{"", start}}
	for range maxName {
		var next []reached
		for _, from := range frontier {
			for _, c := range letters {
				if from.name == "" && c == '-' {
					continue
				}
				to := reached{name: from.name + string(c), at: make([]states, len(all))}
				covered := false
				for i, g := range all {
					to.at[i] = g.after(from.at[i], c)
					covered = covered || i > 0 && g.accepts(to.at[i])
				}
				if to.at[0] == 0 {
					continue
				}
				if c != '-' && inner.accepts(to.at[0]) && !covered {
					return to.name, nil
				}
				key := fmt.Sprint(c == '-', to.at)
				if seen[key] {
					continue
				}
				if seen[key] = true; len(seen) > maxStates {
					return "", fmt.Errorf("there are too many globs to compare; name fewer")
				}
				next = append(next, to)
			}
		}
		frontier = next
	}
	return "", nil
}
