# METADATA
# title: Why signing policies do not match, said one policy and one glob at a time
# description: The rules must come to the same, and are asked in another order.
package reference

import rego.v1

csr := input.csr if object.get(input.csr, "error", "") == ""

# Policy by policy, why none matches.
refusals contains msg if {
	not matching
	some i, policy in input.policies
	msg := sprintf("signing policy %q: %s", [policy.name, concat(", ", sort(misses[i]))])
}

matching if {
	count(common) == 0
	some i, _ in fit
	not misses[i]
}

refusals contains "there is no signing policy" if {
	csr
	count(input.policies) == 0
}

# What every policy would say is said once, by those that have nothing else to say.
refusals contains msg if {
	some words in common
	names := sort([sprintf("%q", [policy.name]) | some i, policy in fit; not misses[i]])
	msg := concat("", [whose[min([count(names), 2])], concat(", ", names), colon[min([count(names), 1])], words])
}

whose := ["", "signing policy ", "signing policies "]

colon := ["", ": "]

authorization := "1.3.6.1.4.1.34380.1.3."

# Why policies do not match, by their place. What is not about the certname is asked
# only of policies that may sign for it, since there may be many others.

misses[i] contains sprintf("it cannot be used: %s", [policy.error]) if some i, policy in input.policies

misses[i] contains "it has neither pattern nor csrAttributes, and so signs nothing" if {
	some i, policy in conditional
	not policy.pattern
	count(object.get(policy, "csrAttributes", [])) == 0
}

misses[i] contains msg if {
	some i, policy in conditional
	other_names[i]
	msg := sprintf("certname %q matches none of its patterns (%s)", [input.certname, concat(", ", policy.pattern.allow)])
}

other_names contains i if {
	some i, policy in conditional
	patterns := policy.pattern.allow
	not any_matches(patterns, input.certname)
}

# Conditions of a policy that has `any` are not looked at.
conditional[i] := policy if {
	csr
	some i, policy in input.policies
	not policy.error
	not policy.any == true
}

fit[i] := policy if {
	csr
	some i, policy in input.policies
	not policy.error
	not other_names[i]
}

bound[i] := policy if {
	some i, policy in fit
	not policy.any == true
}

misses[i] contains sprintf("%s is not the required value", [wanted.name]) if {
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
	outside := sort({name | some name in csr.dnsNames; not any_matches(patterns, name)})
	count(outside) > 0
	msg := sprintf("subjectAltName has DNS names (%s) that match none of its dnsAltNames (%s)", [concat(", ", outside), concat(", ", patterns)])
}

# Also of policies with `any`.

misses[i] contains sprintf("extension %s gives rights, and it does not name that in csrAttributes", [name]) if {
	some i, _ in fit
	some name in unnamed[i]
	name in named_by_some
}

common contains sprintf("extension %s gives rights, and no signing policy names it in csrAttributes", [extension.name]) if {
	some extension in csr.extensions
	startswith(extension.oid, authorization)
	not extension.name in named_by_some
}

named_by_some contains extension.name if {
	some policy in input.policies
	some extension in csr.extensions
	names_extension(policy, extension)
}

# By policy, the extensions that it does not let through.
unnamed[i] contains extension.name if {
	some i, policy in input.policies
	some extension in csr.extensions
	startswith(extension.oid, authorization)
	not names_extension(policy, extension)
}

common contains sprintf("%s %s in subjectAltName is asked for, and signing policies permit DNS names only", [kind, name]) if {
	some kind, names in {
		"IP address": csr.ipAddresses, "URI": csr.uris, "e-mail address": csr.emails,
		"name of another type": [other.type | some other in csr.otherSans],
	}
	some name in names
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

glob_matches(pattern, name) if {
	not contains(pattern, "[")
	regex.match(glob_regex(literal, pattern), name)
}

glob_matches(pattern, name) if {
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
