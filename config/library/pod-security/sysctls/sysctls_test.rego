package library.sysctls_test

import rego.v1

import data.library.shared.testing
import data.library.sysctls

fields := {violation.field | some violation in sysctls.deny}

test_sysctls_that_are_not_safe if {
	fields == {"spec.securityContext.sysctls[1].name"} with input as testing.pod({"securityContext": {"sysctls": [
		{"name": "net.ipv4.tcp_syncookies", "value": "1"},
		{"name": "kernel.msgmax", "value": "1"},
	]}})
}
