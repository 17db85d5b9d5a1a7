package openvox_test

import rego.v1

import data.openvox.certificate
import data.openvox.certificateauthority
import data.openvox.certificaterequest
import data.openvox.certificatesigningrequest
import data.openvox.config
import data.openvox.pool
import data.openvox.server
import data.openvox.signingpolicy

csr := {
	"subject": {"commonName": "web1", "names": [{"oid": "2.5.4.3", "name": "CN", "value": "web1"}]},
	"dnsNames": [], "ipAddresses": [], "uris": [], "emails": [], "otherSans": [],
	"extensions": [], "attributes": [], "usages": [], "isCA": false, "signatureValid": true,
	"publicKey": {"type": "ECDSA", "bits": 256},
}

facts := {"authority": true, "mayReference": true, "policies": [{"name": "any", "any": true}], "reserved": ["taken"], "oids": {"pp_role": "1.3.6.1.4.1.34380.1.1.13", "pp_project": "1.3.6.1.4.1.34380.1.1.7", "pp_cli_auth": "1.3.6.1.4.1.34380.1.3.39", "pp_auth_role": "1.3.6.1.4.1.34380.1.3.13"}}

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
	certificatesigningrequest.deny == {"extension extendedKeyUsage is neither subjectAltName nor Puppet's, and a Puppet CA signs no request with it; leave it out of the request"} with input as review(request, with_usage)
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
	certificaterequest.deny == {
		"extension extendedKeyUsage is neither subjectAltName nor Puppet's, and a Puppet CA signs no request with it; leave it out of the request",
		"spec.request: it has the extension extendedKeyUsage; give the Certificate encodeUsagesInRequest: false",
	} with input as review(create({"spec": spec}), with_usage)
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
}

test_any if {
	signs := "spec.any signs any certname and any DNS name in subjectAltName that is not reserved, for any requester"
	signingpolicy.warn == {signs} with input as review(create({"spec": {"any": true}}), {})
	signingpolicy.warn == {signs, "spec.any matches every request: pattern make no difference"} with input as review(create({"spec": {"any": true, "pattern": {"allow": ["a"]}}}), {})
	count(signingpolicy.deny) == 0 with input as review(create({"spec": {"any": true}}), {})
	count(signingpolicy.warn) == 0 with input as review(create({"spec": {"any": false, "pattern": {"allow": ["a"]}}}), {})
}

# One attribute by its name and by its OID.

role_oid := "1.3.6.1.4.1.34380.1.1.13"

role_twice(first, second) := review(
	create({"spec": {"csrAttributes": [
		{"name": "pp_project", "value": "x"},
		object.union({"name": "pp_role"}, first), object.union({"name": role_oid}, second),
	]}}),
	{},
)

