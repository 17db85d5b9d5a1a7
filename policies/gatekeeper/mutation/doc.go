// Package mutation implements Gatekeeper's mutators: Assign, AssignImage, AssignMetadata and
// ModifySet. It applies them to objects as map[string]any, []any, string, json.Number, bool and
// nil.
//
// Invariants: the same System and object give the same result. Mutators are applied in the order
// of their kinds and names until the object no longer changes. A System that does not converge is
// an error, and so is a location that does not fit the object. The package reads no files: package
// gatekeeper reads the specs.
package mutation
