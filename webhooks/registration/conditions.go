package registration

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

// conditionNotAPIServer holds for every entry: on start the API server writes its
// own objects over loopback, before any webhook can answer.
var conditionNotAPIServer = admissionregistrationv1.MatchCondition{
	Name:       "not-the-api-server",
	Expression: `request.userInfo.username != "system:apiserver"`,
}

// policyConditions keep the requests that a cluster needs to come up, or to answer
// at all, away from user policies.
//
// They are asked about policies themselves only by those that name them: one that is
// about every kind could else refuse its own repair.
//
// Only the last reads the object, which is null on DELETE and CONNECT; a condition that errs
// would deny, so every step to the field is guarded. The signer of a CertificateSigningRequest
// cannot change, so either object has it.
func policyConditions(policies []engine.PolicyInfo) []admissionregistrationv1.MatchCondition {
	return slices.Concat([]admissionregistrationv1.MatchCondition{conditionNotAPIServer}, conditionsOfPolicy(policies), conditionsOfScopes(policies), []admissionregistrationv1.MatchCondition{
		{
			Name:       "not-access-reviews",
			Expression: `!(request.resource.group in ["authentication.k8s.io", "authorization.k8s.io"])`,
		},
		{
			Name:       "not-leases",
			Expression: `!(request.resource.group == "coordination.k8s.io" && request.resource.resource == "leases")`,
		},
		{
			Name:       "not-events",
			Expression: `!(request.resource.group in ["", "events.k8s.io"] && request.resource.resource == "events")`,
		},
		{
			Name:       "not-nodes",
			Expression: `!(request.resource.group == "" && request.resource.resource == "nodes")`,
		},
		{
			Name: "not-kubernetes-signers",
			Expression: `!(request.resource.group == "certificates.k8s.io" && ` +
				`request.resource.resource == "certificatesigningrequests" && (` +
				kubernetesSigner("object") + ` || ` + kubernetesSigner("oldObject") + `))`,
		},
	})
}

// conditionsOfPolicy are about writes of policies themselves.
func conditionsOfPolicy(policies []engine.PolicyInfo) []admissionregistrationv1.MatchCondition {
	names := func(policy engine.PolicyInfo) bool { return policy.Match.NamesGroup(definition.PolicyGroup) }
	if !slices.ContainsFunc(policies, names) {
		return []admissionregistrationv1.MatchCondition{{
			Name:       "not-policy",
			Expression: `request.resource.group != "policy.lintel.dev"`,
		}}
	}
	return []admissionregistrationv1.MatchCondition{
		{
			// Otherwise a policy that denies everything could not be removed.
			Name:       "not-the-removal-of-policy",
			Expression: `!(request.resource.group == "policy.lintel.dev" && request.operation == "DELETE")`,
		},
		{
			// Nor would anybody learn that it is live.
			Name:       "not-the-status-of-policy",
			Expression: `!(request.resource.group == "policy.lintel.dev" && has(request.subResource) && request.subResource == "status")`,
		},
	}
}

// conditionsOfScopes keep the requests by which Kubernetes deletes objects away from the
// entries of scopes below the enterprise: a namespace of a team is deleted also while Lintel
// is down.
func conditionsOfScopes(policies []engine.PolicyInfo) []admissionregistrationv1.MatchCondition {
	ofEnterprise := func(policy engine.PolicyInfo) bool { return !policy.Follows }
	if len(policies) == 0 || slices.ContainsFunc(policies, ofEnterprise) {
		return nil
	}
	var rules []string
	for _, rule := range admission.AllMaintenanceRules {
		rules = append(rules, maintenanceExpression(rule))
	}
	return []admissionregistrationv1.MatchCondition{{Name: "not-maintenance", Expression: "!(" + strings.Join(rules, " || ") + ")"}}
}

// maintenanceExpression is a rule in CEL.
func maintenanceExpression(rule admission.MaintenanceRule) string {
	var all, user []string
	if rule.Operation != "" {
		all = append(all, fmt.Sprintf("request.operation == %q", rule.Operation))
	}
	if rule.Pods {
		subresource := fmt.Sprintf("has(request.subResource) && request.subResource == %q", rule.SubResource)
		if rule.SubResource == "" {
			subresource = `(!has(request.subResource) || request.subResource == "")`
		}
		all = append(all, `request.resource.group == ""`, `request.resource.resource == "pods"`, subresource)
	}
	if len(rule.Users) > 0 {
		user = append(user, "request.userInfo.username in "+celList(rule.Users))
	}
	if len(rule.Groups) > 0 {
		user = append(user, "has(request.userInfo.groups) && request.userInfo.groups.exists(group, group in "+celList(rule.Groups)+")")
	}
	if rule.Nodes {
		for _, verb := range []string{"update", "patch"} {
			user = append(user, fmt.Sprintf(`authorizer.group("").resource("nodes").check(%q).allowed()`, verb))
		}
	}
	if len(user) > 0 {
		all = append(all, "("+strings.Join(user, " || ")+")")
	}
	return "(" + strings.Join(all, " && ") + ")"
}

func celList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func kubernetesSigner(variable string) string {
	return `(` + variable + ` != null && has(` + variable + `.spec) && has(` + variable + `.spec.signerName) && ` +
		variable + `.spec.signerName.startsWith("kubernetes.io/"))`
}
