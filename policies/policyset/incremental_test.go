//go:build !race

// Nothing here runs in two goroutines: the race detector would only make it slow.

package policyset

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/definition"
)

// manyPackages are packages of one rule each, in a file each.
func manyPackages(count int) map[string]string {
	files := map[string]string{}
	for i := range count {
		files[fmt.Sprintf("%d.rego", i)] = fmt.Sprintf("package many.p%d\nimport rego.v1\ndeny contains \"%d\" if input.request.object.metadata.labels.l%d", i, i, i)
	}
	return files
}

// recompiled is a source after files have changed: "" takes a file away.
func recompiled(t *testing.T, before *Set, changes map[string]string) (*Set, error) {
	t.Helper()
	source := before.Source()
	source.Files = maps.Clone(source.Files)
	for name, text := range changes {
		if source.Files[name] = text; text == "" {
			delete(source.Files, name)
		}
	}
	source.Revision = ""
	set, err := Recompile(source, before)
	_, whole := Compile(source)
	require.Equal(t, whole, err)
	return set, err
}

func TestOneOfManyIsCompiled(t *testing.T) {
	before := compileSource(t, definition.Source{Name: "s", Files: manyPackages(250)})
	require.Equal(t, 250, before.Compiled())
	for name, c := range map[string]struct {
		changes  map[string]string
		compiled int
	}{
		"nothing":                  {nil, 0},
		"a file":                   {map[string]string{"7.rego": "package many.p7\ndeny contains \"other\""}, 1},
		"a file more":              {map[string]string{"new.rego": "package new\ndeny contains \"other\""}, 1},
		"a file of a package":      {map[string]string{"new.rego": "package many.p7\nwarn contains \"other\""}, 1},
		"a file less":              {map[string]string{"7.rego": ""}, 0},
		"its name":                 {map[string]string{"7.rego": "", "new.rego": before.Files()["7.rego"]}, 1},
		"its package":              {map[string]string{"7.rego": "package many.other\ndeny contains \"7\""}, 1},
		"data":                     {map[string]string{"settings/data.yaml": "a: 1"}, 0},
		"data of a package":        {map[string]string{"many/p7/data.yaml": "a: 1"}, 1},
		"what refers to one":       {map[string]string{"7.rego": "package many.p7\ndeny contains \"x\" if data.many.p8.deny"}, 2},
		"what refers to two":       {map[string]string{"7.rego": "package many.p7\nimport data.many.p8\ndeny contains \"x\" if { p8.deny; count(data.many.p9) > 1 }"}, 3},
		"what refers to all":       {map[string]string{"7.rego": "package many.p7\ndeny contains \"x\" if { some p; data.other[p] }"}, 1},
		"a package above":          {map[string]string{"new.rego": "package many\nx := 1"}, 251},
		"what refers to data":      {map[string]string{"new.rego": "package new\ndeny contains \"x\" if { some p; data[p].q }"}, 251},
		"what is replaced by with": {map[string]string{"7.rego": "package many.p7\ndeny contains \"x\" if count(data.many.p8.deny) > 1 with data.many.p9.x as 1"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := recompiled(t, before, c.changes)
			require.NoError(t, err)
			require.Equal(t, c.compiled, set.Compiled())
		})
	}
}

