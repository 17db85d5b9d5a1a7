# METADATA
# title: Who gets a certificate
# description: |
#   input has certname, csr (the parsed request), policies (as rendered for the autosign
#   hook) and reserved (names that nobody may ask for). The answer is refusals: nothing
#   is signed unless that is empty.
package openvox.signing

import rego.v1

# Nothing else of a request that cannot be read is judged.
csr := input.csr if object.get(input.csr, "error", "") == ""

refusals contains sprintf("the certificate request cannot be read: %s", [input.csr.error]) if {
	object.get(input.csr, "error", "") != ""
}

refusals contains "there is no certificate request" if not input.csr

refusals contains objection if some objection in objections

refusals contains "there is no signing policy" if {
	csr
	count(input.policies) == 0
}

# Policy by policy, why none matches.
refusals contains msg if {
	not matching
	some i in other_names
	policy := input.policies[i]
	msg := sprintf("signing policy %q: certname %q matches none of its patterns (%s)", [policy.name, input.certname, concat(", ", policy.pattern.allow)])
}

refusals contains msg if {
	not matching
	some i in (places - other_names)
	msg := sprintf("signing policy %q: %s", [input.policies[i].name, concat(", ", sort(misses[i]))])
}

matching if {
	count(unpermitted) == 0
	some i, _ in fit
	not misses[i]
}

# What no policy permits is said once, with the names of those that match but for that.
refusals contains sprintf("%s%s", [but_for_that, msg]) if some msg in unpermitted

but_for_that := "" if count(near) == 0

but_for_that := sprintf("signing policy %s: ", near) if count(near) == 1

but_for_that := sprintf("signing policies %s: ", [concat(", ", near)]) if count(near) > 1

near := sort([sprintf("%q", [policy.name]) | some i, policy in fit; not misses[i]])

# What no policy permits.

name_pattern := `^[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?$`

dns_pattern := `^[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$`

address_pattern := `^[0-9.]+$`

objections contains msg if {
	csr
	not storable(input.certname)
	msg := sprintf("certname %q: a certname has at most 253 of a-z, 0-9, dot, hyphen and underscore, begins and ends with none of the punctuation, and has no two dots in a row", [input.certname])
}

storable(name) if {
	regex.match(name_pattern, name)
	not contains(name, "..")
	count(name) <= 253
}

objections contains msg if {
	csr
	names := [name.value | some name in csr.subject.names; name.name == "CN"]
	names != [input.certname]
	msg := sprintf("the subject has the common names %v, not the certname %q alone", [names, input.certname])
}

objections contains msg if {
	others := {name.name | some name in csr.subject.names; name.name != "CN"}
	count(others) > 0
	msg := sprintf("the subject has %s beside its common name, which the CA would drop", [concat(", ", sort(others))])
}

objections contains "its signature is not made by the key that it asks a certificate for" if {
	csr
	not csr.signatureValid == true
}

objections contains msg if {
	csr
	not acceptable(csr.publicKey)
	msg := sprintf("its key is %s; keys are RSA of 2048 to 8192 bits with an exponent of at least 65537, or ECDSA on P-256, P-384 or P-521", [describe(csr.publicKey)])
}

acceptable(key) if {
	key.type == "RSA"
	key.bits >= 2048
	key.bits <= 8192
	key.exponent >= 65537
}

acceptable(key) if {
	key.type == "ECDSA"
	key.bits in {256, 384, 521}
}

describe(key) := "of a kind that is not known" if key.type == ""

describe(key) := sprintf("%s of %d bits", [key.type, key.bits]) if {
	key.type != ""
	object.get(key, "exponent", 65537) >= 65537
}

describe(key) := sprintf("%s with exponent %d", [key.type, key.exponent]) if key.exponent < 65537

objections contains "it asks for a CA certificate (basicConstraints)" if csr.isCA

objections contains msg if {
	some usage in csr.usages
	usage in {"cert sign", "crl sign", "ocsp signing"}
	msg := sprintf("it asks for the usage %q, which is a CA's", [usage])
}

objections contains msg if {
	some kind, items in {"extension": csr.extensions, "attribute": csr.attributes}
	some i, item in items
	some j, other in items
	j < i
	item.oid == other.oid
	msg := sprintf("%s %s stands twice", [kind, item.name])
}

