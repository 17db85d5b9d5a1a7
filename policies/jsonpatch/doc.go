// Package jsonpatch applies JSON Patch (RFC 6902) to a document of map[string]any, []any,
// string, json.Number, bool and nil.
//
// Invariant: the operations that a Document has recorded give its Root by the RFC alone.
// There is one thing that the RFC has not: an add creates the parents that are missing,
// and those are recorded, too. ReadStep gives none that touches what says which object a
// document is.
package jsonpatch
