package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPanicIsAFailureOfItsPolicy(t *testing.T) {
	set := compile(t, "package p\ndeny contains \"x\"")
	answers := askEach([]question{{policy: set.policies[0]}},
		func(question) string { panic("at once") },
		func(_ question, err evalError) string { return err.message })
	require.Contains(t, answers[0], "internal error: at once")
}
