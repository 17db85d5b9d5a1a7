# METADATA
# title: Regular expressions that Java reads as they are checked here
# description: |
#   A Puppet server does not start with an expression that Java cannot parse. The syntax
#   that both engines parse in the same way is smaller than that of either: Java accepts
#   neither \p{Greek}, nor a{,3}, nor a(?i)*. An expression of this syntax matches the same
#   certnames and paths in both, except for line ends (. and $), vertical tabs (\s), and
#   letters outside ASCII (\b and (?i)).
package openvox.expressions

import rego.v1

readable(expression) if {
	regex.is_valid(expression)
	regex.match(concat("", ["^(?:", concat("|", tokens), ")*$"]), expression)
	not contains(regex.replace(expression, concat("|", [escape, class, special_group]), "x"), "(?")
	not regex.match(concat("", [flags, "[*+?{]"]), regex.replace(expression, concat("|", [escape, class]), "x"))
}

flags := `\(\?[ims]{1,3}\)`

special_group := sprintf(`%s|\(\?(?:[ims]{0,3}:|<[A-Za-z][A-Za-z0-9]*>)`, [flags])

# Letters that mean the same after a backslash, and all characters that are not letters.
escape := `\\(?:[dDwWsSnrtf]|[^A-Za-z0-9\s])`

# Without another class, or an intersection, in it.
class := sprintf(`\[\^?(?:%s|[^\\\[\]^&\s])(?:%s|[^\\\[\]&])*\]`, [escape, escape])

tokens := [escape, `\\[AzbB]`, class, special_group, `[()]`, `\{[0-9]+(?:,[0-9]*)?\}`, `[^\\\[\](){}]`]

# How many groups there are for $1 and its like.
groups(expression) := count([token |
	some token in regex.find_n(concat("|", array.concat(tokens, ["."])), expression, -1)
	regex.match(`^\((?:\?<.*)?$`, token)
])

# With what every text begins that an expression matches: nothing where that is not plain.
# A character that need not be there does not count.
head(expression) := trim_prefix(regex.replace(start(expression), `.$`, ""), "^") if {
	optional(expression)
}

head(expression) := trim_prefix(start(expression), "^") if not optional(expression)

start(expression) := "" if contains(expression, "|")

start(expression) := concat("", regex.find_n(`^\^[A-Za-z0-9/_-]*`, expression, 1)) if not contains(expression, "|")

optional(expression) if regex.match(`^\^[A-Za-z0-9/_-]*[?*{]`, expression)
