# METADATA
# title: Servers can run
# custom:
#   match:
#     kinds: [{group: openvox.voxpupuli.org, version: v1alpha1, kind: Server}]
#     operations: [CREATE, UPDATE]
package openvox.server

import rego.v1

import data.openvox.code
import data.openvox.extras
import data.openvox.image
import data.openvox.workload

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

# A stored object can still be edited, or deleted.
same_ca if {
	before := input.request.oldObject.spec
	before.ca
	before.configRef == spec.configRef
}

deny contains {"msg": msg, "field": field} if {
	some i, pool in spec.poolRefs
	not regex.match(`^[a-z]([a-z0-9-]{0,56}[a-z0-9])?$`, pool)
	field := sprintf("spec.poolRefs[%d]", [i])
	msg := sprintf("%s: %q is not a name of a Pool: at most 58 of a-z, 0-9 and -, beginning with a letter", [field, pool])
}

deny contains object.union(problem, {"field": sprintf("spec.image.%s", [problem.field]), "msg": sprintf("spec.image.%s", [problem.msg])}) if {
	some problem in image.problems(object.get(spec, "image", {}))
}

deny contains workload.one_line if workload.lines(spec)

deny contains problem if some problem in workload.option_problems(spec)

deny contains {"msg": msg, "field": "spec.javaArgs"} if {
	workload.asked(spec)
	workload.heap(spec) >= limit
	msg := sprintf("spec.javaArgs: a heap of %v MiB does not fit into the memory limit of %v MiB, of which the JVM and JRuby need a part; leave -Xmx out for 90 %% of the limit", [floor(workload.heap(spec)), floor(limit)])
}

limit := workload.limit(spec)

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

deny contains problem if some problem in workload.amounts(spec)

warn contains msg if some msg in workload.blocking(spec, fewest)

# The load is measured in relation to the request.
warn contains "spec.autoscaling: without spec.resources.requests.cpu nothing is scaled, for the load is a share of it" if {
	autoscaled
	not spec.resources.requests.cpu
	not spec.resources.limits.cpu
}

deny contains problem if some problem in extras.problems(spec, facts)

default facts := {}

facts := input.facts

# The folder of environments is the Config's: sources of environments are only compared with
# each other.
deny contains problem if {
	not code.unchanged
	some problem in code.problems(spec, "")
}