# A second way to ask for extensions, which not every CA reads.
objections contains "attribute msExtReq is not accepted; ask for extensions by extensionRequest" if {
	some attribute in csr.attributes
	attribute.name == "msExtReq"
}

standard := {"subjectAltName", "keyUsage", "extendedKeyUsage", "basicConstraints", "subjectKeyIdentifier"}

information := ["1.3.6.1.4.1.34380.1.1.", "1.3.6.1.4.1.34380.1.2."]

authorization := "1.3.6.1.4.1.34380.1.3."

objections contains msg if {
	some extension in csr.extensions
	not known(extension)
	msg := sprintf("extension %s is neither a standard one nor Puppet's", [extension.name])
}

known(extension) if extension.name in standard

known(extension) if {
	some arc in array.concat(information, [authorization])
	startswith(extension.oid, arc)
}

objections contains msg if {
	some extension in csr.extensions
	known(extension)
	not extension.name in standard
	extension.value == null
	msg := sprintf("extension %s is no ASN.1 text", [extension.name])
}

objections contains "extension pp_cli_auth makes an administrator of the CA, and is never signed on request" if {
	some extension in csr.extensions
	extension.name == "pp_cli_auth"
}

objections contains msg if {
	some name in csr.dnsNames
	not hostname(name)
	msg := sprintf("DNS name %q in subjectAltName is no host name; wildcards, addresses and names that are not encoded in ASCII are not accepted", [name])
}

hostname(name) if {
	regex.match(dns_pattern, name)
	not regex.match(address_pattern, name)
	count(name) <= 254
}

reserved := {fold(name) | some name in input.reserved}

fold(name) := trim_suffix(lower(name), ".")

taken(name) if fold(name) in reserved

# A plain name in a CA's auth.conf lets in whoever has a name below it, or above it.
taken(name) if {
	some suffix in input.reserved
	startswith(suffix, ".")
	related(fold(name), suffix)
}

related(name, suffix) if endswith(name, suffix)

related(name, suffix) if endswith(suffix, concat("", [".", name]))

objections contains msg if {
	csr
	taken(input.certname)
	msg := sprintf("certname %q is reserved: the CA, its operator or a Certificate has it", [input.certname])
}

objections contains msg if {
	some name in csr.dnsNames
	taken(name)
	msg := sprintf("DNS name %q in subjectAltName is reserved: the CA, its operator or a Certificate has it", [name])
}

# Policies, by their place. There may be many for other names than this one, and so what
# is not about the certname is asked of the rest only.

places := {i | input.policies[i]}

unusable := {i | input.policies[i].error}

# Conditions of a policy that has `any` are not looked at.
for_any := {i | input.policies[i].any == true}

other_names := {i | csr; input.policies[i].pattern.allow} - ((by_name | for_any) | unusable)

fit := {i: input.policies[i] | csr; some i in ((places - other_names) - unusable)}

bound := {i: fit[i] | some i in (object.keys(fit) - for_any)}

by_name := (same_name | same_affixes) | same_shape

same_name := {i | input.policies[i].pattern.allow[_] == input.certname; not costly(input.certname)}

# A name with a slash is not looked for here, for no star matches one.
same_affixes := {i |
	not contains(input.certname, "/")
	pattern := input.policies[i].pattern.allow[_]
	[prefix, suffix] = split(pattern, "*")
	startswith(input.certname, prefix)
	endswith(input.certname, suffix)
	count(input.certname) >= count(pattern) - 1
	not costly(pattern)
}

same_shape := {i |
	uncommon
	pattern := input.policies[i].pattern.allow[_]
	shape_matches(pattern, input.certname)
}

# Asked once for all policies.
uncommon if costly(concat("\n", [pattern | pattern := input.policies[_].pattern.allow[_]]))

uncommon if contains(input.certname, "/")

# Why they do not match.

misses[i] contains sprintf("it cannot be used: %s", [policy.error]) if some i, policy in input.policies

misses[i] contains "it has neither pattern nor csrAttributes, and so signs nothing" if {
	some i, policy in bound
	not policy.pattern
	count(object.get(policy, "csrAttributes", [])) == 0
}

misses[i] contains sprintf("%s is not what it asks for", [wanted.name]) if {
	some i, policy in bound
	some wanted in policy.csrAttributes
	some value in values_of(wanted.name)
	value != wanted.value
}

misses[i] contains sprintf("%s is missing", [wanted.name]) if {
	some i, policy in bound
	some wanted in policy.csrAttributes
	count(values_of(wanted.name)) == 0
}

