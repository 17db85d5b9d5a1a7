package suite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requestTemplate reports the request of each case.
const requestTemplate = `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: requests}
spec:
  crd: {spec: {names: {kind: Requests}}}
  targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        package requests

        violation[{"msg": msg}] {
          r := input.review
          msg := sprintf("%v %v/%v %v by %v of %v, was %v, dry run %v, options %v", [r.operation, r.resource.resource, object.get(r, "subResource", ""), r.name, object.get(r.userInfo, "username", ""), object.get(r.userInfo, "groups", []), before(r), r.dryRun, r.options.kind])
        }

        before(r) = metadata {
          metadata := r.oldObject.metadata
        }

        before(r) = "absent" {
          not r.oldObject.metadata
        }
`

const requestConstraint = "apiVersion: constraints.gatekeeper.sh/v1beta1\nkind: Requests\nmetadata: {name: all}\n"

// TestRequestsOfCases: a case sets the user, the old object and the rest of its request.
func TestRequestsOfCases(t *testing.T) {
	for name, test := range map[string]struct {
		object, request string
		outcome         Outcome
		message         string // what the policy reports, or why there is no verdict
	}{
		"a creation by a user": {"red.yaml", "{as: alice, asGroups: [dev], asUID: u}", Passed, `CREATE pods/ web by alice of \["dev", "system:authenticated"\], was absent, dry run false, options CreateOptions`},
		"an update":            {"red.yaml", "{oldObject: blue.yaml}", Passed, `UPDATE pods/ web by  of \[\], was {"labels": {"team": "blue"}, "name": "web", "namespace": "shop"}, dry run false, options UpdateOptions`},
		"a subresource":        {"red.yaml", "{subresource: ephemeralcontainers, dryRun: true}", Passed, `UPDATE pods/ephemeralcontainers web by .* dry run true, options UpdateOptions`},
		"server-side apply":    {"red.yaml", "{options: {kind: PatchOptions, fieldManager: argocd}}", Passed, `CREATE pods/ web .* options PatchOptions`},
		"another old object":   {"red.yaml", "{oldObject: other.yaml}", Errored, "the old object is Pod shop/other, and the object is Pod shop/web: both must have the same kind, namespace and name"},
		"a missing old object": {"red.yaml", "{oldObject: lost.yaml}", Errored, "request.oldObject: tests/lost.yaml is not among the files of the source"},
		"two old objects":      {"red.yaml", "{oldObject: owners.yaml}", Errored, "request.oldObject: tests/owners.yaml holds 2 objects; an update has one"},
		"groups of no user":    {"red.yaml", "{asGroups: [dev]}", Errored, "request.asGroups and request.asUID are about a user: set request.as, too"},
		"another operation":    {"red.yaml", "{operation: PATCH}", Errored, `request.operation: Invalid value "PATCH"`},
		"another kind":         {"red.yaml", "{subresource: exec}", Errored, "request: subresource exec: exec takes an object of kind PodExecOptions in v1, not Pod in v1"},
		"of a review":          {"review.yaml", "{as: alice}", Errored, "an AdmissionReview has a request of its own: leave out the request of the case"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assertion := "{}"
			if test.outcome == Passed {
				assertion = "{message: '" + test.message + "', violations: 1}"
			}
			files := gatekeeperFiles(strings.Replace(oneTest, "%s", "{name: c, object: "+test.object+", request: "+test.request+", assertions: ["+assertion+"]}", 1))
			files["template.yaml"], files["constraint.yaml"] = requestTemplate, requestConstraint
			files["tests/other.yaml"] = strings.Replace(pod(""), "web", "other", 1)
			files["tests/review.yaml"] = "apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nrequest: {operation: CREATE, object: {apiVersion: v1, kind: Pod}}\n"
			results := run(t, files, Options{})
			require.Len(t, results.Cases, 1)
			require.Equal(t, test.outcome, results.Cases[0].Outcome, results.Cases[0].Message)
			if test.outcome != Passed {
				require.Contains(t, results.Cases[0].Message, test.message)
			}
		})
	}
}

