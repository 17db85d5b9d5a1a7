// Package kyverno converts policies of Kyverno to Rego.
//
// A rule is converted as a whole or refused: the Rego admits and denies the same objects as
// Kyverno, and each construct without an equivalent is reported with its file, line and field.
// The package imports nothing of Kyverno but the parser of its JMESPath dialect.
package kyverno
