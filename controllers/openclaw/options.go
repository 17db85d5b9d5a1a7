package openclaw

import (
	"context"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Admitter asks policies about a stored object: it may be older than they are. denied
// is nil where they admit it; an error means that no answer was found.
type Admitter func(ctx context.Context, object client.Object) (denied *Denial, err error)

// Denial is what policies say against an object. Reason is that of its conditions.
type Denial struct{ Reason, Message string }

// Options are what the controllers of this package need.
type Options struct {
	// RootNamespace holds the enterprise policies that bind the instances of every
	// namespace. Empty: a bundle binds those of its own namespace only.
	RootNamespace string
	// ImageRegistries are the prefixes of images that instances may name.
	ImageRegistries []string
	// Admitter is asked before anything is written for an object; nil admits all.
	Admitter Admitter
	// Events receives what changes about objects.
	Events events.EventRecorder
}

// ask is what policies say against an object: nil, if nothing.
func (o Options) ask(ctx context.Context, object client.Object) (*problem, error) {
	if o.Admitter == nil {
		return nil, nil
	}
	denied, err := o.Admitter(ctx, object)
	if err != nil || denied == nil {
		return nil, err
	}
	return &problem{denied.Reason, denied.Message}, nil
}
