package scope

import (
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOutside(t *testing.T) {
	for name, c := range map[string]struct {
		inner, outer []string
		want         string
	}{
		"equal":              {[]string{"team-a"}, []string{"team-a"}, ""},
		"within a glob":      {[]string{"team-a", "team-b-*"}, []string{"team-*"}, ""},
		"a glob in a name":   {[]string{"team-*"}, []string{"team-a"}, "team-b"},
		"another name":       {[]string{"team-a", "prod"}, []string{"team-*"}, "prod"},
		"everything":         {[]string{"*"}, []string{"team-*"}, "a"},
		"in everything":      {[]string{"a?[b-d]*"}, []string{"*"}, ""},
		"in a union":         {[]string{"team-[ab]"}, []string{"team-a", "team-b"}, ""},
		"not in a union":     {[]string{"team-[a-c]"}, []string{"team-a", "team-b"}, "team-c"},
		"all but some":       {[]string{"team-[^a]"}, []string{"team-[b-z]"}, "team-0"},
		"a suffix":           {[]string{"*-prod"}, []string{"team-*"}, "a-prod"},
		"no name is matched": {[]string{"-*"}, []string{"team-*"}, ""},
		"escaped":            {[]string{`te\am-*`}, []string{"team-*"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := outside(c.inner, c.outer)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	_, err := outside([]string{"[a"}, []string{"*-"})
	require.ErrorContains(t, err, "not a glob")
	_, err = outside([]string{strings.Repeat("a", 64)}, nil)
	require.ErrorContains(t, err, "longer than any name")
	many := make([]string, 30)
	for i := range many {
		many[i] = "*" + string(nameCharacters[i]) + "*a*b*c*" + string(nameCharacters[29-i]) + "*"
	}
	_, err = outside([]string{"*z*y*x*w*"}, many)
	require.ErrorContains(t, err, "too many globs")
}

// TestOutsideAgreesWithPathMatch compares with matching every short name.
func TestOutsideAgreesWithPathMatch(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"a", "b", "*", "?", "[ab]", "[^a]", "-"}
	text := func() string {
		var b strings.Builder
		for range 1 + random.IntN(4) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		return b.String()
	}
	var names []string
	var grow func(string)
	grow = func(prefix string) {
		if prefix != "" && prefix[0] != '-' && prefix[len(prefix)-1] != '-' {
			names = append(names, prefix)
		}
		if len(prefix) < 5 {
			for _, c := range "abc-0" {
				grow(prefix + string(c))
			}
		}
	}
	grow("")
	matches := func(globs []string, name string) bool {
		return slices.ContainsFunc(globs, func(glob string) bool { ok, _ := path.Match(glob, name); return ok })
	}
	var found int
	for range 300 {
		inner, outer := []string{text()}, []string{text(), text()}
		name, err := outside(inner, outer)
		require.NoError(t, err)
		if name != "" {
			found++
			require.True(t, matches(inner, name) && !matches(outer, name), "%v %v %s", inner, outer, name)
			continue
		}
		for _, name := range names {
			require.False(t, matches(inner, name) && !matches(outer, name), "%v %v %s", inner, outer, name)
		}
	}
	require.Greater(t, found, 50)
	require.Less(t, found, 290)
}
