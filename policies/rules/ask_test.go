package rules

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

const head = `# METADATA
# custom:
#   match: {kinds: [{group: "", kind: Secret}]}
`

// endless takes more steps than a rule may, whatever the machine.
const endless = head + `package endless
import rego.v1
deny contains "busy" if {
	some x in numbers.range(1, 1000)
	some y in numbers.range(1, 1000)
	x + y < 0
}`

const named = head + `package named
import rego.v1
deny contains msg if {
	input.name == "bad"
	msg := "it has a bad name"
}`

const filled = head + `package filled
import rego.v1
defaults := {"metadata": {"labels": {"team": "none"}}}
deny contains "it is not filled in" if not input.request.object.metadata.labels.team`

func snapshot(t *testing.T, texts ...string) *engine.Snapshot {
	t.Helper()
	files := map[string]string{}
	for i, text := range texts {
		files[string(rune('a'+i))+".rego"] = text
	}
	set, err := policyset.Compile(definition.Source{Name: "rules", Revision: "built-in", Files: files})
	require.NoError(t, err)
	return engine.NewSnapshot(admission.BuiltinResources(), set)
}

func secret(name string) Question {
	return Question{
		Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Secret"}, Resource: "secrets",
		Object: &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "n", UID: "u"}},
	}
}

// TestAnErrorIsNoDenial: what the rules could not answer must not become a verdict, for
// some verdicts are final.
func TestAnErrorIsNoDenial(t *testing.T) {
	verdict, err := Ask(t.Context(), snapshot(t, named), secret("good"))
	require.NoError(t, err)
	require.False(t, verdict.Denied())

	verdict, err = Ask(t.Context(), snapshot(t, endless), secret("good"))
	require.ErrorContains(t, err, "asking the rules about Secret good: endless deny")
	require.False(t, verdict.Denied())

	// Another rule's denial stands for itself.
	verdict, err = Ask(t.Context(), snapshot(t, endless, named), secret("bad"))
	require.NoError(t, err)
	require.Equal(t, "it has a bad name", verdict.Message())

	late, cancel := context.WithCancel(t.Context())
	cancel()
	verdict, err = Ask(late, snapshot(t, named), secret("bad"))
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, verdict.Denied())
}

// TestAskedAsIfCreatedNow: defaults come before denials.
func TestAskedAsIfCreatedNow(t *testing.T) {
	verdict, err := Ask(t.Context(), snapshot(t, filled), secret("good"))
	require.NoError(t, err)
	require.False(t, verdict.Denied(), verdict.Message())
	require.Contains(t, string(verdict.Object), `"team":"none"`)
}

func TestFactsThatHaveNoJSON(t *testing.T) {
	question := secret("good")
	question.Facts = func() {}
	_, err := Ask(t.Context(), snapshot(t, named), question)
	require.ErrorContains(t, err, "writing the facts")
}
