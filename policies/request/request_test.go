package request

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/admission"
)

func TestImpersonated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		user   string
		groups []string
		want   []string
	}{
		"a user":                       {"alice", nil, []string{"system:authenticated"}},
		"a user in groups":             {"alice", []string{"dev"}, []string{"dev", "system:authenticated"}},
		"the group is given":           {"alice", []string{"system:authenticated"}, []string{"system:authenticated"}},
		"unauthenticated":              {"alice", []string{"system:unauthenticated"}, []string{"system:unauthenticated"}},
		"a ServiceAccount":             {"system:serviceaccount:shop:web", nil, []string{"system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"}},
		"a ServiceAccount with groups": {"system:serviceaccount:shop:web", []string{"dev"}, []string{"dev", "system:authenticated"}},
		"a name of another form":       {"system:serviceaccount:shop", nil, []string{"system:authenticated"}},
		"anonymous":                    {"system:anonymous", nil, []string{"system:unauthenticated"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Impersonated(c.user, "1", c.groups)
			require.Equal(t, c.want, got.Groups)
			require.Equal(t, c.user, got.Username)
			require.Equal(t, "1", got.UID)
		})
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given, operation string
		dryRun           bool
		want             string
		isDryRun         bool
		problem          string
	}{
		"none":                 {"", "CREATE", false, `{"apiVersion":"meta.k8s.io/v1","kind":"CreateOptions"}`, false, ""},
		"of an update":         {"", "UPDATE", false, `{"apiVersion":"meta.k8s.io/v1","kind":"UpdateOptions"}`, false, ""},
		"of a deletion":        {`{"propagationPolicy":"Background"}`, "DELETE", false, `{"apiVersion":"meta.k8s.io/v1","kind":"DeleteOptions","propagationPolicy":"Background"}`, false, ""},
		"a dry run":            {"", "DELETE", true, `{"apiVersion":"meta.k8s.io/v1","kind":"DeleteOptions","dryRun":["All"]}`, true, ""},
		"a dry run by options": {`{"dryRun":["All"]}`, "CREATE", false, `{"apiVersion":"meta.k8s.io/v1","kind":"CreateOptions","dryRun":["All"]}`, true, ""},
		"server-side apply":    {`{"kind":"PatchOptions","fieldManager":"argocd","force":true}`, "CREATE", false, `{"apiVersion":"meta.k8s.io/v1","kind":"PatchOptions","fieldManager":"argocd","force":true}`, false, ""},
		"of a connection":      {"", "CONNECT", true, "", true, ""},
		"given for a connection": {`{"a":1}`, "CONNECT", false, "", false,
			"a request with operation CONNECT has no options"},
		"another operation's": {`{"kind":"DeleteOptions"}`, "CREATE", false, "", false, `kind: Invalid value "DeleteOptions": a request with operation CREATE has CreateOptions or PatchOptions`},
		"force of a creation": {`{"force":true}`, "CREATE", false, "", false, `unknown field "force"; the options of a patch or of server-side apply have kind: PatchOptions`},
		"a misspelled field":  {`{"fieldmanagr":"a"}`, "DELETE", false, "", false, `DeleteOptions: unknown field "fieldmanagr"`},
		"another dry run":     {`{"dryRun":["Some"]}`, "CREATE", false, "", false, `dryRun: Invalid value ["Some"]: must be ["All"]`},
		"a list":              {`[]`, "CREATE", false, "", false, "must be an object"},
		"null":                {`null`, "CREATE", false, "", false, "must be an object"},
		"another version":     {`{"apiVersion":"v1"}`, "CREATE", false, "", false, `apiVersion: Invalid value "v1": must be meta.k8s.io/v1`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, isDryRun, err := Options(json.RawMessage(c.given), c.operation, c.dryRun)
			if c.problem != "" {
				require.ErrorContains(t, err, c.problem)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.isDryRun, isDryRun)
			if c.want == "" {
				require.Empty(t, got)
				return
			}
			require.JSONEq(t, c.want, string(got))
		})
	}
}

