package authority

const (
	// The controllers, which own the fields that each of them writes.
	authoritiesManager = "lintel-openvox-authorities"
	initializeManager  = "lintel-openvox-internal"
	policiesManager    = "lintel-openvox-policies"
	// foreignPolicyKey is where the program of another operator finds policies, and of ours
	// it must not find any: it checks far less.
	foreignPolicyKey = "autosign-policy.yaml"

	// workers is how many objects are looked at at a time; CAs are asked elsewhere.
	workers = 8
)
