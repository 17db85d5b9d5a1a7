# METADATA
# title: Nodes that get a certificate
# description: |
#   input has certname, csr (the parsed request), policies (as rendered for the autosign
#   hook) and reserved (names that no request may contain). The answer is refusals:
#   nothing is signed unless they are empty.
package openvox.signing

import rego.v1

# No other part of a request that cannot be read, or is too large, is evaluated.
csr := input.csr if {
	object.get(input.csr, "error", "") == ""
	count(excess) == 0
}

# The first reasons, in an order in which those that help most are first.
refusals contains msg if some msg in array.slice(reasons, 0, most_reasons)

refusals contains sprintf("… and %d more reasons", [number_of_reasons - most_reasons]) if number_of_reasons > most_reasons

most_reasons := 12

reasons := array.concat(array.concat(sort(faults), near_misses), far_misses)

number_of_reasons := (count(faults) + count(near)) + count(far)

faults contains sprintf("the certificate request cannot be read: %s", [cut(input.csr.error, 300)]) if {
	object.get(input.csr, "error", "") != ""
}

faults contains "there is no certificate request" if not input.csr

faults contains sprintf("the certificate request is too large: it has %d %s, and at most %d are reviewed", [amount, what, most[what]]) if {
	some what, amount in excess
}

faults contains objection if some objection in objections

faults contains "there is no signing policy" if {
	csr
	count(input.policies) == 0
}

# Anybody may ask: what a request may have is bounded, so that no answer is slow or long.

most := {
	"characters in its certname": 253, "names in its subject": 20, "characters in its subject": 1000,
	"names in subjectAltName": 100, "characters in subjectAltName": 4000,
	"extensions": 100, "attributes": 100, "usages": 100,
}

amounts := {
	"characters in its certname": count(input.certname),
	"names in its subject": count(input.csr.subject.names),
	"characters in its subject": count(concat("", [name.value | some name in array.slice(input.csr.subject.names, 0, 20)])),
	"names in subjectAltName": sum([count(names) | some names in [input.csr.dnsNames, input.csr.ipAddresses, input.csr.uris, input.csr.emails, input.csr.otherSans]]),
	"characters in subjectAltName": sum([count(concat("", names)) | some names in [input.csr.dnsNames, input.csr.uris, input.csr.emails]]),
	"extensions": count(input.csr.extensions), "attributes": count(input.csr.attributes), "usages": count(input.csr.usages),
}

excess[what] := amount if {
	some what, amount in amounts
	amount > most[what]
}

cut(text, length) := concat("", [substring(text, 0, length), ellipsis[count(text) > length]])

ellipsis := {true: "…", false: ""}

brief(text) := cut(text, 100)

listed(texts) := beginning(array.slice(texts, 0, 5), count(texts))

# The first of so many.
beginning(texts, number) := concat("", [concat(", ", [brief(text) | some text in texts]), further(number - count(texts))])

further(number) := "" if number <= 0

further(number) := sprintf(" and %d more", [number]) if number > 0

quoted(texts) := [sprintf("%q", [text]) | some text in texts]

# Policy by policy, why none matches: first of those that are for the certname.

near_misses := [msg |
	some i in first(near)
	msg := sprintf("signing policy %q: %s", [input.policies[i].name, cut(concat(", ", sort(misses[i])), 1000)])
]

far_misses := [msg |
	some i in first(far)
	policy := input.policies[i]
	msg := sprintf("signing policy %q: certname %q matches none of its patterns (%s)", [policy.name, input.certname, listed(policy.pattern.allow)])
]

near := unfit if not matching

near := set() if matching

far := other_names if not matching

far := set() if matching

# Of the policies with these indices, those with the first names: only these are reported.
first(chosen) := [pair[1] | some pair in array.slice(sort([[input.policies[i].name, i] | some i in chosen]), 0, most_reasons)]

matching if {
	count(unpermitted) == 0
	some i in candidates
	permits_names(i)
}

# What no policy permits is said once, with the names of those that match but for that.
faults contains sprintf("%s%s", [but_for_that, msg]) if some msg in unpermitted

but_for_that := "" if count(matched) == 0

but_for_that := sprintf("signing policy %s: ", quoted(matched_names)) if count(matched) == 1

but_for_that := sprintf("signing policies %s: ", [listed(quoted(matched_names))]) if count(matched) > 1

matched_names := sort([input.policies[i].name | some i in matched])

# What no policy permits.

