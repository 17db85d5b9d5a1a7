package gatekeeper

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// sampleFiles are the templates with their constraints, and the policies of Lintel's own.
func sampleFiles(tb testing.TB) map[string]string {
	files := map[string]string{}
	for _, pattern := range []string{"gatekeeper/*/template.yaml", "gatekeeper/*/constraint.yaml", "policies/*/*.rego"} {
		paths, err := filepath.Glob("../../config/samples/" + pattern)
		require.NoError(tb, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(tb, err)
			files[strings.TrimPrefix(path, "../../config/samples/")] = string(text)
		}
	}
	return files
}

// podReview is the creation of a Pod that the samples admit, as an API server sends it.
// What differs between the replicas of a Deployment is numbered by replica, and what
// differs between Deployments by workload.
func podReview(tb testing.TB, replica, workload int) *admission.Review {
	container := func(name string) string {
		return fmt.Sprintf(`{"name":%q,"image":"registry.example.com/%s-%d@sha256:%064d","imagePullPolicy":"IfNotPresent","env":[{"name":"MODE","value":"m%d"}],
		"ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"resources":{"limits":{"cpu":"%dm","memory":"256Mi"},"requests":{"cpu":"50m","memory":"128Mi","ephemeral-storage":"1Gi"}},
		"livenessProbe":{"httpGet":{"path":"/","port":8080}},"readinessProbe":{"httpGet":{"path":"/","port":8080}},
		"securityContext":{"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true,"runAsNonRoot":true,"runAsUser":1000,"capabilities":{"drop":["ALL"]}},
		"volumeMounts":[{"name":"kube-api-access-%05d","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],
		"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}`, name, name, workload, workload, workload, 100+workload%100, replica)
	}
	text := fmt.Sprintf(`{"uid":"u-%d-%d","operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
		"requestKind":{"group":"","version":"v1","kind":"Pod"},"name":"web-%d-%d","namespace":"shop","userInfo":{"username":"system:serviceaccount:kube-system:replicaset-controller","groups":["system:serviceaccounts"]},"dryRun":false,"oldObject":null,
		"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-%d-%d","generateName":"web-%d-","namespace":"shop","uid":"p-%d-%d","creationTimestamp":"2026-01-01T00:00:%02dZ",
		"labels":{"app":"web-%d","owner":"blue.example.com","stage":"prod","team":"blue","pod-template-hash":"%d"},"annotations":{"example.com/contact":"a@example.com","example.com/cost-centre":"1"},
		"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-%d","uid":"r-%d","controller":true}]},
		"spec":{"automountServiceAccountToken":false,"securityContext":{"runAsNonRoot":true,"runAsUser":1000,"fsGroup":1000,"seccompProfile":{"type":"RuntimeDefault"},"appArmorProfile":{"type":"RuntimeDefault"}},
		"containers":[%s,%s],"volumes":[{"name":"kube-api-access-%05d","projected":{"sources":[{"serviceAccountToken":{"path":"token"}}]}}],"serviceAccountName":"default","dnsPolicy":"ClusterFirst","restartPolicy":"Always"}}}`,
		workload, replica, workload, replica, workload, replica, workload, workload, replica, replica%60, workload, workload, workload, workload, container("web"), container("log"), replica)
	review, err := admission.NewReview([]byte(text))
	require.NoError(tb, err)
	return review
}

// BenchmarkSamples asks all samples about the creation of Pods.
func BenchmarkSamples(b *testing.B) {
	set, err := policyset.Compile(definition.Source{
		Name: "s", Files: sampleFiles(b), Parameters: []byte(`{"allowedRegistries":["registry.example.com"]}`),
	}, Dialect)
	require.NoError(b, err)
	options := engine.Options{Cluster: clusterdata.Empty(), Namespace: readNamespace(b, []byte(`{"metadata":{"name":"shop","labels":{}}}`))}
	reviews := make([]*admission.Review, 1000)
	for i := range reviews {
		reviews[i] = podReview(b, 1, i)
	}
	snapshot := engine.NewSnapshot(admission.BuiltinResources(), set)
	policies, i := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		decision := snapshot.Validate(b.Context(), reviews[i%len(reviews)], options)
		if policies = decision.Policies; !decision.Allowed() {
			b.Fatal(decision.Denials[0].Text())
		}
		i++
	}
	b.ReportMetric(float64(policies), "policies")
}
