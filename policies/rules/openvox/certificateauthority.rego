# METADATA
# title: CertificateAuthorities can be reached
# custom:
#   match:
#     kinds: [{group: openvox.voxpupuli.org, version: v1alpha1, kind: CertificateAuthority}]
#     operations: [CREATE, UPDATE]
package openvox.certificateauthority

import rego.v1

spec := object.get(input.request.object, "spec", {})

deny contains {"msg": msg, "field": "spec.external.url"} if {
	url := spec.external.url
	not regex.match(`^https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?/?$`, url)
	msg := sprintf("spec.external.url: %q is no URL of a server; it is https://<host>:<port>, without user, path or query", [url])
}

# Keys are in its Secrets and on its volume: neither becomes the other by an edit.
deny contains {"msg": msg, "field": "spec.external"} if {
	input.request.operation == "UPDATE"
	external(spec) != external(object.get(input.request.oldObject, "spec", {}))
	msg := "spec.external: a CA that runs here does not become an external one, or the reverse; make another CertificateAuthority"
}

external(s) := "external" in object.keys(s)

warn contains "spec.external.url is plain HTTP: anybody on the way can put other certificates and CRLs in place" if startswith(spec.external.url, "http://")

warn contains "spec.external.insecureSkipVerify: anybody on the way can put other certificates and CRLs in place" if spec.external.insecureSkipVerify
