package gatekeeper

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/test/properties"
)

// peer is a process of test/gator/mutations.
type peer struct {
	in  io.Writer
	out *bufio.Reader
}

type peerCase struct {
	Mutators  []any  `json:"mutators"`
	Object    any    `json:"object"`
	Namespace any    `json:"namespace"`
	Operation string `json:"operation"`
}

type peerResult struct {
	Refused     []int           `json:"refused"`
	Conflicting bool            `json:"conflicting"`
	Object      json.RawMessage `json:"object"`
	Error       string          `json:"error"`
}

func startPeer(t *testing.T) *peer {
	t.Helper()
	module := filepath.Join("..", "..", "test", "gator")
	for _, file := range []string{"go.mod", "go.sum", "mutations/main.go"} { // so that Go's test cache sees a change of them
		_, err := os.ReadFile(filepath.Join(module, file))
		require.NoError(t, err)
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	program := filepath.Join(cache, "lintel", "gatekeeper", "mutations")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", module, "-ldflags", "-s -w", "-o", program, "./mutations")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program) // ends with its input
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = in.Close()
		require.NoError(t, command.Wait())
	})
	return &peer{in, bufio.NewReader(out)}
}

func (p *peer) ask(t *testing.T, c peerCase) (r peerResult) {
	t.Helper()
	text, err := json.Marshal(c)
	require.NoError(t, err)
	_, err = p.in.Write(append(text, '\n'))
	require.NoError(t, err)
	line, err := p.out.ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, &r))
	return r
}

// applyHere applies the mutators of a case as the engine does. refused reports that the folder of
// the mutators has errors.
func applyHere(t *testing.T, c peerCase) (object map[string]any, refused definition.CompileErrorList, err error) {
	t.Helper()
	files := map[string]string{}
	for i, m := range c.Mutators {
		text, err := json.Marshal(m)
		require.NoError(t, err)
		files[fmt.Sprintf("m%d.yaml", i)] = string(text)
	}
	templates, errs := Dialect(files)
	if len(errs) > 0 {
		return nil, errs, nil
	}
	text, err := json.Marshal(c.Object)
	require.NoError(t, err)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&object))
	apiVersion := object["apiVersion"].(string)
	group, version, found := strings.Cut(apiVersion, "/")
	if !found {
		group, version = "", apiVersion
	}
	namespace, _ := object["metadata"].(map[string]any)["namespace"].(string)
	for _, template := range templates {
		_, _, err = template.Mutators.Apply(t.Context(), definition.MutationRequest{
			Kind:      admission.GroupVersionKind{Group: group, Version: version, Kind: object["kind"].(string)},
			Namespace: namespace, Operation: c.Operation, NamespaceLabels: map[string]string{"team": "a"},
		}, object)
	}
	return object, nil, err
}

// mutatorCases makes random cases. Few names and values make mutators meet often.
type mutatorCases struct {
	*rand.Rand
	// wild adds mutators that Gatekeeper refuses.
	wild bool
}

func choose[T any](r mutatorCases, values ...T) T { return values[r.IntN(len(values))] }

func (r mutatorCases) location() string {
	if !r.wild {
		return choose(r, "spec.containers[name: *].image", "spec.containers[name: app].image", `spec.containers[name: "new"].image`,
			"spec.containers[name: *].env[name: A].value", "spec.a.b.c", "spec.a.b", "spec.a", "spec.ports[port: 80].name",
			"spec.list", "spec.containers[name: app].args", "spec.containers[name: *].env[name: *].value", "spec. a .b", "spec.'a'.b")
	}
	return choose(r,
		"spec.containers[name: *].image", "spec.containers[name: app].image", `spec.containers[name: "new"].image`,
		"spec.containers[name: *].env[name: A].value", "spec.containers[name: *].securityContext.privileged",
		"spec.containers[name: app]", "spec.containers[name: new]", "spec.hostNetwork", "spec.a.b.c", "spec.a.b", "spec.a",
		"spec.ports[port: 80].name", "spec.ports[name: web].port", "spec.list", "spec.containers[name: app].args", "spec.containers",
		"spec.containers[name: app].name", "spec.containers[name: *]", "spec.containers[name: *].env[name: *].value",
		"metadata.labels.owner", "metadata.annotations.note", `metadata.labels."a/b"`, "metadata.name", "spec.containers.image", "spec. a .b",
		"spec.'a'.b", "spec.[", "spec..a", "", "spec.x[y]", "0spec.a", `spec."0".a`)
}

func (r mutatorCases) subPath(location string) string {
	if r.wild && r.IntN(5) == 0 {
		return cmp.Or(r.location(), "spec")
	}
	parts := strings.SplitAfter(location, ".")
	return strings.TrimSuffix(strings.Join(parts[:1+r.IntN(len(parts))], ""), ".")
}

