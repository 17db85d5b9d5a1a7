package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// BenchmarkHandler asks about one Pod, as far as a process can ask itself: all that
// the webhook does, and, under server, HTTP/2 over TLS as well.
func BenchmarkHandler(b *testing.B) {
	review := podCreation(b)
	for _, policies := range []struct {
		name     string
		snapshot *engine.Snapshot
	}{
		{"unmatched", compiled(b, definition.Fail, teamLabel)},
		{"samples", sampleSnapshot(b)},
	} {
		handler := benchHandler(b, policies.snapshot)
		for _, path := range []string{"/validate/fail", "/mutate/fail"} {
			b.Run(policies.name+path, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					request := httptest.NewRequest(http.MethodPost, path, strings.NewReader(review))
					request.Header.Set("Content-Type", "application/json")
					recorder := httptest.NewRecorder()
					handler.ServeHTTP(recorder, request)
					requireAdmitted(b, recorder.Body.String())
				}
			})
		}
		server := httptest.NewUnstartedServer(handler)
		server.EnableHTTP2 = true
		server.StartTLS()
		b.Run(policies.name+"/server", func(b *testing.B) { benchServer(b, server, review) })
		server.Close()
	}
	echo := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"response":{"allowed":true}}`)
	}))
	echo.EnableHTTP2 = true
	echo.StartTLS()
	defer echo.Close()
	b.Run("echo/server", func(b *testing.B) { benchServer(b, echo, review) })
}

func benchServer(b *testing.B, server *httptest.Server, review string) {
	b.ReportAllocs()
	for b.Loop() {
		response, err := server.Client().Post(server.URL+"/validate/fail", "application/json", strings.NewReader(review))
		require.NoError(b, err)
		answer, err := io.ReadAll(response.Body)
		response.Body.Close()
		require.NoError(b, err)
		requireAdmitted(b, string(answer))
	}
}

func requireAdmitted(b testing.TB, answer string) {
	if !strings.Contains(answer, `"allowed":true`) {
		b.Fatal(answer)
	}
}

func benchHandler(b testing.TB, snapshot *engine.Snapshot) *Handler {
	metrics := NewMetrics(prometheus.NewRegistry())
	var live atomic.Pointer[engine.Snapshot]
	live.Store(snapshot)
	logger := slog.New(slog.DiscardHandler)
	cluster := clusterdata.Empty()
	handler, err := NewHandler(HandlerOptions{
		Snapshot: live.Load, Namespaces: NewNamespaces(benchNamespace(), nil), Metrics: metrics,
		Cluster:   func() *clusterdata.Objects { return cluster },
		Decisions: DecisionLog{Logger: logger}, Logger: logger,
	})
	require.NoError(b, err)
	return handler
}

// BenchmarkSamples asks one sample policy at a time about one Pod, that it admits: all
// that the engine does, but for decoding.
func BenchmarkSamples(b *testing.B) {
	body := []byte(podCreation(b))
	namespace, err := engine.ReadNamespace([]byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"restricted-bench"}}`))
	require.NoError(b, err)
	for _, name := range []string{
		"allowed_registries", "default_requests", "host_paths", "latest_tag", "pod_security_baseline",
		"pod_security_restricted", "privileged", "required_labels",
	} {
		snapshot := sampleSnapshot(b, name, "pods", "pod_security_baseline")
		asked := body
		if name == "pod_security_baseline" {
			asked = bytes.ReplaceAll(body, []byte("restricted-bench"), []byte("baseline-bench"))
		}
		b.Run(name, func(b *testing.B) {
			review, err := admission.DecodeReview(asked)
			require.NoError(b, err)
			options := engine.Options{Namespace: namespace, Cluster: clusterdata.Empty()}
			b.ReportAllocs()
			for b.Loop() {
				mutation := &engine.Mutation{}
				if name == "default_requests" {
					mutation = snapshot.Mutate(b.Context(), review, options)
				} else {
					mutation.Decision = *snapshot.Validate(b.Context(), review, options)
				}
				if !mutation.Allowed() || mutation.Policies != 1 {
					b.Fatal(mutation.Policies, mutation.Denials)
				}
			}
		})
	}
}

