package v1alpha1

const (
	// PausedAnnotation suspends the reconciliation of an object where it is "true".
	PausedAnnotation = GroupName + "/paused"
	// ConditionPaused is true of an object that is paused, and absent of all others.
	ConditionPaused = "Paused"
)
