package openclaw

import (
	"cmp"
	"context"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/policies/rules"
)

// Options are what the controllers of this package need.
type Options struct {
	// RootNamespace holds the enterprise policies that bind the instances of every
	// namespace. Empty: a bundle binds those of its own namespace only.
	RootNamespace string
	// Namespace is the manager's own, where tenants write nothing.
	Namespace string
	// Admitter is asked before anything is written for an object.
	Admitter rules.Admitter
	// Events receives what changes about objects.
	Events events.EventRecorder
}

// notJudged is what is in the way of an object about which policies gave no answer.
func notJudged(err error) *problem {
	return &problem{"NotJudged", "asking the policies: " + err.Error()}
}

// ask is what policies say against an object: nil, if nothing. An error means that there is
// no answer.
func (o Options) ask(ctx context.Context, object client.Object) (denied *problem, err error) {
	verdict, err := o.Admitter(ctx, object)
	if err != nil || !verdict.Denied() {
		return nil, err
	}
	return &problem{cmp.Or(verdict.Reason, ReasonNotAdmitted), verdict.Message()}, nil
}
