package main

import "fmt"

// The rules of slow policies: loopingRule is interrupted at any time, callingRule only between
// two calls of a function.
const (
	loopingRule = `deny contains "slow" if {
	some i in numbers.range(1, 3000)
	some j in numbers.range(1, 3000)
	i * j == 100000000 + count(input.name)
}
`
	callingRule = `deny contains "slow" if {
	text := concat("\n", [sprintf("- %d", [i]) | some i in numbers.range(1, 9900)])
	some i in numbers.range(1, 1000)
	count(yaml.unmarshal(sprintf("%s\n- %d", [text, i]))) == count(input.name)
}
`
)

// slowFiles are policies that together need more than the time of a source for one object.
func slowFiles(rule string) map[string]string {
	files := map[string]string{}
	for i := range 3 {
		files[fmt.Sprintf("slow%d.rego", i)] = podPolicy(fmt.Sprintf("slow%d", i), rule)
	}
	return files
}

// neighborFiles are the policies of a team whose reviews are fast.
func neighborFiles() map[string]string {
	return map[string]string{
		"privileged.rego": podPolicy("neighbor.privileged", `deny contains msg if {
	some container in input.request.object.spec.containers
	container.securityContext.privileged
	msg := sprintf("container %s is privileged", [container.name])
}
`),
		"requests.rego": podPolicy("neighbor.requests", `deny contains msg if {
	some container in input.request.object.spec.containers
	some resource in ["cpu", "memory"]
	not container.resources.requests[resource]
	msg := sprintf("container %s requests no %s", [container.name, resource])
}
`),
	}
}

// podPolicy is a policy about Pods that are created.
func podPolicy(name, rules string) string {
	return fmt.Sprintf(`# METADATA
# custom:
#   match:
#     kinds: [{group: "", kind: Pod}]
#     operations: [CREATE]
package %s

import rego.v1

%s`, name, rules)
}
