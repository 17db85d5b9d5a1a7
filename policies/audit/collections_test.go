package audit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/engine"
)

// A rule that needs an element of a collection, which only an old object can add, never fires for
// a stored object. One that may fire without the old object is evaluated.
func TestCollectionsOfOldObjects(t *testing.T) {
	t.Parallel()
	const (
		changes = "changes contains k if {\n\tsome k, v in input.request.oldObject.spec\n\tinput.request.object.spec[k] != v\n}\n"
		set     = "\tchanges := {k | some k, v in input.request.oldObject.spec; input.request.object.spec[k] != v}\n"
		array   = "\tchanges := [k | some k, _ in input.request.oldObject.spec]\n"
		object  = "\tchanges := {k: v | some k, v in input.request.oldObject.spec}\n"
		reads   = "p.rego:7: input.request.oldObject.spec"
		direct  = "deny contains \"x\" if {\n"
	)
	never := map[string]string{
		"count of a set":             changes + `deny contains "x" if count(changes) > 0`,
		"count in a variable":        changes + "deny contains \"x\" if {\n\tn := count(changes)\n\tn != 0\n}",
		"count, mirrored":            changes + `deny contains "x" if 0 < count(changes)`,
		"count, at least":            changes + `deny contains "x" if count(changes) >= 1`,
		"count, exactly":             changes + `deny contains "x" if count(changes) == 1`,
		"count is not zero":          changes + `deny contains "x" if not count(changes) == 0`,
		"not the empty set":          changes + `deny contains "x" if changes != set()`,
		"an element":                 changes + `deny contains "x" if "replicas" in changes`,
		"a helper about the count":   changes + "changed if count(changes) > 0\ndeny contains \"x\" if changed",
		"not a helper":               changes + "unchanged if count(changes) == 0\ndeny contains \"x\" if not unchanged",
		"not not":                    changes + "changed if count(changes) > 0\nunchanged if not changed\ndeny contains \"x\" if not unchanged",
		"a difference":               changes + `deny contains "x" if count(changes - {"status"}) > 0`,
		"an intersection":            changes + `deny contains "x" if count({"status"} & changes) > 0`,
		"a union of both":            changes + `deny contains "x" if count(changes | {k | some k in changes}) > 0`,
		"the largest":                changes + `deny contains "x" if max(changes) == "status"`,
		"a rule with a value":        changes + "all_changes := changes\ndeny contains \"x\" if count(all_changes) > 0",
		"a rule with a default":      changes + "default found := set()\nfound := changes if input.request.object\ndeny contains \"x\" if count(found) > 0",
		"a set of a set":             changes + "names contains upper(k) if some k in changes\ndeny contains \"x\" if count(names) > 0",
		"a function with a default":  "fixed(r) := {k | some k, _ in r.oldObject.spec}\ndeny contains \"x\" if count(fixed(input.request)) > 0",
		"a function":                 "changed(old) if count({k | some k, _ in old.spec}) > 0\ndeny contains \"x\" if changed(input.request.oldObject)",
		"a default of false":         "default changed := false\nchanged if input.request.oldObject.spec != input.request.object.spec\ndeny contains \"x\" if changed",
		"true":                       "default changed := false\nchanged if input.request.oldObject.spec != input.request.object.spec\ndeny contains \"x\" if changed == true",
		"a function that is true":    "default changed(_) := false\nchanged(r) if r.oldObject.spec != r.object.spec\ndeny contains \"x\" if changed(input.request)",
		"a local set":                direct + set + "\tcount(changes) > 0\n}",
		"an element of a local set":  direct + set + "\tsome c in changes\n\tc\n}",
		"a key of a local set":       direct + set + "\tchanges[\"replicas\"]\n}",
		"a local array":              direct + array + "\tcount(changes) > 0\n}",
		"the first of a local array": direct + array + "\tchanges[0] == \"replicas\"\n}",
		"not the empty array":        direct + array + "\tchanges != []\n}",
		"concatenated":               direct + array + "\tcount(array.concat(changes, [])) > 0\n}",
		"a local object":             direct + object + "\tcount(object.keys(changes)) > 0\n}",
		"an object":                  "changes[k] := v if some k, v in input.request.oldObject.spec\ndeny contains \"x\" if count(changes) > 0",
		"a set in a comprehension":   changes + direct + "\tcount([k | some k in changes]) > 0\n}",
	}
	for name, rego := range never {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			auditor := auditorOf(t, map[string]string{"p.rego": policyText([]string{matchPods}, rego)})
			found, err := auditor.Evaluate(t.Context(), []byte(pod), pods, engine.Options{})
			require.NoError(t, err)
			require.Empty(t, found.Results)
			require.Len(t, auditor.Policies()[0].NotAuditable, 1)
			require.Contains(t, auditor.Policies()[0].NotAuditable[0].String(), ": input.request.oldObject")
		})
	}
	auditor := auditorOf(t, map[string]string{"p.rego": policyText([]string{matchPods}, never["count of a set"])})
	require.Equal(t, reads, auditor.Policies()[0].NotAuditable[0].String())

	for name, rego := range map[string]string{
		"at most":                 changes + `deny contains "x" if count(changes) < 2`,
		"none":                    changes + `deny contains "x" if count(changes) == 0`,
		"at least none":           changes + `deny contains "x" if count(changes) >= 0`,
		"the empty set":           changes + `deny contains "x" if changes == set()`,
		"not the empty array":     changes + `deny contains "x" if changes != []`,
		"not an element":          changes + `deny contains "x" if not "replicas" in changes`,
		"what is new":             changes + `deny contains "x" if count({"status"} - changes) > 0`,
		"a union":                 changes + `deny contains "x" if count(changes | {"status"}) > 0`,
		"another definition":      changes + "changes contains \"spec\" if input.request.object.spec\ndeny contains \"x\" if count(changes) > 0",
		"another rule":            changes + "found := changes if input.request.oldObject.spec\nfound := {\"spec\"} if not input.request.oldObject.spec\ndeny contains \"x\" if count(found) > 0",
		"a default":               changes + "default found := {\"spec\"}\nfound := changes if count(changes) > 0\ndeny contains \"x\" if count(found) > 0",
		"a default of true":       "default changed := true\nchanged := false if input.request.oldObject.spec == input.request.object.spec\ndeny contains \"x\" if changed",
		"not a helper":            changes + "changed if count(changes) > 0\ndeny contains \"x\" if not changed",
		"not one of two":          changes + "fine if count(changes) == 0\nfine if input.request.object.spec.fine\ndeny contains \"x\" if not gone\ngone if input.request.object.gone",
		"not both":                changes + "fine if {\n\tcount(changes) == 0\n\tinput.request.object.spec.fine\n}\ndeny contains \"x\" if not fine",
		"every":                   changes + "deny contains \"x\" if {\n\tevery c in changes {\n\t\tc == \"status\"\n\t}\n}",
		"an object with a field":  "changes[k] := v if some k, v in input.request.oldObject.spec\nchanges.always := true\ndeny contains \"x\" if count(changes) > 0",
		"both objects":            direct + "\tkeys := {k | some o in [input.request.object, input.request.oldObject]; some k, _ in o.spec}\n\tcount(keys) > 0\n}",
		"a function of any":       "fields(o) := {k | some k, _ in o.spec}\ndeny contains \"x\" if count(fields(input.request.object) - fields(input.request.oldObject)) > 0",
		"another value of a name": "same(x, y) if x == y\ndeny contains \"x\" if {\n\tcontainers := input.request.object.spec.containers\n\tsame(count(containers), 1)\n}",
		"with another input":      changes + "deny contains \"x\" if count(changes) > 0 with input as {\"request\": {\"oldObject\": {\"spec\": {\"a\": 1}}, \"object\": {\"spec\": {\"a\": 2}}}}",
	} {
		t.Run("may fire: "+name, func(t *testing.T) {
			t.Parallel()
			auditor := auditorOf(t, map[string]string{"p.rego": policyText([]string{matchPods}, rego)})
			require.Empty(t, auditor.Policies()[0].NotAuditable)
			found, err := auditor.Evaluate(t.Context(), []byte(pod), pods, engine.Options{})
			require.NoError(t, err)
			require.NotEmpty(t, found.Results, "it is evaluated")
		})
	}
}
