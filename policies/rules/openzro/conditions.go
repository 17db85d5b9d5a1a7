package openzro

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
)

// Changed keeps those updates of openZro's kinds away that no rule has anything to say
// about: of finalizers, of what others note in metadata, and of objects that are deleted,
// which are let go by an annotation even where the rules deny them as they are.
func Changed() admissionregistrationv1.MatchCondition {
	return admissionregistrationv1.MatchCondition{
		Name: "changed",
		Expression: `request.operation != "UPDATE" || !has(object.metadata.deletionTimestamp) && (
!has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec ||
has(object.metadata.annotations) != has(oldObject.metadata.annotations) ||
(has(object.metadata.annotations) && object.metadata.annotations != oldObject.metadata.annotations))`,
	}
}

// PodConditions keep every Pod away that asks for no client, but in the namespaces, or globs of
// them, where OZSidecarProfiles select Pods, and all of the namespaces that are excluded. A
// condition that errs denies, so each field is guarded.
func PodConditions(excluded, profiles []string) []admissionregistrationv1.MatchCondition {
	asks := `has(object.metadata.annotations) && "` + v1.SetupKeyAnnotation + `" in object.metadata.annotations`
	if len(profiles) > 0 {
		pattern := strings.NewReplacer("*", ".*", "?", ".").Replace(strings.Join(profiles, "|"))
		asks = `(` + asks + ` || request.namespace.matches("^(` + pattern + `)$"))`
	}
	conditions := []admissionregistrationv1.MatchCondition{{Name: "asks-for-a-client", Expression: "object != null && " + asks}}
	if len(excluded) == 0 {
		return conditions
	}
	return append(conditions, admissionregistrationv1.MatchCondition{
		Name:       "not-of-the-platform",
		Expression: `!(request.namespace in ["` + strings.Join(excluded, `", "`) + `"])`,
	})
}
