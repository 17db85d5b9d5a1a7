package authority

const (
	// The controllers, which own the fields that each of them writes.
	authoritiesManager = "lintel-openvox-authorities"
	initializeManager  = "lintel-openvox-internal"
	policiesManager    = "lintel-openvox-policies"
	// foreignPolicyKey is the key with the policies of another operator's program. Lintel's Secrets
	// must not have it: that program checks far less.
	foreignPolicyKey = "autosign-policy.yaml"

	// workers is the number of objects that are reconciled concurrently. Calls to CAs run
	// elsewhere.
	workers = 8
)
