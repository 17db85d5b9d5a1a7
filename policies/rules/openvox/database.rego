# METADATA
# title: Databases can run
# custom:
#   match:
#     kinds: [{group: openvox.voxpupuli.org, version: v1alpha1, kind: Database}]
#     operations: [CREATE, UPDATE]
package openvox.database

import rego.v1

import data.openvox.extras
import data.openvox.image
import data.openvox.workload

spec := input.request.object.spec

postgres := spec.postgres

# It is the name of a Service, and its Pods have it in a label with a number behind it.
deny contains {"msg": msg, "field": "metadata.name"} if {
	not regex.match(`^[a-z]([a-z0-9-]{0,50}[a-z0-9])?$`, input.name)
	msg := sprintf("metadata.name: %q becomes the name of a Service and part of a label: at most 52 of a-z, 0-9 and -, beginning with a letter", [input.name])
}

deny contains {"msg": msg, "field": "metadata.name"} if {
	endswith(input.name, "-internal")
	msg := sprintf("metadata.name: %q is the name of a CA's Service, or may become one; take another", [input.name])
}

deny contains {"msg": msg, "field": "spec.postgres.host"} if {
	not host(postgres.host)
	msg := sprintf("spec.postgres.host: %q is neither a host name nor an IP address; the port and the database have fields of their own", [postgres.host])
}

host(text) if regex.match(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`, text)

host(text) if {
	contains(text, ":")
	net.cidr_is_valid(sprintf("%s/128", [text]))
}

deny contains {"msg": msg, "field": "spec.postgres.database"} if {
	name := object.get(postgres, "database", "openvoxdb")
	not regex.match(`^[A-Za-z_][A-Za-z0-9_$-]*$`, name)
	msg := sprintf("spec.postgres.database: %q is not a name of a database; begin with a letter or _, and go on with these, digits, $ and -", [name])
}

ssl_mode := object.get(postgres, "sslMode", "require")

deny contains {"msg": msg, "field": "spec.postgres.caSecretRef"} if {
	postgres.caSecretRef
	ssl_mode == "disable"
	msg := "spec.postgres.caSecretRef: sslMode disable verifies no certificate; set it to verify-full, or leave the field out"
}

# The field is ignored, which a user who sets it does not expect.
warn contains msg if {
	postgres.caSecretRef
	ssl_mode in {"allow", "prefer"}
	msg := sprintf("spec.postgres.caSecretRef has no effect with sslMode %s; set it to verify-full", [ssl_mode])
}

warn contains msg if {
	ssl_mode in {"disable", "allow", "prefer"}
	msg := sprintf("spec.postgres.sslMode: with %s the password and all data of nodes may be sent as plain text: a third party on the network can read it; set it to verify-full", [ssl_mode])
}

deny contains {"msg": msg, "field": field} if {
	some i, name in spec.allowedCertnames
	not regex.match(`^[a-z0-9._-]+$`, name)
	field := sprintf("spec.allowedCertnames[%d]", [i])
	msg := sprintf("%s: %q is not a certname; it has a-z, 0-9, ., _ and - only, and no patterns", [field, name])
}

deny contains object.union(problem, {"field": sprintf("spec.image.%s", [problem.field]), "msg": sprintf("spec.image.%s", [problem.msg])}) if {
	some problem in image.problems(object.get(spec, "image", {}))
}

deny contains workload.one_line if workload.lines(spec)

deny contains problem if some problem in workload.option_problems(spec)

limit := workload.limit(spec)

deny contains {"msg": msg, "field": "spec.javaArgs"} if {
	workload.asked(spec)
	workload.heap(spec) >= limit
	msg := sprintf("spec.javaArgs: a heap of %v MiB does not fit into the memory limit of %v MiB, of which the JVM needs a part; leave -Xmx out for 60 %% of the limit", [floor(workload.heap(spec)), floor(limit)])
}

least := 512

deny contains {"msg": msg, "field": "spec.resources.limits.memory"} if {
	limit < least
	msg := sprintf("spec.resources.limits.memory: an OpenVox DB does not start with %v MiB; give %d MiB or more", [floor(limit), least])
}

deny contains problem if some problem in workload.amounts(spec)

warn contains msg if some msg in workload.blocking(spec, object.get(spec, "replicas", 1))

deny contains problem if some problem in extras.security_problems(spec)
