package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestWhatNeverCompilesIsRefused: OPA's type checker would compare types of 2^60 nodes.
func TestWhatNeverCompilesIsRefused(t *testing.T) {
	rego := "package p\nimport rego.v1\n\ndeny contains \"x\" if l60 == l59\nl0 := 1\n"
	for i := 1; i <= 60; i++ {
		rego += fmt.Sprintf("l%d := {\"a\": l%d, \"b\": l%d}\n", i, i-1, i-1)
	}
	policies := folder(t, map[string]string{"p.rego": rego, "p_test.rego": "package p_test\nimport rego.v1\ntest_it if data.p.deny"})
	pod := folder(t, map[string]string{"pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\n"})
	for _, args := range [][]string{
		{"check", "-p", policies, "-f", pod},
		{"policy", "lint", policies},
		{"policy", "test", policies},
	} {
		got := lintel(t, "", args...)
		assert.NotZero(t, got.code, args)
		assert.Contains(t, got.stdout+got.stderr, "p.rego:20:1: expanding rule l15 takes more than 100000 values", strings.Join(args, " "))
	}
}
