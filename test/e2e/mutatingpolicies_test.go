package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/cel"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/kinds"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// mutatingCase is a MutatingAdmissionPolicy with its binding, and an object.
type mutatingCase struct {
	spec, binding, object string
	// denied is a part of the message; empty if the API server admits the object.
	denied string
}

const aPod = `{"apiVersion":"v1","kind":"Pod","spec":{"automountServiceAccountToken":false,"containers":[{"name":"one","image":"a","env":[{"name":"A","value":"1"}]},{"name":"two","image":"b"}],"tolerations":[{"key":"x","operator":"Exists"}]}}`

func applies(expression string) string {
	return "mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: '" + expression + "'}}]"
}

func patches(expression string) string {
	return "mutations: [{patchType: JSONPatch, jsonPatch: {expression: '" + expression + "'}}]"
}

// mutatingCases are by name, which objects have as a label.
var mutatingCases = map[string]mutatingCase{
	"apply-labels":         {applies(`Object{metadata: Object.metadata{labels: {"team": "x"}}}`), "", aConfigMap, ""},
	"apply-data":           {applies(`Object{data: {"a": "y", "b": string(object.data.a)}}`), "", aConfigMap, ""},
	"apply-replicas":       {applies(`Object{spec: Object.spec{replicas: object.spec.replicas - 2}}`), "", aDeployment, ""},
	"apply-sidecar":        {applies(`Object{spec: Object.spec{containers: [Object.spec.containers{name: "mesh", image: "m"}]}}`), "", aPod, ""},
	"apply-container":      {applies(`Object{spec: Object.spec{containers: [Object.spec.containers{name: "two", env: [Object.spec.containers.env{name: "B", value: "2"}]}]}}`), "", aPod, ""},
	"apply-every":          {applies(`Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, imagePullPolicy: "Always"})}}`), "", aPod, ""},
	"apply-env":            {applies(`Object{spec: Object.spec{containers: [Object.spec.containers{name: "one", env: [Object.spec.containers.env{name: "A", value: "7"}]}]}}`), "", aPod, ""},
	"apply-resources":      {applies(`Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: "one", resources: Object.spec.template.spec.containers.resources{limits: {"cpu": "1"}}}]}}}}`), "", aDeployment, ""},
	"apply-atomic":         {applies(`Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: "y"}]}}`), "", aPod, "may not mutate atomic arrays, maps or structs"},
	"apply-unknown":        {applies(`Object{spec: Object.spec{none: "x"}}`), "", aPod, "field not declared in schema"},
	"apply-type":           {applies(`Object{spec: Object.spec{replicas: "x"}}`), "", aDeployment, "expected numeric"},
	"apply-type-name":      {applies(`Object{spec: Object.none{replicas: 1}}`), "", aDeployment, "unexpected type name"},
	"apply-nothing":        {applies(`Object{}`), "", aConfigMap, ""},
	"patch-add":            {patches(`[JSONPatch{op: "add", path: "/data/b", value: "y"}]`), "", aConfigMap, ""},
	"patch-remove":         {patches(`[JSONPatch{op: "remove", path: "/data/n"}]`), "", aConfigMap, ""},
	"patch-list":           {patches(`[JSONPatch{op: "add", path: "/spec/containers/0", value: Object.spec.containers{name: "first", image: "f"}}]`), "", aPod, ""},
	"patch-end":            {patches(`[JSONPatch{op: "add", path: "/spec/containers/0/env/-", value: {"name": "B", "value": "2"}}]`), "", aPod, ""},
	"patch-move":           {patches(`[JSONPatch{op: "move", from: "/data/a", path: "/data/b"}]`), "", aConfigMap, ""},
	"patch-copy":           {patches(`[JSONPatch{op: "copy", from: "/data/a", path: "/data/b"}]`), "", aConfigMap, ""},
	"patch-replace":        {patches(`[JSONPatch{op: "replace", path: "/data/none", value: "y"}]`), "", aConfigMap, ""},
	"patch-test":           {patches(`[JSONPatch{op: "test", path: "/data/a", value: "z"}, JSONPatch{op: "remove", path: "/data/a"}]`), "", aConfigMap, ""},
	"patch-escape":         {patches(`[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("x.io/y"), value: "z"}]`), "", aConfigMap, ""},
	"patch-none":           {patches(`false ? [JSONPatch{op: "remove", path: "/data/a"}] : []`), "", aConfigMap, ""},
	"patch-missing":        {patches(`[JSONPatch{op: "remove", path: "/data/none"}]`), "", aConfigMap, "nonexistent key"},
	"patch-missing-ignore": {"failurePolicy: Ignore\n  " + patches(`[JSONPatch{op: "remove", path: "/data/none"}]`), "", aConfigMap, ""},
	"patch-parent":         {patches(`[JSONPatch{op: "add", path: "/metadata/annotations/a", value: "b"}]`), "", aConfigMap, "JSON Patch"},
	"patch-unknown":        {patches(`[JSONPatch{op: "add", path: "/spec", value: {"a": "b"}}]`), "", aConfigMap, "strict decoding error"},
	"patch-unknown-ignore": {"failurePolicy: Ignore\n  " + patches(`[JSONPatch{op: "add", path: "/spec", value: {"a": "b"}}]`), "", aConfigMap, "strict decoding error"},
	"patch-type":           {patches(`[JSONPatch{op: "add", path: "/data/b", value: 1}]`), "", aConfigMap, "cannot unmarshal"},
	"patch-error":          {patches(`[JSONPatch{op: "add", path: "/data/b", value: object.data.none}]`), "", aConfigMap, "no such key: none"},
	"variables":            {"variables: [{name: count, expression: int(object.data.n)}]\n  " + applies(`Object{data: {"n": string(variables.count + 1)}}`), "", aConfigMap, ""},
	"condition":            {"matchConditions: [{name: c, expression: has(object.data.none)}]\n  " + applies(`Object{data: {"n": "8"}}`), "", aConfigMap, ""},
	"condition-fails":      {"matchConditions: [{name: c, expression: 'object.data.none == \"\"'}]\n  " + applies(`Object{data: {"n": "8"}}`), "", aConfigMap, "no such key: none"},
	"params":               {theParams + "\n  " + applies(`Object{data: {"n": params.data.max}}`), "paramRef: {name: limits, parameterNotFoundAction: Deny}", aConfigMap, ""},
	"params-missing":       {theParams + "\n  " + applies(`Object{data: {"n": params.data.max}}`), "paramRef: {name: none, parameterNotFoundAction: Deny}", aConfigMap, "no params found for policy binding with `Deny` parameterNotFoundAction"},
	"params-not-needed":    {theParams + "\n  " + applies(`Object{data: {"n": params.data.max}}`), "paramRef: {name: none, parameterNotFoundAction: Allow}", aConfigMap, ""},
	"namespace":            {applies(`Object{data: {"tier": namespaceObject.metadata.labels.tier}}`), "", aConfigMap, ""},
	"two":                  {"mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{data: {\"b\": \"y\"}}'}}, {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"add\", path: \"/data/c\", value: object.data.b + \"z\"}]'}}]", "", aConfigMap, ""},
	"grows":                {"reinvocationPolicy: IfNeeded\n  " + applies(`Object{data: {"a": object.data.a + "x"}}`), "", aConfigMap, ""},
	"cost":                 {patches(`[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, a+b+c+d+e+f > 0)))))) ? [JSONPatch{op: "remove", path: "/data/a"}] : []`), "", aConfigMap, "actual cost limit exceeded"},
}

