package library.namespace_pod_security_test

import rego.v1

import data.library.namespace_pod_security
import data.library.shared.testing

fields := {violation.field | some violation in namespace_pod_security.deny}

labeled(level) := testing.object({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": level}}})

test_levels if {
	every level in ["privileged", ""] {
		count(fields) == 1 with input as labeled(level)
	}
	every level in ["baseline", "restricted"] {
		fields == set() with input as labeled(level)
	}
	count(fields) == 1 with input as testing.object({"metadata": {}})
}
