package admission

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/terms"
)

// MaintenanceRule describes requests by which Kubernetes itself deletes objects: the content
// of namespaces, dependents of deleted owners, and Pods of nodes. Policies of scopes below
// the enterprise are not evaluated for them. A user is one that the API server has
// authenticated: a tenant has none of these names and groups, and only administrators
// permit impersonation.
type MaintenanceRule struct {
	// Users and Groups are those of the requesting user, of which one is enough; any user if
	// both are empty.
	Users, Groups []string
	// Operation is the one that the rule is about; any if empty.
	Operation string
	// Pods limits the rule to Pods and, if SubResource is set, to that subresource.
	Pods        bool
	SubResource string
	// Nodes adds users who may update or patch nodes. Only the API server can tell, which
	// does not call the entries of scopes for them: see webhooks/registration.
	Nodes bool
}

const (
	// controllerManager is the user of all controllers of Kubernetes in clusters without
	// --use-service-account-credentials.
	controllerManager = "system:kube-controller-manager"
	ofKubernetes      = "system:serviceaccount:kube-system:"
)

// podDeleters are the users that delete Pods for the sake of nodes and other Pods.
var podDeleters = []string{
	"system:kube-scheduler",
	ofKubernetes + "device-taint-eviction-controller",
	ofKubernetes + "node-controller",
	ofKubernetes + "pod-garbage-collector",
	ofKubernetes + "taint-eviction-controller",
	controllerManager,
}

// kubelets delete the Pods of their node once the containers have ended.
var kubelets = []string{"system:nodes"}

// drainers evict Pods from nodes: administrators, kubelets, and controllers in kube-system such
// as cluster autoscalers.
var drainers = []string{"system:masters", "system:nodes", "system:serviceaccounts:kube-system"}

// AllMaintenanceRules are all rules that depend on the request without its object.
var AllMaintenanceRules = []MaintenanceRule{
	{Users: []string{ofKubernetes + "generic-garbage-collector", ofKubernetes + "namespace-controller"}},
	// This user creates and updates for all other controllers, too: policies see that.
	{Users: []string{controllerManager}, Operation: "DELETE"},
	{Users: podDeleters, Groups: drainers, Nodes: true, Operation: "CREATE", Pods: true, SubResource: "eviction"},
	{Users: podDeleters, Groups: kubelets, Operation: "DELETE", Pods: true},
	// They record the reason in the status of a Pod before they delete it.
	{Users: podDeleters, Groups: kubelets, Operation: "UPDATE", Pods: true, SubResource: "status"},
}

// IsMaintenance reports whether one of AllMaintenanceRules is about a review, or the
// controller manager changes only finalizers and owner references, as the garbage collector
// does.
func (r *Review) IsMaintenance() bool {
	for i := range AllMaintenanceRules {
		if AllMaintenanceRules[i].matches(r) {
			return true
		}
	}
	return r.Username == controllerManager && r.SubResource == "" && r.ChangesOnly("finalizers", "ownerReferences")
}

func (m *MaintenanceRule) matches(r *Review) bool {
	switch {
	case m.Operation != "" && m.Operation != r.Operation:
		return false
	case m.Pods && (r.Resource.Group != "" || r.Resource.Resource != "pods" || r.SubResource != m.SubResource):
		return false
	case len(m.Users)+len(m.Groups) == 0 || slices.Contains(m.Users, r.Username):
		return true
	}
	return slices.ContainsFunc(terms.StringList(terms.Lookup(r.userInfo, "groups")), func(group string) bool { return slices.Contains(m.Groups, group) })
}

// ChangesOnly reports whether an UPDATE changes only fields of metadata and the fields that the
// API server itself changes with every write.
func (r *Review) ChangesOnly(fields ...string) bool {
	if r.Operation != "UPDATE" || r.New == nil || r.Old == nil {
		return false
	}
	without := func(object ast.Object) ast.Value {
		metadata, _ := terms.Lookup(object, "metadata").(ast.Object)
		if metadata == nil {
			return object
		}
		for _, field := range slices.Concat(fields, []string{"managedFields", "resourceVersion", "generation"}) {
			metadata = terms.Without(metadata, field)
		}
		return terms.With(object, "metadata", ast.NewTerm(metadata))
	}
	return without(r.Old.Value()).Compare(without(r.New.Value())) == 0
}
