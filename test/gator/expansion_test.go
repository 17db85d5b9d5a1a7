package gator

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// expansionFiles expand three kinds, of which one is not known to Kubernetes, and report the parts
// of a Pod that expansions and mutators decide.
const expansionFiles = `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: podparts}
spec:
  crd: {spec: {names: {kind: PodParts}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package podparts
      violation[{"msg": msg}] {
        value := input.review.object[part][field] # warnings have at most 256 bytes
        msg := json.marshal([part, field, value])
      }
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: PodParts
metadata: {name: all}
spec: {match: {kinds: [{apiGroups: [""], kinds: [Pod]}]}}
---
apiVersion: expansion.gatekeeper.sh/v1beta1
kind: ExpansionTemplate
metadata: {name: workloads}
spec: {applyTo: [{groups: [apps], versions: [v1], kinds: [Deployment]}, {groups: [batch], versions: [v1], kinds: [Job]}], templateSource: spec.template, generatedGVK: {version: v1, kind: Pod}}
---
apiVersion: expansion.gatekeeper.sh/v1beta1
kind: ExpansionTemplate
metadata: {name: cron}
spec: {applyTo: [{groups: [batch], versions: [v1], kinds: [CronJob]}], templateSource: spec.jobTemplate, generatedGVK: {group: batch, version: v1, kind: Job}}
---
apiVersion: expansion.gatekeeper.sh/v1beta1
kind: ExpansionTemplate
metadata: {name: webs}
spec: {applyTo: [{groups: [example.com], versions: [v1], kinds: [Web]}], templateSource: spec.run.pod, generatedGVK: {version: v1, kind: Pod}}
---
apiVersion: expansion.gatekeeper.sh/v1beta1
kind: ExpansionTemplate
metadata: {name: quiet}
spec: {applyTo: [{groups: [example.com], versions: [v1], kinds: [Quiet]}], templateSource: spec.pod, enforcementAction: warn, generatedGVK: {version: v1, kind: Pod}}
`

// expandedTemplate is the Pod template of own kinds, and defaultedTemplate that of workloads: it has the
// fields that the API server sets by default, because lintel check sets them, and gator does not.
const (
	expandedTemplate  = `{metadata: {labels: {app: web}, annotations: {a: b}}, spec: {hostPID: true, containers: [{name: main, image: "example.com/web:1"}]}}`
	defaultedTemplate = `{metadata: {labels: {app: web}, annotations: {a: b}}, spec: {hostPID: true,
    dnsPolicy: ClusterFirst, restartPolicy: Always, schedulerName: default-scheduler, securityContext: {}, terminationGracePeriodSeconds: 30,
    containers: [{name: main, image: "example.com/web:1", imagePullPolicy: IfNotPresent, resources: {}, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File}]}}`
)

// expandedObjects are objects of the kinds, by name.
var expandedObjects = map[string]string{
	"deployment": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {selector: {matchLabels: {app: web}}, template: " + defaultedTemplate + "}\n",
	"cron job":   "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: tidy, namespace: shop}\nspec: {schedule: '* * * * *', jobTemplate: {spec: {template: " + defaultedTemplate + "}}}\n",
	"own kind":   "apiVersion: example.com/v1\nkind: Web\nmetadata: {name: web, namespace: shop}\nspec: {run: {pod: " + expandedTemplate + "}}\n",
	"quiet kind": "apiVersion: example.com/v1\nkind: Quiet\nmetadata: {name: web, namespace: shop}\nspec: {pod: " + expandedTemplate + "}\n",
	"other kind": "apiVersion: example.com/v1\nkind: Other\nmetadata: {name: web, namespace: shop}\nspec: {pod: " + expandedTemplate + "}\n",
}