// mutatingPolicy writes a policy with its binding for the objects of a case.
func mutatingPolicy(namespace, name string, c mutatingCase) string {
	if !strings.Contains(c.spec, "reinvocationPolicy") {
		c.spec = "reinvocationPolicy: Never\n  " + c.spec
	}
	return strings.NewReplacer("NAMESPACE", namespace, "NAME", name, "SPEC", c.spec, "BINDING", c.binding).Replace(`apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAMESPACE-NAME}
spec:
  matchConstraints: {resourceRules: [{apiGroups: ['', apps], apiVersions: [v1], operations: [CREATE], resources: [configmaps, pods, deployments]}]}
  SPEC
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAMESPACE-NAME}
spec:
  policyName: NAMESPACE-NAME
  matchResources:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
    objectSelector: {matchLabels: {case: NAME}}
  BINDING
---
`)
}

// dryRunOf creates an object without storing it, and returns it as the API server would store it.
func dryRunOf(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource := map[string]schema.GroupVersionResource{
		"ConfigMap": {Version: "v1", Resource: "configmaps"}, "Pod": {Version: "v1", Resource: "pods"},
		"Deployment": {Group: "apps", Version: "v1", Resource: "deployments"},
	}[object.GetKind()]
	return api.objects.Resource(resource).Namespace(object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}

// TestMutatingPoliciesOfflineAreTheAPIServers: the API server applies policies in CEL, and lintel
// check has the same patch for the same files.
func TestMutatingPoliciesOfflineAreTheAPIServers(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustKubectl(t, "", "label", "namespace", namespace, "tier=gold")
	eventually(t, func() bool {
		_, ok := kubectl(t, "", "get", "serviceaccount", "default", "-n", namespace)
		return ok
	}, "the service account")
	var policies strings.Builder
	for name, c := range mutatingCases {
		policies.WriteString(mutatingPolicy(namespace, name, c))
	}
	fmt.Fprintf(&policies, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limits, namespace: %s, labels: {is: param}}\ndata: {max: '5'}\n", namespace)
	last := mutatingPolicy(namespace, "last", mutatingCase{spec: applies(`Object{data: {"last": "yes"}}`)})
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), policies.String()+"---\n"+last, "delete", "--ignore-not-found", "--wait=false", "-f", "-")
	})
	mustKubectl(t, policies.String(), "apply", "-f", "-")
	mustKubectl(t, last, "apply", "-f", "-")
	// The API server reads its policies in the background. The last one is in force after all.
	sentinel := admissionCase{object: aConfigMap}.objectOf(t, namespace, "last")
	eventually(t, func() bool {
		result, err := dryRunOf(t.Context(), sentinel)
		value := ""
		if err == nil {
			value, _, _ = unstructured.NestedString(result.Object, "data", "last")
		}
		return value == "yes"
	}, "the policies to be in force")

	folder, file := t.TempDir(), filepath.Join(t.TempDir(), "namespace.json")
	mustWrite(t, filepath.Join(folder, "policies.yaml"), policies.String())
	mustWrite(t, file, mustKubectl(t, "", "get", "namespace", namespace, "-o", "json"))
	for name, c := range mutatingCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := admissionCase{object: c.object}.objectOf(t, namespace, name)
			theirs, err := dryRunOf(t.Context(), object)
			text, marshalErr := object.MarshalJSON()
			require.NoError(t, marshalErr)
			patch, messages := mutatedOffline(t, folder, file, string(text))
			if c.denied != "" {
				status, denied := errors.AsType[*apierrors.StatusError](err)
				require.True(t, denied, "the API server denies the object: %v", err)
				require.Contains(t, status.ErrStatus.Message, c.denied)
				require.Len(t, messages, 1)
				own, _, _ := strings.Cut(messages[0], " [MutatingAdmissionPolicy/")
				require.Equal(t, status.ErrStatus.Message[max(0, len(status.ErrStatus.Message)-len(own)):], own)
				return
			}
			require.NoError(t, err)
			require.Empty(t, messages)
			arrived, err := kinds.New().Arrive(text, object.GroupVersionKind(), true) // the object that the patch is for
			require.NoError(t, err)
			ours, err := dryRunOf(t.Context(), patchedObject(t, arrived, patch))
			require.NoError(t, err)
			require.Equal(t, comparable(theirs), comparable(ours), "%s", patch)
		})
	}
}

