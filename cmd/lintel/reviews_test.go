package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/cmd/lintel/review"
)

// execRequest is a request as an API server sends it.
const execRequest = `{"uid":"7","kind":{"group":"","version":"v1","kind":"PodExecOptions"},"resource":{"group":"","version":"v1","resource":"pods"},"subResource":"exec",` +
	`"requestKind":{"group":"","version":"v1","kind":"PodExecOptions"},"requestResource":{"group":"","version":"v1","resource":"pods"},"requestSubResource":"exec",` +
	`"name":"web","namespace":"shop","operation":"CONNECT","userInfo":{"username":"alice","groups":["dev"]},` +
	`"object":{"kind":"PodExecOptions","apiVersion":"v1","command":["sh"]},"oldObject":null,"dryRun":false,"options":null}`

func reviewOf(request string) string {
	return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":` + request + `}`
}

// seesAll is a policy that denies every request with its whole input.
func seesAll(t *testing.T) string {
	t.Helper()
	return folder(t, map[string]string{"p.rego": "# METADATA\n# custom:\n#   match: {operations: [CREATE, UPDATE, DELETE, CONNECT], subresources: [\"*\"]}\n" +
		"package p\n\ndeny contains json.marshal(input.request)\n"})
}

// requestsSeen are the requests that policies see for the documents.
func requestsSeen(t *testing.T, documents string, args ...string) (requests []map[string]any, stderr string) {
	t.Helper()
	got := lintel(t, documents, append([]string{"check", "-p", seesAll(t), "-f", "-", "-o", "json"}, args...)...)
	require.Equal(t, exitDenied, got.code, got.stdout+got.stderr)
	var report review.Report
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
	for _, result := range report.Results {
		require.Len(t, result.Deny, 1)
		var request map[string]any
		require.NoError(t, json.NewDecoder(strings.NewReader(result.Deny[0].Msg)).Decode(&request))
		requests = append(requests, request)
	}
	return requests, got.stderr
}

func decoded(t *testing.T, text string) (value map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &value))
	return value
}

// TestAdmissionReviews: policies see the request of an AdmissionReview as it is, in every form of
// the document.
func TestAdmissionReviews(t *testing.T) {
	for name, document := range map[string]string{
		"a review":       reviewOf(execRequest),
		"in an old form": strings.Replace(reviewOf(execRequest), "/v1", "/v1beta1", 1),
		"with a response": strings.TrimSuffix(reviewOf(execRequest), "}") +
			`,"response":{"uid":"7","allowed":true}}`,
		"a request by itself": execRequest,
		"a List":              `{"apiVersion":"v1","kind":"List","items":[` + reviewOf(execRequest) + `]}`,
		"a list of reviews":   `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReviewList","items":[{"request":` + execRequest + `}]}`,
		"with null fields":    reviewOf(strings.Replace(execRequest, `"options":null`, `"options":null,"futureField":true`, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			requests, stderr := requestsSeen(t, document)
			require.Len(t, requests, 1)
			want := decoded(t, execRequest)
			if strings.Contains(document, "futureField") {
				want["futureField"] = true
			}
			require.Equal(t, want, requests[0])
			require.Empty(t, stderr)
		})
	}
}

func TestAdmissionReviewsAsText(t *testing.T) {
	dir := folder(t, map[string]string{"p.rego": "# METADATA\n# custom:\n#   match: {kinds: [{group: \"\", kind: Pod}], operations: [CONNECT], subresources: [exec]}\npackage p\n\ndeny contains sprintf(\"%s may not run %v in %s\", [input.request.userInfo.username, input.request.object.command, input.name])\n"})
	for command, want := range map[string]string{
		"check": "PodExecOptions shop/web: denied\n  at         standard input:1: document 1\n  request    CONNECT pods/exec by alice\n  deny       alice may not run [\"sh\"] in web [p deny, p.rego:6,",
		"why":   "  request    CONNECT pods/exec by alice\n",
	} {
		got := lintel(t, reviewOf(execRequest), command, "-p", dir, "-f", "-")
		require.Equal(t, exitDenied, got.code, got.stdout+got.stderr)
		require.Contains(t, got.stdout, want)
		require.Contains(t, got.stdout, `alice may not run ["sh"] in web`)
	}
	got := lintel(t, reviewOf(execRequest), "check", "-p", dir, "-f", "-", "-o", "json")
	require.Equal(t, &review.Request{Operation: "CONNECT", Subresource: "exec", User: "alice"}, decodeReport(t, got.stdout).Results[0].Request)
}

