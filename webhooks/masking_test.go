package webhooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
)

func loggedReview(t *testing.T, kind, object string) *admission.Review {
	t.Helper()
	review, err := admission.NewReview([]byte(`{"uid":"1","operation":"CREATE","kind":{"group":"","version":"v1","kind":"` + kind +
		`"},"resource":{"group":"","version":"v1","resource":"things"},"object":` + object + `}`))
	require.NoError(t, err)
	return review
}

func logLine(t *testing.T, l DecisionLog, review *admission.Review, a *answer) map[string]any {
	t.Helper()
	var out bytes.Buffer
	l.Logger = slog.New(slog.NewJSONHandler(&out, nil))
	l.write(t.Context(), "validate/x", "1", review, a, time.Millisecond)
	if out.Len() == 0 {
		return nil
	}
	var line map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	return line
}

func TestObjectsAreLoggedMaskedAndOnlyWhenAsked(t *testing.T) {
	mask, err := ParseMask([]string{"/spec/containers/*/env/*/value", "/metadata/annotations/a~1b", "/spec/list/1"})
	require.NoError(t, err)
	pod := loggedReview(t, "Pod", `{"metadata":{"managedFields":[1],"annotations":{"a/b":"x","c":"y"}},"spec":{"n":12345678901234567890,"list":["p","q"],"containers":[{"env":[{"name":"A","value":"top"}]}]}}`)
	require.NotContains(t, logLine(t, DecisionLog{Mode: LogAll, Mask: mask}, pod, &answer{}), "object")
	text, err := json.Marshal(logLine(t, DecisionLog{Mode: LogAll, Objects: true, Mask: mask}, pod, &answer{})["object"])
	require.NoError(t, err)
	require.NotContains(t, string(text), "top")
	require.NotContains(t, string(text), "managedFields")
	require.Contains(t, string(text), `"a/b":"masked","c":"y"`)
	require.Contains(t, string(text), `["p","masked"]`)

	secret := loggedReview(t, "Secret", `{"metadata":{},"data":{"k":"dG9w"},"stringData":{"k":"top"},"type":"Opaque"}`)
	line := logLine(t, DecisionLog{Mode: LogAll, Objects: true}, secret, &answer{})
	require.Equal(t, map[string]any{"metadata": map[string]any{}, "data": masked, "stringData": masked, "type": "Opaque"}, line["object"])
}

// TestTheObjectOfADeletionIsLogged: that is the one there was.
func TestTheObjectOfADeletionIsLogged(t *testing.T) {
	review := loggedReview(t, "Secret", `{"data":{"k":"dG9w"}}`)
	review.Operation, review.New, review.Old = "DELETE", nil, review.New
	line := logLine(t, DecisionLog{Mode: LogAll, Objects: true}, review, &answer{})
	require.Equal(t, map[string]any{"data": masked}, line["object"])
}

// TestSecretsOfEveryKindAreMasked: what these kinds keep secret is in no line.
func TestSecretsOfEveryKindAreMasked(t *testing.T) {
	for name, c := range map[string]struct{ group, kind, object string }{
		"a Secret of Orloj":       {"orloj.dev", "Secret", `{"spec":{"data":{"k":"HUNTER2"},"stringData":{"k":"HUNTER2"}}}`},
		"a Secret of Orloj, flat": {"orloj.dev", "Secret", `{"data":{"k":"HUNTER2"},"stringData":{"k":"HUNTER2"}}`},
		"an McpServer":            {"orloj.dev", "McpServer", `{"spec":{"env":[{"name":"KEY","value":"HUNTER2"}]}}`},
		"a Tool":                  {"orloj.dev", "Tool", `{"spec":{"cli":{"env":{"KEY":"HUNTER2"}}}}`},
		"a ReportProcessor":       {"openvox.voxpupuli.org", "ReportProcessor", `{"spec":{"headers":[{"name":"Authorization","value":"HUNTER2"}]}}`},
		"a SigningPolicy":         {"openvox.voxpupuli.org", "SigningPolicy", `{"spec":{"csrAttributes":[{"name":"challengePassword","value":"HUNTER2"}]}}`},
		"a TokenRequest":          {"authentication.k8s.io", "TokenRequest", `{"status":{"token":"HUNTER2"}}`},
		"a TokenReview":           {"authentication.k8s.io", "TokenReview", `{"spec":{"token":"HUNTER2"}}`},
		"what kubectl keeps":      {"apps", "Deployment", `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"HUNTER2"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			review := loggedReview(t, c.kind, c.object)
			review.Kind.Group = c.group
			text, err := json.Marshal(logLine(t, DecisionLog{Mode: LogAll, Objects: true}, review, &answer{})["object"])
			require.NoError(t, err)
			require.NotContains(t, string(text), "HUNTER2")
			require.Contains(t, string(text), masked)
		})
	}
}

func TestParseMaskRefuses(t *testing.T) {
	for _, pointer := range []string{"", "/", "spec"} {
		_, err := ParseMask([]string{pointer})
		require.Error(t, err, pointer)
	}
}

func TestSamplingAndFiltersKeepDenials(t *testing.T) {
	pod := loggedReview(t, "Pod", `{}`)
	denied := &answer{denialTexts: []string{"no"}}
	none := DecisionLog{Mode: LogAll, Sample: func() bool { return false }}
	require.Nil(t, logLine(t, none, pod, &answer{}))
	require.NotNil(t, logLine(t, none, pod, denied), "a denial is never sampled away")
	filtered := DecisionLog{Mode: LogAll, ExcludeKinds: []string{"Pod"}}
	require.Nil(t, logLine(t, filtered, pod, &answer{}))
	require.NotNil(t, logLine(t, filtered, pod, denied))
	require.NotNil(t, logLine(t, filtered, loggedReview(t, "Service", `{}`), &answer{}))
}

func TestSampler(t *testing.T) {
	for share, want := range map[float64][2]int{0: {0, 0}, 1: {1000, 1000}, 0.25: {150, 350}} {
		sample, err := Sampler(share)
		require.NoError(t, err)
		kept := 0
		for range 1000 {
			if sample() {
				kept++
			}
		}
		require.GreaterOrEqual(t, kept, want[0], share)
		require.LessOrEqual(t, kept, want[1], share)
	}
	for _, share := range []float64{-0.1, 1.1} {
		_, err := Sampler(share)
		require.True(t, err != nil && strings.Contains(err.Error(), "between 0 and 1"))
	}
}

// TestMasksAreInTheDocs: an administrator who logs objects can look up which fields are in the
// log.
func TestMasksAreInTheDocs(t *testing.T) {
	docs, err := os.ReadFile("../docs/how-to/use-the-decision-log.md")
	require.NoError(t, err)
	for name, mask := range kindMasks {
		kind, group, _ := strings.Cut(name, ".")
		row := fmt.Sprintf("\n| %s of `%s` |", kind, group)
		if group == "" {
			row = fmt.Sprintf("\n| kinds named %s, of every group |", kind)
		}
		var places []string
		for _, path := range mask {
			places = append(places, "`/"+strings.Join(path, "/")+"`")
		}
		row += " " + strings.Join(places, ", ") + " |\n"
		require.True(t, strings.Contains(string(docs), row), "docs/how-to/use-the-decision-log.md lacks the row %s", row)
	}
}
