package openclaw

import (
	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// admitted says what policies think of an object; nothing, where nobody asks them.
func admitted(c object.Conditions, asked bool, denied *problem) {
	switch {
	case !asked:
		c.Remove(v1.ConditionAdmitted)
	case denied != nil:
		c.Set(v1.ConditionAdmitted, false, denied.reason, denied.message)
	default:
		c.Set(v1.ConditionAdmitted, true, "Admitted", "no policy denies the object")
	}
}
