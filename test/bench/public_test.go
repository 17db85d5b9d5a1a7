package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// checkout is a library in the form of the public one, with rules of our own.
func checkout(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(folder, "library", path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	template := func(folder, kind, rego string) {
		write(folder+"/template.yaml", `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata:
  name: `+strings.ToLower(kind)+`
  annotations:
    metadata.gatekeeper.sh/requires-sync-data: '[[{"groups": [""], "versions": ["v1"], "kinds": ["Service"]}]]'
spec:
  crd: {spec: {names: {kind: `+kind+`}, validation: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package x
`+rego)
	}
	sample := func(folder, kind, name, match, parameters string) {
		write(folder+"/constraint.yaml", `apiVersion: constraints.gatekeeper.sh/v1beta1
kind: `+kind+`
metadata: {name: `+name+`}
spec:
  match: {`+match+`}
  parameters: {`+parameters+`}
`)
	}
	const pods, services = `kinds: [{apiGroups: [""], kinds: [Pod]}]`, `kinds: [{apiGroups: [""], kinds: [Service]}]`
	template("general/label", "NeedsLabel", `      violation[{"msg": "no label"}] {
        not input.review.object.metadata.labels[input.parameters.label]
      }
`)
	sample("general/label/samples/a-pizza", "NeedsLabel", "label", pods, "label: pizza")
	sample("general/label/samples/b-owner", "NeedsLabel", "label", pods, "label: owner")
	sample("general/label/samples/service", "NeedsLabel", "service", services, "label: pizza")
	sample("general/label/samples/salad", "NeedsLabel", "salad", pods+", namespaces: [default]", "label: salad")
	template("general/cpu", "LimitsCPU", `      violation[{"msg": "too much"}] {
        cpu := input.review.object.spec.containers[_].resources.limits.cpu
        to_number(trim_suffix(cpu, "m")) > 900
      }
`)
	sample("general/cpu/samples/least", "LimitsCPU", "cpu", pods, "")
	template("pods/probe", "ProbesAgree", `      violation[{"msg": path("web")}] {
        path("web") == "/none"
      }
      path(name) = p {
        c := input.review.object.spec.containers[_]
        c.name == name
        p := c[["livenessProbe", "readinessProbe"][_]].httpGet.path
      }
`)
	sample("pods/probe/samples/all", "ProbesAgree", "probes", pods, "")
	template("general/service", "NeedsService", `      violation[{"msg": "no service"}] {
        not data.inventory.namespace.default.v1.Service.web
      }
`)
	sample("general/service/samples/every", "NeedsService", "every", "", "")
	write("general/label/samples/a-pizza/example_allowed.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {pizza: x}}\nspec: {containers: []}\n")
	return folder
}

// publicStreams are those of the part, of a review that no API server has recorded.
func publicStreams(t *testing.T) (denied, admitted *workload) {
	t.Helper()
	denied, admitted, err := ofPublic(testWorkloads(t).unique.bodies[0])
	require.NoError(t, err)
	return denied, admitted
}

func TestChoosesConstraintsByAskingTheEngine(t *testing.T) {
	l, err := readPublicLibrary(checkout(t))
	require.NoError(t, err)
	require.Len(t, l.templates, 4)
	require.Equal(t, []string{"LimitsCPU/cpu", "NeedsLabel/label", "NeedsLabel/salad", "NeedsLabel/service", "NeedsService/every", "ProbesAgree/probes"}, ids(l.constraints))
	i := len(l.constraints) - 1
	for l.constraints[i].name != "label" {
		i--
	}
	require.Equal(t, "owner", l.constraints[i].parameters["label"], "of samples with one name, the last")

	denied, admitted := publicStreams(t)
	all, err := l.choose(t.Context(), denied.extremes()...)
	require.NoError(t, err)
	require.Equal(t, []string{"LimitsCPU/cpu", "NeedsLabel/label", "NeedsLabel/salad", "ProbesAgree/probes"}, ids(all.matching), "services are other objects")
	require.Equal(t, map[string]bool{"NeedsLabel/salad": true}, all.denying)
	require.Empty(t, all.failing)
	require.Equal(t, map[string]bool{"NeedsService/every": true}, all.reading)

	some, err := l.choose(t.Context(), admitted.extremes()...)
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"NeedsLabel/salad": true, "LimitsCPU/cpu": true}, some.denying, "cpu for the largest Pod alone")
	require.Equal(t, map[string]bool{"ProbesAgree/probes": true}, some.failing)
	require.Equal(t, []string{"NeedsLabel/label"}, ids(some.admitting()))

	bodies := append(admitted.extremes(), denied.extremes()...)
	kept, err := (&library{templates: l.templates, constraints: all.matching}).decidable(t.Context(), bodies)
	require.NoError(t, err)
	require.Equal(t, denied.extremes(), kept)
}

func TestChoosesNothingSilently(t *testing.T) {
	_, admitted := publicStreams(t)
	folder := checkout(t)
	for _, template := range []string{"pods", "general/cpu", "general/service"} {
		require.NoError(t, os.RemoveAll(filepath.Join(folder, "library", template)))
	}
	for _, name := range []string{"a-pizza", "b-owner", "salad"} {
		require.NoError(t, os.RemoveAll(filepath.Join(folder, "library/general/label/samples", name)))
	}
	l, err := readPublicLibrary(folder)
	require.NoError(t, err)
	_, err = l.choose(t.Context(), admitted.extremes()...)
	require.ErrorContains(t, err, "no constraint of the library is about the Pods")
}

func TestReadPublicLibraryRefuses(t *testing.T) {
	_, err := readPublicLibrary(t.TempDir())
	require.ErrorContains(t, err, "no library/*/*/template.yaml")
	require.ErrorContains(t, err, "git clone https://github.com/open-policy-agent/gatekeeper-library")

	folder := checkout(t)
	sample := filepath.Join(folder, "library/general/cpu/samples/least/constraint.yaml")
	text, err := os.ReadFile(sample)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(sample, append(text, "  enforcementAction: dryrun\n"...), 0o644))
	_, err = readPublicLibrary(folder)
	require.ErrorContains(t, err, "constraint LimitsCPU/cpu: spec.enforcementAction")
	require.NoError(t, os.WriteFile(sample, append(text, "  enforcementAction: deny\n"...), 0o644))
	_, err = readPublicLibrary(folder)
	require.NoError(t, err, "it is the default")
	require.NoError(t, os.WriteFile(sample, []byte("a: [\n"), 0o644))
	_, err = readPublicLibrary(folder)
	require.ErrorContains(t, err, "constraint.yaml")
}

func TestBarePodIsTheSameWithLess(t *testing.T) {
	denied, admitted := publicStreams(t)
	first, allowed := denied.next()
	require.False(t, allowed)
	second, _ := denied.next()
	require.NotEqual(t, string(first), string(second), "unique")
	require.True(t, json.Valid(first))
	text := string(first)
	for _, gone := range []string{"securityContext", "resources", "Probe", "automount"} {
		require.NotContains(t, text, gone)
		require.Contains(t, admitted.bodies[0], gone)
	}
	require.Contains(t, text, `"namespace":"default"`)
	require.NotContains(t, text, namespaceLintel)
	_, err := bare(`{"request":{}}`)
	require.ErrorContains(t, err, "no spec")
}

func ids(constraints []constraint) []string {
	found := map[string]bool{}
	for _, c := range constraints {
		found[c.id()] = true
	}
	return sortedKeys(found)
}
