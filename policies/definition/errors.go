package definition

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/bounds"
)

// CompileError is one reason why a source does not compile.
type CompileError struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`   // from 1; 0 = the whole file
	Column  int    `json:"column,omitempty"` // from 1; 0 = the whole line
	Message string `json:"message"`
	// Conflict reports that the error follows from two objects together, each of which has one.
	Conflict bool `json:"conflict,omitempty"`
}

// Error prints file:line:column: message, without the parts that are unknown.
func (e CompileError) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
			if e.Column > 0 {
				fmt.Fprintf(&b, ":%d", e.Column)
			}
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	return b.String()
}

// Compare orders errors by location, then by message.
func (e CompileError) Compare(other CompileError) int {
	return cmp.Or(cmp.Compare(e.File, other.File), cmp.Compare(e.Line, other.Line), cmp.Compare(e.Column, other.Column), cmp.Compare(e.Message, other.Message))
}

// CompileErrorList contains all reasons why a source does not compile, by file and line.
type CompileErrorList []CompileError

// Error prints one reason a line.
func (e CompileErrorList) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// ErrorAt returns a CompileError for a location in a module.
func ErrorAt(loc *ast.Location, format string, args ...any) CompileError {
	err := CompileError{Message: fmt.Sprintf(format, args...)}
	if loc != nil {
		err.File, err.Line, err.Column = loc.File, loc.Row, loc.Col
	}
	return err
}

// ParseErrors translates the errors of OPA's parser and compiler.
func ParseErrors(err error) CompileErrorList {
	switch err := err.(type) {
	case ast.Errors:
		out := make(CompileErrorList, 0, len(err))
		for _, e := range err {
			message := e.Message
			if e.Code != "" && e.Code != ast.ParseErr && e.Code != ast.CompileErr {
				message = e.Code + ": " + message
			}
			out = append(out, ErrorAt(e.Location, "%s", message))
		}
		return out
	case *ast.Error:
		return ParseErrors(ast.Errors{err})
	default:
		return CompileErrorList{{Message: err.Error()}}
	}
}

// Distinct removes duplicate errors of OPA, and its errors about added rules, which repeat those
// about the author's rules.
func Distinct(errs CompileErrorList) CompileErrorList {
	for i, err := range errs {
		if err.Column > 0 && path.Ext(err.File) != ".rego" {
			errs[i].Column = 0 // within a block of YAML it counts from the indentation
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(errs, func(err CompileError) bool {
		key := strings.ReplaceAll(err.Error(), bounds.ReservedPrefix, "")
		duplicate := seen[key]
		seen[key] = true
		return duplicate
	})
}

// Location is a location in a policy's source.
type Location struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

// Errorf returns a CompileError for the location.
func (l Location) Errorf(format string, args ...any) CompileError {
	return CompileError{File: l.File, Line: l.Line, Message: fmt.Sprintf(format, args...)}
}

// String prints file:line.
func (l Location) String() string { return l.File + ":" + strconv.Itoa(l.Line) }

// LocationOf converts an OPA location: zero for nil.
func LocationOf(loc *ast.Location) Location {
	if loc == nil {
		return Location{}
	}
	return Location{loc.File, loc.Row}
}
