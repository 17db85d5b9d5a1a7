package engine

// criterion is a part of the match of a policy.
type criterion int

const (
	criterionNone criterion = iota
	criterionOperation
	criterionScope
	criterionKind
	criterionNamespaces
	criterionExcludedNamespaces
	criterionObjectSelector
	criterionNamespaceSelector
)
