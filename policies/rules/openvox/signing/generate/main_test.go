package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThePlanIsThatOfTheRules.
func TestThePlanIsThatOfTheRules(t *testing.T) {
	rules, err := os.ReadFile("../signing.rego")
	require.NoError(t, err)
	want, err := generate(string(rules))
	require.NoError(t, err)
	plan, err := os.ReadFile("../zz_generated.plan.go")
	require.NoError(t, err)
	require.True(t, string(want) == string(plan), "run make generate")
}