// comparable are the fields of an object that do not differ with each creation, without the label
// of the case.
func comparable(object *unstructured.Unstructured) map[string]any {
	fields := object.DeepCopy().Object
	for _, name := range []string{"uid", "creationTimestamp", "managedFields", "resourceVersion"} {
		unstructured.RemoveNestedField(fields, "metadata", name)
	}
	unstructured.RemoveNestedField(fields, "metadata", "labels", "case")
	return fields
}

// patchedObject is an object after a patch, with a label that no policy selects.
func patchedObject(t *testing.T, object []byte, patch json.RawMessage) *unstructured.Unstructured {
	t.Helper()
	decoded, err := jsonpatch.DecodePatch(patch)
	require.NoError(t, err)
	after, err := decoded.Apply(object)
	require.NoError(t, err)
	out := &unstructured.Unstructured{}
	require.NoError(t, out.UnmarshalJSON(after))
	labels := out.GetLabels()
	labels["case"] = "none"
	out.SetLabels(labels)
	return out
}

// mutatedOffline is the patch of lintel check, and the denials.
func mutatedOffline(t *testing.T, folder, objects, object string) (patch json.RawMessage, messages []string) {
	t.Helper()
	manifest := filepath.Join(t.TempDir(), "object.json")
	mustWrite(t, manifest, object)
	output, _ := offline(t, "check", "-p", folder, "--cluster", objects, "-f", manifest, "-o", "json")
	var report struct {
		Results []struct {
			Patch     json.RawMessage
			Deny      []struct{ Msg string }
			Undecided []struct{ Reason string }
		}
	}
	if start := strings.Index(output, "{\n"); start > 0 { // notes come first
		output = output[start:]
	}
	require.NoError(t, json.NewDecoder(strings.NewReader(output)).Decode(&report), output)
	require.Empty(t, report.Results[0].Undecided)
	for _, found := range report.Results[0].Deny {
		messages = append(messages, found.Msg)
	}
	return report.Results[0].Patch, messages
}

