package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

// requester is the user whose requests the policy of TestRequestsOffline denies.
const requester = "e2e-requester"

// requesterFlags make kubectl and lintel impersonate the requester, whom RBAC permits every request.
var requesterFlags = []string{"--as=" + requester, "--as-uid=e2e-1", "--as-group=system:masters", "--as-group=developers"}

// wholeRequest denies every request of the requester with its attributes, and warns with a digest of
// the whole request without its uid.
const wholeRequest = `# METADATA
# custom:
#   match:
#     kinds: [{group: "", kind: Pod}, {group: "", kind: ConfigMap}, {group: "", kind: ServiceAccount}, {group: apps, kind: Deployment}]
#     operations: [CREATE, UPDATE, DELETE, CONNECT]
#     subresources: ["*"]
#     namespaces: [NAMESPACE]
package requests

import rego.v1

is_requester if input.request.userInfo.username == "e2e-requester"

deny contains msg if {
	is_requester
	r := input.request
	msg := sprintf("%s %s/%s %s of kind %s, dry run %v, options %v, user %v", [r.operation, r.resource.resource, object.get(r, "subResource", ""), input.name, r.kind.kind, r.dryRun, json.marshal(r.options), json.marshal(r.userInfo)])
}

warn contains crypto.sha256(json.marshal(object.remove(input.request, ["uid"]))) if is_requester

patch contains {"op": "add", "path": "/metadata/annotations", "value": {"manager": object.get(input.request.options, "fieldManager", "none")}} if {
	is_requester
	not input.request.object.metadata.annotations
}
`

// recorder is a webhook that admits every request, and stores the AdmissionReviews of the requester.
type recorder struct {
	mu      sync.Mutex
	reviews map[string][]json.RawMessage // by path
}

// ServeHTTP implements http.Handler.
func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	var review admissionv1.AdmissionReview
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err != nil || review.Request == nil {
		http.Error(w, "not an AdmissionReview", http.StatusBadRequest)
		return
	}
	if review.Request.UserInfo.Username == requester {
		r.mu.Lock()
		r.reviews[request.URL.Path] = append(r.reviews[request.URL.Path], body)
		r.mu.Unlock()
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// take removes the reviews that arrived at a path, and returns them.
func (r *recorder) take(path string) []json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.reviews[path]
	delete(r.reviews, path)
	return taken
}

// startRecorder registers a recorder for all requests in a namespace. The API server calls webhooks
// in the order of their names: the recorder comes before Lintel.
func startRecorder(t *testing.T, namespace string) *recorder {
	t.Helper()
	r := &recorder{reviews: map[string][]json.RawMessage{}}
	server := httptest.NewTLSServer(r)
	t.Cleanup(server.Close)
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	for kind, path := range map[string]string{"MutatingWebhookConfiguration": "/mutate", "ValidatingWebhookConfiguration": "/validate"} {
		applyForTest(t, asJSON(map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": "e2e-recorder"},
			"webhooks": []any{map[string]any{
				"name": "recorder.e2e.lintel.dev", "admissionReviewVersions": []string{"v1"}, "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 30,
				"clientConfig":      map[string]any{"url": server.URL + path, "caBundle": ca},
				"namespaceSelector": map[string]any{"matchLabels": map[string]string{"kubernetes.io/metadata.name": namespace}},
				"rules":             []any{map[string]any{"apiGroups": []string{"*"}, "apiVersions": []string{"*"}, "resources": []string{"*/*"}, "operations": []string{"*"}, "scope": "Namespaced"}},
			}},
		}))
	}
	eventually(t, func() bool {
		_, _ = kubectl(t, configMap(namespace, "probe"), append([]string{"create", "--dry-run=server", "-f", "-"}, requesterFlags...)...)
		return len(r.take("/mutate")) > 0 && len(r.take("/validate")) > 0
	}, "the API server to call the recorder")
	return r
}

// kubectlRequest is a command of kubectl, and the request that it results in.
type kubectlRequest struct {
	stdin string
	args  []string
	// operation and subresource are those in the AdmissionReview.
	operation, subresource string
}