name_pattern := `^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_-]*[a-z0-9_])*$`

dns_pattern := `^[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$`

address_pattern := `^[0-9.]+$`

objections contains msg if {
	csr
	not storable(input.certname)
	msg := sprintf("certname %q: a certname has at most 253 of a-z, 0-9, dot, hyphen and underscore, begins with no punctuation, and none of its parts between dots is empty or ends with a hyphen", [input.certname])
}

storable(name) if {
	count(name) <= 253
	regex.match(name_pattern, name)
}

objections contains msg if {
	csr
	names := [name.value | some name in csr.subject.names; name.name == "CN"]
	names != [input.certname]
	msg := sprintf("the subject has the common names [%s], not the certname %q alone", [listed(quoted(names)), input.certname])
}

objections contains msg if {
	others := {name.name | some name in csr.subject.names; name.name != "CN"}
	count(others) > 0
	msg := sprintf("the subject has %s in addition to its common name, which the CA would drop", [listed(sort(others))])
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
	some kind, items in requested
	count({item.oid | some item in items}) < count(items)
	some places in standing[kind]
	count(places) > 1
	msg := sprintf("%s %s stands twice", [kind, brief(items[min(places)].name)])
}

requested := {"extension": csr.extensions, "attribute": csr.attributes}

standing[kind][item.oid] contains i if {
	some kind, items in requested
	some i, item in items
}

# A second way to ask for extensions, which not every CA reads.
objections contains "attribute msExtReq is not accepted; ask for extensions by extensionRequest" if {
	some attribute in csr.attributes
	attribute.name == "msExtReq"
}

information := ["1.3.6.1.4.1.34380.1.1.", "1.3.6.1.4.1.34380.1.2."]

authorization := "1.3.6.1.4.1.34380.1.3."

arcs := array.concat(information, [authorization])

objections contains msg if {
	some extension in csr.extensions
	extension.name != "subjectAltName"
	not strings.any_prefix_match(extension.oid, arcs)
	msg := sprintf("extension %s is neither subjectAltName nor Puppet's, and a Puppet CA signs no request with it; leave it out of the request", [brief(extension.name)])
}

objections contains msg if {
	some extension in csr.extensions
	extension.value == null
	strings.any_prefix_match(extension.oid, arcs)
	msg := sprintf("extension %s is not an ASN.1 text", [brief(extension.name)])
}

objections contains "extension pp_cli_auth makes an administrator of the CA, and is never signed on request" if {
	some extension in csr.extensions
	extension.name == "pp_cli_auth"
}

objections contains msg if {
	some name in csr.dnsNames
	not hostname(name)
	msg := sprintf("DNS name %q in subjectAltName is not a host name; wildcards, addresses and names that are not encoded in ASCII are not accepted", [brief(name)])
}

hostname(name) if {
	count(name) <= 254
	regex.match(dns_pattern, name)
	not regex.match(address_pattern, name)
}

taken(name) if fold(name) in taken_names

fold(name) := trim_suffix(lower(name), ".")

# A plain name in a CA's auth.conf also permits names below and above it.
taken_names := (asked & reserved) | {name |
	relatives
	some name in asked
	some suffix in reserved_families
	related(name, suffix)
}

asked := {fold(name) | some name in array.concat([input.certname], csr.dnsNames)}

reserved := {fold(name) | some name in input.reserved}

reserved_families := {suffix | some suffix in input.reserved; startswith(suffix, ".")}

# Whether some name has one: two calls, where most requests have none.
relatives if strings.any_suffix_match(asked, reserved_families)

relatives if strings.any_suffix_match(reserved_families, {concat("", [".", name]) | some name in asked})

related(name, suffix) if endswith(name, suffix)

related(name, suffix) if endswith(suffix, concat("", [".", name]))

objections contains msg if {
	csr
	taken(input.certname)
	msg := sprintf("certname %q is reserved: the CA, its operator or a Certificate has it", [input.certname])
}

objections contains msg if {
	count(taken_names) > 0
	some name in csr.dnsNames
	taken(name)
	msg := sprintf("DNS name %q in subjectAltName is reserved: the CA, its operator or a Certificate has it", [brief(name)])
}

# Policies, by their index. There may be many for other names than this one, so rules that are
# not about the certname are evaluated for the rest only.

places := {i | input.policies[i]}

unusable := {i | input.policies[i].error}

# Conditions of a policy that has `any` are not looked at.
for_any := {i | input.policies[i].any == true}

