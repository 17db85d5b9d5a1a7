package openvox_test

import rego.v1

import data.openvox.certificate
import data.openvox.certificateauthority
import data.openvox.certificaterequest
import data.openvox.certificatesigningrequest
import data.openvox.config
import data.openvox.signingpolicy

csr := {
	"subject": {"commonName": "web1", "names": [{"oid": "2.5.4.3", "name": "CN", "value": "web1"}]},
	"dnsNames": [], "ipAddresses": [], "uris": [], "emails": [], "otherSans": [],
	"extensions": [], "attributes": [], "usages": [], "isCA": false, "signatureValid": true,
	"publicKey": {"type": "ECDSA", "bits": 256},
}

facts := {"authority": true, "mayReference": true, "policies": [{"name": "any", "any": true}], "reserved": ["taken"], "names": ["pp_role", "pp_project", "pp_cli_auth"]}

signer := "certificateauthorities.openvox.voxpupuli.org/ns.main"

review(request, more) := object.union({"name": "x", "csr": csr, "facts": facts, "request": request}, more)

fields(denials) := {d.field | some d in denials}

signing_request(spec, status) := {"spec": object.union({"signerName": signer}, spec), "status": {"conditions": [{"type": status}]}}

create(object) := {"operation": "CREATE", "userInfo": {"username": "ann"}, "object": object}

approval(before, after) := {
	"operation": "UPDATE", "subResource": "approval",
	"object": signing_request({}, after), "oldObject": signing_request({}, before),
}

with_usage := {"csr": object.union(csr, {"extensions": [{"oid": "2.5.29.37", "name": "extendedKeyUsage", "value": null}]})}

refused := {"csr": object.union(csr, {"isCA": true})}

test_signing_request_created if {
	request := create(signing_request({"usages": ["client auth"]}, "x"))
	count(certificatesigningrequest.deny) == 0 with input as review(request, {})
	certificatesigningrequest.deny == {"it asks for a CA certificate (basicConstraints)"} with input as review(request, refused)
	certificatesigningrequest.deny == {sprintf("user \"ann\" may not ask signer %s; it needs the verb reference on signers.certificates.k8s.io of that name", [signer])} with input as review(request, {"facts": {"mayReference": false}})
	some msg in certificatesigningrequest.deny with input as review(request, {"facts": {"authority": false}})
	contains(msg, "names no CertificateAuthority that exists")
	certificatesigningrequest.deny == {`spec.usages: the CA issues no certificates for "code signing"; there are client auth, digital signature, key encipherment, server auth`} with input as review(create(signing_request({"usages": ["code signing"]}, "x")), {})
	count(certificatesigningrequest.warn) == 1 with input as review(create(signing_request({"expirationSeconds": 600}, "x")), {})
	certificatesigningrequest.deny == {"spec.request: a Puppet CA signs no request with the extension extendedKeyUsage; leave it out of the request"} with input as review(request, with_usage)
}

test_signing_request_of_others if {
	request := create({"spec": {"signerName": "example.com/other"}})
	count(certificatesigningrequest.deny) == 0 with input as review(request, refused)
}

test_signing_request_approved if {
	count(certificatesigningrequest.deny) == 0 with input as review(approval("x", "Approved"), {"facts": {"mayReference": false}})
	count(certificatesigningrequest.deny) == 1 with input as review(approval("x", "Approved"), refused)
	every after in ["Denied", "Failed"] {
		count(certificatesigningrequest.deny) == 0 with input as review(approval("x", after), refused)
	}
	count(certificatesigningrequest.deny) == 0 with input as review(approval("Approved", "Approved"), refused)
}

test_certificate_request if {
	spec := {"issuerRef": {"group": "openvox.voxpupuli.org", "kind": "CertificateAuthority", "name": "main"}, "usages": ["server auth"]}
	count(certificaterequest.deny) == 0 with input as review(create({"spec": spec}), {})
	certificaterequest.deny == {"it asks for a CA certificate (basicConstraints)"} with input as review(create({"spec": spec}), refused)
	certificaterequest.deny == {`spec.issuerRef: there is no CertificateAuthority "main" in this namespace`} with input as review(create({"spec": spec}), {"facts": {"authority": false}})
	more := object.union(spec, {"isCA": true, "usages": ["code signing"], "duration": "1h"})
	count(certificaterequest.deny) == 2 with input as review(create({"spec": more}), {})
	count(certificaterequest.warn) == 1 with input as review(create({"spec": more}), {})
	certificaterequest.deny == {"spec.request: a Puppet CA signs no request with the extension extendedKeyUsage; give the Certificate encodeUsagesInRequest: false"} with input as review(create({"spec": spec}), with_usage)
	other := {"spec": object.union(spec, {"issuerRef": {"group": "cert-manager.io"}})}
	count(certificaterequest.deny) == 0 with input as review(create(other), refused)
	count(certificaterequest.deny) == 0 with input as review(create(other), with_usage)
}

