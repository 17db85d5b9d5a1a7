package openvox.database_test

import rego.v1

import data.openvox.database

denials(spec) := {denial.field | some denial in found} if found := database.deny with input as named("db", spec)

warnings(spec) := count(found) if found := database.warn with input as named("db", spec)

named(name, spec) := {"name": name, "request": {"operation": "CREATE", "object": {"spec": object.union({"certificateRef": "c", "postgres": postgres({})}, spec)}}}

postgres(more) := object.union({"host": "pg.example.com", "credentialsSecretRef": "s", "sslMode": "verify-full"}, more)

test_database if {
	denials({}) == set()
	warnings({}) == 0
	every name in ["A", "a.b", "1a", "main-internal", "a2345678901234567890123456789012345678901234567890123"] {
		found := database.deny with input as named(name, {})
		{denial.field | some denial in found} == {"metadata.name"}
	}
	denials({"allowedCertnames": ["board.example.com", "*.example.com", "A"]}) == {"spec.allowedCertnames[1]", "spec.allowedCertnames[2]"}
	denials({"image": {"repository": "https://x", "tag": "a/b"}}) == {"spec.image.repository", "spec.image.tag"}
}

test_postgres if {
	every host in ["10.0.0.1", "pg", "fd00::1", "a_b.c"] {
		denials({"postgres": postgres({"host": host})}) == set()
	}
	every host in ["pg:5432", "pg/x", "https://pg", "a b", "pg?sslmode=disable", "-a", "::g"] {
		denials({"postgres": postgres({"host": host})}) == {"spec.postgres.host"}
	}
	denials({"postgres": postgres({"database": "a/b?c"})}) == {"spec.postgres.database"}
	denials({"postgres": postgres({"sslMode": "disable", "caSecretRef": {"name": "a", "key": "b"}})}) == {"spec.postgres.caSecretRef"}
	warnings({"postgres": postgres({"sslMode": "disable"})}) == 1
	warnings({"postgres": postgres({"sslMode": "prefer", "caSecretRef": {"name": "a", "key": "b"}})}) == 2
	warnings({"postgres": postgres({"sslMode": "require", "caSecretRef": {"name": "a", "key": "b"}})}) == 0
}

test_pods if {
	denials({"javaArgs": "-Xmx1g\n-Dx=y"}) == {"spec.javaArgs"}
	denials({"javaArgs": "-Xmx=1g"}) == {"spec.javaArgs"}
	denials({"javaArgs": "-Xmx1g", "resources": {"limits": {"memory": "1Gi"}}}) == {"spec.javaArgs"}
	denials({"javaArgs": "-Xmx600m", "resources": {"limits": {"memory": "1Gi"}}}) == set()
	denials({"resources": {"limits": {"memory": "256Mi"}}}) == {"spec.resources.limits.memory"}
	denials({"pdb": {"enabled": true}}) == set()
	warnings({"pdb": {"enabled": true}}) == 1
	warnings({"pdb": {"enabled": true}, "replicas": 2}) == 0
	denials({"pdb": {"enabled": true}, "replicas": 2}) == set()
	denials({"pdb": {"enabled": true, "maxUnavailable": "x"}, "replicas": 2}) == {"spec.pdb.maxUnavailable"}
}