// TestRequestsOffline: for the requests that the API server sends, and for the flags that describe
// the same requests, lintel check reports the answers of the webhook, byte for byte.
func TestRequestsOffline(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	recorded := startRecorder(t, namespace)
	policy := strings.ReplaceAll(wholeRequest, "NAMESPACE", namespace)
	applySource(t, "requests", policy, nil)
	folder := policyFolder(t, policy)

	mustKubectl(t, pod(namespace, "p", `{"containers":[{"name":"c","image":"x"}]}`), "create", "-f", "-")
	mustKubectl(t, "", "create", "deployment", "d", "--image=x", "--replicas=0", "-n", namespace)
	mustKubectl(t, configMap(namespace, "c"), "create", "-f", "-")
	in := func(args ...string) []string { return append([]string{"-n", namespace}, args...) }
	eviction := `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"` + namespace + `"}}`
	generated := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"made-","namespace":"` + namespace + `"}}`
	var answers []answeredReview
	for name, c := range map[string]kubectlRequest{
		"create":              {configMap(namespace, "new"), []string{"create", "-f", "-"}, "CREATE", ""},
		"a dry run":           {configMap(namespace, "new"), []string{"create", "--dry-run=server", "-f", "-"}, "CREATE", ""},
		"a generated name":    {generated, []string{"create", "-f", "-"}, "CREATE", ""},
		"server-side apply":   {configMap(namespace, "new"), []string{"apply", "--server-side", "--field-manager=e2e-manager", "-f", "-"}, "CREATE", ""},
		"apply over another":  {configMap(namespace, "c"), []string{"apply", "--server-side", "--field-manager=e2e-manager", "--force-conflicts", "-f", "-"}, "UPDATE", ""},
		"a Pod":               {pod(namespace, "q", `{"containers":[{"name":"c","image":"x"}]}`), []string{"create", "-f", "-"}, "CREATE", ""},
		"replace":             {configMap(namespace, "c"), []string{"replace", "-f", "-"}, "UPDATE", ""},
		"patch":               {"", in("annotate", "configmap", "c", "a=b"), "UPDATE", ""},
		"status":              {"", in("patch", "deployment", "d", "--subresource=status", "--type=merge", "-p", `{"status":{"observedGeneration":7}}`), "UPDATE", "status"},
		"scale":               {"", in("scale", "deployment", "d", "--replicas=5"), "UPDATE", "scale"},
		"ephemeralcontainers": {"", in("debug", "p", "--image=x", "--profile=general", "--attach=false", "--container=spy"), "UPDATE", "ephemeralcontainers"},
		"proxy":               {"", []string{"get", "--raw", "/api/v1/namespaces/" + namespace + "/pods/p/proxy/metrics"}, "CONNECT", "proxy"},
		"exec":                {"", in("exec", "p", "-c", "c", "--", "sh", "-c", "ls"), "CONNECT", "exec"},
		"eviction":            {eviction, []string{"create", "--raw", "/api/v1/namespaces/" + namespace + "/pods/p/eviction", "-f", "-"}, "CREATE", "eviction"},
		"token":               {"", in("create", "token", "default", "--audience=vault"), "CREATE", "token"},
		"delete":              {"", in("delete", "configmap", "c"), "DELETE", ""},
		"delete, dry":         {"", in("delete", "configmap", "c", "--dry-run=server"), "DELETE", ""},
		"delete collection":   {"", []string{"delete", "--raw", "/api/v1/namespaces/" + namespace + "/configmaps?fieldSelector=metadata.name%3Dc"}, "DELETE", ""},
	} {
		// The subtests are not parallel: all requests have the same user.
		t.Run(name, func(t *testing.T) {
			recorded.take("/mutate")
			recorded.take("/validate")
			output, ok := kubectl(t, c.stdin, slices.Concat(requesterFlags, c.args)...)
			require.False(t, ok, output)
			for _, path := range []string{"/mutate", "/validate"} {
				review := c.find(t, recorded.take(path))
				mutation := answerOf(t, registration.MutatePath, review)
				answer := answeredReview{name + " " + path, review, mutation, answerOf(t, registration.ValidatePath, patched(t, review, mutation.Patch)), ""}
				if path == "/validate" {
					answer.output = output
				}
				answers = append(answers, answer)
				// The API server sets the name of a TokenRequest, and generates names, after it calls the
				// mutating webhooks, and the flags describe the object that the policies validate.
				isNamedLater := c.subresource == "token" || c.stdin == generated
				if !isNamedLater || path == "/validate" {
					answer.requireSame(t, checkRequests(t, folder, flagsOf(t, review.Request)...)[0])
				}
			}
		})
	}
	require.True(t, slices.ContainsFunc(answers, func(d answeredReview) bool { return len(d.mutation.Patch) > 0 }))
	// One process checks all AdmissionReviews.
	var reviews []any
	for _, answer := range answers {
		reviews = append(reviews, answer.review)
	}
	list := writeText(t, "reviews.json", []byte(asJSON(map[string]any{"apiVersion": "v1", "kind": "List", "items": reviews})))
	reports := checkRequests(t, folder, "-f", list)
	require.Len(t, reports, len(answers))
	require.NotEmpty(t, reports)
	for i, answer := range answers {
		answer.requireSame(t, reports[i])
	}
}

// answeredReview is a review with the answers of the webhook. It has the output of kubectl if the
// request was denied with these answers.
type answeredReview struct {
	name                 string
	review               admissionv1.AdmissionReview
	mutation, validation *admissionv1.AdmissionResponse
	output               string
}

// requireSame compares the answers with the report of lintel check about the same request.
func (d answeredReview) requireSame(t *testing.T, report offlineReport) {
	t.Helper()
	require.True(t, d.mutation.Allowed)
	require.False(t, d.validation.Allowed)
	assert.Equal(t, patchOf(d.mutation), compact(t, report.Patch), d.name)
	assert.Equal(t, d.validation.Result.Message, strings.Join(messages(report.Deny), "\n"), d.name)
	assert.Equal(t, d.validation.Warnings, messages(report.Warn), d.name)
	for _, message := range messages(report.Deny) {
		d.requirePrinted(t, message)
	}
	for _, message := range messages(report.Warn) {
		if d.review.Request.SubResource != "exec" { // kubectl prints no warnings if the stream is refused
			d.requirePrinted(t, message)
		}
	}
}

func (d answeredReview) requirePrinted(t *testing.T, message string) {
	t.Helper()
	if d.output != "" {
		assert.Contains(t, d.output, message, d.name)
	}
}

// find returns the last review of the operation.
func (c kubectlRequest) find(t *testing.T, reviews []json.RawMessage) admissionv1.AdmissionReview {
	t.Helper()
	for _, text := range slices.Backward(reviews) {
		var review admissionv1.AdmissionReview
		require.NoError(t, json.Unmarshal(text, &review))
		if string(review.Request.Operation) == c.operation && review.Request.SubResource == c.subresource {
			return review
		}
	}
	require.FailNow(t, "the API server sent no such review", "%s %s, but %d others", c.operation, c.subresource, len(reviews))
	return admissionv1.AdmissionReview{}
}

// patched returns the review with the patched object.
func patched(t *testing.T, review admissionv1.AdmissionReview, patch []byte) admissionv1.AdmissionReview {
	t.Helper()
	if len(patch) == 0 {
		return review
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	require.NoError(t, err)
	review.Request = review.Request.DeepCopy()
	review.Request.Object.Raw, err = decoded.Apply(review.Request.Object.Raw)
	require.NoError(t, err)
	return review
}

// answerOf returns the response of an entry of the manager to a review.
func answerOf(t *testing.T, path string, review admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}} //nolint:gosec // the API server verifies the certificate
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, manager.WebhookURL+path+registration.PolicySegment(definition.Fail), bytes.NewReader([]byte(asJSON(review))))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	var answer admissionv1.AdmissionReview
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	require.NotNil(t, answer.Response)
	return answer.Response
}

func patchOf(response *admissionv1.AdmissionResponse) string {
	if len(response.Patch) == 0 {
		return "[]"
	}
	return string(response.Patch)
}

// offlineReport is the result of lintel check for one request.
type offlineReport struct {
	Deny, Warn []struct{ Msg string }
	Patch      json.RawMessage
	Undecided  []any
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, json.Compact(&b, text))
	return b.String()
}

func messages(found []struct{ Msg string }) (out []string) {
	for _, one := range found {
		out = append(out, one.Msg)
	}
	return out
}

func checkRequests(t *testing.T, folder string, args ...string) []offlineReport {
	t.Helper()
	output, code := offline(t, append([]string{"check", "-p", folder, "--name", "requests", "-o", "json"}, args...)...)
	require.Equal(t, 1, code, "%v: %s", args, output)
	var report struct{ Results []offlineReport }
	require.NoError(t, json.Unmarshal([]byte(output), &report), output)
	for _, result := range report.Results {
		require.Empty(t, result.Undecided)
	}
	return report.Results
}

// flagsOf describes a request by the flags of lintel check.
func flagsOf(t *testing.T, request *admissionv1.AdmissionRequest) []string {
	t.Helper()
	require.Equal(t, authenticationv1.UserInfo{Username: requester, UID: "e2e-1", Groups: []string{"system:masters", "developers", "system:authenticated"}}, request.UserInfo)
	flags := slices.Clone(requesterFlags)
	if request.SubResource != "" {
		flags = append(flags, "--subresource="+strings.TrimSuffix(request.Resource.Resource+"."+request.Resource.Group, ".")+"/"+request.SubResource)
	}
	if len(request.Options.Raw) > 0 {
		flags = append(flags, "--request-options="+string(request.Options.Raw))
	}
	if request.DryRun != nil && *request.DryRun {
		flags = append(flags, "--dry-run")
	}
	object := request.Object.Raw
	switch request.Operation {
	case admissionv1.Update:
		flags = append(flags, "--old="+writeText(t, "old.json", request.OldObject.Raw))
	case admissionv1.Delete:
		object = request.OldObject.Raw
		flags = append(flags, "--operation="+map[bool]string{false: "DELETE", true: "DELETECOLLECTION"}[request.Name == ""])
	case admissionv1.Connect:
		var fields map[string]any
		require.NoError(t, json.Unmarshal(object, &fields))
		fields["metadata"] = map[string]any{"name": request.Name, "namespace": request.Namespace}
		object = []byte(asJSON(fields))
	}
	return append(flags, "-f", writeText(t, "object.json", object))
}

func writeText(t *testing.T, name string, text []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	mustWrite(t, file, string(text))
	return file
}
