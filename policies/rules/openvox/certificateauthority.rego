# METADATA
# title: CertificateAuthorities can be reached
# custom:
#   match:
#     kinds: [{group: openvox.voxpupuli.org, version: v1alpha1, kind: CertificateAuthority}]
#     operations: [CREATE, UPDATE]
package openvox.certificateauthority

import rego.v1

import data.openvox.extras

spec := object.get(input.request.object, "spec", {})

deny contains {"msg": msg, "field": "spec.external.url"} if {
	url := spec.external.url
	not regex.match(`^https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?/?$`, url)
	msg := sprintf("spec.external.url: %q is not a URL of a server; it is https://<host>:<port>, without user, path or query", [url])
}

# Keys are in its Secrets and on its volume: neither becomes the other by an edit.
deny contains {"msg": msg, "field": "spec.external"} if {
	input.request.operation == "UPDATE"
	external(spec) != external(object.get(input.request.oldObject, "spec", {}))
	msg := "spec.external: a CA that runs here does not become an external one, or the reverse; make another CertificateAuthority"
}

# A server does not start with a longer one, and with 0 certificates expire when they are
# issued.
deny contains {"msg": msg, "field": field} if {
	some name in ["ttl", "autoRenewalCertTTL"]
	regex.match(`^[0-9]+[smhdy]?$`, spec[name])
	not usable(spec[name])
	field := sprintf("spec.%s", [name])
	msg := sprintf("%s: %q is not above 0 and at most 50y (18250d)", [field, spec[name]])
}

usable(ttl) if {
	[_, number, unit] := regex.find_all_string_submatch_n(`^0*([1-9][0-9]*)([smhdy]?)$`, ttl, 1)[0]
	to_number(number) * seconds[unit] <= 50 * seconds.y
}

seconds := {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "y": 31536000}

external(s) := "external" in object.keys(s)

warn contains msg if {
	input.request.operation == "UPDATE"
	not external(spec)
	some name in ["size", "storageClass"]
	had := object.get(input.request.oldObject, ["spec", "storage", name], "")
	object.get(spec, ["storage", name], "") != had
	msg := sprintf("spec.storage.%s: a volume that is there stays as it is; where its class can enlarge volumes, edit the PersistentVolumeClaim %s-data", [name, input.name])
}

# The setup Job mounts the Secret, and runs an image that others choose.
deny contains {"msg": msg, "field": "spec.intermediateCA.secretName"} if {
	intermediate := spec.intermediateCA
	intermediate.enabled
	input.facts.intermediateFor != input.name
	intermediate != object.get(input.request, ["oldObject", "spec", "intermediateCA"], null)
	msg := sprintf("spec.intermediateCA.secretName: Secret %q is not marked for this CertificateAuthority; its owner must set the annotation openvox.voxpupuli.org/intermediate-ca to %q", [intermediate.secretName, input.name])
}

warn contains "spec.enableInfraCRL has no effect: servers check their clients by the CRL that the CA gives away, so that is always the full one" if spec.enableInfraCRL

warn contains "spec.external.url is plain HTTP: anybody on the way can put other certificates and CRLs in place" if startswith(spec.external.url, "http://")

warn contains "spec.external.insecureSkipVerify: anybody on the way can put other certificates and CRLs in place" if spec.external.insecureSkipVerify

deny contains problem if some problem in extras.security_problems(spec)
