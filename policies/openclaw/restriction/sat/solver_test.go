package sat

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSolver compares it with trying all values.
func TestSolver(t *testing.T) {
	const variables = 7
	random := rand.New(rand.NewPCG(1, 1))
	satisfiable := 0
	for range 3000 {
		s := New()
		for range variables {
			s.NewVariable()
		}
		var clauses [][]int
		for range 5 + random.IntN(35) {
			var clause []int
			for range 1 + random.IntN(3) {
				literal := 1 + random.IntN(variables)
				if random.IntN(2) == 0 {
					literal = -literal
				}
				clause = append(clause, literal)
			}
			clauses = append(clauses, clause)
			s.Add(clause...)
			if random.IntN(10) == 0 { // clauses are added between searches, too
				_, err := s.Solve(t.Context())
				require.NoError(t, err)
			}
		}
		expected := false
		for values := range 1 << variables {
			expected = expected || satisfies(clauses, func(v int) bool { return values>>(v-1)&1 == 1 })
		}
		got, err := s.Solve(t.Context())
		require.NoError(t, err)
		require.Equal(t, expected, got, clauses)
		again, err := s.Solve(t.Context())
		require.NoError(t, err)
		require.Equal(t, got, again, "the same again: %v", clauses)
		if got {
			satisfiable++
			require.True(t, satisfies(clauses, func(v int) bool { return s.Holds(v) }), clauses)
		}
	}
	assert.Greater(t, satisfiable, 500)
	assert.Less(t, satisfiable, 2500)
}

func satisfies(clauses [][]int, value func(int) bool) bool {
	for _, clause := range clauses {
		holds := false
		for _, literal := range clause {
			holds = holds || literal > 0 && value(literal) || literal < 0 && !value(-literal)
		}
		if !holds {
			return false
		}
	}
	return true
}

// TestSolverStops with its context, and where it has learned too much.
func TestSolverStops(t *testing.T) {
	pigeons := func() *Solver { // one more than holes
		const holes = 4
		s := New()
		var in [holes + 1][holes]int
		for p := range in {
			for h := range in[p] {
				in[p][h] = s.NewVariable()
			}
			s.Add(in[p][:]...)
		}
		for h := range holes {
			for p := range in {
				for other := range p {
					s.Add(-in[p][h], -in[other][h])
				}
			}
		}
		return s
	}
	satisfiable, err := pigeons().Solve(t.Context())
	require.NoError(t, err)
	require.False(t, satisfiable)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = pigeons().Solve(ended)
	require.ErrorIs(t, err, ErrStopped)

	full := pigeons()
	a, b := full.NewVariable(), full.NewVariable()
	for range maxClauses {
		full.Add(a, b)
	}
	_, err = full.Solve(t.Context())
	require.ErrorIs(t, err, ErrStopped)
}
