package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
)

// What both engines are to do: pull images always, and give no token.
const (
	mutationPolicy = `# METADATA
# custom:
#   match:
#     kinds: [{group: "", kind: Pod}]
#     operations: [CREATE]
package bench.mutation

import rego.v1

patch contains op if {
	some i, container in input.request.object.spec.containers
	container.imagePullPolicy != "Always"
	op := {"op": "replace", "path": sprintf("/spec/containers/%d/imagePullPolicy", [i]), "value": "Always"}
}

patch contains op if {
	input.request.object.spec.enableServiceLinks != false
	op := {"op": "replace", "path": "/spec/enableServiceLinks", "value": false}
}
`
	mutators = `apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: pull-always}
spec:
  applyTo: [{groups: [""], versions: [v1], kinds: [Pod]}]
  match: {scope: Namespaced, kinds: [{apiGroups: [""], kinds: [Pod]}]}
  location: "spec.containers[name:*].imagePullPolicy"
  parameters: {assign: {value: Always}}
---
apiVersion: mutations.gatekeeper.sh/v1
kind: Assign
metadata: {name: no-service-links}
spec:
  applyTo: [{groups: [""], versions: [v1], kinds: [Pod]}]
  match: {scope: Namespaced, kinds: [{apiGroups: [""], kinds: [Pod]}]}
  location: spec.enableServiceLinks
  parameters: {assign: {value: false}}
`
)

// compareMutation: two changes of a Pod.
func (p *peers) compareMutation(ctx context.Context) error {
	if err := p.cluster.ApplySource(ctx, "peers-mutation", map[string]string{"mutation.rego": mutationPolicy}, nil); err != nil {
		return err
	}
	if err := p.kubectl(ctx, mutators, "apply", "--server-side", "-f", "-"); err != nil {
		return err
	}
	contenders := []*contender{p.lintelAt("/mutate/fail"), p.gatekeeperAt("/v1/mutate"), p.nothing()}
	// Gatekeeper learns of its mutators a moment later.
	err := poll(ctx, "equal patches", func() (bool, error) {
		body, _ := p.workloads.unique.next()
		ours, err := contenders[0].patch(ctx, body)
		if err != nil {
			return false, err
		}
		theirs, err := contenders[1].patch(ctx, body)
		return len(ours) == 3 && slices.Equal(ours, theirs), err
	})
	if err != nil {
		return err
	}
	c, err := p.compare(ctx, "mutation of unique Pods", 2, p.workloads.unique, direct, contenders)
	if err != nil {
		return err
	}
	p.cpuRow("two changes of a Pod", c.of(nameLintel), c.of(nameGatekeeper), 0)
	if err := p.kubectl(ctx, mutators, "delete", "-f", "-"); err != nil {
		return err
	}
	return p.deleteSource(ctx, "peers-mutation")
}

// patch is the patch that a webhook answers with, in an order of its own.
func (c *contender) patch(ctx context.Context, body []byte) ([]string, error) {
	answer, err := c.post(ctx, body)
	if err != nil {
		return nil, err
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &review); err != nil || review.Response == nil {
		return nil, fmt.Errorf("%s: not the answer of a webhook: %.500s", c.name, answer)
	}
	var operations []struct {
		Op, Path string
		Value    any
	}
	if len(review.Response.Patch) > 0 {
		if err := json.Unmarshal(review.Response.Patch, &operations); err != nil {
			return nil, fmt.Errorf("%s: reading its patch: %w", c.name, err)
		}
	}
	var lines []string
	for _, o := range operations {
		lines = append(lines, strings.Join([]string{o.Op, o.Path, fmt.Sprint(o.Value)}, " "))
	}
	slices.Sort(lines)
	return lines, nil
}
