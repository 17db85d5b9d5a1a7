package openvox.signing_test

import rego.v1

import data.openvox.signing

good := {
	"subject": {"commonName": "web1.example.com", "names": [{"oid": "2.5.4.3", "name": "CN", "value": "web1.example.com"}]},
	"dnsNames": [], "ipAddresses": [], "uris": [], "emails": [], "otherSans": [],
	"extensions": [], "attributes": [], "usages": [], "isCA": false, "signatureValid": true,
	"publicKey": {"type": "RSA", "bits": 4096, "exponent": 65537},
}

any := {"name": "any", "any": true}

web := {"name": "web", "pattern": {"allow": ["web*.example.com"]}}

ask(change, policies) := {"certname": "web1.example.com", "csr": object.union(good, change), "policies": policies, "reserved": ["main-operator", "Puppet.example.com"]}

refusals(request) := found if found := signing.refusals with input as request

test_signed if {
	refusals(ask({}, [any])) == set()
	refusals(ask({}, [web])) == set()
	refusals(ask({"dnsNames": ["anything.example.com"]}, [any])) == set()
	refusals(ask({"publicKey": {"type": "ECDSA", "bits": 256}}, [any])) == set()
}

test_no_policy if refusals(ask({}, [])) == {"there is no signing policy"}

test_no_request if {
	"there is no certificate request" in refusals({"certname": "a", "policies": [any], "reserved": []})
	refusals(ask({"error": "garbage"}, [any])) == {"the certificate request cannot be read: garbage"}
}

test_certname if {
	every name in ["", "a/b", "../a", "a..b", ".a", "a.", "-a", "a-", "a-.b", "A", "a b", "ä"] {
		request := object.union(ask({"subject": {"names": [{"oid": "2.5.4.3", "name": "CN", "value": name}]}}, [any]), {"certname": name})
		some refusal in refusals(request)
		startswith(refusal, "certname ")
	}
}

test_subject if {
	two := [{"name": "CN", "value": "web1.example.com"}, {"name": "CN", "value": "other"}]
	refusals(ask({"subject": {"names": two}}, [any])) == {`the subject has the common names ["web1.example.com", "other"], not the certname "web1.example.com" alone`}
	count(refusals(ask({"subject": {"names": []}}, [any]))) == 1
	more := array.concat(good.subject.names, [{"name": "O", "value": "x"}])
	refusals(ask({"subject": {"names": more}}, [any])) == {"the subject has O in addition to its common name, which the CA would drop"}
}

test_key if {
	every words, key in {
		"RSA of 1024 bits": {"type": "RSA", "bits": 1024, "exponent": 65537},
		"RSA of 16384 bits": {"type": "RSA", "bits": 16384, "exponent": 65537},
		"RSA with exponent 3": {"type": "RSA", "bits": 2048, "exponent": 3},
		"ECDSA of 224 bits": {"type": "ECDSA", "bits": 224, "exponent": 65537},
		"Ed25519 of 256 bits": {"type": "Ed25519", "bits": 256, "exponent": 65537},
		"of a kind that is not known": {"type": "", "bits": 0, "exponent": 65537},
	} {
		some refusal in refusals(ask({"publicKey": key}, [any]))
		startswith(refusal, sprintf("its key is %s;", [words]))
	}
	refusals(ask({"signatureValid": false}, [any])) == {"its signature is not made by the key that it asks a certificate for"}
}

test_ca if {
	refusals(ask({"isCA": true}, [any])) == {"it asks for a CA certificate (basicConstraints)"}
	refusals(ask({"usages": ["cert sign", "server auth"]}, [any])) == {`it asks for the usage "cert sign", which is a CA's`}
}

extension(oid, name, value) := {"oid": oid, "name": name, "critical": false, "value": value}

role := extension("1.3.6.1.4.1.34380.1.1.13", "pp_role", "web")

authorized := extension("1.3.6.1.4.1.34380.1.3.1", "pp_authorization", "true")

