// Package sat checks whether a set of clauses is satisfiable.
//
// Invariant: if Solve returns true, the values of Holds satisfy every clause. If Solve
// returns false without an error, the clauses are unsatisfiable. Memory is bounded, because
// the clauses come from untrusted policies.
package sat

import (
	"context"
	"errors"
)

// ErrStopped reports that the context ended, or that the search needed too much memory.
var ErrStopped = errors.New("the search was stopped")

// Solver searches by decision, propagation along two watched literals, and learning from
// conflicts. Unlike common SAT libraries, a search ends with its context.
//
// A literal is the number of a variable, from 1, negative where it is negated.
type Solver struct {
	clauses  [][]int
	watchers map[int][]int // clauses by a literal that they watch
	value    []int8        // by variable: 1 true, -1 false
	level    []int
	reason   []int // the clause that forced a variable, -1 for a decision
	activity []float64
	bump     float64
	trail    []int
	limits   []int // the length of the trail where each level of decision began
	next     int   // the number of propagated literals of the trail
	unsat    bool
}

// maxClauses bounds the memory of a solver.
const maxClauses = 300_000

// New returns a solver without variables and clauses.
func New() *Solver {
	s := &Solver{watchers: map[int][]int{}, bump: 1}
	s.NewVariable() // 0 stands for none
	return s
}

// NewVariable adds a variable and returns its number.
func (s *Solver) NewVariable() int {
	s.value = append(s.value, 0)
	s.level = append(s.level, 0)
	s.reason = append(s.reason, -1)
	s.activity = append(s.activity, 0)
	return len(s.value) - 1
}

func (s *Solver) truth(literal int) int8 {
	if literal < 0 {
		return -s.value[-literal]
	}
	return s.value[literal]
}

// Add adds a clause. It discards the values of the last search.
func (s *Solver) Add(literals ...int) {
	s.backtrack(0)
	var clause []int
	seen := map[int]bool{}
	for _, literal := range literals {
		if seen[-literal] || s.truth(literal) > 0 {
			return // it holds
		}
		if !seen[literal] && s.truth(literal) == 0 {
			clause = append(clause, literal)
		}
		seen[literal] = true
	}
	switch len(clause) {
	case 0:
		s.unsat = true
	case 1:
		s.assign(clause[0], -1)
		if s.propagate() >= 0 {
			s.unsat = true
		}
	default:
		s.watch(clause)
	}
}

func (s *Solver) watch(clause []int) int {
	s.clauses = append(s.clauses, clause)
	id := len(s.clauses) - 1
	for _, literal := range clause[:2] {
		s.watchers[literal] = append(s.watchers[literal], id)
	}
	return id
}

func (s *Solver) assign(literal, reason int) {
	variable := max(literal, -literal)
	s.value[variable] = 1
	if literal < 0 {
		s.value[variable] = -1
	}
	s.level[variable] = len(s.limits)
	s.reason[variable] = reason
	s.trail = append(s.trail, literal)
}

func (s *Solver) backtrack(level int) {
	if level >= len(s.limits) {
		return
	}
	for _, literal := range s.trail[s.limits[level]:] {
		s.value[max(literal, -literal)] = 0
	}
	s.trail = s.trail[:s.limits[level]]
	s.limits = s.limits[:level]
	s.next = min(s.next, len(s.trail))
}

// propagate assigns all implied literals, and returns a clause that is then false, or -1.
func (s *Solver) propagate() int {
	for s.next < len(s.trail) {
		falsified := -s.trail[s.next]
		s.next++
		watching := s.watchers[falsified]
		kept := watching[:0]
		for i, id := range watching {
			clause := s.clauses[id]
			if clause[0] == falsified {
				clause[0], clause[1] = clause[1], clause[0]
			}
			if s.truth(clause[0]) > 0 || !s.rewatch(clause, id) {
				kept = append(kept, id)
				if s.truth(clause[0]) < 0 {
					s.watchers[falsified] = append(kept, watching[i+1:]...)
					return id
				}
				if s.truth(clause[0]) == 0 {
					s.assign(clause[0], id)
				}
			}
		}
		s.watchers[falsified] = kept
	}
	return -1
}

// rewatch replaces the second watched literal, which is now false.
func (s *Solver) rewatch(clause []int, id int) bool {
	for i := 2; i < len(clause); i++ {
		if s.truth(clause[i]) >= 0 {
			clause[1], clause[i] = clause[i], clause[1]
			s.watchers[clause[1]] = append(s.watchers[clause[1]], id)
			return true
		}
	}
	return false
}

// learn returns a clause that prevents a conflict, with the literal to assert first, and the
// level for backtracking.
func (s *Solver) learn(conflict int) ([]int, int) {
	learned := []int{0}
	seen := map[int]bool{}
	open, at, asserted := 0, len(s.trail)-1, 0
	for {
		for _, literal := range s.clauses[conflict] {
			variable := max(literal, -literal)
			if literal == asserted || seen[variable] || s.level[variable] == 0 {
				continue
			}
			seen[variable] = true
			s.activity[variable] += s.bump
			if s.level[variable] == len(s.limits) {
				open++
			} else {
				learned = append(learned, literal)
			}
		}
		for !seen[max(s.trail[at], -s.trail[at])] {
			at--
		}
		asserted = s.trail[at]
		at--
		if open--; open == 0 {
			break
		}
		conflict = s.reason[max(asserted, -asserted)]
	}
	learned[0] = -asserted
	back := 0
	for i := 1; i < len(learned); i++ {
		if level := s.level[max(learned[i], -learned[i])]; level > back {
			back = level
			learned[1], learned[i] = learned[i], learned[1]
		}
	}
	return learned, back
}

// decide selects the unassigned variable with the highest activity.
func (s *Solver) decide() bool {
	best := 0
	for variable := 1; variable < len(s.value); variable++ {
		if s.value[variable] == 0 && (best == 0 || s.activity[variable] > s.activity[best]) {
			best = variable
		}
	}
	if best == 0 {
		return false
	}
	s.limits = append(s.limits, len(s.trail))
	s.assign(-best, -1)
	return true
}

// Holds is the value of a variable after Solve has returned true.
func (s *Solver) Holds(variable int) bool { return s.value[variable] > 0 }

// Solve reports whether the clauses are satisfiable. The error is ErrStopped.
func (s *Solver) Solve(ctx context.Context) (bool, error) {
	s.backtrack(0)
	for !s.unsat {
		conflict := s.propagate()
		if conflict < 0 {
			if !s.decide() {
				return true, nil
			}
			continue
		}
		if len(s.limits) == 0 {
			s.unsat = true
			break
		}
		if ctx.Err() != nil || len(s.clauses) > maxClauses {
			return false, ErrStopped
		}
		learned, back := s.learn(conflict)
		s.backtrack(back)
		if s.bump *= 1.05; s.bump > 1e100 {
			for variable := range s.activity {
				s.activity[variable] *= 1e-100
			}
			s.bump *= 1e-100
		}
		if len(learned) == 1 {
			s.assign(learned[0], -1)
		} else {
			s.assign(learned[0], s.watch(learned))
		}
	}
	return false, nil
}