// TestIncompleteRequests: files of other tools leave out fields, which the objects imply. A note
// names them.
func TestIncompleteRequests(t *testing.T) {
	for name, c := range map[string]struct{ document, field, want, note string }{
		"an operation of gator":      {"kind: AdmissionReview\napiVersion: admission.k8s.io/v1beta1\nrequest:\n  userInfo: {username: \"system:foo\"}\n  object: {kind: Pod, labels: [{app: bar}]}\n", "operation", `"CREATE"`, "operation CREATE, kind Pod, resource pods"},
		"two objects":                {`{"kind":{"version":"v1","kind":"Pod"},"object":{},"oldObject":{}}`, "operation", `"UPDATE"`, "operation UPDATE, resource pods"},
		"an old object":              {`{"kind":{"version":"v1","kind":"Pod"},"oldObject":{"metadata":{"name":"a"}}}`, "operation", `"DELETE"`, "operation DELETE"},
		"a kind without its group":   {`{"kind":{"version":"v1","kind":"Pod"},"operation":"CREATE","object":{}}`, "kind", `{"group":"","version":"v1","kind":"Pod"}`, "resource pods"},
		"a resource":                 {`{"kind":{"group":"apps","version":"v1","kind":"Deployment"},"operation":"CREATE","object":{}}`, "resource", `{"group":"apps","version":"v1","resource":"deployments"}`, "resource deployments.apps"},
		"a namespace":                {`{"kind":{"version":"v1","kind":"Pod"},"operation":"CREATE","object":{"metadata":{"namespace":"shop"}}}`, "namespace", `"shop"`, "namespace shop"},
		"a kind":                     {`{"operation":"CREATE","object":{"apiVersion":"apps/v1","kind":"Deployment"}}`, "kind", `{"group":"apps","version":"v1","kind":"Deployment"}`, "kind Deployment.apps"},
		"a deletion without objects": {`{"kind":{"version":"v1","kind":"Pod"},"operation":"DELETE","name":"a","namespace":"b"}`, "name", `"a"`, "resource pods"},
	} {
		t.Run(name, func(t *testing.T) {
			requests, stderr := requestsSeen(t, c.document)
			text, err := json.Marshal(requests[0][c.field])
			require.NoError(t, err)
			require.JSONEq(t, c.want, string(text))
			require.Contains(t, stderr, "note: standard input:1: document 1: the request lacks fields, which are taken from its object: ")
			require.Contains(t, stderr, c.note)
			require.NotEmpty(t, requests[0]["uid"])
		})
	}
}