// kindNamed is a kind that is written as group/version/kind.
func kindNamed(text string) schema.GroupVersionKind {
	parts := strings.Split(text, "/")
	return schema.GroupVersionKind{Group: parts[0], Version: parts[1], Kind: parts[2]}
}

func TestAbout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind    string
		spec    Spec
		want    string // operation, resource and subresource
		problem string
	}{
		"a creation":              {"/v1/Pod", Spec{}, "CREATE v1 pods ", ""},
		"an update":               {"/v1/Pod", Spec{HasOld: true}, "UPDATE v1 pods ", ""},
		"a collection":            {"/v1/Pod", Spec{Operation: DeleteCollection}, "DELETE v1 pods ", ""},
		"exec":                    {"/v1/PodExecOptions", Spec{Subresource: "exec"}, "CONNECT v1 pods exec", ""},
		"exec, with its resource": {"/v1/PodExecOptions", Spec{Subresource: "pods/exec"}, "CONNECT v1 pods exec", ""},
		"proxy of a Service":      {"/v1/ServiceProxyOptions", Spec{Subresource: "proxy"}, "CONNECT v1 services proxy", ""},
		"proxy of a Pod":          {"/v1/PodProxyOptions", Spec{Subresource: "proxy", Operation: "CONNECT"}, "CONNECT v1 pods proxy", ""},
		"eviction":                {"policy/v1/Eviction", Spec{Subresource: "eviction"}, "CREATE v1 pods eviction", ""},
		"token":                   {"authentication.k8s.io/v1/TokenRequest", Spec{Subresource: "token"}, "CREATE v1 serviceaccounts token", ""},
		"status":                  {"apps/v1/Deployment", Spec{Subresource: "status"}, "UPDATE v1 deployments status", ""},
		"ephemeral containers":    {"/v1/Pod", Spec{Subresource: "ephemeralcontainers", HasOld: true}, "UPDATE v1 pods ephemeralcontainers", ""},
		"scale":                   {"autoscaling/v1/Scale", Spec{Subresource: "deployments.apps/scale"}, "UPDATE v1 deployments scale", ""},
		"scale of a unique name":  {"autoscaling/v1/Scale", Spec{Subresource: "statefulsets/scale"}, "UPDATE v1 statefulsets scale", ""},

		"scale of what":          {"autoscaling/v1/Scale", Spec{Subresource: "scale"}, "", "name the resource, such as deployments.apps/scale"},
		"scale of a Deployment":  {"apps/v1/Deployment", Spec{Subresource: "scale"}, "", "scale takes an object of kind Scale in autoscaling/v1, not Deployment in apps/v1"},
		"exec of a Pod":          {"/v1/Pod", Spec{Subresource: "exec"}, "", "exec takes an object of kind PodExecOptions in v1, not Pod in v1"},
		"exec of a Deployment":   {"/v1/PodExecOptions", Spec{Subresource: "deployments/exec"}, "", "deployments.apps has no subresource exec"},
		"a misspelled one":       {"/v1/Pod", Spec{Subresource: "statu"}, "", `"statu" is not a subresource of Kubernetes: the subresources are approval, attach, binding`},
		"resize of a Deployment": {"apps/v1/Deployment", Spec{Subresource: "resize"}, "", "deployments.apps has no subresource resize: only pods has one"},
		"status of another":      {"/v1/Pod", Spec{Subresource: "deployments/status"}, "", "deployments.apps/status takes an object of kind Deployment, not Pod"},
		"an unknown resource":    {"autoscaling/v1/Scale", Spec{Subresource: "deploy/scale"}, "", "there is no resource deploy at hand"},
		"another group":          {"autoscaling/v1/Scale", Spec{Subresource: "deployments.app/scale"}, "", "there is no resource deployments.app at hand"},
		"an operation that it has not": {"/v1/PodExecOptions", Spec{Subresource: "exec", Operation: "CREATE"}, "",
			"requests for the subresource exec have the operation CONNECT, not CREATE"},
		"CONNECT to the Pod":    {"/v1/Pod", Spec{Operation: "CONNECT"}, "", "operation CONNECT is about a subresource"},
		"an old object of exec": {"/v1/PodExecOptions", Spec{Subresource: "exec", HasOld: true}, "", "an old object is about an update, and the request has the operation CONNECT"},
		"options of exec":       {"/v1/PodExecOptions", Spec{Subresource: "exec", Options: []byte(`{"a":1}`)}, "", "a request with operation CONNECT has no options"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resources := admission.BuiltinResources()
			kind := kindNamed(c.kind)
			own, _ := resources.ByKind(kind.Group, kind.Kind)
			q, err := c.spec.About(kind, own, resources)
			if c.problem != "" {
				require.ErrorContains(t, err, c.problem)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, strings.Join([]string{q.Operation, q.Target.Resource.Version, q.Target.Resource.Name, q.Subresource}, " "))
		})
	}
}

