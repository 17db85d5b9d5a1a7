package library_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/library"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// compliant are objects that comply with all policies at the same time.
const compliant = `
apiVersion: v1
kind: Namespace
metadata:
  name: shop
  labels:
    team: shop
    pod-security.kubernetes.io/enforce: restricted
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web, cost-center: "4711"}
    spec: &pod
      automountServiceAccountToken: false
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        runAsGroup: 1000
        fsGroup: 1000
        seccompProfile: {type: RuntimeDefault}
      containers:
        - name: web
          image: registry.k8s.io/web@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
          ports: [{containerPort: 8080}]
          readinessProbe: {httpGet: {port: 8080}}
          env: [{name: PASSWORD_FILE, value: /etc/database/password}]
          resources:
            requests: {cpu: 100m, memory: 128Mi}
            limits: {memory: 256Mi, ephemeral-storage: 1Gi}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          volumeMounts: [{name: database, mountPath: /etc/database}]
      volumes:
        - name: database
          secret: {secretName: database}
        - name: cache
          emptyDir: {sizeLimit: 1Gi}
---
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web, cost-center: "4711"}
spec: *pod
---
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  selector: {app: web}
  ports: [{port: 443, targetPort: 8443}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
spec:
  ingressClassName: public
  tls: [{hosts: [web.example.com], secretName: web-tls}]
  rules:
    - host: web.example.com
      http:
        paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 443}}}}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: web
spec:
  podSelector: {}
  policyTypes: [Ingress, Egress]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: web
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: web
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects: [{kind: ServiceAccount, name: web, namespace: shop}]
---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: report
spec:
  schedule: 0 3 * * *
  concurrencyPolicy: Forbid
  jobTemplate:
    spec:
      activeDeadlineSeconds: 3600
      ttlSecondsAfterFinished: 3600
      template:
        metadata:
          labels: {cost-center: "4711"}
        spec: *pod
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 10Gi}}
`

// whole is the whole library as one source.
func whole(t *testing.T) one {
	t.Helper()
	l := read(t)
	selected, err := l.Select(l.Names()...)
	require.NoError(t, err)
	set, err := policyset.Compile(definition.Source{Name: "library", Files: selected.Files})
	require.NoError(t, err)
	return one{snapshot: engine.NewSnapshot(admission.BuiltinResources(), set)}
}

// TestBundlesFitTogether: an object can comply with all policies, so that users can install
// several bundles.
func TestBundlesFitTogether(t *testing.T) {
	t.Parallel()
	library := whole(t)
	reviewed := map[string]bool{}
	for document := range strings.SplitSeq(withAnchors(compliant), "\n---\n") {
		var object map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(document), &object))
		decision := library.create(t, object)
		assert.Empty(t, decision.Denials, object["kind"])
		assert.Empty(t, decision.Warnings, object["kind"])
		assert.Positive(t, decision.Policies, object["kind"])
		reviewed[object["kind"].(string)] = true
	}
	assert.Len(t, slices.Collect(maps.Keys(reviewed)), 10)
}

// withAnchors replaces the alias of the Pod's spec, which YAML limits to one document.
func withAnchors(text string) string {
	_, rest, _ := strings.Cut(text, "    spec: &pod\n")
	spec, _, _ := strings.Cut(rest, "\n---\n")
	const indent = "      "
	text = strings.ReplaceAll(text, "spec: &pod", "spec:")
	text = strings.ReplaceAll(text, "\nspec: *pod", "\nspec:\n"+strings.TrimPrefix(strings.ReplaceAll("\n"+spec, "\n"+indent, "\n  "), "\n"))
	return strings.ReplaceAll(text, "        spec: *pod", "        spec:\n"+strings.TrimPrefix(strings.ReplaceAll("\n"+spec, "\n"+indent, "\n"+indent+"    "), "\n"))
}

// TestPodsOlderThanAPolicy: a controller can start a Pod that violates policies, by removing its
// scheduling gates. Other changes of its spec, and ephemeral containers, are reviewed.
func TestPodsOlderThanAPolicy(t *testing.T) {
	t.Parallel()
	library := whole(t)
	pod := func(change func(spec map[string]any)) map[string]any {
		spec := map[string]any{
			"hostNetwork":     true,
			"schedulingGates": []any{map[string]any{"name": "queue"}},
			"containers":      []any{map[string]any{"name": "web", "image": "web"}},
		}
		change(spec)
		return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "web"}, "spec": spec}
	}
	old := pod(func(map[string]any) {})
	update := func(object map[string]any, subresource string) map[string]any {
		return map[string]any{"operation": "UPDATE", "object": object, "oldObject": old, "subResource": subresource}
	}
	ready := pod(func(spec map[string]any) { delete(spec, "schedulingGates") })
	assert.Empty(t, library.review(t, old, update(ready, "")).Denials)
	image := pod(func(spec map[string]any) { spec["containers"] = []any{map[string]any{"name": "web", "image": "other"}} })
	assert.NotEmpty(t, library.review(t, old, update(image, "")).Denials)
	debugged := pod(func(spec map[string]any) {
		spec["ephemeralContainers"] = []any{map[string]any{"name": "debug", "securityContext": map[string]any{"privileged": true}}}
	})
	denials := library.review(t, old, update(debugged, "ephemeralcontainers")).Denials
	assert.True(t, slices.ContainsFunc(denials, func(f engine.Finding) bool {
		return f.Policy == "library.privileged_containers" && strings.HasPrefix(f.Field, "spec.ephemeralContainers[0]")
	}), denials)
}

// TestScale: replicas are limited when a user scales a Deployment, too.
func TestScale(t *testing.T) {
	t.Parallel()
	policy := one{Policy: library.Policy{Name: "replicas_maximum"}, snapshot: snapshotOf(t, read(t), "replicas_maximum")}
	scale := func(replicas int) map[string]any {
		return map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": map[string]any{"name": "web"}, "spec": map[string]any{"replicas": replicas}}
	}
	deployment := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"}}
	for replicas, want := range map[int]int{20: 0, 21: 1} {
		decision := policy.review(t, deployment, map[string]any{
			"operation": "UPDATE", "subResource": "scale", "object": scale(replicas), "oldObject": scale(1),
			"kind":            map[string]any{"group": "autoscaling", "version": "v1", "kind": "Scale"},
			"requestKind":     map[string]any{"group": "autoscaling", "version": "v1", "kind": "Scale"},
			"requestResource": map[string]any{"group": "apps", "version": "v1", "resource": "deployments"},
		})
		assert.Len(t, decision.Denials, want)
		assert.Equal(t, 1, decision.Policies)
	}
}