// sampleSnapshot has the samples of these names, or all if there is none.
func sampleSnapshot(b testing.TB, names ...string) *engine.Snapshot {
	files := map[string]string{}
	paths, err := filepath.Glob("../config/samples/policies/*/*.rego")
	require.NoError(b, err)
	for _, path := range paths {
		if len(names) > 0 && !slices.Contains(names, filepath.Base(filepath.Dir(path))) {
			continue
		}
		text, err := os.ReadFile(path)
		require.NoError(b, err)
		files[path[len("../config/samples/policies/"):]] = string(text)
	}
	set, err := policyset.Compile(definition.Source{Name: "samples", FailurePolicy: definition.Fail, Files: files})
	require.NoError(b, err)
	return engine.NewSnapshot(admission.BuiltinResources(), set)
}

// cachedNamespace copies, as a cache does.
type cachedNamespace struct {
	client.Reader
	namespace corev1.Namespace
}

func (c cachedNamespace) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	c.namespace.DeepCopyInto(into.(*corev1.Namespace))
	return nil
}

func benchNamespace() cachedNamespace {
	return cachedNamespace{namespace: corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{
			Name: "restricted-bench", UID: "4a1b6a3e-42d7-4b2e-9f0c-5d6c2a1b7e90", ResourceVersion: "1234",
			Labels:        map[string]string{corev1.LabelMetadataName: "restricted-bench"},
			ManagedFields: []metav1.ManagedFieldsEntry{managedFields(`{"f:metadata":{"f:labels":{".":{},"f:kubernetes.io/metadata.name":{}}}}`)},
		},
		Spec:   corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}},
		Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	}}
}

func managedFields(fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: "kubectl-client-side-apply", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// podCreation is the review of a Pod of two containers that every sample admits, about
// as large as those that an API server sends.
func podCreation(b testing.TB) string {
	const fields = `{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:env":{".":{},"k:{\"name\":\"MODE\"}":{".":{},"f:name":{},"f:value":{}}},"f:ports":{".":{},"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}}},"f:resources":{".":{},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}},"f:securityContext":{".":{},"f:allowPrivilegeEscalation":{},"f:capabilities":{".":{},"f:drop":{}}},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}`
	container := func(name string) corev1.Container {
		return corev1.Container{
			Name: name, Image: "registry.k8s.io/pause:3.10", ImagePullPolicy: corev1.PullIfNotPresent,
			Ports: []corev1.ContainerPort{{Name: name, ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
			Env:   []corev1.EnvVar{{Name: "MODE", Value: "bench"}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("32Mi"),
			}},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
			VolumeMounts: []corev1.VolumeMount{{
				Name: "kube-api-access-x7k2p", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
			}},
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		}
	}
	pod := corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", Namespace: "restricted-bench", UID: "0e4a8d8a-18f9-4c86-9d55-7a7b9e0d3f11",
			Labels: map[string]string{"app": "bench", "team": "blue"},
			ManagedFields: []metav1.ManagedFieldsEntry{managedFields(`{"f:metadata":{"f:labels":{".":{},"f:app":{},"f:team":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"proxy\"}":` +
				fields + `,"k:{\"name\":\"web\"}":` + fields + `},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{".":{},"f:runAsNonRoot":{},"f:runAsUser":{},"f:seccompProfile":{".":{},"f:type":{}}},"f:terminationGracePeriodSeconds":{}}}`)},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{container("web"), container("proxy")},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(65535)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Volumes: []corev1.Volume{{Name: "kube-api-access-x7k2p", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(3607))}}},
			}}}},
			ServiceAccountName: "default", DNSPolicy: corev1.DNSClusterFirst, RestartPolicy: corev1.RestartPolicyAlways, SchedulerName: "default-scheduler",
		},
	}
	object, err := json.Marshal(pod)
	require.NoError(b, err)
	review, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "8f2b0a70-6df1-4c1a-9c62-0f4be4a5d0aa", Operation: admissionv1.Create,
			Kind:     metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
			Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
			Name:     "web", Namespace: "restricted-bench",
			UserInfo: authenticationv1.UserInfo{Username: "kubernetes-admin", Groups: []string{"system:masters", "system:authenticated"}},
			Object:   runtime.RawExtension{Raw: object},
		},
	})
	require.NoError(b, err)
	return string(review)
}
