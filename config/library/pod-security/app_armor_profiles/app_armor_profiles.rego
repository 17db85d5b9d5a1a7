# METADATA
# title: AppArmor profiles must confine containers
# description: >-
#   Denies the profile Unconfined and unknown profiles, in fields and in the older
#   annotations. Control "AppArmor" of Pod Security baseline.
# related_resources:
#   - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#     description: Pod Security Standards
#   - ref: https://kubernetes.io/docs/tutorials/security/apparmor/
#     description: Restrict a container's access to resources with AppArmor
# custom:
#   severity: high
#   category: pod-security
#   rationale: >-
#     Without an AppArmor profile, a container that escapes its namespaces meets one
#     barrier less.
#   remedy: >-
#     Set securityContext.appArmorProfile.type to RuntimeDefault or Localhost, or remove
#     the profile.
#   match:
#     kinds: [{group: "", kind: Pod}]
#     subresources: [ephemeralcontainers]
#     expand: warn
package library.app_armor_profiles

import rego.v1

import data.library.shared.objects
import data.library.shared.pods

# METADATA
# title: Profiles of fields confine
deny contains violation if {
	some path, context in pods.contexts
	profile := context.appArmorProfile
	is_object(profile)
	type := objects.text(profile, "type")
	not type in {"RuntimeDefault", "Localhost"}
	violation := {
		"msg": sprintf(
			"%v has the AppArmor profile %q: set securityContext.appArmorProfile.type to RuntimeDefault or Localhost",
			[pods.owner(path), type],
		),
		"field": sprintf("%v.appArmorProfile.type", [path]),
	}
}

# METADATA
# title: Profiles of annotations confine
deny contains violation if {
	some key, profile in input.request.object.metadata.annotations
	startswith(key, "container.apparmor.security.beta.kubernetes.io/")
	is_reviewed(key)
	not confines(profile)
	violation := {
		"msg": sprintf(
			"Pod %q has the AppArmor profile %q: set annotation %v to runtime/default or localhost/<profile>",
			[input.name, profile, key],
		),
		"field": sprintf("metadata.annotations[%q]", [key]),
	}
}

is_reviewed(_) if pods.spec

is_reviewed(key) if objects.has_changed(["metadata", "annotations", key])

confines(profile) if profile in {"", "runtime/default"}

confines(profile) if startswith(profile, "localhost/")
