# METADATA
# title: Fields and annotations that request a sync from zopp
# description: Functions of the rules for Secrets and ZoppSecretSyncs, which request the same in annotations and in a spec.
package zopp.places

import rego.v1

import data.zopp.lists

annotations := lists.of(object.get(input.request.object, ["metadata", "annotations"], null))

spec := object.get(input.request.object, "spec", {})

is_secret if input.request.kind.kind == "Secret"

annotation(name) := sprintf("metadata.annotations[zopp.dev/%s]", [name])

# Of the source at an index.
source(_) := annotation("sources") if {
	is_secret
	"zopp.dev/sources" in object.keys(annotations)
}

source(_) := annotation("environment") if {
	is_secret
	not "zopp.dev/sources" in object.keys(annotations)
}

source(_) := "spec.source" if {
	not is_secret
	spec.source
}

source(i) := sprintf("spec.sources[%d]", [i]) if {
	not is_secret
	not spec.source
}

# Of its workspace, project or environment.
part(i, _) := source(i) if {
	is_secret
	"zopp.dev/sources" in object.keys(annotations)
}

part(_, name) := annotation(name) if {
	is_secret
	not "zopp.dev/sources" in object.keys(annotations)
}

part(i, name) := sprintf("%s.%s", [source(i), name]) if not is_secret

# Of the entry of the filter at an index.
key(_) := annotation("keys") if is_secret

key(i) := sprintf("spec.keys[%d]", [i]) if not is_secret