// expansionMutators are mutators of the Pods, by name.
var expansionMutators = map[string]string{
	"none":      "",
	"assign":    "apiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: m}\nspec: {applyTo: [{groups: [''], versions: [v1], kinds: [Pod]}], location: spec.hostPID, parameters: {assign: {value: false}}}\n",
	"metadata":  "apiVersion: mutations.gatekeeper.sh/v1\nkind: AssignMetadata\nmetadata: {name: m}\nspec: {location: metadata.labels.owner, parameters: {assign: {value: red}}}\n",
	"name":      "apiVersion: mutations.gatekeeper.sh/v1\nkind: AssignMetadata\nmetadata: {name: m}\nspec: {match: {kinds: [{apiGroups: [''], kinds: [Pod]}]}, location: metadata.labels.of, parameters: {assign: {fromMetadata: {field: name}}}}\n",
	"image":     "apiVersion: mutations.gatekeeper.sh/v1alpha1\nkind: AssignImage\nmetadata: {name: m}\nspec: {applyTo: [{groups: [''], versions: [v1], kinds: [Pod]}], location: 'spec.containers[name: *].image', parameters: {assignDomain: mirror.example}}\n",
	"generated": "apiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: m}\nspec: {match: {source: Generated}, applyTo: [{groups: [''], versions: [v1], kinds: [Pod]}], location: spec.hostPID, parameters: {assign: {value: false}}}\n",
	"original":  "apiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: m}\nspec: {match: {source: Original}, applyTo: [{groups: [''], versions: [v1], kinds: [Pod]}], location: spec.hostPID, parameters: {assign: {value: false}}}\n",
	"creation":  "apiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: m}\nspec: {applyTo: [{groups: [''], versions: [v1], kinds: [Pod], operations: [CREATE]}], location: spec.hostPID, parameters: {assign: {value: false}}}\n",
	"owner":     "apiVersion: mutations.gatekeeper.sh/v1\nkind: ModifySet\nmetadata: {name: m}\nspec: {applyTo: [{groups: [''], versions: [v1], kinds: [Pod]}], location: spec.tolerations, parameters: {operation: merge, values: {fromList: [{key: x}]}}}\n",
}

// TestExpandedPodsAreThoseOfGatekeeper compares the Pods that constraints review, for each kind and
// each mutator, with those that `gator test` reviews.
func TestExpandedPodsAreThoseOfGatekeeper(t *testing.T) {
	gator := build(t, "gator", ".", "github.com/open-policy-agent/gatekeeper/v3/cmd/gator")
	lintel := build(t, "lintel", "../..", "./cmd/lintel")
	var objects []string
	for _, kind := range slices.Sorted(maps.Keys(expandedObjects)) {
		objects = append(objects, expandedObjects[kind])
	}
	compared := 0
	for what, mutator := range expansionMutators {
		dir := t.TempDir()
		write := func(name, text string) string {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return file
		}
		policies := filepath.Dir(write("policies/policies.yaml", expansionFiles))
		if mutator != "" {
			write("policies/mutator.yaml", mutator)
		}
		object := write("objects.yaml", strings.Join(objects, "---\n"))
		// gator finds no Namespace that it is not given.
		namespace := write("namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
		its := findingsOfGator(t, run(t, gator, "test", "-f", policies, "-f", object, "-f", namespace, "-o", "json"))
		mine := findingsOfLintel(t, run(t, lintel, "check", "-p", policies, "-f", object, "-o", "json"))
		if !slices.Equal(its, mine) {
			t.Errorf("%s:\ngator:\n%s\nlintel:\n%s", what, strings.Join(its, "\n"), strings.Join(mine, "\n"))
		}
		compared += len(its)
	}
	if compared < 30 {
		t.Errorf("only %d findings were compared", compared)
	}
}

// findingsOfGator are the findings in the output of `gator test`, sorted.
func findingsOfGator(t *testing.T, output []byte) (findings []string) {
	t.Helper()
	var violations []struct{ Msg, EnforcementAction string }
	if err := json.Unmarshal(output, &violations); err != nil {
		t.Fatal(err)
	}
	for _, violation := range violations {
		findings = append(findings, violation.EnforcementAction+" "+violation.Msg)
	}
	slices.Sort(findings)
	return findings
}

// findingsOfLintel are those in the output of `lintel check`, in the form of findingsOfGator.
func findingsOfLintel(t *testing.T, output []byte) (findings []string) {
	t.Helper()
	var report struct {
		Results []struct {
			Deny, Warn []struct{ Msg string }
		}
	}
	if err := json.Unmarshal(output, &report); err != nil {
		t.Fatal(err)
	}
	for _, one := range report.Results {
		for _, denial := range one.Deny {
			findings = append(findings, "deny "+withoutOrigin(denial.Msg))
		}
		for _, warning := range one.Warn {
			findings = append(findings, "warn "+withoutOrigin(warning.Msg))
		}
	}
	slices.Sort(findings)
	return findings
}

// withoutOrigin is a message without the policy, the file and the revision in brackets.
func withoutOrigin(message string) string {
	if i := strings.LastIndex(message, " [PodParts/all "); i >= 0 {
		return message[:i]
	}
	return message
}
