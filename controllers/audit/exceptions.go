package audit

import (
	"slices"
	"time"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/exception"
)

// followExceptions evaluates objects again that exceptions concern which have begun or ended since
// the last comparison. It compares the exceptions in force, and sets no timer, so that a clock that jumps
// delays nothing. The caller holds the mutex.
func (a *auditor) followExceptions(now time.Time) {
	if a.current == nil {
		return
	}
	before := a.inForce
	a.inForce = a.current.Snapshot().ExceptionsInForce(now)
	changed := slices.Concat(missing(before, a.inForce), missing(a.inForce, before))
	if len(changed) == 0 {
		return
	}
	for of, running := range a.kinds {
		concerns := slices.ContainsFunc(changed, func(one *exception.Exception) bool {
			return one.ConcernsKind(of) && slices.ContainsFunc(running.target.Policies, func(info engine.PolicyInfo) bool {
				return info.Source == one.Source && info.Package == one.Policy
			})
		})
		if concerns {
			a.expire(of, "")
		}
	}
}

// missing are the exceptions that the others do not contain.
func missing(exceptions, others []*exception.Exception) (found []*exception.Exception) {
	for _, one := range exceptions {
		if !slices.Contains(others, one) {
			found = append(found, one)
		}
	}
	return found
}
