package library.foreign_affinity_test

import rego.v1

import data.library.foreign_affinity
import data.library.shared.testing

fields := {violation.field | some violation in foreign_affinity.deny}

test_terms if {
	required := {"requiredDuringSchedulingIgnoredDuringExecution": [
		{"topologyKey": "host", "namespaces": ["other"]},
		{"topologyKey": "host", "namespaces": ["shop"]},
	]}
	preferred := {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {"namespaceSelector": {}}}]}
	fields == {
		"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaces",
		"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.namespaceSelector",
	} with input as testing.pod({"affinity": {"podAffinity": required, "podAntiAffinity": preferred}})
}
