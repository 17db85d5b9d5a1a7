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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/cel"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// admissionCase is a ValidatingAdmissionPolicy with its binding, and an object.
type admissionCase struct {
	spec, binding, object string
	// denied is a part of the message; empty if the API server admits the object.
	denied string
	code   int
}

const (
	configMaps  = "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}"
	deployments = "matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}"
	aConfigMap  = `{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"x","n":"7"}}`
	aDeployment = `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":7,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"one","image":"a"},{"name":"two","image":"b","securityContext":{"privileged":true}}]}}}}`
	theParams   = "paramKind: {apiVersion: v1, kind: ConfigMap}"
)

// admissionCases are by name, which objects have as a label.
var admissionCases = map[string]admissionCase{
	"expression": {configMaps + "\n  validations: [{expression: 'object.data.a == \"y\"'}]", "", aConfigMap, `failed expression: object.data.a == "y"`, 422},
	"holds":      {configMaps + "\n  validations: [{expression: 'object.data.a == \"x\"'}]", "", aConfigMap, "", 0},
	"message":    {configMaps + "\n  validations: [{expression: 'false', message: ' nope ', reason: Forbidden}]", "", aConfigMap, "nope", 403},
	"composed": {configMaps + "\n  variables: [{name: num, expression: int(object.data.n)}, {name: twice, expression: variables.num * 2}]\n  validations: [{expression: 'variables.twice < 10', messageExpression: '\"m is \" + string(variables.twice)', reason: RequestEntityTooLarge}]", "", aConfigMap,
		"m is 14", 413},
	"message-fails":      {configMaps + "\n  validations: [{expression: 'false', message: plain, messageExpression: 'string(object.data.none)'}]", "", aConfigMap, "plain", 422},
	"error":              {configMaps + "\n  validations: [{expression: 'object.data.none == \"\"'}]", "", aConfigMap, `expression 'object.data.none == ""' resulted in error: no such key: none`, 422},
	"error-ignored":      {"failurePolicy: Ignore\n  " + configMaps + "\n  validations: [{expression: 'object.data.none == \"\"'}]", "", aConfigMap, "", 0},
	"second":             {configMaps + "\n  validations: [{expression: 'true', message: first}, {expression: 'request.operation == \"\"', message: second}]", "", aConfigMap, "second", 422},
	"condition":          {configMaps + "\n  matchConditions: [{name: none, expression: 'has(object.data.b)'}]\n  validations: [{expression: 'false'}]", "", aConfigMap, "", 0},
	"condition-fails":    {configMaps + "\n  matchConditions: [{name: none, expression: 'object.data.none == \"\"'}]\n  validations: [{expression: 'true'}]", "", aConfigMap, `expression 'object.data.none == ""' resulted in error: no such key: none`, 422},
	"condition-decides":  {configMaps + "\n  matchConditions: [{name: one, expression: 'object.data.none == \"\"'}, {name: two, expression: 'false'}]\n  validations: [{expression: 'false'}]", "", aConfigMap, "", 0},
	"cost":               {configMaps + "\n  variables: [{name: l, expression: '[1,2,3,4,5,6,7,8,9,10]'}]\n  validations: [{expression: 'variables.l.all(a, variables.l.all(b, variables.l.all(c, variables.l.all(d, variables.l.all(e, variables.l.all(f, a+b+c+d+e+f > 0))))))'}]", "", aConfigMap, "actual cost limit exceeded", 422},
	"annotation-fails":   {configMaps + "\n  validations: [{expression: 'true'}]\n  auditAnnotations: [{key: a, valueExpression: 'string(object.data.none)'}]", "", aConfigMap, "no such key: none", 422},
	"params":             {configMaps + "\n  " + theParams + "\n  validations: [{expression: 'int(object.data.n) <= int(params.data.max)', messageExpression: '\"at most \" + params.data.max'}]", "paramRef: {name: limits, parameterNotFoundAction: Deny}", aConfigMap, "at most 5", 422},
	"params-selected":    {configMaps + "\n  " + theParams + "\n  validations: [{expression: 'params.metadata.name == \"\"', messageExpression: 'string(params.metadata.name)'}]", "paramRef: {selector: {matchLabels: {is: param}}, parameterNotFoundAction: Deny}", aConfigMap, "limits", 422},
	"params-missing":     {configMaps + "\n  " + theParams + "\n  validations: [{expression: 'true'}]", "paramRef: {name: none, parameterNotFoundAction: Deny}", aConfigMap, "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction", 422},
	"params-not-needed":  {configMaps + "\n  " + theParams + "\n  validations: [{expression: 'false'}]", "paramRef: {name: none, parameterNotFoundAction: Allow}", aConfigMap, "", 0},
	"params-unbound":     {configMaps + "\n  " + theParams + "\n  validations: [{expression: 'params != null', message: null params}]", "", aConfigMap, "null params", 422},
	"namespace":          {configMaps + "\n  validations: [{expression: 'namespaceObject.metadata.labels.tier != \"gold\"', message: gold}]", "", aConfigMap, "gold", 422},
	"namespace-field":    {configMaps + "\n  validations: [{expression: 'has(namespaceObject.metadata.generateName)', message: field}]", "", aConfigMap, "field", 422},
	"typed":              {deployments + "\n  validations: [{expression: 'object.spec.template.spec.containers.all(c, !has(c.resources) || has(c.securityContext))', message: typed}]", "", aDeployment, "typed", 422},
	"types":              {deployments + "\n  validations: [{expression: 'type(object.spec.replicas) != int || object.spec.replicas <= 5', message: replicas}]", "", aDeployment, "replicas", 422},
	"optional":           {deployments + "\n  validations: [{expression: '!object.spec.template.spec.containers.exists(c, c.?securityContext.?privileged.orValue(false))', message: privileged}]", "", aDeployment, "privileged", 422},
	"libraries":          {configMaps + "\n  validations: [{expression: 'quantity(\"1Gi\").isGreaterThan(quantity(\"500Mi\")) && !sets.contains([\"x\"], [string(object.data.a)])', message: libraries}]", "", aConfigMap, "libraries", 422},
	"other-kind":         {deployments + "\n  validations: [{expression: 'false'}]", "", aConfigMap, "", 0},
	"excluded":           {"matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']}], excludeResourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}\n  validations: [{expression: 'false'}]", "", aConfigMap, "", 0},
	"wildcard":           {"matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*']}]}\n  validations: [{expression: 'false', message: every}]", "", aConfigMap, "every", 422},
	"named":              {"matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps], resourceNames: [another]}]}\n  validations: [{expression: 'false'}]", "", aConfigMap, "", 0},
	"cluster-scope":      {"matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps], scope: Cluster}]}\n  validations: [{expression: 'false'}]", "", aConfigMap, "", 0},
	"equivalent-version": {"matchConstraints: {matchPolicy: Exact, resourceRules: [{apiGroups: [''], apiVersions: [v2], operations: [CREATE], resources: [configmaps]}]}\n  validations: [{expression: 'false'}]", "", aConfigMap, "", 0},
}