test_extensions if {
	refusals(ask({"extensions": [role, role]}, [any])) == {"extension pp_role stands twice"}
	every name in ["1.2.3", "basicConstraints", "keyUsage", "extendedKeyUsage", "subjectKeyIdentifier", "authorityKeyIdentifier"] {
		refusals(ask({"extensions": [extension("1.2.3", name, null)]}, [any])) == {sprintf("extension %s is neither subjectAltName nor Puppet's, and a Puppet CA signs no request with it; leave it out of the request", [name])}
	}
	refusals(ask({"extensions": [extension(role.oid, "pp_role", null)]}, [any])) == {"extension pp_role is not an ASN.1 text"}
	refusals(ask({"extensions": [extension("2.5.29.17", "subjectAltName", null)]}, [any])) == set()
	attribute := {"oid": "1.2", "name": "1.2", "value": null}
	refusals(ask({"attributes": [attribute, attribute]}, [any])) == {"attribute 1.2 stands twice"}
	refusals(ask({"attributes": [{"oid": "x", "name": "msExtReq", "value": null}]}, [any])) == {"attribute msExtReq is not accepted; ask for extensions by extensionRequest"}
}

test_authorization if {
	gives := `extension pp_authorization gives rights, and %s`
	unnamed := sprintf(gives, ["no signing policy names it in csrAttributes"])
	refusals(ask({"extensions": [authorized]}, [any])) == {sprintf(`signing policy "any": %s`, [unnamed])}
	refusals(ask({"extensions": [authorized]}, [web, any])) == {sprintf(`signing policies "any", "web": %s`, [unnamed])}
	refusals(ask({"extensions": [authorized]}, [])) == {"there is no signing policy", unnamed}
	names := object.union(web, {"csrAttributes": [{"name": "pp_authorization", "value": "true"}]})
	refusals(ask({"extensions": [authorized]}, [names])) == set()
	refusals(ask({"extensions": [authorized]}, [any, names])) == set()
	refusals(ask({"extensions": [authorized]}, [object.union(names, {"any": true})])) == {sprintf(`signing policy "web": %s`, [unnamed])}
	differs := object.union(names, {"name": "a", "pattern": {"allow": ["db*"]}})
	refusals(ask({"extensions": [authorized]}, [any, differs])) == {
		sprintf(`signing policy "any": %s`, [sprintf(gives, ["it does not name that in csrAttributes"])]),
		`signing policy "a": certname "web1.example.com" matches none of its patterns (db*)`,
	}
	admin := extension("1.3.6.1.4.1.34380.1.3.39", "pp_cli_auth", "true")
	never := {"extension pp_cli_auth makes an administrator of the CA, and is never signed on request"}
	refusals(ask({"extensions": [admin]}, [any])) == never
	refusals(ask({"extensions": [admin]}, [object.union(web, {"csrAttributes": [{"name": "pp_cli_auth", "value": "true"}]})])) == never
}

test_dns_names if {
	every name in ["*.example.com", "10.0.0.1", "", "a b", "a/b", "-a"] {
		some refusal in refusals(ask({"dnsNames": [name]}, [any]))
		startswith(refusal, sprintf("DNS name %q in subjectAltName is not a host name", [name]))
	}
}

test_reserved if {
	some name in refusals(ask({"dnsNames": ["puppet.EXAMPLE.com."]}, [any]))
	name == `DNS name "puppet.EXAMPLE.com." in subjectAltName is reserved: the CA, its operator or a Certificate has it`
	request := object.union(ask({"subject": {"names": [{"name": "CN", "value": "main-operator"}]}}, [any]), {"certname": "main-operator"})
	refusals(request) == {`certname "main-operator" is reserved: the CA, its operator or a Certificate has it`}
}

test_reserved_below_and_above if {
	every name in ["x.main-operator", "a.b.main-operator", "X.Main-Operator.", "ca-operator", "x.my.ca-operator"] {
		request := object.union(ask({"dnsNames": [name]}, [any]), {"reserved": [".main-operator", ".my.ca-operator"]})
		some refusal in refusals(request)
		contains(refusal, "is reserved")
	}
	every name in ["xmain-operator", "main-operator.example.com", "a-operator", "operator"] {
		request := object.union(ask({"dnsNames": [name]}, [any]), {"reserved": [".main-operator", ".my.ca-operator"]})
		refusals(request) == set()
	}
}

test_other_names if {
	every change in [{"ipAddresses": ["10.0.0.1"]}, {"uris": ["https://a"]}, {"emails": ["a@b"]}, {"otherSans": [{"type": "otherName"}]}] {
		every policy in [any, web] {
			some refusal in refusals(ask(change, [policy]))
			startswith(refusal, sprintf("signing policy %q: ", [policy.name]))
			contains(refusal, "signing policies permit DNS names only")
		}
	}
}

