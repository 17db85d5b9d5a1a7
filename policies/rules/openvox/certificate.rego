# METADATA
# title: Certificates can be requested
# custom:
#   match:
#     kinds: [{group: openvox.voxpupuli.org, version: v1alpha1, kind: Certificate}]
#     operations: [CREATE, UPDATE]
#   timeout: 1s
package openvox.certificate

import rego.v1

import data.openvox.signing

spec := input.request.object.spec

certname := object.get(spec, "certname", "puppet")

deny contains {"msg": msg, "field": "spec.certname"} if {
	not signing.storable(certname)
	msg := sprintf("spec.certname: %q is not a certname; it has at most 253 of a-z, 0-9, dot, hyphen and underscore", [certname])
}

# The holder of this certificate administers the CA. A plain name in a CA's auth.conf also
# permits names below and above it, in subjectAltName as well.
operator := sprintf("%s-operator", [spec.authorityRef])

deny contains {"msg": msg, "field": "spec.certname"} if {
	administers(certname)
	not input.name in {sprintf("%s-signing", [operator]), sprintf("%s-standby", [operator])}
	msg := sprintf("spec.certname: %q is the operator's own; take another", [certname])
}

deny contains {"msg": msg, "field": field} if {
	some i, name in spec.dnsAltNames
	administers(name)
	field := sprintf("spec.dnsAltNames[%d]", [i])
	msg := sprintf("%s: %q is the operator's own; take another", [field, name])
}

administers(name) if endswith(concat("", [".", lower(name)]), concat("", [".", operator]))

administers(name) if lower(name) == sprintf("%s-setup", [spec.authorityRef]) # where its own are lost

administers(name) if endswith(concat("", [".", operator]), concat("", [".", lower(name)]))

# Lintel creates no Pod that mounts their key pairs, of any CA.
deny contains {"msg": msg, "field": "metadata.name"} if {
	some suffix, below in {"-operator-signing": "", "-operator-standby": "standby."}
	endswith(input.name, suffix)
	ca := trim_suffix(input.name, suffix)
	[spec.authorityRef, certname] != [ca, sprintf("%s%s-operator", [below, ca])]
	not unchanged
	msg := sprintf("metadata.name: %q is the operator's own Certificate at CertificateAuthority %q; take another name", [input.name, ca])
}

# By these the operator knows the CA that it sends keys' requests to.
deny contains {"msg": msg, "field": "spec"} if {
	input.facts.ofServer == false
	input.name != sprintf("%s-server", [spec.authorityRef])
	some name in array.concat([certname], object.get(spec, "dnsAltNames", []))
	startswith(sprintf("%s.", [lower(name)]), sprintf("%s-internal.", [spec.authorityRef]))
	msg := sprintf("spec: %q is the name of the CA's own server; take another", [name])
}

# Two with one certname would revoke each other's certificates by turns.
deny contains {"msg": msg, "field": "spec.certname"} if {
	some name in input.facts.claimedBy
	not unchanged
	msg := sprintf("spec.certname: Certificate %q has %q at CertificateAuthority %q already; take another, or delete that one", [name, certname, spec.authorityRef])
}

# The names of all Certificates are rendered next to the policies of their CA, into one Secret
# of 1 MiB at most. This part is for names, the rest for policies, so that Certificates never
# keep a policy from being in force.
room := 256 * 1024

deny contains {"msg": msg, "field": "spec.dnsAltNames"} if {
	others := object.get(input.facts, "otherNames", 0)
	own := names_bytes(spec)
	others + own > room
	not fewer(own)
	msg := sprintf("spec.dnsAltNames: the names of the Certificates at CertificateAuthority %q take up %d bytes with these, and may take up %d; leave some out, or delete other Certificates", [spec.authorityRef, others + own, room])
}

# An edit that leaves names out is admitted.
fewer(own) if {
	before := input.request.oldObject.spec
	before.authorityRef == spec.authorityRef
	own <= names_bytes(before)
}

# Each name has a line of its own.
names_bytes(of) := sum([bytes |
	some name in array.concat([object.get(of, "certname", "puppet")], object.get(of, "dnsAltNames", []))
	bytes := count(name) + 3
])

# A stored object can still be edited, or deleted.
unchanged if {
	before := input.request.oldObject.spec
	before.authorityRef == spec.authorityRef
	object.get(before, "certname", "puppet") == certname
}

deny contains {"msg": msg, "field": field} if {
	some i, name in spec.dnsAltNames
	not signing.hostname(name)
	not address(name)
	field := sprintf("spec.dnsAltNames[%d]", [i])
	msg := sprintf("%s: %q is neither a DNS name without wildcards nor an IP address", [field, name])
}

address(text) if net.cidr_is_valid(sprintf("%s/32", [text]))

deny contains {"msg": msg, "field": field} if {
	some name, _ in spec.csrExtensions.customExtensions
	not requestable(name)
	field := sprintf("spec.csrExtensions.customExtensions.%s", [name])
	msg := sprintf("%s: Puppet has no such extension, or the extension has a field of its own", [field])
}

requestable(name) if {
	input.facts.oids[name]
	startswith(name, "pp_")
	not name in {"pp_cli_auth", "pp_role", "pp_environment"}
}

# SigningPolicies grant rights, and users who may create Certificates do not.
deny contains {"msg": msg, "field": field} if {
	some name, _ in spec.csrExtensions.customExtensions
	startswith(input.facts.oids[name], "1.3.6.1.4.1.34380.1.3.")
	requestable(name)
	field := sprintf("spec.csrExtensions.customExtensions.%s", [name])
	msg := sprintf("%s: this extension gives rights, which Certificates do not; the node must request it, and a SigningPolicy must name it in csrAttributes", [field])
}

deny contains {"msg": msg, "field": "spec.csrExtensions.ppCliAuth"} if {
	spec.csrExtensions.ppCliAuth
	input.facts.ofServer == false
	msg := "spec.csrExtensions.ppCliAuth: only the CA's own server administers it, and CAs refuse this extension in a request; leave it out"
}

warn contains "spec.csrExtensions.ppCliAuth: only the CA's own server has this extension, from the setup Job; CAs refuse it in a request" if spec.csrExtensions.ppCliAuth
