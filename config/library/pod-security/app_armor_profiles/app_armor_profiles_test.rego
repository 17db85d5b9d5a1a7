package library.app_armor_profiles_test

import rego.v1

import data.library.app_armor_profiles
import data.library.shared.testing

fields := {violation.field | some violation in app_armor_profiles.deny}

test_profiles_of_fields if {
	fields == {
		"spec.securityContext.appArmorProfile.type",
		"spec.containers[1].securityContext.appArmorProfile.type",
	} with input as testing.pod({
		"securityContext": {"appArmorProfile": {"type": "Unconfined"}},
		"containers": [
			{"name": "a", "securityContext": {"appArmorProfile": {"type": "Localhost", "localhostProfile": "a"}}},
			{"name": "b", "securityContext": {"appArmorProfile": {}}},
		],
	})
}

annotated(profile) := {"metadata": {"annotations": {
	"container.apparmor.security.beta.kubernetes.io/web": profile,
	"example.com/profile": "unconfined",
}}}

test_profiles_of_annotations if {
	every profile in ["unconfined", "runtime"] {
		count(fields) == 1 with input as testing.object(annotated(profile))
	}
	every profile in ["", "runtime/default", "localhost/web"] {
		fields == set() with input as testing.object(annotated(profile))
	}
}

test_a_change_of_the_spec if {
	new := object.union(annotated("unconfined"), {"spec": {"hostNetwork": true}})
	count(fields) == 1 with input as testing.update(new, annotated("unconfined"))
}

test_an_update_of_annotations if {
	count(fields) == 1 with input as testing.update(annotated("unconfined"), annotated("runtime/default"))
	fields == set() with input as testing.update(annotated("unconfined"), annotated("unconfined"))
}