// admissionPolicies writes the policies with their bindings and params, for objects of a namespace.
func admissionPolicies(namespace string) string {
	var b strings.Builder
	for name, c := range admissionCases {
		full := namespace + "-" + name
		fmt.Fprintf(&b, "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: %s}\nspec:\n  %s\n---\n", full, c.spec)
		fmt.Fprintf(&b, `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec:
  policyName: %[1]s
  validationActions: [Deny]
  matchResources:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[2]s}}
    objectSelector: {matchLabels: {case: %[3]s}}
  %[4]s
---
`, full, namespace, name, c.binding)
	}
	fmt.Fprintf(&b, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limits, namespace: %s, labels: {is: param}}\ndata: {max: '5'}\n", namespace)
	return b.String()
}

// objectOf is the object of a case.
func (c admissionCase) objectOf(t *testing.T, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(t, object.UnmarshalJSON([]byte(c.object)))
	object.SetName(name)
	object.SetNamespace(namespace)
	object.SetLabels(map[string]string{"case": name})
	return object
}

// dryRun creates an object without storing it, and returns the error of the API server.
func dryRun(ctx context.Context, object *unstructured.Unstructured) *metav1.Status {
	resource := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	if object.GetKind() == "Deployment" {
		resource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	}
	_, err := api.objects.Resource(resource).Namespace(object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return &status.ErrStatus
	}
	if err != nil {
		return &metav1.Status{Message: err.Error()}
	}
	return nil
}

