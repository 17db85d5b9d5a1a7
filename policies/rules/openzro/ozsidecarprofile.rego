# METADATA
# title: OZSidecarProfiles add clients to Pods where the administrator permits it
# description: |
#   input.facts has sidecarProfiles, whether the namespace has a grant for profiles, and
#   podTemplates, whether it has one for any field of containers.
# custom:
#   match:
#     kinds: [{group: openzro.io, version: v1, kind: OZSidecarProfile}]
#     operations: [CREATE, UPDATE]
package openzro.ozsidecarprofile

import rego.v1

import data.openzro.values

spec := object.get(input.request.object, "spec", {})

deny contains {"field": "metadata.namespace", "msg": msg} if {
	not input.facts.sidecarProfiles
	msg := sprintf("metadata.namespace: namespace %s has no grant for OZSidecarProfiles, which add containers to the Pods of others; annotate Pods with openzro.io/setup-key, or have the administrator start the manager with --openzro-sidecar-profiles=%s", [input.request.namespace, input.request.namespace])
}

deny contains values.needed("spec.setupKeyRef.name", ": name the OZSetupKey of this namespace") if {
	values.blank(object.get(spec, ["setupKeyRef", "name"], ""))
}

deny contains {"field": field, "msg": msg} if {
	some i, label in spec.extraDNSLabels
	not values.is_dns_label(label)
	field := sprintf("spec.extraDNSLabels[%d]", [i])
	msg := sprintf("%s: %q is not a DNS name of letters, digits, - and _, such as web or web.eu", [field, label])
}

deny contains {"field": field, "msg": msg} if {
	some i, expression in spec.podSelector.matchExpressions
	not is_expression(expression)
	field := sprintf("spec.podSelector.matchExpressions[%d]", [i])
	msg := sprintf("%s: Invalid value: operator must be In or NotIn with values, or Exists or DoesNotExist without", [field])
}

is_expression(expression) if {
	expression.operator in {"In", "NotIn"}
	count(object.get(expression, "values", [])) > 0
}

is_expression(expression) if {
	expression.operator in {"Exists", "DoesNotExist"}
	count(object.get(expression, "values", [])) == 0
}

override := object.get(spec, "containerOverride", {})

override_granted contains field if some field in (object.keys(override) - {"env"})

override_granted contains sprintf("env[%d].valueFrom", [i]) if {
	some i, variable in override.env
	variable.valueFrom
}

deny contains {"field": field, "msg": msg} if {
	not input.facts.podTemplates
	some path in override_granted
	field := sprintf("spec.containerOverride.%s", [path])
	msg := sprintf("%s: this namespace has no grant for the field; set env with plain values only, or have the administrator start the manager with --openzro-pod-templates=%s", [field, input.request.namespace])
}

deny contains {"field": field, "msg": msg} if {
	some i, variable in override.env
	variable.name in {"OZ_SETUP_KEY", "OZ_MANAGEMENT_URL", "OZ_EXTRA_DNS_LABELS"}
	field := sprintf("spec.containerOverride.env[%d].name", [i])
	msg := sprintf("%s: %s is set by Lintel; take it out", [field, variable.name])
}

warn contains "spec.podSelector: there is none, so every Pod of the namespace gets a client" if {
	count(object.get(spec, ["podSelector", "matchLabels"], {})) == 0
	count(object.get(spec, ["podSelector", "matchExpressions"], [])) == 0
}
