package review

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

func TestOperationLine(t *testing.T) {
	for want, op := range map[string]jsonpatch.Operation{
		`add /a = {"b":"<x> & y"}`: {Op: "add", Path: "/a", Value: json.RawMessage(`{"b":"\u003cx\u003e \u0026 y"}`)},
		"remove /a":                {Op: "remove", Path: "/a"},
		"move /a from /b":          {Op: "move", Path: "/a", From: "/b"},
	} {
		assert.Equal(t, want, operationLine(op))
	}
}