// TestRequestsThatCannotBeRead are errors with the document, and never verdicts.
func TestRequestsThatCannotBeRead(t *testing.T) {
	dir := seesAll(t)
	change := func(old, new string) string {
		require.Contains(t, execRequest, old)
		return reviewOf(strings.Replace(execRequest, old, new, 1))
	}
	for name, c := range map[string]struct {
		document string
		args     []string
		want     string
	}{
		"no request":          {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, nil, "the AdmissionReview has no request"},
		"a response":          {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":true}}`, nil, "the AdmissionReview has a response and no request"},
		"a request of text":   {reviewOf(`"x"`), nil, "the AdmissionReview has no request"},
		"an empty request":    {reviewOf(`{}`), nil, "request.operation is missing, and so are request.object and request.oldObject"},
		"a later version":     {strings.Replace(reviewOf(execRequest), "/v1", "/v2", 1), nil, `apiVersion "admission.k8s.io/v2" of the AdmissionReview is not admission.k8s.io/v1 or admission.k8s.io/v1beta1`},
		"a misspelled field":  {change(`"object"`, `"opject"`), nil, "request.opject is not a field of an AdmissionRequest; did you mean object?"},
		"another operation":   {change(`"CONNECT"`, `"PATCH"`), nil, `request.operation: Invalid value "PATCH": must be CREATE, UPDATE, DELETE or CONNECT`},
		"a name of a number":  {change(`"web"`, `1`), nil, "request.name: must be a string"},
		"a dry run of text":   {change(`"dryRun":false`, `"dryRun":"yes"`), nil, "request.dryRun: must be true or false"},
		"an object of text":   {change(`{"kind":"PodExecOptions","apiVersion":"v1","command":["sh"]}`, `"x"`), nil, "request.object: must be an object"},
		"no object":           {`{"kind":{"version":"v1","kind":"Pod"},"operation":"CREATE"}`, nil, "request.object is missing, which a request with operation CREATE has"},
		"no kind":             {`{"operation":"CREATE","object":{"a":1}}`, nil, "request.kind is missing, and its object is not a Kubernetes object"},
		"no resource":         {change(`"resource":{"group":"","version":"v1","resource":"pods"},`, ""), nil, "request.resource is missing, which a request with a subResource has"},
		"with --as":           {reviewOf(execRequest), []string{"--as", "bob"}, "is an AdmissionReview, whose request is evaluated as it is: leave out --as"},
		"with --operation":    {reviewOf(execRequest), []string{"--operation", "CREATE", "--dry-run"}, "leave out --operation, --dry-run"},
		"with another object": {reviewOf(execRequest) + `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`, []string{"--as", "bob"}, "leave out --as"},
		"the second one":      {reviewOf(execRequest) + "\n" + reviewOf(`{}`), nil, "standard input:2: document 2: request.operation is missing"},
		"an item":             {`{"apiVersion":"v1","kind":"List","items":[` + reviewOf(`{}`) + `]}`, nil, "standard input:1: document 1, items[0]: request.operation is missing"},
		"duplicate fields":    {change(`"uid":"7"`, `"uid":"7","uid":"8"`), nil, `key "uid" already set in map`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, command := range []string{"check", "why"} {
				got := lintel(t, c.document, append([]string{command, "-p", dir, "-f", "-"}, c.args...)...)
				assert.Equal(t, exitError, got.code, got.stdout)
				assert.Empty(t, got.stdout)
				assert.Contains(t, got.stderr, "standard input:")
				assert.Contains(t, got.stderr, c.want)
			}
		})
	}
}

// TestRulesAndSubresources: the rules that ship with Lintel are not about subresources, and without
// policies there is nothing to evaluate.
func TestRulesAndSubresources(t *testing.T) {
	const status = `{"kind":{"group":"openzro.io","version":"v1","kind":"OZGroup"},"resource":{"group":"openzro.io","version":"v1","resource":"ozgroups"},"subResource":"status",` +
		`"name":"g","namespace":"net","operation":"UPDATE","object":{"apiVersion":"openzro.io/v1","kind":"OZGroup","metadata":{"name":"g","namespace":"net"}}}`
	for _, args := range [][]string{{status}, {"apiVersion: openzro.io/v1\nkind: OZGroup\nmetadata: {name: g, namespace: net}\n", "--subresource", "status"}} {
		got := lintel(t, args[0], append([]string{"check", "-f", "-"}, args[1:]...)...)
		require.Equal(t, exitError, got.code, got.stdout)
		require.Contains(t, got.stderr, "no policies: give a folder")
	}
}

