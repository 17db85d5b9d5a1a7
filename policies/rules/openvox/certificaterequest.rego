# METADATA
# title: CertificateRequests to a CertificateAuthority match its signing policies
# custom:
#   match:
#     kinds: [{group: cert-manager.io, version: v1, kind: CertificateRequest}]
#     operations: [CREATE]
#   timeout: 1s
package openvox.certificaterequest

import rego.v1

import data.openvox.signing

spec := input.request.object.spec if {
	input.request.object.spec.issuerRef.group == "openvox.voxpupuli.org"
	input.request.object.spec.issuerRef.kind == "CertificateAuthority"
}

deny contains msg if {
	spec
	not input.facts.authority
	msg := sprintf("spec.issuerRef: there is no CertificateAuthority %q in this namespace", [spec.issuerRef.name])
}

deny contains msg if {
	spec
	input.facts.authority
	some msg in signing.refusals with input as {
		"certname": input.csr.subject.commonName, "csr": input.csr,
		"policies": input.facts.policies, "reserved": input.facts.reserved,
	}
}

deny contains "spec.isCA: the CA issues no CA certificates" if spec.isCA

# signing.refusals has these as well; this message adds the next step.
deny contains msg if {
	spec
	some extension in input.csr.extensions
	extension.name in {"keyUsage", "extendedKeyUsage"}
	msg := sprintf("spec.request: it has the extension %s; give the Certificate encodeUsagesInRequest: false", [extension.name])
}

usages := {"signing", "digital signature", "key encipherment", "server auth", "client auth"}

deny contains msg if {
	some usage in spec.usages
	not usage in usages
	msg := sprintf("spec.usages: the CA issues no certificates for %q; there are %s", [usage, concat(", ", sort(usages))])
}

warn contains "spec.duration is not taken into account: the CertificateAuthority's ttl decides" if spec.duration
