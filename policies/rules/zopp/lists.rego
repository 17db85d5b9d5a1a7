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

# How an administrator adds an entry. A command is given where the shell takes nothing in
# it for more than text.
addition(namespace, annotations, name, entry) := command if {
	all := array.concat(entries(annotations, name), [entry])
	every text in all { regex.match(`^[-A-Za-z0-9_. /*?]+$`, text) }
	command := sprintf("kubectl annotate --overwrite namespace %s '%s=%s'", [namespace, name, concat(",", all)])
}

addition(namespace, annotations, name, entry) := sprintf("an entry in annotation %s of Namespace %s", [name, namespace]) if {
	some text in array.concat(entries(annotations, name), [entry])
	not regex.match(`^[-A-Za-z0-9_. /*?]+$`, text)
}
