package v1alpha1

const (
	// PausedAnnotation suspends the reconciliation of an object if its value is "true".
	PausedAnnotation = GroupName + "/paused"
	// ConditionPaused is True for a paused object, and absent otherwise.
	ConditionPaused = "Paused"
)
