package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	dialect "github.com/lintel-policy/lintel/policies/gatekeeper"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// recordedReview is a review of the Pod of the benchmarks, as the API server would
// write it.
func recordedReview(t *testing.T) []byte {
	t.Helper()
	pod := strictPod(0)
	pod.Namespace, pod.UID = namespaceLintel, "11111111-2222-4333-8444-555555555555"
	pod.CreationTimestamp = metav1.NewTime(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC))
	object, err := json.Marshal(pod)
	require.NoError(t, err)
	text, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: "admission.k8s.io/v1"},
		Request: &admissionv1.AdmissionRequest{
			UID: "99999999-2222-4333-8444-555555555555", Operation: admissionv1.Create, Name: pod.Name, Namespace: pod.Namespace,
			Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
			Object: runtime.RawExtension{Raw: object},
		},
	})
	require.NoError(t, err)
	return text
}

func testWorkloads(t *testing.T) *workloadSet {
	t.Helper()
	recorded := recordedReview(t)
	w, err := newWorkloads(recorded, recorded, recorded)
	require.NoError(t, err)
	return w
}

// verdictOf asks Lintel's engine about a review.
func verdictOf(t *testing.T, snapshot *engine.Snapshot, body []byte) *engine.Decision {
	t.Helper()
	var review struct {
		Request json.RawMessage `json:"request"`
	}
	require.NoError(t, json.Unmarshal(body, &review))
	r, err := admission.NewReview(review.Request)
	require.NoError(t, err)
	decision := snapshot.Validate(t.Context(), r, engine.Options{Cluster: clusterdata.Empty()})
	// A policy has a deadline by the clock, which a busy machine may miss.
	for range 5 {
		if !slices.ContainsFunc(decision.Denials, func(f engine.Finding) bool { return strings.Contains(f.Words, outOfTime) }) {
			break
		}
		decision = snapshot.Validate(t.Context(), r, engine.Options{Cluster: clusterdata.Empty()})
	}
	return decision
}

func compiledConstraints(t *testing.T, l *library, constraints []constraint) *engine.Snapshot {
	t.Helper()
	files, err := l.files(constraints)
	require.NoError(t, err)
	set, err := policyset.Compile(definition.Source{Name: "s", Files: files}, dialect.Dialect)
	require.NoError(t, err)
	return engine.NewSnapshot(admission.BuiltinResources(), set)
}

func TestConstraintsOfTheBenchmarks(t *testing.T) {
	l, err := readLibrary()
	require.NoError(t, err)
	require.Len(t, l.constraints, usual)
	for i, c := range l.matching(len(commonConstraints)) {
		require.Equal(t, commonConstraints[i], c.name)
	}
	w := testWorkloads(t)
	for _, n := range []int{10, usual, 200} {
		snapshot := compiledConstraints(t, l, l.matching(n))
		for _, load := range []*workload{w.unique, w.replicas, w.updates, w.mixed} {
			for range len(load.bodies) {
				body, allowed := load.next()
				found := verdictOf(t, snapshot, body)
				require.Equal(t, n, found.Policies)
				require.Equal(t, allowed, len(found.Denials) == 0, "%v", found.Denials)
			}
		}
	}
	elsewhere := compiledConstraints(t, l, l.elsewhere(60))
	body, _ := w.unique.next()
	require.Zero(t, verdictOf(t, elsewhere, body).Policies)
}

func TestWorkloadsDifferAsTheySay(t *testing.T) {
	w := testWorkloads(t)
	pair := func(load *workload) (first, second admissionv1.AdmissionReview) {
		for _, into := range []*admissionv1.AdmissionReview{&first, &second} {
			body, _ := load.next()
			require.NotContains(t, string(body), numberMark)
			require.NotContains(t, string(body), uniqueMark)
			require.NoError(t, json.Unmarshal(body, into))
		}
		require.NotEqual(t, first.Request.UID, second.Request.UID)
		return first, second
	}
	differing := func(a, b runtime.RawExtension) (found []string) {
		var left, right any
		require.NoError(t, json.Unmarshal(a.Raw, &left))
		require.NoError(t, json.Unmarshal(b.Raw, &right))
		for _, path := range paths(left, nil) {
			if _, leaf := other(get(left, path)); leaf && get(left, path) != get(right, path) {
				found = append(found, strings.Trim(strings.ReplaceAll(strings.Trim(fmt.Sprint(path), "[]"), " ", "."), "."))
			}
		}
		return found
	}
	a, b := pair(w.replicas)
	require.Equal(t, []string{"metadata.creationTimestamp", "metadata.name", "metadata.uid"}, differing(a.Request.Object, b.Request.Object))
	a, b = pair(w.updates)
	require.Equal(t, []string{"metadata.annotations.example.com/checked"}, differing(a.Request.Object, b.Request.Object))
	require.Equal(t, []string{"metadata.annotations.example.com/checked"}, differing(a.Request.OldObject, a.Request.Object))
	require.Equal(t, admissionv1.Update, a.Request.Operation)
	a, b = pair(w.unique)
	for _, path := range []string{
		"metadata.labels.app.kubernetes.io/version", "spec.containers.0.image", "spec.containers.0.env.1.value",
		"spec.containers.0.resources.requests.cpu", "spec.containers.0.resources.requests.memory",
	} {
		require.Contains(t, differing(a.Request.Object, b.Request.Object), path)
	}
	_, err := marked([]byte(`{"request":{"uid":"u","object":{}}}`))
	require.ErrorContains(t, err, numberMark)
}

