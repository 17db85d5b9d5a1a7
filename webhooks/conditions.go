package webhooks

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
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
// Only the last reads the object, which is null on DELETE and CONNECT; a condition
// that errs would deny, so every step to the field is guarded. The signer of a
// CertificateSigningRequest cannot change, so either object tells it.
func policyConditions() []admissionregistrationv1.MatchCondition {
	return []admissionregistrationv1.MatchCondition{
		conditionNotAPIServer,
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
	}
}

func kubernetesSigner(variable string) string {
	return `(` + variable + ` != null && has(` + variable + `.spec) && has(` + variable + `.spec.signerName) && ` +
		variable + `.spec.signerName.startsWith("kubernetes.io/"))`
}