// TestAnErrorInAnUnchangedFileIsFound where a change in another shows it.
func TestAnErrorInAnUnchangedFileIsFound(t *testing.T) {
	files := manyPackages(20)
	files["lib.rego"] = "package lib\nf(x) := x\nvalue := 1"
	files["deep.rego"] = "package deep\nvalue(x) := data.lib.f(x)"
	files["user.rego"] = "package user\nimport data.deep\ndeny contains \"x\" if deep.value(1) > 2"
	files["needs.rego"] = "# METADATA\n# custom:\n#   requires: [{group: \"\", kind: Service}]\npackage needs\ndeny contains \"x\" if data.cluster.Service"
	files["reads.rego"] = "package reads\ndeny contains \"x\" if data.cluster.Service"
	before := compileSource(t, definition.Source{Name: "s", Files: files})
	for name, c := range map[string]struct {
		changes map[string]string
		want    string
	}{
		"arity":        {map[string]string{"lib.rego": "package lib\nf(x, y) := [x, y]\nvalue := 1"}, "deep.rego:2:13: rego_type_error: function data.lib.f has arity 2, got 1 argument"},
		"gone":         {map[string]string{"lib.rego": ""}, "deep.rego:2:13: rego_type_error: undefined function data.lib.f"},
		"type":         {map[string]string{"deep.rego": "package deep\nvalue := 1"}, "user.rego:3:22: rego_type_error: function data.deep.value has arity 0"},
		"recursion":    {map[string]string{"lib.rego": "package lib\nf(x) := x if data.user.deny"}, "rego_recursion_error"},
		"requirement":  {map[string]string{"needs.rego": "package needs\ndeny contains \"x\""}, "reads.rego:2:22: data.cluster[\"Service\"] is not required by any policy of this source"},
		"rule in data": {map[string]string{"many/p3/data.yaml": "deny: 1"}, "3.rego:3:1: conflicting rule for data path many/p3/deny found"},
		"a place":      {map[string]string{"above.rego": "package many\np3 := {\"deny\": 1}"}, "package many.p3 conflicts with rule p3 defined at above.rego:2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := recompiled(t, before, c.changes)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestBoundsHoldForASourceAsAWhole, after any history of changes.
func TestBoundsHoldForASourceAsAWhole(t *testing.T) {
	// What follows a reference with a variable is planned for each of the rules that it may
	// mean.
	rules := func(name string) string {
		text := "package " + name + "\nimport rego.v1\n"
		for i := range 16 {
			text += fmt.Sprintf("r%d := %d\n", i, i)
		}
		return text
	}
	user := func(i int) string {
		return fmt.Sprintf("package user%d\nimport rego.v1\ndeny contains \"x\" if {\n\tdata.rules%d[a]\n\tdata.rules%d[b]\n\tdata.rules%d[c]\n}", i, i, i, i)
	}
	files := manyPackages(30)
	before := compileSource(t, definition.Source{Name: "s", Files: files})
	for i := range 10 {
		set, err := recompiled(t, before, map[string]string{fmt.Sprintf("user%d.rego", i): user(i), fmt.Sprintf("rules%d.rego", i): rules(fmt.Sprintf("rules%d", i))})
		if err != nil {
			require.ErrorContains(t, err, "this reference is planned again for every rule or package")
			require.NotZero(t, i, "one by itself is within the bound")
			return
		}
		before = set
	}
	require.Fail(t, "no bound was reached")
}

// TestWhatIsOfNoUseAnyMoreIsNotKeptForEver: units that were compiled together stay in memory
// as long as one of them is used.
func TestWhatIsOfNoUseAnyMoreIsNotKeptForEver(t *testing.T) {
	files := manyPackages(20)
	for i := range 20 {
		files[fmt.Sprintf("%d.rego", i)] += " with data.lib.x as 1"
	}
	files["lib.rego"] = "package lib\nx := 1"
	before := compileSource(t, definition.Source{Name: "s", Files: files})
	whole := 0
	for i := range 60 {
		name := fmt.Sprintf("%d.rego", i%20)
		set, err := recompiled(t, before, map[string]string{name: files[name] + strings.Repeat("\n", i+1)})
		require.NoError(t, err)
		if set.Compiled() == 21 {
			whole++
		}
		kept := map[*batch]bool{}
		units := 0
		for _, u := range set.units {
			if !kept[u.batch] {
				units += u.batch.Units
			}
			kept[u.batch] = true
		}
		require.LessOrEqual(t, units, 2*21+spareUnits)
		before = set
	}
	require.NotZero(t, whole)
	require.Less(t, whole, 6)
}