// TestReviewsPatch: a review is mutated before it is validated.
func TestReviewsPatch(t *testing.T) {
	dir := folder(t, map[string]string{"p.rego": podMatch + "package p\n\ndefaults.metadata.labels.team := \"none\"\n\nwarn contains input.request.object.metadata.labels.team\n"})
	got := lintel(t, `{"uid":"1","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"name":"a","namespace":"b","operation":"CREATE","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}}`,
		"check", "-p", dir, "-f", "-")
	require.Equal(t, exitAllowed, got.code, got.stderr)
	require.Contains(t, got.stdout, "none [p warn")
	require.Contains(t, got.stdout, "patch      add /metadata/labels = {}")
}

// TestReviewsAndManifests: Namespaces among the manifests count for the reviews.
func TestReviewsAndManifests(t *testing.T) {
	dir := folder(t, map[string]string{"p.rego": "# METADATA\n# custom:\n#   match: {operations: [CONNECT], subresources: [exec], kinds: [{group: \"\", kind: Pod}], namespaceSelector: {matchLabels: {a: b}}}\npackage p\n\ndeny contains \"no\"\n"})
	got := lintel(t, reviewOf(execRequest), "check", "-p", dir, "-f", "-")
	require.Equal(t, exitError, got.code, got.stdout+got.stderr)
	require.Contains(t, got.stdout, `needs the labels of namespace "shop"`)
	got = lintel(t, reviewOf(execRequest)+`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","labels":{"a":"b"}}}`, "check", "-p", dir, "-f", "-")
	require.Equal(t, exitDenied, got.code, got.stdout+got.stderr)
	require.Contains(t, got.stdout, "2 objects: 1 denied, 1 admitted")
}

// sent is a request that a user describes by flags, and the same as the API server sends it.
type sent struct {
	files    map[string]string
	args     []string
	expected string
}

var sentRequests = map[string]sent{
	"exec": {
		map[string]string{"exec.yaml": "apiVersion: v1\nkind: PodExecOptions\nmetadata: {name: web, namespace: shop}\ncommand: [sh]\n"},
		[]string{"-f", "exec.yaml", "--subresource", "exec", "--as", "alice", "--as-group", "dev", "--as-group", "system:authenticated"},
		strings.Replace(execRequest, `["dev"]`, `["dev","system:authenticated"]`, 1),
	},
	"scale": {
		map[string]string{
			"new.yaml": "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: web, namespace: shop}\nspec: {replicas: 5}\n",
			"old.yaml": "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: web}\nspec: {replicas: 1}\n",
		},
		[]string{"-f", "new.yaml", "--old", "old.yaml", "--subresource", "deployments.apps/scale", "-n", "shop", "--dry-run"},
		`{"uid":"7","kind":{"group":"autoscaling","version":"v1","kind":"Scale"},"resource":{"group":"apps","version":"v1","resource":"deployments"},"subResource":"scale",` +
			`"requestKind":{"group":"autoscaling","version":"v1","kind":"Scale"},"requestResource":{"group":"apps","version":"v1","resource":"deployments"},"requestSubResource":"scale",` +
			`"name":"web","namespace":"shop","operation":"UPDATE","userInfo":{},` +
			`"object":{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web","namespace":"shop"},"spec":{"replicas":5},"status":{"replicas":0}},` +
			`"oldObject":{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web","namespace":"shop"},"spec":{"replicas":1},"status":{"replicas":0}},` +
			`"dryRun":true,"options":{"apiVersion":"meta.k8s.io/v1","kind":"UpdateOptions","dryRun":["All"]}}`,
	},
	"server-side apply": {
		map[string]string{"object.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\n", "options.yaml": "kind: PatchOptions\nfieldManager: argocd\nforce: true\n"},
		[]string{"-f", "object.yaml", "--request-options", "options.yaml", "--as", "system:serviceaccount:argo:controller", "--as-uid", "5"},
		`{"uid":"7","kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},` +
			`"requestKind":{"group":"","version":"v1","kind":"ConfigMap"},"requestResource":{"group":"","version":"v1","resource":"configmaps"},` +
			`"name":"web","namespace":"shop","operation":"CREATE","userInfo":{"username":"system:serviceaccount:argo:controller","uid":"5","groups":["system:serviceaccounts","system:serviceaccounts:argo","system:authenticated"]},` +
			`"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"shop"}},"oldObject":null,` +
			`"dryRun":false,"options":{"apiVersion":"meta.k8s.io/v1","kind":"PatchOptions","fieldManager":"argocd","force":true}}`,
	},
	"a collection": {
		map[string]string{"object.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\n"},
		[]string{"-f", "object.yaml", "--operation", "deletecollection", "--request-options", `{"propagationPolicy":"Background"}`},
		`{"uid":"7","kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},` +
			`"requestKind":{"group":"","version":"v1","kind":"ConfigMap"},"requestResource":{"group":"","version":"v1","resource":"configmaps"},` +
			`"namespace":"shop","operation":"DELETE","userInfo":{},"object":null,"oldObject":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"shop"}},` +
			`"dryRun":false,"options":{"apiVersion":"meta.k8s.io/v1","kind":"DeleteOptions","propagationPolicy":"Background"}}`,
	},
}