func (r mutatorCases) value() any {
	return choose[any](r, "x", "y", "", true, 1, map[string]any{"name": "app", "image": "z"}, map[string]any{"name": "new"},
		[]any{"x"}, map[string]any{}, map[string]any{"b": map[string]any{"c": "x"}})
}

func (r mutatorCases) match() any {
	return choose[any](r, nil, nil, nil, map[string]any{"namespaces": []any{"team-*"}}, map[string]any{"excludedNamespaces": []any{"team-a"}},
		map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"owner": "x"}}},
		map[string]any{"labelSelector": map[string]any{"matchExpressions": []any{map[string]any{"key": "owner", "operator": "DoesNotExist"}}}},
		map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"team": choose(r, "a", "b")}}},
		map[string]any{"scope": choose(r, "*", "Namespaced", "Cluster")}, map[string]any{"name": choose(r, "a*", "b")},
		map[string]any{"kinds": []any{map[string]any{"apiGroups": []any{choose(r, "*", "")}, "kinds": []any{choose(r, "Pod", "Thing", "*")}}}},
		map[string]any{"source": choose(r, "All", "Original", "Generated")})
}

func (r mutatorCases) mutator(name string) any {
	kind := choose(r, "Assign", "Assign", "Assign", "AssignImage", "AssignMetadata", "ModifySet")
	location := r.location()
	if kind == "AssignMetadata" && (!r.wild || r.IntN(4) > 0) {
		location = choose(r, "metadata.labels.owner", "metadata.annotations.note", `metadata.labels."a/b"`)
	}
	if location == "" && kind != "Assign" {
		location = "spec.a" // Gatekeeper accepts the empty location here, and then fails each request
	}
	parameters := map[string]any{}
	switch kind {
	case "Assign", "AssignMetadata":
		assign := map[string]any{}
		if r.IntN(4) > 0 {
			assign["value"] = r.value()
			if kind == "AssignMetadata" && (!r.wild || r.IntN(4) > 0) {
				assign["value"] = choose(r, "x", "y")
			}
		} else {
			assign["fromMetadata"] = map[string]any{"field": choose(r, "name", "namespace")}
			if r.wild && r.IntN(4) == 0 {
				assign["fromMetadata"] = map[string]any{"field": "uid"}
			}
		}
		parameters["assign"] = assign
	case "AssignImage":
		for _, part := range []struct {
			field string
			valid []string
		}{
			{"assignDomain", []string{"a.io", "localhost:5000", "b.c.io:80"}},
			{"assignPath", []string{"library/nginx", "nginx", "x__y"}},
			{"assignTag", []string{":v1", ":v2", "@sha256:" + strings.Repeat("ab", 32)}},
		} {
			switch field := part.field; {
			case !r.wild:
				parameters[field] = choose(r, part.valid...)
			case r.IntN(2) == 0:
				parameters[field] = choose(r, "a.io", "localhost:5000", "library/nginx", "nginx", ":v1", ":v2", "b.io/x", "@sha256:"+strings.Repeat("ab", 32), "-", "A", "x__y")
			}
		}
	case "ModifySet":
		parameters["values"] = map[string]any{"fromList": choose(r, []any{"x"}, []any{"x", "y"}, []any{map[string]any{"name": "A"}})}
		if r.IntN(2) == 0 {
			parameters["operation"] = choose(r, "merge", "prune")
		}
	}
	if kind != "AssignMetadata" && r.IntN(3) == 0 {
		var tests []any
		for range 1 + r.IntN(2) {
			tests = append(tests, map[string]any{"subPath": r.subPath(location), "condition": choose(r, "MustExist", "MustNotExist")})
		}
		// Gatekeeper compares the order in which conditions are listed, not the depths of their paths:
		// it refuses valid tests that list MustNotExist first, and accepts some that never hold.
		slices.SortStableFunc(tests, func(a, b any) int {
			return strings.Compare(a.(map[string]any)["condition"].(string), b.(map[string]any)["condition"].(string))
		})
		parameters["pathTests"] = tests
	}
	spec := map[string]any{"location": location, "parameters": parameters}
	if kind != "AssignMetadata" {
		applyTo := map[string]any{"groups": []any{choose(r, "", "", "", "apps")}, "versions": []any{"v1"}, "kinds": []any{choose(r, "Pod", "Pod", "Thing")}}
		if r.IntN(4) == 0 {
			applyTo["operations"] = choose(r, []any{"CREATE"}, []any{"UPDATE"}, []any{"*"}, []any{"CREATE", "UPDATE"})
			if r.wild {
				applyTo["operations"] = choose(r, []any{"DELETE"}, []any{"*", "CREATE"}, []any{"CREATE", "CREATE"})
			}
		}
		spec["applyTo"] = []any{applyTo}
	}
	if match := r.match(); match != nil {
		spec["match"] = match
	}
	return map[string]any{"apiVersion": "mutations.gatekeeper.sh/v1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}
}

func (r mutatorCases) object() any {
	container := func(name string) any {
		c := map[string]any{"name": name}
		if r.IntN(3) > 0 {
			c["image"] = choose[any](r, "nginx", "nginx:v1", "a.io/b/c@sha256:00", "localhost/x:1", "gcr.io:5000/y", "a/b/c", 3)
		}
		if r.IntN(3) == 0 {
			c["env"] = choose[any](r, []any{map[string]any{"name": "A", "value": "1"}}, []any{}, []any{map[string]any{"name": "B"}}, "text", nil)
		}
		if r.IntN(4) == 0 {
			c["args"] = choose[any](r, []any{"x", "z"}, []any{}, "x")
		}
		return c
	}
	spec := map[string]any{}
	if r.IntN(5) > 0 {
		var containers []any
		for range r.IntN(3) {
			containers = append(containers, container(choose(r, "app", "b", "new")))
		}
		spec["containers"] = choose[any](r, containers, containers, containers, map[string]any{}, []any{"text"})
	}
	for _, field := range []string{"a", "hostNetwork", "list", "ports"} {
		if r.IntN(4) == 0 {
			spec[field] = choose[any](r, "x", map[string]any{"b": "x"}, map[string]any{"b": map[string]any{"c": 1}}, []any{"x", 1}, nil, true,
				[]any{map[string]any{"port": 80}}, []any{map[string]any{"name": "web", "port": 81}})
		}
	}
	metadata := map[string]any{"name": choose(r, "a", "ab", "b"), "namespace": choose(r, "team-a", "other")}
	if r.IntN(2) == 0 {
		metadata["labels"] = map[string]any{choose(r, "owner", "a/b"): choose(r, "x", "z")}
	}
	return map[string]any{"apiVersion": "v1", "kind": choose(r, "Pod", "Pod", "Pod", "Thing"), "metadata": metadata, "spec": spec}
}

// TestMutatorsAsInGatekeeper compares the results of random mutators with those of Gatekeeper.
func TestMutatorsAsInGatekeeper(t *testing.T) {
	t.Parallel()
	seed := properties.Seed(36)
	r := mutatorCases{Rand: rand.New(rand.NewPCG(seed, 0))}
	gatekeeper := startPeer(t)
	var refused, conflicting, failed, changed int
	for i := range properties.Count(2000, 200_000) {
		r.wild = r.IntN(4) == 0
		c := peerCase{Object: r.object(), Operation: choose(r, "CREATE", "CREATE", "UPDATE")}
		for n := range 1 + r.IntN(4) {
			c.Mutators = append(c.Mutators, r.mutator(fmt.Sprintf("m%d", n)))
		}
		object := c.Object.(map[string]any)
		c.Namespace = map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
			"name": object["metadata"].(map[string]any)["namespace"], "labels": map[string]any{"team": "a"},
		}}
		want := gatekeeper.ask(t, c)
		have, errs, err := applyHere(t, c)
		text, marshalErr := json.Marshal(c)
		require.NoError(t, marshalErr)
		switch {
		case len(want.Refused) > 0:
			refused++
			require.NotEmpty(t, errs, "seed %d, case %d: Gatekeeper refuses %v\n%s", seed, i, want.Refused, text)
		case want.Conflicting:
			conflicting++
			require.NotEmpty(t, errs, "seed %d, case %d: Gatekeeper finds a conflict\n%s", seed, i, text)
		case strings.Contains(errs.Error(), "below one that must not exist"): // never applied there
		default:
			require.Empty(t, errs, "seed %d, case %d\n%s", seed, i, text)
			if want.Error != "" {
				failed++
				require.Error(t, err, "seed %d, case %d: Gatekeeper fails: %s\n%s", seed, i, want.Error, text)
				continue
			}
			require.NoError(t, err, "seed %d, case %d\n%s", seed, i, text)
			after, marshalErr := json.Marshal(have)
			require.NoError(t, marshalErr)
			require.JSONEq(t, string(want.Object), string(after), "seed %d, case %d\n%s", seed, i, text)
			before, marshalErr := json.Marshal(c.Object)
			require.NoError(t, marshalErr)
			if string(before) != string(after) {
				changed++
			}
		}
	}
	t.Logf("seed %d: %d refused, %d conflicting, %d failed, %d changed", seed, refused, conflicting, failed, changed)
	require.NotZero(t, min(refused, conflicting, failed, changed))
}
