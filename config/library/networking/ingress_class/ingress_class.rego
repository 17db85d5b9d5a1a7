# METADATA
# title: Ingresses must name an allowed class
# description: >-
#   Requires spec.ingressClassName, with a class of the parameter ingressClasses if it
#   is set.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/services-networking/ingress/#ingress-class
#     description: Ingress
# custom:
#   severity: medium
#   category: networking
#   rationale: >-
#     Without a class, every controller that serves the default class, or all of them,
#     can expose the Ingress, also to the internet.
#   remedy: Set spec.ingressClassName.
#   parameters:
#     ingressClasses: classes that are allowed; every class by default
#   match:
#     kinds: [{group: networking.k8s.io, kind: Ingress}]
package library.ingress_class

import rego.v1

import data.library.shared.objects

# METADATA
# title: Ingresses must name an allowed class
deny contains violation if {
	objects.has_changed(["spec", "ingressClassName"])
	class := objects.text(objects.spec, "ingressClassName")
	not is_allowed(class)
	violation := {
		"msg": sprintf("Ingress %q has the class %q: set spec.ingressClassName to an allowed class", [input.name, class]),
		"field": "spec.ingressClassName",
	}
}

is_allowed(class) if {
	class != ""
	class in objects.parameter("ingressClasses", [class])
}
