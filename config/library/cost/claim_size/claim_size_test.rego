package library.claim_size_test

import rego.v1

import data.library.claim_size
import data.library.shared.testing

fields := {violation.field | some violation in claim_size.deny}

claim(storage) := {"resources": {"requests": {"storage": storage}}}

test_claims if {
	fields == {"spec.resources.requests.storage"} with input as testing.object({"kind": "PersistentVolumeClaim", "spec": claim("1Ti")})
	fields == set() with input as testing.object({"kind": "PersistentVolumeClaim", "spec": claim("100Gi")})
	fields == {"spec.volumeClaimTemplates[1].spec.resources.requests.storage"} with input as testing.object({
		"kind": "StatefulSet",
		"spec": {"volumeClaimTemplates": [{"spec": claim("1Gi")}, {"spec": claim("200Gi")}]},
	})
}