# A name that no policy permits is reported once, in addition to the reasons of each policy.
test_said_once if {
	address := {"ipAddresses": ["10.0.0.1"]}
	said := "IP address 10.0.0.1 in subjectAltName is asked for, and signing policies permit DNS names only"
	db := {"name": "db", "pattern": {"allow": ["db*"]}}
	other := `signing policy "db": certname "web1.example.com" matches none of its patterns (db*)`
	refusals(ask(address, [db])) == {said, other}
	refusals(ask(address, [web])) == {sprintf(`signing policy "web": %s`, [said])}
	refusals(ask(address, [db, web])) == {sprintf(`signing policy "web": %s`, [said]), other}
	refusals(ask(address, [db, web, any])) == {sprintf(`signing policies "any", "web": %s`, [said]), other}
	refusals(ask(address, [])) == {said, "there is no signing policy"}
	refusals(ask(object.union(address, {"dnsNames": ["x"]}), [db, web])) == {
		said, other,
		`signing policy "web": DNS names in subjectAltName (x) are asked for, and it has no dnsAltNames`,
	}
	refusals(ask(object.union(address, {"isCA": true}), [web])) == {"it asks for a CA certificate (basicConstraints)", sprintf(`signing policy "web": %s`, [said])}
}

test_conditions if {
	refusals(ask({}, [{"name": "e", "dnsAltNames": {"allow": ["*"]}}])) == {`signing policy "e": it has neither pattern nor csrAttributes, and so signs nothing`}
	refusals(ask({}, [{"name": "p", "pattern": {"allow": ["db*", "x"]}}])) == {`signing policy "p": certname "web1.example.com" matches none of its patterns (db*, x)`}
	refusals(ask({}, [{"name": "p", "pattern": {"allow": ["db*", "web?.*"]}}])) == set()
	refusals(ask({"dnsNames": ["x"]}, [web])) == {`signing policy "web": DNS names in subjectAltName (x) are asked for, and it has no dnsAltNames`}
	named := object.union(web, {"dnsAltNames": {"allow": ["web?", "puppet"]}})
	refusals(ask({"dnsNames": ["web1", "puppet"]}, [named])) == set()
	refusals(ask({"dnsNames": ["web1", "puppet"]}, [object.union(web, {"dnsAltNames": {"allow": ["*b1", "puppet"]}})])) == set()
	many := array.concat(["web?"], numbered(100, "?never-matches-any-name"))
	refusals(ask({"dnsNames": ["web1", "web2"]}, [object.union(web, {"dnsAltNames": {"allow": many}})])) == set()
	refusals(ask({"dnsNames": ["web1", "db"]}, [object.union(web, {"dnsAltNames": {"allow": many}})])) != set()
	refusals(ask({"dnsNames": ["web1", "evil"]}, [named])) == {`signing policy "web": subjectAltName has DNS names (evil) that match none of its dnsAltNames (web?, puppet)`}
	refusals(ask({}, [{"name": "b", "error": "Secret x is missing"}])) == {`signing policy "b": it cannot be used: Secret x is missing`}
	refusals(ask({}, [{"name": "b", "error": "Secret x is missing"}, web])) == set()
}

test_attributes if {
	policy := {"name": "a", "csrAttributes": [{"name": "pp_role", "value": "web"}]}
	missing := {`signing policy "a": pp_role is missing`}
	wrong := {`signing policy "a": pp_role is not the required value`}
	refusals(ask({}, [policy])) == missing
	refusals(ask({"extensions": [role]}, [policy])) == set()
	refusals(ask({"attributes": [role]}, [policy])) == set()
	refusals(ask({"extensions": [object.union(role, {"value": "db"})]}, [policy])) == wrong
	refusals(ask({"extensions": [object.union(role, {"value": "db"})], "attributes": [role]}, [policy])) == wrong
	by_oid := {"name": "a", "csrAttributes": [{"name": role.oid, "value": "web"}]}
	refusals(ask({"extensions": [role]}, [by_oid])) == set()
}

permits(pattern, name) if signing.strays([pattern]) == [] with input as ask({"dnsNames": [name]}, [])

test_globs if {
	every pattern in ["web1", "web?", "w*1", "*", "web[0-9]", "web[^a]", "w[a-f]b1", "web[123]"] {
		permits(pattern, "web1")
	}
	every pattern in ["web", "web1?", "web[a-z]", "web[", "web\\1", "web[z-a]", "web[[:digit:]]", "[", "web[]", "web{1}", "web.", "WEB1", ""] {
		not permits(pattern, "web1")
	}
}

