package engine

import "slices"

// LimitFunctions puts limits on the operands and results of the standard functions of
// OPA, for the whole process. Compiling a source does so, too; this is for those who
// evaluate policies without the engine.
func LimitFunctions() { limitFunctions() }

// IsLimited says whether LimitFunctions puts limits on a function of OPA.
func IsLimited(function string) bool { return slices.Contains(allowedBuiltins, function) }
