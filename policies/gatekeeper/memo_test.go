package gatekeeper

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/engine"
)

// TestMemoDecidesAlike asks all samples about the objects of their tests, with the memo
// and without, and with near-copies between them.
func TestMemoDecidesAlike(t *testing.T) {
	set, err := engine.Compile(engine.Source{Name: "s", Files: sampleFiles(t)}, Dialect)
	require.NoError(t, err)
	memo := engine.NewMemo(engine.MemoOn, 0, nil)
	plain := engine.NewSnapshot(engine.BuiltinResources(), set)
	remembering := engine.NewSnapshot(engine.BuiltinResources(), set).Remembering(memo)
	cluster, err := engine.NewClusterData(nil)
	require.NoError(t, err)
	options := engine.Options{Cluster: cluster, Namespace: []byte(`{"metadata":{"name":"shop","labels":{}}}`)}
	asked := 0
	for round := range 3 {
		for _, object := range sampleObjects(t) {
			for _, operation := range []string{"CREATE", "UPDATE", "DELETE"} {
				review := sampleReview(t, object, operation, round)
				if review == nil {
					continue
				}
				asked++
				expected := plain.Validate(t.Context(), review, options)
				require.Equal(t, expected, remembering.Validate(t.Context(), review, options), "%s of %v", operation, object)
			}
		}
	}
	require.Greater(t, asked, 300)
	stats := memo.Stats()
	t.Logf("%d reviews, %d hits, %d misses", asked, stats.Hits, stats.Misses)
	require.Greater(t, stats.Hits, stats.Misses)
}

func sampleObjects(t *testing.T) []map[string]any {
	var objects []map[string]any
	paths, err := filepath.Glob("../../config/samples/gatekeeper/*/*.yaml")
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, document := range strings.Split(string(text), "\n---\n") {
			object := map[string]any{}
			if yaml.Unmarshal([]byte(document), &object) == nil && object["kind"] != nil {
				objects = append(objects, object)
			}
		}
	}
	return objects
}

// sampleReview is nil for what is in no table of kinds. Each round has other names.
func sampleReview(t *testing.T, object map[string]any, operation string, round int) *engine.Review {
	apiVersion, _ := object["apiVersion"].(string)
	group, version, found := strings.Cut(apiVersion, "/")
	if !found {
		group, version = "", apiVersion
	}
	resource, ok := engine.BuiltinResources().ByKind(group, fmt.Sprint(object["kind"]))
	if !ok {
		return nil
	}
	metadata, _ := object["metadata"].(map[string]any)
	metadata["name"] = fmt.Sprintf("sample-%d", round)
	request := map[string]any{
		"uid": fmt.Sprint("u", round), "operation": operation, "name": metadata["name"], "namespace": "shop",
		"kind":     map[string]any{"group": group, "version": version, "kind": object["kind"]},
		"resource": map[string]any{"group": group, "version": version, "resource": resource.Name},
		"object":   object, "oldObject": object,
	}
	if operation == "CREATE" {
		request["oldObject"] = nil
	}
	if operation == "DELETE" {
		request["object"] = nil
	}
	text, err := json.Marshal(request)
	require.NoError(t, err)
	review, err := engine.NewReview(text)
	require.NoError(t, err)
	return review
}