test_signing_policy if {
	good := {"pattern": {"allow": ["*.example.com", "web[0-9]"]}, "csrAttributes": [{"name": "pp_role"}, {"name": "1.3.6.1.4.1.34380.1.2.7"}]}
	count(signingpolicy.deny) == 0 with input as review(create({"spec": good}), {})
	count(signingpolicy.warn) == 0 with input as review(create({"spec": good}), {})
	bad := {"pattern": {"allow": ["["]}, "dnsAltNames": {"allow": ["ok", "a\\*"]}, "csrAttributes": [{"name": "pp_rolle"}, {"name": "pp_cli_auth"}]}
	fields(signingpolicy.deny) == {"spec.pattern.allow[0]", "spec.dnsAltNames.allow[1]", "spec.csrAttributes[0].name", "spec.csrAttributes[1].name"} with input as review(create({"spec": bad}), {})
	signingpolicy.warn == {"spec has none of any, pattern and csrAttributes: it signs nothing"} with input as review(create({"spec": {}}), {})
	signingpolicy.warn == {"spec.any matches every request: pattern make no difference"} with input as review(create({"spec": {"any": true, "pattern": {"allow": ["a"]}}}), {})
}

test_certificate if {
	good := {"authorityRef": "main", "dnsAltNames": ["a.example.com", "10.0.0.1", "2001:db8::1"], "csrExtensions": {"customExtensions": {"pp_project": "x"}}}
	count(certificate.deny) == 0 with input as review(create({"spec": good}), {})
	count(certificate.warn) == 0 with input as review(create({"spec": good}), {})
	bad := {"authorityRef": "main", "certname": "A/b", "dnsAltNames": ["*.a", "300.0.0.1"], "csrExtensions": {"ppCliAuth": true, "customExtensions": {"pp_role": "x", "pp_x": "y", "pp_cli_auth": "true"}}}
	fields(certificate.deny) == {
		"spec.certname", "spec.dnsAltNames[0]", "spec.dnsAltNames[1]", "spec.csrExtensions.customExtensions.pp_role",
		"spec.csrExtensions.customExtensions.pp_x", "spec.csrExtensions.customExtensions.pp_cli_auth",
	} with input as review(create({"spec": bad}), {})
	count(certificate.warn) == 1 with input as review(create({"spec": bad}), {})
	operator := {"authorityRef": "main", "certname": "main-operator"}
	fields(certificate.deny) == {"spec.certname"} with input as review(create({"spec": operator}), {})
	count(certificate.deny) == 0 with input as review(create({"spec": operator}), {"name": "main-operator-signing"})
}

update(before, after) := {"operation": "UPDATE", "object": after, "oldObject": before}

test_certificate_authority if {
	every url in ["https://puppet.example.com:8140", "https://[::1]:8140/", "https://10.0.0.1"] {
		count(certificateauthority.deny) == 0 with input as review(create({"spec": {"external": {"url": url}}}), {})
		count(certificateauthority.warn) == 0 with input as review(create({"spec": {"external": {"url": url}}}), {})
	}
	every url in ["https://", "https://a:b@c", "https://a/path", "https://a?b", "ftp://a"] {
		count(certificateauthority.deny) == 1 with input as review(create({"spec": {"external": {"url": url}}}), {})
	}
	count(certificateauthority.warn) == 2 with input as review(create({"spec": {"external": {"url": "http://a", "insecureSkipVerify": true}}}), {})
	external := {"spec": {"external": {"url": "https://a"}}}
	fields(certificateauthority.deny) == {"spec.external"} with input as review(update({}, external), {})
	fields(certificateauthority.deny) == {"spec.external"} with input as review(update(external, {"spec": {}}), {})
	count(certificateauthority.deny) == 0 with input as review(update(external, {"spec": {"external": {"url": "https://b"}}}), {})
	count(certificateauthority.deny) == 0 with input as review(update({}, {"spec": {"ttl": "1y"}}), {})
}

test_config if {
	good := {"puppet": {"extraConfig": {"server": {"digest_algorithm": "sha256"}}}, "puppetserver": {"authorizationRules": [{"name": "a", "matchRequest": {"type": "regex", "path": "^/x$"}}]}}
	count(config.deny) == 0 with input as review(create({"spec": good}), {})
	count(config.warn) == 0 with input as review(create({"spec": good}), {})
	count(config.deny) == 0 with input as review(create({"spec": {}}), {})
	bad := {
		"puppet": {"extraConfig": {"server": {"AutoSign ": "true", "a": "b\nautosign = true"}}},
		"puppetserver": {"authorizationRules": [{"matchRequest": {"type": "regex", "path": "("}}, {"matchRequest": {"path": "/puppet-ca/v1/certificate_status"}}]},
	}
	fields(config.deny) == {"spec.puppet.extraConfig.server.AutoSign ", "spec.puppet.extraConfig.server.a", "spec.puppetserver.authorizationRules[0].matchRequest.path"} with input as review(create({"spec": bad}), {})
	count(config.deny) == 4 with input as review(create({"spec": bad}), {})
	count(config.warn) == 1 with input as review(create({"spec": bad}), {})
}
