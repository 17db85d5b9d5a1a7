# METADATA
# title: Annotations of Secrets are complete
# custom:
#   match:
#     kinds: [{group: "", version: v1, kind: Secret}]
#     operations: [CREATE, UPDATE]
#   timeout: 1s
# description: |
#   Of a Secret that is not synced nothing is asked; one that names an environment is warned of. input.facts.claims are ZoppSecretSyncs
#   that fill the same Secret.
package zopp.secret

import rego.v1

import data.zopp.claims
import data.zopp.lists
import data.zopp.places

annotations := places.annotations

names := ["workspace", "project", "environment"]

has(name) if concat("", ["zopp.dev/", name]) in object.keys(annotations)

given := [name | some name in names; has(name)]

synced if annotations["zopp.dev/sync"] == "true"

warn contains {"field": field, "msg": msg} if {
	value := annotations["zopp.dev/sync"]
	not value in {"true", "false"}
	field := places.annotation("sync")
	msg := sprintf("%s: it is %q, and the Secret is not synced; write \"true\" to have it synced", [field, value])
}

# `zopp sync k8s` annotates the Secrets that it writes.
is_written if "zopp.dev/synced-by" in object.keys(annotations)

warn contains {"field": field, "msg": msg} if {
	count(given) > 0
	not "zopp.dev/sync" in object.keys(annotations)
	not is_written
	field := places.annotation(given[0])
	msg := sprintf("%s: it is set without zopp.dev/sync, and the Secret is not synced; add zopp.dev/sync: \"true\" to have it synced", [field])
}

warn contains {"field": field, "msg": msg} if {
	synced
	value := annotations["zopp.dev/cleanup"]
	not value in {"true", "false"}
	field := places.annotation("cleanup")
	msg := sprintf("%s: it is %q, and keys stay in the Secret when its sync ends; write \"true\" to have them taken out", [field, value])
}

deny contains {"field": field, "msg": msg} if {
	synced
	not has("sources")
	given == []
	field := places.annotation("sync")
	msg := sprintf("%s: nothing says what the Secret is synced from; add zopp.dev/workspace, zopp.dev/project and zopp.dev/environment, or zopp.dev/sources", [field])
}

deny contains {"field": field, "msg": msg} if {
	synced
	not has("sources")
	count(given) > 0
	some name in names
	not has(name)
	field := places.annotation(name)
	msg := sprintf("%s: it is missing; zopp.dev/workspace, zopp.dev/project and zopp.dev/environment name an environment of zopp together", [field])
}

deny contains {"field": field, "msg": msg} if {
	synced
	has("sources")
	count(given) > 0
	field := places.annotation("sources")
	msg := sprintf("%s: zopp.dev/%s names another source; give either zopp.dev/sources or the three annotations for one", [field, given[0]])
}

deny contains {"field": field, "msg": sprintf("%s: it lists nothing; write workspace/project/environment, with commas between several", [field])} if {
	synced
	has("sources")
	input.facts.sources == []
	field := places.annotation("sources")
}

deny contains {"field": field, "msg": sprintf("%s: it lists nothing, and no key would be synced; take the annotation out to have all of them", [field])} if {
	synced
	has("keys")
	input.facts.keys == []
	field := places.annotation("keys")
}

deny contains {"field": "immutable", "msg": msg} if {
	synced
	input.request.object.immutable == true
	msg := "immutable: nothing can be synced to an immutable Secret; create it again without immutable, or remove the annotation zopp.dev/sync"
}

deny contains {"field": field, "msg": msg} if {
	claim := claims.first(input.request.namespace, lists.of(object.get(input.namespace, ["metadata", "annotations"], null)))
	field := places.annotation("sync")
	msg := sprintf("%s: %s %s/%s fills this Secret already; take the annotation out, or delete that one", [field, claim.kind, claim.namespace, claim.name])
}
