package admission

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMaintenance(t *testing.T) {
	const (
		collector = ofKubernetes + "generic-garbage-collector"
		namespace = ofKubernetes + "namespace-controller"
		podGC     = ofKubernetes + "pod-garbage-collector"
		replicas  = ofKubernetes + "replicaset-controller"
		tenant    = "system:serviceaccount:shop:namespace-controller"
		object    = `{"metadata": {"name": "a", "ownerReferences": [{"uid": "1"}]}, "data": {"k": "v"}}`
		orphaned  = `{"metadata": {"name": "a", "resourceVersion": "2"}, "data": {"k": "v"}}`
		changed   = `{"metadata": {"name": "a"}, "data": {"k": "w"}}`
		relabeled = `{"metadata": {"name": "a", "labels": {"a": "b"}, "ownerReferences": [{"uid": "1"}]}, "data": {"k": "v"}}`
	)
	for name, c := range map[string]struct {
		user, group, operation, resource, subresource string
		old, new                                      string
		want                                          bool
	}{
		"the namespace controller":              {namespace, "", "DELETE", "configmaps", "", object, "null", true},
		"the garbage collector":                 {collector, "", "DELETE", "configmaps", "", object, "null", true},
		"its orphans":                           {collector, "", "UPDATE", "configmaps", "", object, orphaned, true},
		"a ServiceAccount of that name":         {tenant, "system:serviceaccounts:shop", "DELETE", "configmaps", "", object, "null", false},
		"an administrator":                      {"admin", "system:masters", "DELETE", "configmaps", "", object, "null", false},
		"no user":                               {"", "", "DELETE", "configmaps", "", object, "null", false},
		"all controllers in one, deleting":      {controllerManager, "", "DELETE", "configmaps", "", object, "null", true},
		"all controllers in one, orphaning":     {controllerManager, "", "UPDATE", "configmaps", "", object, orphaned, true},
		"all controllers in one, changing":      {controllerManager, "", "UPDATE", "configmaps", "", object, changed, false},
		"all controllers in one, labels":        {controllerManager, "", "UPDATE", "configmaps", "", object, relabeled, false},
		"all controllers in one, creating Pods": {controllerManager, "", "CREATE", "pods", "", "null", object, false},
		"orphans, by a user":                    {"jane", "", "UPDATE", "configmaps", "", object, orphaned, false},
		"an eviction by a tenant":               {"jane", "system:authenticated", "CREATE", "pods", "eviction", "null", object, false},
		"an eviction by a tenant's Pod":         {tenant, "system:serviceaccounts:shop", "CREATE", "pods", "eviction", "null", object, false},
		"an eviction by an administrator":       {"admin", "system:masters", "CREATE", "pods", "eviction", "null", object, true},
		"an eviction by an autoscaler":          {ofKubernetes + "cluster-autoscaler", "system:serviceaccounts:kube-system", "CREATE", "pods", "eviction", "null", object, true},
		"an eviction by a kubelet":              {"system:node:n", "system:nodes", "CREATE", "pods", "eviction", "null", object, true},
		"another subresource":                   {"jane", "", "CREATE", "pods", "binding", "null", object, false},
		"a deletion of a Pod":                   {"jane", "", "DELETE", "pods", "", object, "null", false},
		"by a kubelet":                          {"system:node:n", "system:nodes", "DELETE", "pods", "", object, "null", true},
		"by a kubelet's status":                 {"system:node:n", "system:nodes", "UPDATE", "pods", "status", object, changed, true},
		"a kubelet's mirror Pod":                {"system:node:n", "system:nodes", "CREATE", "pods", "", "null", object, false},
		"a kubelet's other objects":             {"system:node:n", "system:nodes", "DELETE", "configmaps", "", object, "null", false},
		"the name of a node without its group":  {"system:node:n", "", "DELETE", "pods", "", object, "null", false},
		"by the garbage collector of Pods":      {podGC, "", "DELETE", "pods", "", object, "null", true},
		"a preemption":                          {"system:kube-scheduler", "", "DELETE", "pods", "", object, "null", true},
		"another controller":                    {replicas, "system:serviceaccounts:kube-system", "DELETE", "pods", "", object, "null", false},
	} {
		t.Run(name, func(t *testing.T) {
			review, err := NewReview(fmt.Appendf(nil, `{"uid": "1", "kind": {"version": "v1", "kind": "Any"}, "resource": {"version": "v1", "resource": %q}, "subResource": %q, "operation": %q,
				"namespace": "shop", "userInfo": {"username": %q, "groups": [%q]}, "object": %s, "oldObject": %s}`, c.resource, c.subresource, c.operation, c.user, c.group, c.new, c.old))
			require.NoError(t, err)
			require.Equal(t, c.want, review.IsMaintenance())
		})
	}
}
