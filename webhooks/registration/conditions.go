package registration

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

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
// Only the last reads the object, which is null on DELETE and CONNECT; a condition
// that errs would deny, so every step to the field is guarded. The signer of a
// CertificateSigningRequest cannot change, so either object tells it.
func policyConditions(policies []engine.PolicyInfo) []admissionregistrationv1.MatchCondition {
	return slices.Concat([]admissionregistrationv1.MatchCondition{conditionNotAPIServer}, conditionsOfPolicy(policies), []admissionregistrationv1.MatchCondition{
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
			// Else a policy that denies everything could not be taken away.
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

func kubernetesSigner(variable string) string {
	return `(` + variable + ` != null && has(` + variable + `.spec) && has(` + variable + `.spec.signerName) && ` +
		variable + `.spec.signerName.startsWith("kubernetes.io/"))`
}
