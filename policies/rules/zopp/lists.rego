# METADATA
# title: Lists in annotations of Namespaces
# description: Functions of the rules that ask a Namespace.
package zopp.lists

import rego.v1

# Annotations, or none where there are none.
of(annotations) := annotations if is_object(annotations)

of(annotations) := {} if not is_object(annotations)

entries(annotations, name) := [entry |
	some text in split(object.get(annotations, name, ""), ",")
	entry := trim_space(text)
	entry != ""
]

# Whether a namespace with these annotations takes Secrets from another.
accepts(annotations, namespace) if {
	some text in entries(annotations, "zopp.dev/accept-from-namespaces")
	regex.match(`^[-a-z0-9*?]{1,63}$`, text)
	glob.match(text, null, namespace)
}

# The command by which an administrator adds an entry to a list. It is offered only where the
# shell reads the arguments as plain text, and where the entry permits no more than the request
# needs.
addition(namespace, list, name, entry) := command if {
	is_plain(list, entry)
	command := sprintf("kubectl annotate --overwrite namespace %s '%s=%s'", [namespace, name, concat(",", array.concat(list, [entry]))])
}

addition(namespace, list, name, entry) := sprintf("an entry in annotation %s of Namespace %s", [name, namespace]) if not is_plain(list, entry)

is_plain(list, entry) if {
	regex.match(`^[-A-Za-z0-9_. /]+$`, entry)
	every text in list { regex.match(`^[-A-Za-z0-9_. /*?]+$`, text) }
}