// TestDeletionsInCases: a deletion has one object, under either name.
func TestDeletionsInCases(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fields  string
		outcome Outcome
		message string
	}{
		"the old object": {"request: {operation: DELETE, oldObject: red.yaml}", Passed, `DELETE pods/ web by .* was {"labels": {"team": "red"}`},
		"the object":     {"object: red.yaml, request: {operation: DELETE}", Passed, `DELETE pods/ web by .* was {"labels": {"team": "red"}`},
		"both":           {"object: red.yaml, request: {operation: DELETE, oldObject: red.yaml}", Errored, "operation DELETE removes one object: name it as object or as request.oldObject, not as both"},
		"neither":        {"request: {operation: DELETE}", Errored, "it names no object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assertion := "{}"
			if test.outcome == Passed {
				assertion = "{message: '" + test.message + "', violations: 1}"
			}
			files := gatekeeperFiles(strings.Replace(oneTest, "%s", "{name: c, "+test.fields+", assertions: ["+assertion+"]}", 1))
			files["template.yaml"], files["constraint.yaml"] = requestTemplate, requestConstraint
			results := run(t, files, Options{})
			require.Len(t, results.Cases, 1)
			require.Equal(t, test.outcome, results.Cases[0].Outcome, results.Cases[0].Message)
			require.Contains(t, results.Cases[0].Message, map[bool]string{true: "", false: test.message}[test.outcome == Passed])
		})
	}
}

// TestGeneratedNamesInCases: constraints validate, and see a generated name.
func TestGeneratedNamesInCases(t *testing.T) {
	t.Parallel()
	for _, fields := range []string{"", ", request: {as: alice}"} {
		files := gatekeeperFiles(strings.Replace(oneTest, "%s", "{name: c, object: made.yaml"+fields+", assertions: [{message: 'web-xxxxx and web-xxxxx', violations: 1}]}", 1))
		files["tests/made.yaml"] = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: web-, namespace: shop}\n"
		files["template.yaml"], files["constraint.yaml"] = strings.Split(requestTemplate, "        violation")[0]+"        violation[{\"msg\": msg}] { msg := sprintf(\"%v and %v\", [input.review.name, input.review.object.metadata.name]) }\n", requestConstraint
		results := run(t, files, Options{})
		require.Len(t, results.Cases, 1)
		require.Equal(t, Passed, results.Cases[0].Outcome, results.Cases[0].Message)
	}
}

// TestABadCaseHidesNoOtherCase: the others of its test run.
func TestABadCaseHidesNoOtherCase(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]string{
		"no object":      "{name: bad, assertions: [{violations: no}]}",
		"no assertions":  "{name: bad, object: red.yaml}",
		"a missing file": "{name: bad, object: lost.yaml, assertions: [{}]}",
		"two objects":    "{name: bad, object: owners.yaml, assertions: [{}]}",
		"an inventory":   "{name: bad, object: red.yaml, inventory: [lost.yaml], assertions: [{}]}",
		"a request":      "{name: bad, object: red.yaml, request: {operation: PATCH}, assertions: [{}]}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := "{name: good, object: blue.yaml, assertions: [{violations: no}]}"
			files := gatekeeperFiles(strings.Replace(oneTest, "%s", good+", "+bad+", "+strings.Replace(good, "violations: no", "violations: yes", 1), 1))
			results := run(t, files, Options{})
			require.Len(t, results.Cases, 3)
			require.Equal(t, []Outcome{Passed, Errored, Failed}, []Outcome{results.Cases[0].Outcome, results.Cases[1].Outcome, results.Cases[2].Outcome})
			require.Equal(t, "bad", results.Cases[1].Name)
			require.NotEmpty(t, results.Cases[1].Message)
		})
	}
}

func TestAMisspelledRequestIsAnError(t *testing.T) {
	_, err := readSuites("s.yaml", suiteOf(strings.Replace(oneTest, "%s", "{name: c, object: red.yaml, request: {assGroups: [a]}, assertions: [{}]}", 1)))
	require.ErrorContains(t, err, "assGroups")
}
