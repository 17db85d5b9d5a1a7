package openzro

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
)

// Changed skips updates of openZro's kinds that no rule evaluates: of finalizers, of metadata of
// other controllers, and of objects that are being deleted, which an annotation releases even
// where the rules deny them.
func Changed() admissionregistrationv1.MatchCondition {
	return admissionregistrationv1.MatchCondition{
		Name: "changed",
		Expression: `request.operation != "UPDATE" || !has(object.metadata.deletionTimestamp) && (
!has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec ||
has(object.metadata.annotations) != has(oldObject.metadata.annotations) ||
(has(object.metadata.annotations) && object.metadata.annotations != oldObject.metadata.annotations))`,
	}
}

// PodConditions skip Pods that request no client, except in the namespaces, or globs of them,
// where OZSidecarProfiles select Pods. They skip all Pods of excluded namespaces. An error in a
// condition denies the request, so each field is guarded.
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
