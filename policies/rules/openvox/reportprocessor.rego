# METADATA
# title: ReportProcessors can be sent to
# custom:
#   match:
#     kinds: [{group: openvox.voxpupuli.org, version: v1alpha1, kind: ReportProcessor}]
#     operations: [CREATE, UPDATE]
package openvox.reportprocessor

import rego.v1

import data.openvox.endpoint

spec := input.request.object.spec

headers := object.get(spec, "headers", [])

deny contains denial if some denial in endpoint.denials(spec)

deny contains {"msg": msg, "field": "spec.url"} if {
	not endpoint.url(regex.replace(spec.url, `\?[^\s#\\]*$`, ""))
	msg := sprintf("spec.url: %s", [endpoint.url_form])
}

deny contains {"msg": msg, "field": "spec.url"} if {
	spec.processor == "puppetdb"
	contains(spec.url, "?")
	msg := "spec.url: must not have a query: the URL of a PuppetDB has only a scheme, a host and a port"
}

deny contains {"msg": msg, "field": field} if {
	some i, header in headers
	problem := endpoint.header_problem(header.name)
	field := sprintf("spec.headers[%d].name", [i])
	msg := sprintf("%s: %s", [field, problem])
}

deny contains {"msg": msg, "field": field} if {
	some i, header in headers
	some j, other in headers
	j < i
	lower(other.name) == lower(header.name)
	field := sprintf("spec.headers[%d].name", [i])
	msg := sprintf("%s: spec.headers[%d] is %s already; leave one out", [field, j, other.name])
}

# A value may be a credential: it is never shown.
deny contains {"msg": msg, "field": field} if {
	some i, header in headers
	not endpoint.one_line(header.value)
	field := sprintf("spec.headers[%d].value", [i])
	msg := sprintf("%s: the value of %s has more than one line, or a control character", [field, header.name])
}

warn contains warning if some warning in endpoint.warnings(spec)

warn contains msg if {
	startswith(spec.url, "http://")
	some i, header in headers
	header.valueFrom.secretKeyRef
	msg := sprintf("spec.url is http, by which the Secret in spec.headers[%d] is sent as plain text; use https", [i])
}

warn contains msg if {
	spec.processor == "puppetdb"
	contains(spec.url, "/pdb/")
	msg := "spec.url has /pdb/ in it, which is added for processor puppetdb; give the server alone"
}