// TestRequestFlags: policies see the same of flags as of the AdmissionReview.
func TestRequestFlags(t *testing.T) {
	for name, c := range sentRequests {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, c.files)
			args := append([]string{"check", "-p", seesAll(t), "-o", "json"}, c.args...)
			for i, word := range args {
				if _, isFile := c.files[word]; isFile {
					args[i] = filepath.Join(dir, word)
				}
			}
			got := lintel(t, "", args...)
			require.Equal(t, exitDenied, got.code, got.stdout+got.stderr)
			var request map[string]any
			var report review.Report
			require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
			require.NoError(t, json.NewDecoder(strings.NewReader(report.Results[0].Deny[0].Msg)).Decode(&request))
			want := decoded(t, c.expected)
			request["uid"] = want["uid"]
			require.Equal(t, want, request)
		})
	}
}

// TestOldObjectsInVersions: the object before an update is converted as the object is.
func TestOldObjectsInVersions(t *testing.T) {
	dir := folder(t, map[string]string{
		"p/p.rego": autoscalers("v2") + "package p\n\ndeny contains json.marshal([input.request.oldObject.apiVersion, input.request.oldObject.spec.metrics[0].resource.target.averageUtilization])\n",
		"old.yaml": "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: web}, targetCPUUtilizationPercentage: 50}\n",
		"new.yaml": "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {maxReplicas: 4, scaleTargetRef: {kind: Deployment, name: web}}\n",
	})
	policy := strings.Replace(mustRead(t, filepath.Join(dir, "p/p.rego")), "kinds:", "operations: [UPDATE], kinds:", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p/p.rego"), []byte(policy), 0o600))
	got := lintel(t, "", "check", "-p", filepath.Join(dir, "p"), "-f", filepath.Join(dir, "new.yaml"), "--old", filepath.Join(dir, "old.yaml"))
	require.Equal(t, exitDenied, got.code, got.stdout+got.stderr)
	require.Contains(t, got.stdout, `["autoscaling/v2",50] [p deny`)
}

func mustRead(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

func TestRequestFlagsThatContradict(t *testing.T) {
	object := func(kind, name string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: %s\nmetadata: {name: %s, namespace: shop}\n", kind, name)
	}
	dir := folder(t, map[string]string{
		"p/p.rego": "package p\n\ndeny contains \"no\"\n", "other.yaml": object("Pod", "other"), "web.yaml": object("Pod", "web"), "service.yaml": object("Service", "web"),
		"both.yaml": object("Pod", "web") + "---\n" + object("Pod", "other"), "twice.yaml": object("Pod", "web") + "---\n" + object("Pod", "web"), "review.json": reviewOf(execRequest),
		"options.yaml": "fieldManager: [a]\n",
	})
	for name, c := range map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"another name":               {object("Pod", "web"), []string{"--old", "other.yaml"}, "--old has Pod shop/other, and the update at standard input:1: document 1 is of Pod shop/web: both must have the same kind, namespace and name"},
		"another kind":               {object("Pod", "web"), []string{"--old", "service.yaml"}, "--old has Service shop/web, and the update"},
		"one too many":               {object("Pod", "web"), []string{"--old", "both.yaml"}, "both.yaml:5: document 2: --old has Pod shop/other, and no object of -f"},
		"one too few":                {object("Pod", "web") + "---\n" + object("Pod", "other"), []string{"--old", "web.yaml"}, "standard input:5: document 2: --old has no Pod shop/other, which -f updates"},
		"twice":                      {object("Pod", "web"), []string{"--old", "twice.yaml"}, "Pod shop/web is at"},
		"two updates":                {object("Pod", "web") + "---\n" + object("Pod", "web"), []string{"--old", "web.yaml"}, "one object before both updates: give one"},
		"a review before":            {object("Pod", "web"), []string{"--old", "review.json"}, "--old takes objects, and an AdmissionReview has its own oldObject"},
		"a missing file":             {object("Pod", "web"), []string{"--old", "none.yaml"}, "none.yaml"},
		"standard input twice":       {object("Pod", "web"), []string{"--old", "-"}, "standard input can be read only once"},
		"an old object of a DELETE":  {object("Pod", "web"), []string{"--old", "web.yaml", "--operation", "DELETE"}, "--operation DELETE removes one object: give it with -f or with --old, not with both"},
		"groups alone":               {object("Pod", "web"), []string{"--as-group", "dev"}, "--as-group and --as-uid are about a user: give --as, too"},
		"an empty user":              {object("Pod", "web"), []string{"--as", ""}, "--as is empty: leave it out"},
		"an empty group":             {object("Pod", "web"), []string{"--as", "a", "--as-group", ""}, "--as-group is empty"},
		"exec of a Pod":              {object("Pod", "web"), []string{"--subresource", "exec"}, "standard input:1: document 1: subresource exec: exec takes an object of kind PodExecOptions in v1, not Pod in v1"},
		"exec without a name":        {"apiVersion: v1\nkind: PodExecOptions\ncommand: [sh]\n", []string{"--subresource", "exec"}, "PodExecOptions has no metadata.name, which CONNECT needs"},
		"an operation without":       {object("Pod", "web"), []string{"--subresource", "status", "--operation", "CREATE"}, "requests for the subresource status have the operation UPDATE, not CREATE"},
		"options that are cut off":   {object("Pod", "web"), []string{"--request-options", "{\"a\":"}, "--request-options: "},
		"options with a wrong type":  {object("Pod", "web"), []string{"--request-options", "options.yaml"}, "options of the request: CreateOptions: "},
		"options of a missing file":  {object("Pod", "web"), []string{"--request-options", "none.yaml"}, "--request-options: open "},
		"options of another request": {object("Pod", "web"), []string{"--request-options", `{"kind":"DeleteOptions"}`}, `kind: Invalid value "DeleteOptions"`},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"check", "-p", filepath.Join(dir, "p"), "-f", "-"}
			for _, word := range c.args {
				if strings.HasSuffix(word, ".yaml") || strings.HasSuffix(word, ".json") {
					word = filepath.Join(dir, word)
				}
				args = append(args, word)
			}
			got := lintel(t, c.stdin, args...)
			require.Equal(t, exitError, got.code, got.stdout)
			require.Empty(t, got.stdout)
			require.Contains(t, got.stderr, c.want)
		})
	}
}

// TestMisspelledOptionsOfExec: what the API server refuses of a connection is denied, in its words.
func TestMisspelledOptionsOfExec(t *testing.T) {
	got := lintel(t, "apiVersion: v1\nkind: PodExecOptions\nmetadata: {name: web}\ncomand: [sh]\n", "check", "-p", seesAll(t), "-f", "-", "--subresource", "exec")
	require.Equal(t, exitDenied, got.code, got.stderr)
	require.Contains(t, got.stdout, `unknown field "comand"`)
}