func TestCorpus(t *testing.T) {
	body, _ := testWorkloads(t).unique.next()
	suites, err := sampleSuites()
	require.NoError(t, err)
	bodies, err := corpus(body, suites)
	require.NoError(t, err)
	l, err := readLibrary()
	require.NoError(t, err)
	snapshot := compiledConstraints(t, l, l.matching(usual))
	var decided [2]int
	denying := map[string]bool{}
	for _, body := range bodies {
		found := verdictOf(t, snapshot, body)
		decided[min(1, len(found.Denials))]++
		for _, denial := range found.Denials {
			denying[denial.Policy] = true
		}
	}
	require.Greater(t, decided[0], 100, "admitted")
	require.Greater(t, decided[1], 150, "denied")
	require.Greater(t, len(denying), 35, "constraints that deny something")
}

func TestVariations(t *testing.T) {
	object := map[string]any{"kind": "Pod", "metadata": map[string]any{"name": "web"}, "spec": map[string]any{"on": true, "list": []any{"a"}}}
	text, err := json.Marshal(variations(object))
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"kind":"Pod","metadata":{"name":"web"}},
		{"kind":"Pod","metadata":{"name":"web"},"spec":{"on":true}},
		{"kind":"Pod","metadata":{"name":"web"},"spec":{"on":true,"list":[""]}},
		{"kind":"Pod","metadata":{"name":"web"},"spec":{"on":true,"list":["other.example.com/a:latest"]}},
		{"kind":"Pod","metadata":{"name":"web"},"spec":{"list":["a"]}},
		{"kind":"Pod","metadata":{"name":"web"},"spec":{"on":false,"list":["a"]}}
	]`, string(text))
}

func TestReadDecision(t *testing.T) {
	answer := func(message string) []byte {
		text, err := json.Marshal(admissionv1.AdmissionReview{Response: &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: message}}})
		require.NoError(t, err)
		return text
	}
	ours, err := readDecision(answer("b is wrong [KindB/b deny, t.yaml:1, s@1]; again [KindB/b deny, t.yaml:2, s@1]; a [KindA/a-1 deny]"), lintelNames)
	require.NoError(t, err)
	theirs, err := readDecision(answer("[b] b is wrong\n[a-1] a"), gatekeeperNames)
	require.NoError(t, err)
	require.True(t, ours.equal(theirs), "%v %v", ours, theirs)
	require.Equal(t, []string{"a-1", "b"}, ours.Denying)
	_, err = readDecision(answer("the policy took too long"), lintelNames)
	require.ErrorContains(t, err, "names no constraint")
	_, err = readDecision([]byte("404"), lintelNames)
	require.ErrorContains(t, err, "not the answer of a webhook")
}

func TestEveryConstraintIsSaidInCEL(t *testing.T) {
	l, err := readLibrary()
	require.NoError(t, err)
	var rules celRules
	require.NoError(t, readPolicies("cel.yaml", &rules))
	for _, c := range l.constraints {
		_, err := rules.validations(c)
		require.NoError(t, err)
	}
	literal, err := celLiteral(map[string]any{"cpu": 2.0, "paths": []any{map[string]any{"prefix": "/a"}}})
	require.NoError(t, err)
	require.Equal(t, `{"cpu": dyn(2), "paths": dyn([{"prefix": dyn("/a")}])}`, literal)
}

func TestEveryPatternIsOfAConstraint(t *testing.T) {
	l, err := readLibrary()
	require.NoError(t, err)
	var patterns map[string]map[string]any
	require.NoError(t, readPolicies("kyverno.yaml", &patterns))
	require.Len(t, l.named(sortedKeys(patterns)), len(patterns))
	text, err := json.Marshal(clusterPolicy("privileged", patterns["privileged"])["spec"])
	require.NoError(t, err)
	require.Contains(t, string(text), `"=(initContainers)":[{"=(securityContext)":{"=(privileged)":"false"}}]`)
	require.NotContains(t, string(text), "CONTAINERS")
}

func TestMeasured(t *testing.T) {
	m := &measured{name: "x", turns: []turn{
		{2, 4 * time.Millisecond, samples{time.Millisecond, 3 * time.Millisecond}, 0},
		{1, 5 * time.Millisecond, samples{2 * time.Millisecond}, 2},
	}}
	require.InDelta(t, 3, m.cpu(), 1e-9)
	low, high := m.spread(turnCPU)
	require.Equal(t, [2]float64{2, 5}, [2]float64{low, high})
	text, err := json.Marshal(m)
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"x","requests":3,"outOfTime":2,"cpuMicrosPerReview":[2000,5000],"p50Micros":[1000,2000],"percentilesMicros":[2000,3000,3000,3000]}`, string(text))
}