test_attribute_twice if {
	from := {"valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}

	signingpolicy.deny == {{
		"field": "spec.csrAttributes[2]",
		"msg": sprintf("spec.csrAttributes[2]: %s is the same attribute as pp_role in spec.csrAttributes[1], with another value: no request has both; leave one out", [role_oid]),
	}} with input as role_twice({"value": "web"}, {"value": "db"})
	same := {sprintf("spec.csrAttributes[2]: %s is the same attribute as pp_role in spec.csrAttributes[1]: nothing matches where their values differ; leave one out", [role_oid])}
	every values in [[{"value": "web"}, {"value": "web"}], [from, {"value": "db"}], [from, from]] {
		count(signingpolicy.deny) == 0 with input as role_twice(values[0], values[1])
		signingpolicy.warn == same with input as role_twice(values[0], values[1])
	}
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
	every name in ["x.main-operator", "Main-Operator"] {
		fields(certificate.deny) == {"spec.dnsAltNames[0]"} with input as review(create({"spec": {"authorityRef": "main", "dnsAltNames": [name]}}), {})
	}
	dotted := {"authorityRef": "my.ca", "certname": "ca-operator"}
	fields(certificate.deny) == {"spec.certname"} with input as review(create({"spec": dotted}), {})
	operator := {"authorityRef": "main", "certname": "main-operator"}
	fields(certificate.deny) == {"spec.certname"} with input as review(create({"spec": operator}), {})
	count(certificate.deny) == 0 with input as review(create({"spec": operator}), {"name": "main-operator-signing"})
	standby := {"authorityRef": "main", "certname": "standby.main-operator"}
	fields(certificate.deny) == {"spec.certname"} with input as review(create({"spec": standby}), {"name": "standby"})
	count(certificate.deny) == 0 with input as review(create({"spec": standby}), {"name": "main-operator-standby"})
	every other in [standby, object.union(operator, {"authorityRef": "other"}), {"authorityRef": "main", "certname": "x"}] {
		"metadata.name" in fields(certificate.deny) with input as review(create({"spec": other}), {"name": "main-operator-signing"})
		"metadata.name" in fields(certificate.deny) with input as review(update({"spec": operator}, {"spec": other}), {"name": "main-operator-signing"})
		not "metadata.name" in fields(certificate.deny) with input as review(update({"spec": other}, {"spec": other}), {"name": "main-operator-signing"})
	}
	fields(certificate.deny) == {"spec.certname"} with input as review(create({"spec": {"authorityRef": "main", "certname": "main-setup"}}), {})
}

test_certificate_claims if {
	claimed := {"facts": {"claimedBy": ["first"]}}
	spec := {"authorityRef": "main", "certname": "web"}
	certificate.deny == {{
		"field": "spec.certname",
		"msg": `spec.certname: Certificate "first" has "web" at CertificateAuthority "main" already; take another, or delete that one`,
	}} with input as review(create({"spec": spec}), claimed)
	count(certificate.deny) == 0 with input as review(update({"spec": spec}, {"spec": object.union(spec, {"renewBefore": "1d"})}), claimed)
	every before in [{"certname": "other"}, {"authorityRef": "other"}] {
		count(certificate.deny) == 1 with input as review(update({"spec": object.union(spec, before)}, {"spec": spec}), claimed)
	}
}

# Rights are the CA's own server's, and SigningPolicies'.
test_certificate_rights if {
	role := {"authorityRef": "main", "csrExtensions": {"customExtensions": {"pp_auth_role": "admin"}}}
	fields(certificate.deny) == {"spec.csrExtensions.customExtensions.pp_auth_role"} with input as review(create({"spec": role}), {})
	admin := {"authorityRef": "main", "csrExtensions": {"ppCliAuth": true}}
	fields(certificate.deny) == {"spec.csrExtensions.ppCliAuth"} with input as review(create({"spec": admin}), {"facts": {"ofServer": false}})
	count(certificate.deny) == 0 with input as review(create({"spec": admin}), {"facts": {"ofServer": true}})
	count(certificate.deny) == 0 with input as review(create({"spec": admin}), {})
}

test_storage_stays if {
	count(certificateauthority.warn) == 1 with input as review(update({"spec": {"storage": {"size": "1Gi"}}}, {"spec": {"storage": {"size": "2Gi"}}}), {"name": "main"})
	count(certificateauthority.warn) == 1 with input as review(update({"spec": {"storage": {"size": "1Gi"}}}, {"spec": {"storage": {"size": "1Gi", "storageClass": "fast"}}}), {"name": "main"})
	count(certificateauthority.warn) == 0 with input as review(update({"spec": {"storage": {"size": "1Gi"}}}, {"spec": {"storage": {"size": "1Gi"}}}), {"name": "main"})
	count(certificateauthority.warn) == 0 with input as review(create({"spec": {"storage": {"size": "2Gi"}}}), {"name": "main"})
}

test_intermediate_ca if {
	spec := {"intermediateCA": {"enabled": true, "secretName": "company"}}
	fields(certificateauthority.deny) == {"spec.intermediateCA.secretName"} with input as review(create({"spec": spec}), {"name": "main", "facts": {"intermediateFor": ""}})
	fields(certificateauthority.deny) == {"spec.intermediateCA.secretName"} with input as review(update({}, {"spec": spec}), {"name": "main", "facts": {"intermediateFor": "other"}})
	count(certificateauthority.deny) == 0 with input as review(create({"spec": spec}), {"name": "main", "facts": {"intermediateFor": "main"}})
	count(certificateauthority.deny) == 0 with input as review(create({"spec": spec}), {"name": "main", "facts": {}})
	count(certificateauthority.deny) == 0 with input as review(update({"spec": spec}, {"spec": object.union(spec, {"ttl": "1y"})}), {"name": "main", "facts": {"intermediateFor": ""}})
	count(certificateauthority.warn) == 1 with input as review(create({"spec": {"enableInfraCRL": true}}), {})
	count(certificateauthority.warn) == 0 with input as review(create({"spec": {"enableInfraCRL": false}}), {})
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
	every ttl in ["0", "00s", "0y", "51y", "0051y", "100y", "18251d", "438001h", "26280001m", "1576800001s", "1576800001", "999999999y"] {
		fields(certificateauthority.deny) == {"spec.ttl", "spec.autoRenewalCertTTL"} with input as review(create({"spec": {"ttl": ttl, "autoRenewalCertTTL": ttl}}), {})
	}
	every ttl in ["50y", "050y", "18250d", "438000h", "26280000m", "1576800000s", "1576800000", "1s", "1", ""] {
		count(certificateauthority.deny) == 0 with input as review(create({"spec": {"ttl": ttl, "autoRenewalCertTTL": ttl}}), {})
	}
	count(certificateauthority.warn) == 2 with input as review(create({"spec": {"external": {"url": "http://a", "insecureSkipVerify": true}}}), {})
	external := {"spec": {"external": {"url": "https://a"}}}
	fields(certificateauthority.deny) == {"spec.external"} with input as review(update({}, external), {})
	fields(certificateauthority.deny) == {"spec.external"} with input as review(update(external, {"spec": {}}), {})
	count(certificateauthority.deny) == 0 with input as review(update(external, {"spec": {"external": {"url": "https://b"}}}), {})
	count(certificateauthority.deny) == 0 with input as review(update({}, {"spec": {"ttl": "1y"}}), {})
}

config_denials(spec) := fields(found) if found := config.deny with input as review(create({"spec": spec}), {})

config_warnings(rule) := count(found) if found := config.warn with input as review(create({"spec": {"puppetserver": {"authorizationRules": [rule]}}}), {})

test_config if {
	good := {
		"puppet": {
			"environmentPath": "/code", "hieraConfig": "$confdir/hiera.yaml", "environmentTimeout": "3m", "reports": "store,log",
			"extraConfig": {"main": {"digest_algorithm": "sha256"}, "agent": {"reports": "x", "runinterval": "a # b = [c] é"}},
		},
		"puppetdb": {"serverUrls": ["https://puppetdb:8081", "https://[::1]:8081/"]},
		"logging": {"loggers": {"puppetlabs.puppetserver": "DEBUG", "a.B$C": "WARN"}},
	}
	config_denials(good) == set()
	config_denials({}) == set()
	config_denials({"puppet": {"extraConfig": {"server": {"AutoSign ": "true", "certname": "x", "a": "b\nautosign = true", "x y": "1", "b": "c\u2028d"}}}}) == {
		"spec.puppet.extraConfig.server.AutoSign ", "spec.puppet.extraConfig.server.a", "spec.puppet.extraConfig.server.certname",
		"spec.puppet.extraConfig.server.x y", "spec.puppet.extraConfig.server.b",
	}
	config_denials({"puppet": {"extraConfig": {"main": {"reports": "x"}, "server": {"environment_timeout": "0"}}}}) == {"spec.puppet.extraConfig.main.reports", "spec.puppet.extraConfig.server.environment_timeout"}
	every field in ["environmentPath", "hieraConfig", "storeBackend", "reports"] {
		config_denials({"puppet": {field: "a\n[server]\nautosign = true"}}) == {sprintf("spec.puppet.%s", [field])}
	}
	config_denials({"puppet": {"environmentTimeout": "1 h\n"}}) == {"spec.puppet.environmentTimeout"}
	every url in ["https://a,https://b", "ftp://a", "https://", "https://a\nx = y", "https://u:p@a"] {
		config_denials({"puppetdb": {"serverUrls": [url]}}) == {"spec.puppetdb.serverUrls[0]"}
	}
	every name in ["a\"/><root level=\"OFF\"", "${env.X}", "a b", ""] {
		config_denials({"logging": {"loggers": {name: "INFO"}}}) == {"spec.logging.loggers"}
	}
}

rule_denials(change) := config_denials({"puppetserver": {"authorizationRules": [object.union({"name": "a", "matchRequest": {"path": "/x", "type": "path"}, "allow": "*"}, change)]}})

test_authorization_rules if {
	every who in ["*", "main.example.com", "*.example.com", "/^a[0-9]+$/", "x@y"] {
		rule_denials({"allow": who}) == set()
		rule_denials({"deny": who}) == set()
	}
	groups := {"type": "regex", "path": `^/x/([^/(]+)/(?:y)(?<z>\()$`}
	every who in ["$1", "$2.example.com"] {
		rule_denials({"allow": who, "matchRequest": groups}) == set()
		rule_denials({"allow": who}) == {"spec.puppetserver.authorizationRules[0].allow"}
	}
	every who in ["$0", "$3", "$1.$3"] {
		rule_denials({"allow": who, "matchRequest": groups}) == {"spec.puppetserver.authorizationRules[0].allow"}
	}
	"spec.puppetserver.authorizationRules[0].allow" in rule_denials({"allow": "$1", "matchRequest": {"type": "regex", "path": "("}})
	every who in ["a b", "*.*", "**", "*.a..b", "*.a@b", "/(/", `/\p{Greek}/`, "a\"", "${x}", ""] {
		rule_denials({"allow": who}) == {"spec.puppetserver.authorizationRules[0].allow"}
	}
	rule_denials({"matchRequest": {"type": "regex", "path": "^/x/([^/]+)$", "method": ["GET", "head"]}}) == set()
	every path in ["(?i)a*", "(?i:a)*", "[(?i)*]", `\(?i\)*`] {
		rule_denials({"matchRequest": {"type": "regex", "path": path}}) == set()
	}
	every path in ["(", "(?P<a>b)", `^/\p{Greek}`, "a{,3}", "a{", "[a[b]]", "[]a]", "[a&&b]", `\pL`, "[[:alpha:]]", `(?<a_b>c)`, "a(?i)*", "a(?ims){2}"] {
		rule_denials({"matchRequest": {"type": "regex", "path": path}}) == {"spec.puppetserver.authorizationRules[0].matchRequest.path"}
	}
	rule_denials({"matchRequest": {"method": ["get", "PATCH"]}}) == {"spec.puppetserver.authorizationRules[0].matchRequest.method"}
	config_denials({"puppetserver": {"authorizationRules": [{"name": "a", "matchRequest": {"path": "/x"}}]}}) == {"spec.puppetserver.authorizationRules[0]"}
	config_warnings({"matchRequest": {"path": "/x"}, "allow": "*"}) == 0
	config_warnings({"matchRequest": {"type": "regex", "path": "^/puppet/v3/(.*)$"}, "allow": "*"}) == 0
	every match in [{"path": "/"}, {"path": "/puppet-ca/v1"}, {"path": "/puppet-ca/v1/clean"}, {"type": "regex", "path": "certificate_statuses"}, {"type": "regex", "path": "^/p.*/revocation_list|status"}, {"type": "regex", "path": "^/puppet.ca/v1/clean"}, {"type": "regex", "path": "^/puppetx?-ca/"}, {"type": "regex", "path": "^/x|/sign"}] {
		config_warnings({"matchRequest": match, "allow": "*"}) == 1
		config_warnings({"matchRequest": match, "deny": "*"}) == 0
	}
}

with_image(annotations) := create({"metadata": {"annotations": annotations}, "spec": {"authorityRef": "main", "image": {"repository": "example.com/puppet"}}})

test_config_image if {
	count(config.warn) == 1 with input as review(create({"spec": {"authorityRef": "main", "image": {}}}), {})
	count(config.warn) == 1 with input as review(with_image({"lintel.dev/autosign-image": "example.com/other"}), {})
	count(config.warn) == 0 with input as review(with_image({"lintel.dev/autosign-image": "example.com/puppet"}), {})
	count(config.warn) == 0 with input as review(create({"spec": {"image": {}}}), {})
}

server_denials(spec) := fields(found) if found := server.deny with input as named("catalogs", create({"spec": object.union({"configRef": "c", "certificateRef": "s"}, spec)}), {"otherCAServers": []})

server_warnings(spec) := count(found) if found := server.warn with input as named("catalogs", create({"spec": spec}), {"otherCAServers": []})

named(name, request, about) := object.union(review(request, {"facts": about}), {"name": name})

test_server if {
	server_denials({}) == set()
	server_denials({"server": false}) == {"spec.server"}
	server_denials({"ca": true, "server": false}) == set()
	server_denials({"ca": true, "replicas": 2}) == {"spec.replicas"}
	server_denials({"replicas": 9, "autoscaling": {"enabled": true}}) == set()
	server_denials({"ca": true, "replicas": 2, "autoscaling": {"enabled": true}}) == {"spec.autoscaling"}
	every name in ["A", "a.b", "-a", "a23456789012345678901234567890123456789012345678901234567890abcde"] {
		fields(server.deny) == {"metadata.name"} with input as named(name, create({"spec": {}}), {})
	}
	server_denials({"poolRefs": ["puppet", "1a", "A"]}) == {"spec.poolRefs[1]", "spec.poolRefs[2]"}
	server_denials({"javaArgs": "-Xmx1g\n-Dx=y"}) == {"spec.javaArgs"}
	every args in ["-Xmx=1g", "-Xmxg", "-Xms512mb", "-Xms900m -Xmx600m", "-Xmx2g -Xms1g -Xmx512m"] {
		server_denials({"javaArgs": args}) == {"spec.javaArgs"}
	}
	every args in ["-Xms600m -Xmx600m", "-Xmn64m -Xmx1G", "-Xms1g"] {
		server_denials({"javaArgs": args}) == set()
	}
	server_denials({"resources": {"requests": {"memory": "4Gi"}, "limits": {"memory": "2Gi"}}}) == {"spec.resources.requests.memory"}
	server_denials({"resources": {"requests": {"memory": 2147483648}, "limits": {"memory": "2Gi"}}}) == set()
}

test_one_server_of_a_ca if {
	request := create({"spec": {"ca": true, "configRef": "c"}})
	fields(server.deny) == {"spec.ca"} with input as named("two", request, {"otherCAServers": ["one"]})
	stored := update({"spec": {"ca": true, "configRef": "c"}}, {"spec": {"ca": true, "configRef": "c", "replicas": 0}})
	count(server.deny) == 0 with input as named("two", stored, {"otherCAServers": ["one"]})
	moved := update({"spec": {"ca": true, "configRef": "b"}}, {"spec": {"ca": true, "configRef": "c"}})
	fields(server.deny) == {"spec.ca"} with input as named("two", moved, {"otherCAServers": ["one"]})
}

test_server_memory if {
	server_denials({"resources": memory("511Mi")}) == {"spec.resources.limits.memory"}
	server_denials({"resources": memory(1000000)}) == {"spec.resources.limits.memory"}
	server_denials({"resources": memory("512Mi")}) == set()
	server_warnings({"resources": memory("512Mi")}) == 1
	server_warnings({"resources": memory("512Mi"), "ca": true, "server": false}) == 0
	server_warnings({"resources": memory("1Gi")}) == 0
	every args in ["-Xmx2g", "-Xms1g -Xmx2048m", "-Xmx1m -Xmx2097152k", "-Xmx2147483648", "-Xmx1T"] {
		server_denials({"resources": memory("2Gi"), "javaArgs": args}) == {"spec.javaArgs"}
	}
	every args in ["-Xmx2047m", "-Xmx4g -Xmx1g", "-XX:MaxRAMPercentage=99", ""] {
		server_denials({"resources": memory("2Gi"), "javaArgs": args}) == set()
	}
	server_denials({"resources": memory("1Gi"), "javaArgs": "-Xms512m -Xmx1024m"}) == set()
}

blocked(spec) if {
	found := server.warn with input as named("catalogs", create({"spec": object.union({"configRef": "c", "certificateRef": "s"}, spec)}), {"otherCAServers": []})
	some message in found
	startswith(message, "spec.pdb: ")
}

with_budget(spec) := object.union(spec, {"pdb": object.union({"enabled": true}, spec.pdb)})

memory(limit) := {"limits": {"memory": limit}}

test_server_budget if {
	every spec in [
		{"pdb": {}}, {"pdb": {}, "replicas": 1}, {"pdb": {"minAvailable": 2}, "replicas": 2}, {"pdb": {"minAvailable": "100%"}, "replicas": 4},
		{"pdb": {"minAvailable": "51%"}, "replicas": 2}, {"pdb": {"maxUnavailable": 0}, "replicas": 3}, {"pdb": {"maxUnavailable": "0%"}, "replicas": 3},
		{"pdb": {}, "autoscaling": {"enabled": true, "minReplicas": 1}, "replicas": 5},
	] {
		server_denials(with_budget(spec)) == set()
		blocked(with_budget(spec))
	}
	every spec in [
		{"pdb": {}, "replicas": 2}, {"pdb": {}, "replicas": 0}, {"pdb": {"minAvailable": 0}}, {"pdb": {"minAvailable": "50%"}, "replicas": 2},
		{"pdb": {"maxUnavailable": 1}}, {"pdb": {"maxUnavailable": "1%"}}, {"pdb": {}, "autoscaling": {"enabled": true, "minReplicas": 2}},
	] {
		server_denials(with_budget(spec)) == set()
		not blocked(with_budget(spec))
	}
	every value in ["x", "101%", "-1%", -1] {
		"spec.pdb.minAvailable" in server_denials({"replicas": 3, "pdb": {"minAvailable": value}})
	}
	server_warnings({"autoscaling": {"enabled": true}}) == 1
	server_warnings({"autoscaling": {"enabled": true}, "resources": {"requests": {"cpu": "1"}}}) == 0
	server_warnings({"autoscaling": {"enabled": true}, "resources": {"limits": {"cpu": "1"}}}) == 0
}

test_images if {
	every repository in ["ghcr.io/slauger/openvox-server", "localhost:5000/a", "a", "a/b__c@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"] {
		server_denials({"image": {"repository": repository, "tag": "8.12.1"}}) == set()
		config_denials({"image": {"repository": repository}}) == set()
	}
	every repository in ["https://ghcr.io/a", "a:tag/", "A/b", "a b", "a@sha256:1"] {
		server_denials({"image": {"repository": repository}}) == {"spec.image.repository"}
	}
	every tag in ["-a", ".a", "a/b", "a b", "a:b"] {
		config_denials({"image": {"tag": tag}}) == {"spec.image.tag"}
	}
}

pool_denials(spec) := fields(found) if found := pool.deny with input as named("puppet", create({"spec": spec}), {"hostTakenBy": ""})

routed(host) := {"route": {"enabled": true, "hostname": host}}

test_pool if {
	pool_denials({"service": {"type": "NodePort", "nodePort": 30140, "labels": {"a": "b"}}}) == set()
	pool_denials({"service": {"type": "LoadBalancer", "nodePort": 0}}) == set()
	pool_denials({"service": {"nodePort": 30140}}) == {"spec.service.nodePort"}
	pool_denials({"service": {"labels": {"openvox.voxpupuli.org/pool-other": "true"}}}) == {"spec.service.labels.openvox.voxpupuli.org/pool-other"}
	every name in ["main-internal", "1a", "A", "a.b", "a2345678901234567890123456789012345678901234567890123456789"] {
		fields(pool.deny) == {"metadata.name"} with input as named(name, create({}), {})
	}
	pool_denials(routed("puppet.example.com")) == set()
	every host in ["a-internal.example.com", "main-internals"] {
		pool_denials(routed(host)) == set()
	}
	every host in ["*.example.com", "a b", "10.0.0.1", "main-internal.ns.svc", "Main-Internal", "main-internal.ns.svc.cluster.local", "x.Main-operator"] {
		pool_denials(routed(host)) == {"spec.route.hostname"}
	}
	taken := {"hostTakenBy": "other"}
	fields(pool.deny) == {"spec.route.hostname"} with input as named("puppet", create({"spec": routed("a.example.com")}), taken)
	count(pool.deny) == 0 with input as named("puppet", update({"spec": routed("A.example.com")}, {"spec": routed("a.example.com")}), taken)
	fields(pool.deny) == {"spec.route.hostname"} with input as named("puppet", update({"spec": routed("b.example.com")}, {"spec": routed("a.example.com")}), taken)
}

pool_addresses(addresses, annotations) := fields(found) if {
	request := object.union(create({"spec": {"service": {"externalIPs": addresses}}}), {"namespace": "a"})
	asked := object.union(named("puppet", request, {"hostTakenBy": ""}), {"namespace": {"metadata": {"annotations": annotations}}})
	found := pool.deny with input as asked
}

test_pool_external_ips if {
	pool_addresses(["10.0.0.1", "a"], {}) == {"spec.service.externalIPs[0]", "spec.service.externalIPs[1]"}
	every text in ["10.0.0.1", " 192.0.2.1 , 10.0.0.0/24", "0.0.0.0/0, x"] {
		pool_addresses(["10.0.0.1"], {"openvox.voxpupuli.org/allowed-external-ips": text}) == set()
	}
	every text in ["", "*", "10.0.0.2", "10.0.0", "10.0.0.1/", "2001:db8::/32"] {
		pool_addresses(["10.0.0.1"], {"openvox.voxpupuli.org/allowed-external-ips": text}) == {"spec.service.externalIPs[0]"}
	}
	every text in ["2001:db8::1", "2001:db8::/64"] {
		pool_addresses(["2001:db8::1"], {"openvox.voxpupuli.org/allowed-external-ips": text}) == set()
	}
}

test_config_with_a_classifier if {
	settings := {"server": {"node_terminus": "plain", "External_Nodes": "/x", "strict": "error"}, "main": {"node_terminus": "plain"}}
	spec := {"puppet": {"extraConfig": settings}}
	every field in ["spec.puppet.extraConfig.server.node_terminus", "spec.puppet.extraConfig.server.External_Nodes"] {
		field in fields(config.deny) with input as review(create({"spec": object.union(spec, {"nodeClassifierRef": "foreman"})}), {})
	}
	fields(config.deny) == {"spec.puppet.extraConfig.server.External_Nodes"} with input as review(create({"spec": spec}), {})
	some msg in config.warn with input as review(create({"spec": {"nodeClassifierRef": "foreman", "image": {"repository": "r"}}}), {})
	contains(msg, "nothing says that r has /usr/local/bin/lintel-openvox-enc")
	count(config.warn) == 0 with input as review(create({"spec": {"nodeClassifierRef": "foreman", "image": {"repository": "r"}}, "metadata": {"annotations": {"lintel.dev/autosign-image": "r"}}}), {})
}

test_room_for_names if {
	facts := {"ofServer": false, "oids": {}, "claimedBy": [], "otherNames": (256 * 1024) - 20}
	few := {"authorityRef": "main", "certname": "web"}
	many := object.union(few, {"dnsAltNames": ["web.example.com", "web"]})
	count(certificate.deny) == 0 with input as named("web", create({"spec": few}), facts)
	fields(certificate.deny) == {"spec.dnsAltNames"} with input as named("web", create({"spec": many}), facts)
	count(certificate.deny) == 0 with input as named("web", update({"spec": object.union(many, {"dnsAltNames": ["a", "web.example.com", "web"]})}, {"spec": many}), facts)
	fields(certificate.deny) == {"spec.dnsAltNames"} with input as named("web", update({"spec": few}, {"spec": many}), facts)
}

test_name_of_the_ca if {
	every names in [{"certname": "main-internal"}, {"dnsAltNames": ["web", "Main-Internal.ns.svc"]}] {
		spec := object.union({"authorityRef": "main"}, names)
		fields(certificate.deny) == {"spec"} with input as named("web", create({"spec": spec}), {"ofServer": false, "oids": {}, "claimedBy": []})
		count(certificate.deny) == 0 with input as named("web", create({"spec": spec}), {"ofServer": true, "oids": {}, "claimedBy": []})
		count(certificate.deny) == 0 with input as named("main-server", create({"spec": spec}), {"ofServer": false, "oids": {}, "claimedBy": []})
	}
}

sized(request, own, others, former) := review(request, {"facts": object.union(facts, {"bytes": own, "otherBytes": others, "formerBytes": former})})

# What policies take up is bounded where they are rendered.
test_signing_policies_have_room if {
	policy := create({"spec": {"certificateAuthorityRef": "main", "pattern": {"allow": ["a"]}}})
	count(signingpolicy.deny) == 0 with input as sized(policy, 100, 655260, 0)
	fields(signingpolicy.deny) == {"spec"} with input as sized(policy, 101, 655260, 0)
	count(signingpolicy.deny) == 0 with input as sized(policy, 101, 700000, 102)
	fields(signingpolicy.deny) == {"spec"} with input as sized(policy, 102, 700000, 101)
}

# A Config runs programs that read what Servers add to their Pods.
test_config_changes_readers if {
	unreadable := {"facts": {"unreadable": [{"kind": "Secret", "name": "token", "server": "web"}]}}
	config.deny == {{"field": "spec", "msg": `spec: user "ann" may neither get Secret "token", which Server "web" reads, nor create Pods in this namespace, and changes the programs that read the object (spec.image, spec.code, spec.puppet); ask an administrator for one of both permissions`}} with input as review(create({"spec": {"image": {"repository": "r", "tag": "1"}}}), unreadable)
}