other_names := {i | csr; input.policies[i].pattern.allow} - ((by_name | for_any) | unusable)

fit := {i: input.policies[i] | csr; some i in ((places - other_names) - unusable)}

bound := {i: fit[i] | some i in (object.keys(fit) - for_any)}

by_name := (same_name | same_affixes) | same_shape

same_name := {i | csr; input.policies[i].pattern.allow[_] == input.certname; not costly(input.certname)}

# A name with a slash is not looked for here, for no star matches one.
same_affixes := {i |
	csr
	not contains(input.certname, "/")
	pattern := input.policies[i].pattern.allow[_]
	[prefix, suffix] = split(pattern, "*")
	startswith(input.certname, prefix)
	endswith(input.certname, suffix)
	count(input.certname) >= count(pattern) - 1
	not costly(pattern)
}

same_shape := {i |
	csr
	uncommon
	pattern := input.policies[i].pattern.allow[_]
	shape_matches(pattern, input.certname)
}

uncommon if {
	some policy in input.policies
	costly(concat("\n", policy.pattern.allow))
}

uncommon if contains(input.certname, "/")

# Which match, and which do not.

matched := object.keys(fit) - unfit

unfit := (unusable | otherwise_unfit) | {i | some i in candidates; not permits_names(i)}

# To look at DNS names takes longest, and only those policies are left for it that match else.
candidates := object.keys(fit) - otherwise_unfit

otherwise_unfit := ({i | some i, policy in bound; aimless(policy)} | {i | some i, policy in bound; lacking(policy)}) | {i |
	count(permitted_rights) > 0
	some i, _ in fit
	count(unnamed(i)) > 0
}

aimless(policy) if {
	not policy.pattern
	count(object.get(policy, "csrAttributes", [])) == 0
}

# The request has it with another value, with several, or not at all.
unmet(wanted) if object.get(offered, wanted.name, set()) != {wanted.value}

lacking(policy) if {
	some wanted in policy.csrAttributes
	unmet(wanted)
}

# The certificate will have what the extension says, so that wins over an attribute.
offered := object.union(object.get(all_offered, "attribute", {}), object.get(all_offered, "extension", {}))

# By name and by OID.
all_offered[kind][item.name] contains item.value if {
	some kind, items in requested
	some item in items
	item.name in wanted_names
}

all_offered[kind][item.oid] contains item.value if {
	some kind, items in requested
	some item in items
	item.oid in wanted_names
}

wanted_names := {wanted.name | some policy in bound; some wanted in policy.csrAttributes}

# Extensions that give rights, and that a policy does not name; also of policies with `any`.
unnamed(i) := permitted_rights - object.get(rights_of, i, set())

# Names by name and by OID.
rights := object.union({extension.name: extension.name | some extension in giving}, {extension.oid: extension.name | some extension in giving})

giving := [extension |
	some extension in csr.extensions
	startswith(extension.oid, authorization)
	extension.name != "pp_cli_auth"
]

# What policies name in csrAttributes, which counts where they have no `any`.
rights_of := {i: names |
	some i, policy in input.policies
	not for_any[i]
	names := {rights[wanted.name] | some wanted in policy.csrAttributes}
}

permitted_rights := union({names | some names in rights_of})

# Why a policy does not match.

misses[i] contains sprintf("it cannot be used: %s", [policy.error]) if some i, policy in input.policies

misses[i] contains "it has neither pattern nor csrAttributes, and so signs nothing" if {
	some i, policy in bound
	aimless(policy)
}

misses[i] contains sprintf("%s is %s", [wanted.name, how]) if {
	some i, policy in bound
	some wanted in policy.csrAttributes
	unmet(wanted)
	how := {true: "not the required value", false: "missing"}[wanted.name in object.keys(offered)]
}

misses[i] contains msg if {
	csr.dnsNames != []
	some i, policy in bound
	not policy.dnsAltNames
	msg := sprintf("DNS names in subjectAltName (%s) are asked for, and it has no dnsAltNames", [listed(csr.dnsNames)])
}

misses[i] contains msg if {
	some i, policy in bound
	patterns := policy.dnsAltNames.allow
	outside := strays(patterns)
	count(outside) > 0
	names := [trim(line, "\n\r") | some line in array.slice(outside, 0, 5)]
	msg := sprintf("subjectAltName has DNS names (%s) that match none of its dnsAltNames (%s)", [beginning(names, count(outside)), listed(patterns)])
}

