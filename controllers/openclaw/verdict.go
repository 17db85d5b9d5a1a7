package openclaw

import (
	"cmp"
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/rules"
)

// notEvaluated returns the problem of an object for which the rules could not be evaluated.
func notEvaluated(err error) *problem {
	return &problem{"NotJudged", "asking the policies: " + err.Error()}
}

// ask is what policies say against an object: nil, if nothing. An error means that there is
// no answer.
func ask(ctx context.Context, admit rules.Admitter, object client.Object) (denied *problem, err error) {
	verdict, err := admit(ctx, object)
	if err != nil || !verdict.Denied() {
		return nil, err
	}
	return &problem{cmp.Or(verdict.Reason, ReasonNotAdmitted), verdict.Message()}, nil
}

// setAdmitted sets the condition Admitted. If the rules could not be evaluated, it retains the
// previous verdict.
func setAdmitted(c object.Conditions, answered bool, denied *problem) {
	switch {
	case !answered:
	case denied != nil:
		c.Set(v1.ConditionAdmitted, false, denied.reason, denied.message)
	default:
		c.Set(v1.ConditionAdmitted, true, "Admitted", "no policy denies the object")
	}
}
