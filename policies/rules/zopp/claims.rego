# METADATA
# title: Objects that already fill a Secret
# description: |
#   Functions of the rules for Secrets and ZoppSecretSyncs. input.facts.claims are the other
#   objects that fill the same Secret. One in another namespace counts only while the namespace
#   of the Secret accepts it: otherwise it could block the Secret for its own namespace.
package zopp.claims

import rego.v1

import data.zopp.lists

# The first claim on a Secret in a namespace with these annotations: undefined without claims.
first(namespace, annotations) := [claim |
	some claim in input.facts.claims
	counts(claim, namespace, annotations)
][0]

counts(claim, namespace, _) if claim.namespace == namespace

counts(claim, _, annotations) if lists.accepts(annotations, claim.namespace)
