# METADATA
# title: Pods must not add names to their hosts file
# description: Denies hostAliases.
# related_resources:
#   - ref: https://kubernetes.io/docs/tasks/network/customize-hosts-file-for-pods/
#     description: Adding entries to Pod /etc/hosts with HostAliases
# custom:
#   severity: low
#   category: hardening
#   rationale: >-
#     Names in the hosts file take precedence over DNS, so a manifest can redirect a
#     service to another address.
#   remedy: Remove spec.hostAliases, and use a Service or a DNS record.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     expand: warn
package library.host_aliases

import rego.v1

import data.library.shared.pods

# METADATA
# title: Pods must not add names to their hosts file
deny contains violation if {
	some i, _ in pods.spec.hostAliases
	violation := {
		"msg": sprintf("Pod %q adds names to its hosts file: remove spec.hostAliases", [input.name]),
		"field": sprintf("spec.hostAliases[%d]", [i]),
	}
}
