# METADATA
# title: Servers can run
# custom:
#   match:
#     kinds: [{group: openvox.voxpupuli.org, version: v1alpha1, kind: Server}]
#     operations: [CREATE, UPDATE]
package openvox.server

import rego.v1

import data.openvox.image

spec := input.request.object.spec

ca if spec.ca

compiles if object.get(spec, "server", true)

autoscaled if spec.autoscaling.enabled

replicas := object.get(spec, "replicas", 1)

# The fewest that run.
fewest := object.get(spec, ["autoscaling", "minReplicas"], 1) if autoscaled

fewest := replicas if not autoscaled

deny contains {"msg": msg, "field": "metadata.name"} if {
	not regex.match(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`, input.name)
	msg := sprintf("metadata.name: %q becomes the value of a label: at most 63 of a-z, 0-9 and -", [input.name])
}

deny contains {"msg": msg, "field": "spec.server"} if {
	not ca
	not compiles
	msg := "spec.server: a server that is neither a CA nor compiles catalogs does nothing; set spec.ca or spec.server to true"
}

# The CA's data is on a volume for one at a time.
deny contains {"msg": msg, "field": "spec.replicas"} if {
	ca
	not autoscaled
	replicas > 1
	msg := sprintf("spec.replicas: there is one server of a CA, and not %d; catalogs scale by a Server without spec.ca", [replicas])
}

deny contains {"msg": msg, "field": "spec.autoscaling"} if {
	ca
	autoscaled
	msg := "spec.autoscaling: there is one server of a CA; catalogs scale by a Server without spec.ca"
}

deny contains {"msg": msg, "field": "spec.ca"} if {
	some other in input.facts.otherCAServers
	not same_ca
	msg := sprintf("spec.ca: Server %q is the CA's already, and its data is for one at a time; leave the field out, or delete that one", [other])
}

# What is stored can still be edited, or deleted.
same_ca if {
	before := input.request.oldObject.spec
	before.ca
	before.configRef == spec.configRef
}

deny contains {"msg": msg, "field": field} if {
	some i, pool in spec.poolRefs
	not regex.match(`^[a-z]([a-z0-9-]{0,56}[a-z0-9])?$`, pool)
	field := sprintf("spec.poolRefs[%d]", [i])
	msg := sprintf("%s: %q is no name of a Pool: at most 58 of a-z, 0-9 and -, beginning with a letter", [field, pool])
}

deny contains object.union(problem, {"field": sprintf("spec.image.%s", [problem.field]), "msg": sprintf("spec.image.%s", [problem.msg])}) if {
	some problem in image.problems(object.get(spec, "image", {}))
}

# Options of the JVM are on one line, as in a variable of the environment.
deny contains {"msg": msg, "field": "spec.javaArgs"} if {
	regex.match(`[\x00-\x1f\x7f]`, spec.javaArgs)
	msg := "spec.javaArgs: options are separated by spaces, and have no line breaks or other control characters"
}

mebibyte := 1048576

limit := units.parse_bytes(spec.resources.limits.memory) / mebibyte if is_string(spec.resources.limits.memory)

limit := spec.resources.limits.memory / mebibyte if is_number(spec.resources.limits.memory)

# The last one counts.
heap := megabytes(sizes[count(sizes) - 1]) if count(sizes) > 0

sizes := [size |
	some option in regex.split(`\s+`, object.get(spec, "javaArgs", ""))
	some size in regex.find_all_string_submatch_n(`^-Xmx([0-9]+)([kKmMgGtT]?)$`, option, 1)
]

megabytes([_, number, unit]) := (to_number(number) * {"": 1, "k": 1024, "m": 1048576, "g": 1073741824, "t": 1099511627776}[lower(unit)]) / mebibyte

# What openvox-operator fills in where nobody says anything is no wish.
asked if spec.javaArgs != "-Xms512m -Xmx1024m"

deny contains {"msg": msg, "field": "spec.javaArgs"} if {
	asked
	heap >= limit
	msg := sprintf("spec.javaArgs: a heap of %v MiB does not fit into the memory limit of %v MiB, of which the JVM and JRuby need some besides; leave -Xmx out for 90 %% of the limit", [floor(heap), floor(limit)])
}

least := 512

deny contains {"msg": msg, "field": "spec.resources.limits.memory"} if {
	limit < least
	msg := sprintf("spec.resources.limits.memory: a Puppet server does not start with %v MiB; it takes %d MiB to answer, and 1Gi or more to compile catalogs", [floor(limit), least])
}

warn contains msg if {
	limit >= least
	limit < 1024
	compiles
	msg := sprintf("spec.resources.limits.memory: %v MiB is little for a server that compiles catalogs; give 1Gi or more for each of spec.maxActiveInstances", [floor(limit)])
}

deny contains {"msg": msg, "field": "spec.pdb"} if {
	spec.pdb.enabled
	blocks(spec.pdb)
	fewest > 0
	msg := sprintf("spec.pdb: with as few as %d servers no node could ever be drained, for none may go; have more, or let one go by maxUnavailable: 1", [fewest])
}

blocks(pdb) if not blockable(pdb)

blockable(pdb) if {
	pdb.minAvailable
	is_number(pdb.minAvailable)
	pdb.minAvailable < fewest
}

blockable(pdb) if {
	is_string(pdb.minAvailable)
	ceil((percent(pdb.minAvailable) * fewest) / 100) < fewest
}

blockable(pdb) if {
	not has(pdb, "minAvailable")
	pdb.maxUnavailable > 0
	is_number(pdb.maxUnavailable)
}

blockable(pdb) if {
	not has(pdb, "minAvailable")
	is_string(pdb.maxUnavailable)
	percent(pdb.maxUnavailable) > 0
}

# One stays, where nothing is said.
blockable(pdb) if {
	not has(pdb, "minAvailable")
	not has(pdb, "maxUnavailable")
	fewest > 1
}

has(pdb, name) if name in object.keys(pdb)

percent(text) := to_number(trim_suffix(text, "%"))

deny contains {"msg": msg, "field": sprintf("spec.pdb.%s", [name])} if {
	some name in ["minAvailable", "maxUnavailable"]
	value := spec.pdb[name]
	not amount(value)
	msg := sprintf("spec.pdb.%s: %v is neither a number of Pods nor a percentage such as 50%%", [name, value])
}

amount(value) if {
	is_number(value)
	value >= 0
}

amount(value) if {
	is_string(value)
	regex.match(`^(?:[0-9]{1,2}|100)%$`, value)
}

# The load is measured by what is requested.
warn contains "spec.autoscaling: without spec.resources.requests.cpu nothing is scaled, for the load is a share of it" if {
	autoscaled
	not spec.resources.requests.cpu
	not spec.resources.limits.cpu
}
