# METADATA
# title: Pods with a JVM
# description: Rules that Servers and Databases have in common.
package openvox.workload

import rego.v1

# Options of the JVM are on one line, as in a variable of the environment.
lines(spec) if regex.match(`[\x00-\x1f\x7f]`, spec.javaArgs)

one_line := {
	"msg": "spec.javaArgs: options are separated by spaces, and have no line breaks or other control characters",
	"field": "spec.javaArgs",
}

mebibyte := 1048576

# The memory limit in MiB.
limit(spec) := quantity(spec.resources.limits.memory) / mebibyte

# The heap that javaArgs say, in MiB: the last one counts.
heap(spec) := last(options(spec, "-Xmx"))

megabytes([_, number, unit]) := (to_number(number) * {"": 1, "k": 1024, "m": 1048576, "g": 1073741824, "t": 1099511627776}[lower(unit)]) / mebibyte

# Options by which no JVM starts.
option_problems(spec) := ({{"msg": msg, "field": "spec.javaArgs"} |
	some option in regex.split(`\s+`, object.get(spec, "javaArgs", ""))
	regex.match(`^-Xm[sx]`, option)
	not regex.match(`^-Xm[sx][0-9]+[kKmMgGtT]?$`, option)
	msg := sprintf("spec.javaArgs: %q is not a size of a heap; write -Xmx1g, say", [option])
} | {{"msg": msg, "field": "spec.javaArgs"} |
	starts := options(spec, "-Xms")
	most := options(spec, "-Xmx")
	last(starts) > last(most)
	msg := sprintf("spec.javaArgs: a heap cannot begin with %v MiB and have %v MiB at most; make -Xms no larger than -Xmx", [floor(last(starts)), floor(last(most))])
}) | {{"msg": msg, "field": "spec.resources.requests.memory"} |
	quantity(spec.resources.requests.memory) > quantity(spec.resources.limits.memory)
	msg := sprintf("spec.resources.requests.memory: %v is more than the limit, %v; Kubernetes takes no such Pod", [spec.resources.requests.memory, spec.resources.limits.memory])
}

options(spec, flag) := [megabytes(size) |
	some option in regex.split(`\s+`, object.get(spec, "javaArgs", ""))
	some size in regex.find_all_string_submatch_n(sprintf(`^%s([0-9]+)([kKmMgGtT]?)$`, [flag]), option, 1)
]

last(list) := list[count(list) - 1]

# A quantity of memory in bytes.
quantity(text) := units.parse_bytes(text) if is_string(text)

quantity(number) := number if is_number(number)

# The default of openvox-operator does not count as a user's choice.
asked(spec) if spec.javaArgs != "-Xms512m -Xmx1024m"

# Why spec.pdb keeps nodes from being drained where as few as fewest Pods run.
blocking(spec, fewest) := [msg |
	spec.pdb.enabled
	not blockable(spec.pdb, fewest)
	fewest > 0
	msg := sprintf("spec.pdb: with as few as %d Pods no node can be drained, because none of them may be evicted; run more, or set maxUnavailable: 1", [fewest])
]

blockable(pdb, fewest) if {
	pdb.minAvailable
	is_number(pdb.minAvailable)
	pdb.minAvailable < fewest
}

blockable(pdb, fewest) if {
	is_string(pdb.minAvailable)
	ceil((percent(pdb.minAvailable) * fewest) / 100) < fewest
}

blockable(pdb, _) if {
	not has(pdb, "minAvailable")
	pdb.maxUnavailable > 0
	is_number(pdb.maxUnavailable)
}

blockable(pdb, _) if {
	not has(pdb, "minAvailable")
	is_string(pdb.maxUnavailable)
	percent(pdb.maxUnavailable) > 0
}

# One stays, where nothing is said.
blockable(pdb, fewest) if {
	not has(pdb, "minAvailable")
	not has(pdb, "maxUnavailable")
	fewest > 1
}

has(pdb, name) if name in object.keys(pdb)

percent(text) := to_number(trim_suffix(text, "%"))

# The errors in the values of spec.pdb.
amounts(spec) := [{"msg": msg, "field": sprintf("spec.pdb.%s", [name])} |
	some name in ["minAvailable", "maxUnavailable"]
	value := spec.pdb[name]
	not amount(value)
	msg := sprintf("spec.pdb.%s: %v is neither a number of Pods nor a percentage such as 50%%", [name, value])
]

amount(value) if {
	is_number(value)
	value >= 0
}

amount(value) if {
	is_string(value)
	regex.match(`^(?:[0-9]{1,2}|100)%$`, value)
}
