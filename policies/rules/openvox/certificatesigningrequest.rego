# METADATA
# title: CertificateSigningRequests to a CertificateAuthority match its signing policies
# description: |
#   Evaluated on creation and on approval, because policies may have changed.
# custom:
#   match:
#     kinds: [{group: certificates.k8s.io, version: v1, kind: CertificateSigningRequest}]
#     operations: [CREATE, UPDATE]
#     subresources: [approval]
#   timeout: 1s
package openvox.certificatesigningrequest

import rego.v1

import data.openvox.signing

spec := input.request.object.spec if {
	startswith(input.request.object.spec.signerName, "certificateauthorities.openvox.voxpupuli.org/")
	judged
}

judged if created

judged if {
	input.request.subResource == "approval"
	approved(input.request.object)
	not approved(input.request.oldObject)
}

# API servers before 1.30 say "" where there is no subresource.
created if {
	input.request.operation == "CREATE"
	object.get(input.request, "subResource", "") == ""
}

approved(request) if {
	some condition in request.status.conditions
	condition.type == "Approved"
}

deny contains msg if {
	spec
	created
	not input.facts.mayReference
	msg := sprintf("user %q may not ask signer %s; it needs the verb reference on signers.certificates.k8s.io of that name", [input.request.userInfo.username, spec.signerName])
}

deny contains msg if {
	spec
	not input.facts.authority
	msg := sprintf("spec.signerName: %s names no CertificateAuthority that exists; it is certificateauthorities.openvox.voxpupuli.org/<namespace>.<name>", [spec.signerName])
}

deny contains msg if {
	spec
	input.facts.authority
	some msg in signing.refusals with input as {
		"certname": input.csr.subject.commonName, "csr": input.csr,
		"policies": input.facts.policies, "reserved": input.facts.reserved,
	}
}

usages := {"digital signature", "key encipherment", "server auth", "client auth"}

deny contains msg if {
	some usage in spec.usages
	not usage in usages
	msg := sprintf("spec.usages: the CA issues no certificates for %q; there are %s", [usage, concat(", ", sort(usages))])
}

warn contains "spec.expirationSeconds is not taken into account: the CertificateAuthority's ttl decides" if spec.expirationSeconds