// TestAdmissionPoliciesOfflineAreTheAPIServers: the API server enforces policies in CEL, and
// lintel check gives the same answers for the same files.
func TestAdmissionPoliciesOfflineAreTheAPIServers(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustKubectl(t, "", "label", "namespace", namespace, "tier=gold")
	policies := admissionPolicies(namespace)
	// The API server reads its policies in the background. The last one is in force after all.
	last := "---\n" + strings.NewReplacer("NAMESPACE", namespace).Replace(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAMESPACE-zz-last}
spec:
  `+configMaps+`
  validations: [{expression: 'false', message: the last one}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAMESPACE-zz-last}
spec:
  policyName: NAMESPACE-zz-last
  validationActions: [Deny]
  matchResources:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
    objectSelector: {matchLabels: {case: last}}
`)
	t.Cleanup(func() {
		_, _ = cluster.Kubectl(context.Background(), policies+last, "delete", "--ignore-not-found", "--wait=false", "-f", "-")
	})
	mustKubectl(t, policies, "apply", "-f", "-")
	mustKubectl(t, strings.TrimPrefix(last, "---\n"), "apply", "-f", "-")
	sentinel := admissionCase{object: aConfigMap}.objectOf(t, namespace, "last")
	eventually(t, func() bool {
		status := dryRun(t.Context(), sentinel)
		return status != nil && strings.Contains(status.Message, "the last one")
	}, "the policies to be in force")

	folder, file := t.TempDir(), filepath.Join(t.TempDir(), "namespace.json")
	mustWrite(t, filepath.Join(folder, "policies.yaml"), policies)
	itself := mustKubectl(t, "", "get", "namespace", namespace, "-o", "json")
	mustWrite(t, file, itself)
	in, err := engine.ReadNamespace([]byte(itself))
	require.NoError(t, err)
	set, err := policyset.Compile(definition.Source{Name: "policies", Files: map[string]string{"policies.yaml": policies}, AdmissionPolicies: true}, cel.Dialect)
	require.NoError(t, err)
	snapshot := engine.NewSnapshot(admission.BuiltinResources(), set)
	for name, c := range admissionCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := c.objectOf(t, namespace, name)
			status := dryRun(t.Context(), object)
			text, err := object.MarshalJSON()
			require.NoError(t, err)
			messages, code := checkedWith(t, folder, file, string(text))
			if c.denied == "" {
				require.Nil(t, status, "the API server admits the object")
				require.Empty(t, messages)
				require.Zero(t, code)
				return
			}
			require.NotNil(t, status, "the API server denies the object")
			require.Contains(t, status.Message, c.denied)
			require.Len(t, messages, 1)
			own, _, _ := strings.Cut(messages[0], " [ValidatingAdmissionPolicy/")
			_, theirs, _ := strings.Cut(status.Message, "denied request: ")
			require.Equal(t, theirs, own)
			require.EqualValues(t, c.code, status.Code)
			require.Equal(t, []int{int(status.Code)}, codesOf(t, snapshot, text, object.GroupVersionKind().Group, object.GetKind(), in))
		})
	}
}

// TestAdmissionPoliciesRefusedOffline: what the API server refuses is an error of the file.
func TestAdmissionPoliciesRefusedOffline(t *testing.T) {
	t.Parallel()
	const (
		head  = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: refused}\nspec:\n  "
		bind  = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: refused}\nspec:\n  "
		valid = "\n  validations: [{expression: 'true'}]"
	)
	for name, text := range map[string]string{
		"no constraints":             head + "validations: [{expression: 'true'}]",
		"no validations":             head + configMaps,
		"an empty expression":        head + configMaps + "\n  validations: [{expression: ''}]",
		"a syntax error":             head + configMaps + "\n  validations: [{expression: 'a ='}]",
		"a wrong type":               head + configMaps + "\n  validations: [{expression: '1'}]",
		"a dynamic message":          head + configMaps + "\n  validations: [{expression: 'true', messageExpression: 'object.a'}]",
		"an authorizer in a message": head + configMaps + "\n  validations: [{expression: 'true', messageExpression: 'authorizer.group(\"\").resource(\"pods\").check(\"get\").reason()'}]",
		"an undeclared variable":     head + configMaps + "\n  variables: [{name: one, expression: variables.two}, {name: two, expression: '1'}]" + valid,
		"params without a kind":      head + configMaps + "\n  validations: [{expression: 'params == null'}]",
		"lines in a message":         head + configMaps + "\n  validations: [{expression: 'true', message: \"a\\nb\"}]",
		"a reason":                   head + configMaps + "\n  validations: [{expression: 'true', reason: NotFound}]",
		"an unknown field":           head + configMaps + "\n  validations: [{expression: 'true', reasons: Invalid}]",
		"a failure policy":           head + "failurePolicy: Warn\n  " + configMaps + valid,
		"a paramKind":                head + "paramKind: {kind: ConfigMap}\n  " + configMaps + valid,
		"the name of a variable":     head + configMaps + "\n  variables: [{name: a-b, expression: '1'}]" + valid,
		"the name of a condition":    head + configMaps + "\n  matchConditions: [{name: 'a b', expression: 'true'}]" + valid,
		"two conditions":             head + configMaps + "\n  matchConditions: [{name: one, expression: 'true'}, {name: one, expression: 'true'}]" + valid,
		"two annotations":            head + configMaps + "\n  auditAnnotations: [{key: one, valueExpression: '\"a\"'}, {key: one, valueExpression: '\"a\"'}]",
		"a number as annotation":     head + configMaps + "\n  auditAnnotations: [{key: one, valueExpression: '1'}]",
		"a wildcard and a group":     head + "matchConstraints: {resourceRules: [{apiGroups: ['*', apps], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}" + valid,
		"an operation":               head + "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [GET], resources: [configmaps]}]}" + valid,
		"a scope":                    head + "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps], scope: Any}]}" + valid,
		"no resources":               head + "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE]}]}" + valid,
		"resources that overlap":     head + "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: ['*', pods]}]}" + valid,
		"subresources that overlap":  head + "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: ['pods/*', pods/exec]}]}" + valid,
		"everything and more":        head + "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: ['*/*', pods]}]}" + valid,
		"a selector":                 head + "matchConstraints: {objectSelector: {matchExpressions: [{key: a, operator: Has}]}, resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}" + valid,
		"a binding without actions":  bind + "policyName: p",
		"a binding without a policy": bind + "validationActions: [Deny]",
		"deny and warn":              bind + "policyName: p\n  validationActions: [Deny, Warn]",
		"an action":                  bind + "policyName: p\n  validationActions: [Block]",
		"an action twice":            bind + "policyName: p\n  validationActions: [Deny, Deny]",
		"params with both":           bind + "policyName: p\n  validationActions: [Deny]\n  paramRef: {name: one, selector: {}, parameterNotFoundAction: Deny}",
		"params with neither":        bind + "policyName: p\n  validationActions: [Deny]\n  paramRef: {parameterNotFoundAction: Deny}",
		"params without an action":   bind + "policyName: p\n  validationActions: [Deny]\n  paramRef: {name: one}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, ok := kubectl(t, text, "create", "--dry-run=server", "--validate=strict", "-f", "-")
			require.False(t, ok, output)
			policy := strings.Replace(head, "name: refused", "name: p", 1) + configMaps + valid
			_, err := policyset.Compile(definition.Source{Name: "refused", Files: map[string]string{"p.yaml": policy, "refused.yaml": text}, AdmissionPolicies: true}, cel.Dialect)
			require.Error(t, err, output)
			require.Contains(t, err.Error(), "refused.yaml:", output)
		})
	}
}

// checkedWith is checked with a file of --cluster.
func checkedWith(t *testing.T, folder, objects, object string) (messages []string, code int) {
	t.Helper()
	manifest := filepath.Join(t.TempDir(), "object.json")
	mustWrite(t, manifest, object)
	output, code := offline(t, "check", "-p", folder, "--cluster", objects, "-f", manifest, "-o", "json")
	var report struct {
		Results []struct {
			Deny      []struct{ Msg string }
			Undecided []struct{ Reason string }
		}
	}
	if start := strings.Index(output, "{"); start > 0 { // notes come first
		output = output[start:]
	}
	require.NoError(t, json.NewDecoder(strings.NewReader(output)).Decode(&report), output)
	for _, found := range report.Results[0].Deny {
		messages = append(messages, found.Msg)
	}
	require.Empty(t, report.Results[0].Undecided)
	return messages, code
}

// codesOf are the HTTP statuses of the denials of an object.
func codesOf(t *testing.T, snapshot *engine.Snapshot, object []byte, group, kind string, namespace engine.Namespace) (codes []int) {
	t.Helper()
	resource, known := admission.BuiltinResources().ByKind(group, kind)
	require.True(t, known)
	review, err := admission.NewStoredReview(object, resource)
	require.NoError(t, err)
	for _, denial := range snapshot.Validate(t.Context(), review, engine.Options{Namespace: namespace, Offline: true}).Denials {
		codes = append(codes, denial.Code)
	}
	return codes
}
