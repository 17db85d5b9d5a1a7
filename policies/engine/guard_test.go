package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPanicIsAFailureOfItsPolicy(t *testing.T) {
	set := compile(t, "package p\ndeny contains \"x\"")
	answers := inOrder(set.policies,
		func(int) string { panic("at once") },
		func(_ int, err evalError) string { return err.message })
	require.Contains(t, answers[0], "internal error: at once")
}