// TestMutatingPoliciesRefusedOffline: what the API server refuses is an error of the file.
func TestMutatingPoliciesRefusedOffline(t *testing.T) {
	t.Parallel()
	const (
		head  = "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: refused}\nspec:\n  "
		bind  = "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicyBinding\nmetadata: {name: refused}\nspec:\n  "
		never = "\n  reinvocationPolicy: Never\n  "
	)
	valid := applies("Object{}")
	for name, text := range map[string]string{
		"no constraints":           head + "reinvocationPolicy: Never\n  " + valid,
		"no mutations":             head + configMaps + never,
		"no reinvocationPolicy":    head + configMaps + "\n  " + valid,
		"a reinvocationPolicy":     head + configMaps + "\n  reinvocationPolicy: Always\n  " + valid,
		"no patchType":             head + configMaps + never + "mutations: [{jsonPatch: {expression: '[]'}}]",
		"a patchType":              head + configMaps + never + "mutations: [{patchType: Merge, jsonPatch: {expression: '[]'}}]",
		"both patches":             head + configMaps + never + "mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[]'}, applyConfiguration: {expression: 'Object{}'}}]",
		"the wrong patch":          head + configMaps + never + "mutations: [{patchType: ApplyConfiguration, jsonPatch: {expression: '[]'}}]",
		"no expression":            head + configMaps + never + applies(""),
		"a syntax error":           head + configMaps + never + applies("Object{"),
		"a wrong type":             head + configMaps + never + applies("1"),
		"a patch of no patches":    head + configMaps + never + patches(`["x"]`),
		"types in a variable":      head + configMaps + "\n  variables: [{name: v, expression: 'Object{}'}]" + never + valid,
		"DELETE":                   head + "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [DELETE], resources: [configmaps]}]}" + never + valid,
		"params without a kind":    head + configMaps + never + applies("Object{data: params.data}"),
		"validations":              head + configMaps + "\n  validations: [{expression: 'true'}]" + never + valid,
		"a failure policy":         head + configMaps + "\n  failurePolicy: Warn" + never + valid,
		"a binding without policy": bind + "matchResources: {}",
		"a binding with actions":   bind + "policyName: p\n  validationActions: [Deny]",
		"a binding to DELETE":      bind + "policyName: p\n  matchResources: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [DELETE], resources: [configmaps]}]}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, ok := kubectl(t, text, "create", "--dry-run=server", "--validate=strict", "-f", "-")
			require.False(t, ok, output)
			policy := strings.Replace(head, "name: refused", "name: p", 1) + configMaps + never + valid
			_, err := policyset.Compile(definition.Source{Name: "refused", Files: map[string]string{"p.yaml": policy, "refused.yaml": text}, AdmissionPolicies: true}, cel.Dialect)
			require.Error(t, err, output)
			require.Contains(t, err.Error(), "refused.yaml:", output)
		})
	}
}
