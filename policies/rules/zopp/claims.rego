# METADATA
# title: Who fills a Secret already
# description: |
#   Functions of the rules for Secrets and ZoppSecretSyncs. input.facts.claims are others that
#   fill the same Secret. One of another namespace counts as long as that of the Secret
#   accepts it: or it would keep the Secret from those who it belongs to.
package zopp.claims

import rego.v1

import data.zopp.lists

# Of a Secret in a namespace with these annotations: none where nobody does.
first(namespace, annotations) := [claim |
	some claim in input.facts.claims
	counts(claim, namespace, annotations)
][0]

counts(claim, namespace, _) if claim.namespace == namespace

counts(claim, _, annotations) if lists.accepts(annotations, claim.namespace)
