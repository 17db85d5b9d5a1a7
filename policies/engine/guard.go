package engine

import (
	"fmt"
	"runtime/debug"
)

// inOrder asks the policies one after the other. A panic is a failure of its policy.
func inOrder[T any](policies []*policy, ask func(i int) T, failed func(i int, err evalError) T) []T {
	results := make([]T, len(policies))
	for i := range policies {
		results[i] = recovered(i, ask, failed)
	}
	return results
}

func recovered[T any](i int, ask func(i int) T, failed func(i int, err evalError) T) (result T) {
	defer func() {
		if cause := recover(); cause != nil {
			result = failed(i, evalError{message: fmt.Sprintf("internal error: %v\n%s", cause, debug.Stack())})
		}
	}()
	return ask(i)
}
