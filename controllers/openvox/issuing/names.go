package issuing

import (
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
)

const (
	certificateLabel = "openvox.voxpupuli.org/certificate"
	// finalizer has certificates revoked before their objects go.
	finalizer = "openvox.voxpupuli.org/certificate-cleanup"

	// The controllers, which own the fields that each of them writes.
	authoritiesManager  = "lintel-openvox-authorities"
	certificatesManager = "lintel-openvox-certificates"
	initializeManager   = "lintel-openvox-internal"
	policiesManager     = "lintel-openvox-policies"
	requestsManager     = "lintel-openvox-requests"
	certManagerManager  = "lintel-openvox-certificaterequests"

	// foreignPolicyKey is where the program of another operator finds policies, and of ours
	// it must not find any: it checks far less.
	foreignPolicyKey = "autosign-policy.yaml"
)

func pendingSecret(certificate string) string { return certificate + "-tls-pending" }

func labelsOf(ca string) map[string]string {
	return map[string]string{layout.NameLabel: "openvox", layout.ManagedByLabel: layout.ManagedBy, layout.CALabel: ca}
}