// TestNew: the fields of requests as the API server sends them.
func TestNew(t *testing.T) {
	t.Parallel()
	resources := admission.BuiltinResources()
	send := func(spec Spec, subject Subject) map[string]any {
		own, _ := resources.ByKind(subject.Kind.Group, subject.Kind.Kind)
		q, err := spec.About(subject.Kind, own, resources)
		require.NoError(t, err)
		subject.Resource, subject.Requested = q.Target.Resource, subject.Kind
		review, err := New(subject, q.Attributes)
		require.NoError(t, err)
		again, err := New(subject, q.Attributes)
		require.NoError(t, err)
		require.Equal(t, review.UID, again.UID)
		require.Len(t, review.UID, 36)
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(review.Request().String()), &fields))
		return fields
	}
	scale := send(Spec{Subresource: "deployments/scale", User: "alice"}, Subject{
		Object: []byte(`{"spec":{"replicas":2}}`), Old: []byte(`{"spec":{"replicas":1}}`),
		Kind: kindNamed("autoscaling/v1/Scale"), Name: "web", Namespace: "shop",
	})
	resource := map[string]any{"group": "apps", "version": "v1", "resource": "deployments"}
	require.Equal(t, resource, scale["resource"])
	require.Equal(t, resource, scale["requestResource"])
	require.Equal(t, map[string]any{"group": "autoscaling", "version": "v1", "kind": "Scale"}, scale["kind"])
	require.Equal(t, "scale", scale["subResource"])
	require.Equal(t, "scale", scale["requestSubResource"])
	require.Equal(t, map[string]any{"username": "alice", "groups": []any{"system:authenticated"}}, scale["userInfo"])
	require.Equal(t, map[string]any{"spec": map[string]any{"replicas": 1.0}}, scale["oldObject"])

	exec := send(Spec{Subresource: "exec"}, Subject{Object: []byte(`{"command":["sh"]}`), Kind: kindNamed("/v1/PodExecOptions"), Name: "web", Namespace: "shop"})
	require.Nil(t, exec["options"])
	require.Nil(t, exec["oldObject"])
	require.Equal(t, "web", exec["name"])

	collection := send(Spec{Operation: DeleteCollection}, Subject{Old: []byte(`{"metadata":{"name":"a"}}`), Kind: kindNamed("/v1/Pod"), Name: "a", Namespace: "shop"})
	require.NotContains(t, collection, "name")
	require.Nil(t, collection["object"])
	require.Equal(t, map[string]any{"metadata": map[string]any{"name": "a"}}, collection["oldObject"])

	namespace := send(Spec{}, Subject{Object: []byte(`{}`), Kind: kindNamed("/v1/Namespace"), Name: "shop"})
	require.Equal(t, "shop", namespace["namespace"])
}
