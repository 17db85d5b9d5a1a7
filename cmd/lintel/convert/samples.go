package convert

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func kindOf(object map[string]any) schema.GroupVersionKind {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// samples are objects of the kinds that most policies are about, for policies without tests of
// their own.
func samples(policy map[string]any) (out []map[string]any) {
	texts := strings.Join(textsOf(policy["spec"]), " ") + " " + strings.Join(namedKinds(policy["spec"]), " ")
	if !strings.Contains(texts, "Pod") && !strings.Contains(texts, "Deployment") && !strings.Contains(texts, "*") {
		return nil
	}
	container := func(name string) map[string]any {
		return map[string]any{
			"name": name, "image": "registry.example.com/app:1.2", "imagePullPolicy": "IfNotPresent",
			"ports": []any{map[string]any{"containerPort": float64(8080), "hostPort": float64(80), "protocol": "TCP"}},
			"securityContext": map[string]any{
				"privileged": true, "runAsNonRoot": true, "runAsUser": float64(1000), "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
				"capabilities": map[string]any{"drop": []any{"ALL"}, "add": []any{"NET_BIND_SERVICE"}}, "seccompProfile": map[string]any{"type": "RuntimeDefault"}, "procMount": "Default",
			},
			"resources":      map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "64Mi"}, "limits": map[string]any{"cpu": float64(1), "memory": "128Mi"}},
			"livenessProbe":  map[string]any{"httpGet": map[string]any{"path": "/", "port": float64(8080)}, "periodSeconds": float64(10)},
			"readinessProbe": map[string]any{"tcpSocket": map[string]any{"port": float64(8080)}, "periodSeconds": float64(10)},
			"env":            []any{map[string]any{"name": "A", "value": "b"}},
			"volumeMounts":   []any{map[string]any{"name": "data", "mountPath": "/data"}},
		}
	}
	spec := map[string]any{
		"hostNetwork": false, "hostPID": false, "automountServiceAccountToken": false, "serviceAccountName": "app", "priorityClassName": "high",
		"containers": []any{container("app"), map[string]any{"name": "bare", "image": "nginx"}}, "initContainers": []any{container("init")},
		"securityContext": map[string]any{"runAsNonRoot": true, "runAsUser": float64(1000), "fsGroup": float64(2000), "supplementalGroups": []any{float64(150)}, "sysctls": []any{map[string]any{"name": "kernel.shm_rmid_forced", "value": "1"}}},
		"volumes":         []any{map[string]any{"name": "data", "emptyDir": map[string]any{}}, map[string]any{"name": "host", "hostPath": map[string]any{"path": "/var/run/docker.sock"}}},
		"tolerations":     []any{map[string]any{"key": "k", "operator": "Exists"}},
		"nodeSelector":    map[string]any{"disk": "ssd"},
	}
	metadata := func(name string) map[string]any {
		return map[string]any{"name": name, "namespace": "team-a", "labels": map[string]any{"app": "web", "app.kubernetes.io/name": "web"}, "annotations": map[string]any{"example.com/a": "b"}}
	}
	template := map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}, "annotations": map[string]any{"example.com/a": "b"}}, "spec": spec}
	out = append(out, map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata("sample"), "spec": clone(spec)})
	out = append(out, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata("sample"), "spec": map[string]any{"replicas": float64(2), "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": clone(template)}})
	return append(out, map[string]any{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata("sample"), "spec": map[string]any{"schedule": "0 * * * *", "jobTemplate": map[string]any{"spec": map[string]any{"template": clone(template)}}}})
}

// namedKinds are the kinds that a policy names.
func namedKinds(value any) (out []string) {
	switch typed := value.(type) {
	case map[string]any:
		for key, one := range typed {
			if list, ok := one.([]any); ok && key == "kinds" {
				for _, kind := range list {
					if text, ok := kind.(string); ok {
						out = append(out, text)
					}
				}
			}
			out = append(out, namedKinds(one)...)
		}
	case []any:
		for _, one := range typed {
			out = append(out, namedKinds(one)...)
		}
	}
	return out
}