misses[i] contains msg if {
	count(permitted_rights) > 0
	some i, _ in fit
	some name in array.slice(sort(unnamed(i)), 0, 5)
	msg := sprintf("extension %s gives rights, and it does not name that in csrAttributes", [brief(name)])
}

# DNS names and globs may both be many, so that each call looks at all names. They are one
# text, in which each stands between a line feed and a carriage return, and from which is
# erased what globs match: a name counts as matched once its carriage return is gone.

dns_text := concat("", [concat("", ["\n", name, "\r"]) | some name in {name | some name in csr.dnsNames}])

permits_names(i) if for_any[i]

permits_names(_) if csr.dnsNames == []

permits_names(i) if not contains(unmatched(bound[i].dnsAltNames.allow), "\r")

# The names that no glob matches, with the two characters around them.
strays(patterns) := regex.find_n(`\n[^\n\r]*\r`, unmatched(patterns), -1)

unmatched(patterns) := remaining(patterns) if shapes(patterns) == ""

unmatched(patterns) := regex.replace(remaining(patterns), concat("", ["\n(?:", shapes(patterns), ")\r"]), "") if {
	count(shapes(patterns)) > 0
	count(shapes(patterns)) <= longest_expression
}

unmatched(patterns) := strings.replace_n({line: "" | some line in lines}, remaining(patterns)) if {
	count(shapes(patterns)) > longest_expression
	lines := {line |
		some pattern in patterns
		not erased(pattern)
		some line in regex.find_n(concat("", ["\n(?:", shape(pattern), ")\r"]), remaining(patterns), -1)
	}
}

# In characters: the engine does not run long expressions on long texts.
longest_expression := 1500

shapes(patterns) := concat("|", [shape(pattern) | some pattern in patterns; not erased(pattern)])

# Most globs are plain names, or begin with their only star, and need no regular expression.
remaining(patterns) := strings.replace_n({erased(pattern): "" | some pattern in patterns}, dns_text)

erased(pattern) := concat("", ["\n", pattern, "\r"]) if {
	not contains(pattern, "*")
	not by_shape(pattern, dns_text)
}

erased(pattern) := concat("", [trim_prefix(pattern, "*"), "\r"]) if {
	startswith(pattern, "*")
	not by_shape(pattern, dns_text)
}

unpermitted contains msg if {
	some name in ({name | some name in rights} - permitted_rights)
	msg := sprintf("extension %s gives rights, and no signing policy names it in csrAttributes", [brief(name)])
}

unpermitted contains msg if {
	some kind, names in {
		"IP address": csr.ipAddresses, "URI": csr.uris, "e-mail address": csr.emails,
		"name of another type": [other.type | some other in csr.otherSans],
	}
	some name in names
	msg := sprintf("%s %s in subjectAltName is asked for, and signing policies permit DNS names only", [kind, brief(name)])
}

# Globs, as Go's filepath.Match reads them, but for backslashes: there is nothing in a
# name to escape for. Most have one star at most, and need no regular expression.

costly(pattern) if regex.match(`[?\[]|\*[^\n]*\*`, pattern)

# Other globs, and names with a slash, are left to regular expressions.
by_shape(pattern, _) if costly(pattern)

by_shape(_, name) if contains(name, "/")

shape_matches(pattern, name) if {
	by_shape(pattern, name)
	regex.match(concat("", ["^(?:", shape(pattern), ")$"]), name)
}

# As a regular expression, which never reaches beyond a line.
shape(pattern) := strings.replace_n(literal, pattern) if not contains(pattern, "[")

shape(pattern) := strings.replace_n(special, pattern) if {
	contains(pattern, "[")
	glob_valid(pattern)
}

glob_valid(pattern) if regex.match(`^[^\[\]\\^]+$`, pattern)

glob_valid(pattern) if {
	contains(pattern, "[")
	regex.match(`^(?:[^\[\]\\^]|\[\^?(?:[A-Za-z0-9._](?:-[A-Za-z0-9._])?)+\])+$`, pattern)
	regex.is_valid(strings.replace_n(special, pattern))
}

special := {
	".": `\.`, "*": `[^/\n\r]*`, "?": `[^/\n\r]`, "[^": `[^\n\r`, "+": `\+`, "(": `\(`, ")": `\)`, "{": `\{`, "}": `\}`, "|": `\|`, "$": `\$`,
}

# Without a class, these have no meaning either.
literal := object.union(special, {"^": `\^`, "]": `\]`, `\`: `\\`})