# Each name is matched by itself, though they are looked at together.
test_globs_and_lines if {
	every pattern in ["a?b", "a*b", "a[^x]b", "a*"] {
		every names in [["a", "b"], ["a\nb"]] {
			refusals(ask({"dnsNames": names}, [{"name": "p", "pattern": {"allow": ["*"]}, "dnsAltNames": {"allow": [pattern]}}])) != set()
		}
	}
}

# Stars end at a slash, which only such a name shows: no certificate is for it anyway.
test_globs_and_slashes if {
	every pattern in ["a/b*", "*/b1", "a/?1", "a/b1"] {
		permits(pattern, "a/b1")
	}
	every pattern in ["a*", "*b1", "*"] {
		not permits(pattern, "a/b1")
	}
	policies := [{"name": "slash", "pattern": {"allow": ["a/b*"]}}, {"name": "star", "pattern": {"allow": ["a*"]}}]
	matched := refusals(object.union(ask({}, policies), {"certname": "a/b1"}))
	not `signing policy "star": certname "a/b1" matches none of its patterns (a*)` in matched # for slash matches
	`signing policy "star": certname "a/c1" matches none of its patterns (a*)` in refusals(object.union(ask({}, policies), {"certname": "a/c1"}))
}

# Bounds, one over and just at.

times(number, text) := [text | some _ in numbers.range(1, number)]

numbered(number, prefix) := [sprintf("%s%d", [prefix, n]) | some n in numbers.range(1, number)]

too_large(change, words) if refusals(ask(change, [any])) == {sprintf("the certificate request is too large: it has %s are reviewed", [words])}

test_bounds if {
	too_large({"dnsNames": numbered(101, "n")}, "101 names in subjectAltName, and at most 100")
	too_large({"dnsNames": numbered(50, "n"), "ipAddresses": times(51, "10.0.0.1")}, "101 names in subjectAltName, and at most 100")
	too_large({"uris": [concat("", times(4001, "u"))]}, "4001 characters in subjectAltName, and at most 4000")
	too_large({"usages": times(101, "server auth")}, "101 usages, and at most 100")
	too_large({"extensions": times(101, role)}, "101 extensions, and at most 100")
	too_large({"attributes": times(101, role)}, "101 attributes, and at most 100")
	too_large({"subject": {"names": times(21, good.subject.names[0])}}, "21 names in its subject, and at most 20")
	too_large({"subject": {"names": [{"name": "CN", "value": concat("", times(1001, "a"))}]}}, "1001 characters in its subject, and at most 1000")
	refusals(object.union(ask({}, [any]), {"certname": concat("", times(254, "a"))})) == {"the certificate request is too large: it has 254 characters in its certname, and at most 253 are reviewed"}
	refusals(ask({"dnsNames": numbered(100, "n")}, [any])) == set()
	long := concat("", times(253, "a"))
	refusals({"certname": long, "csr": object.union(good, {"subject": {"names": [{"name": "CN", "value": long}]}}), "policies": [any], "reserved": []}) == set()
}

# For any number of reasons, the most helpful ones are reported, and none is long.
test_told if {
	far := [{"name": name, "pattern": {"allow": numbered(200, "db")}} | some name in numbered(40, "far")]
	near := {"name": "near", "pattern": {"allow": ["web*"]}}
	told := refusals(ask({"isCA": true, "dnsNames": numbered(90, "n")}, array.concat(far, [near])))
	count(told) == 13
	"it asks for a CA certificate (basicConstraints)" in told
	`signing policy "near": DNS names in subjectAltName (n1, n2, n3, n4, n5 and 85 more) are asked for, and it has no dnsAltNames` in told
	"… and 30 more reasons" in told
	some one in told
	startswith(one, `signing policy "far1": certname "web1.example.com" matches none of its patterns (db1, db2, db3, db4, db5 and 195 more)`)
	every text in told {
		count(text) < 400
	}
	long := concat("", times(3000, "x"))
	every change in [{"error": long}, {"dnsNames": [long]}, {"uris": [long]}, {"extensions": [extension("1", long, null)]}] {
		every text in refusals(ask(change, [near])) {
			count(text) < 400
		}
	}
}