# The certificate will have what the extension says, so that wins over an attribute.
values_of(name) := from_extensions(name) if count(from_extensions(name)) > 0

values_of(name) := [attribute.value | some attribute in csr.attributes; named(attribute, name)] if {
	count(from_extensions(name)) == 0
}

from_extensions(name) := [extension.value | some extension in csr.extensions; named(extension, name)]

named(item, name) if name == item.name

named(item, name) if {
	name == item.oid
	name != item.name
}

misses[i] contains msg if {
	count(csr.dnsNames) > 0
	some i, policy in bound
	not policy.dnsAltNames
	msg := sprintf("DNS names in subjectAltName (%s) are asked for, and it has no dnsAltNames", [concat(", ", csr.dnsNames)])
}

misses[i] contains msg if {
	some i, policy in bound
	patterns := policy.dnsAltNames.allow
	some name in csr.dnsNames
	not any_matches(patterns, name)
	msg := sprintf("DNS name %q in subjectAltName matches none of its dnsAltNames (%s)", [name, concat(", ", patterns)])
}

# Also of policies with `any`.

misses[i] contains msg if {
	some extension in rights
	given(extension)
	some i, policy in fit
	not names_extension(policy, extension)
	msg := sprintf("extension %s gives rights, and it does not name that in csrAttributes", [extension.name])
}

rights contains extension if {
	some extension in csr.extensions
	startswith(extension.oid, authorization)
	extension.name != "pp_cli_auth"
}

given(extension) if {
	some policy in input.policies
	names_extension(policy, extension)
}

unpermitted contains msg if {
	some extension in rights
	not given(extension)
	msg := sprintf("extension %s gives rights, and no signing policy names it in csrAttributes", [extension.name])
}

unpermitted contains msg if {
	some kind, names in {
		"IP address": csr.ipAddresses, "URI": csr.uris, "e-mail address": csr.emails,
		"name of another type": [other.type | some other in csr.otherSans],
	}
	some name in names
	msg := sprintf("%s %s in subjectAltName is asked for, and signing policies permit DNS names only", [kind, name])
}

names_extension(policy, extension) if {
	not policy.any == true
	some wanted in policy.csrAttributes
	named(extension, wanted.name)
}

# Globs, as Go's filepath.Match reads them, but for backslashes: there is nothing in a
# name to escape for.

any_matches(patterns, name) if {
	some pattern in patterns
	glob_matches(pattern, name)
}

# Most globs have one star at most, and need no regular expression.
glob_matches(name, name) if not costly(name)

glob_matches(pattern, name) if {
	[prefix, suffix] = split(pattern, "*")
	startswith(name, prefix)
	endswith(name, suffix)
	count(name) >= count(pattern) - 1
	not costly(pattern)
	not contains(name, "/")
}

glob_matches(pattern, name) if shape_matches(pattern, name)

costly(pattern) if regex.match(`[?\[]|\*[^\n]*\*`, pattern)

# Other globs, and names with a slash, are left to regular expressions.
by_shape(pattern, _) if costly(pattern)

by_shape(_, name) if contains(name, "/")

shape_matches(pattern, name) if {
	by_shape(pattern, name)
	not contains(pattern, "[")
	regex.match(glob_regex(literal, pattern), name)
}

shape_matches(pattern, name) if {
	contains(pattern, "[")
	glob_valid(pattern)
	regex.match(glob_regex(special, pattern), name)
}

glob_valid(pattern) if regex.match(`^[^\[\]\\^]+$`, pattern)

glob_valid(pattern) if {
	contains(pattern, "[")
	regex.match(`^(?:[^\[\]\\^]|\[\^?(?:[A-Za-z0-9._](?:-[A-Za-z0-9._])?)+\])+$`, pattern)
	regex.is_valid(glob_regex(special, pattern))
}

glob_regex(escapes, pattern) := concat("", ["^(?:", strings.replace_n(escapes, pattern), ")$"])

special := {
	".": `\.`, "*": "[^/]*", "?": "[^/]", "+": `\+`, "(": `\(`, ")": `\)`, "{": `\{`, "}": `\}`, "|": `\|`, "$": `\$`,
}

# Without a class, these have no meaning either.
literal := object.union(special, {"^": `\^`, "]": `\]`, `\`: `\\`})
