package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/kinds"
)

// arrival is what the API server makes of an object before it asks any policy.
type arrival struct {
	object object
	// review is what the policies are asked about.
	review *admission.Review
	// kind is that of the review's object, which may be of another version than the
	// manifest.
	kind schema.GroupVersionKind
	// refused is why the API server refuses the object, and unknown why that, or what the
	// policies would be asked about, is not known: then nobody is asked.
	refused error
	unknown string
}

// outcome is the verdict on what nobody is asked about; ok says that somebody is.
func (a arrival) outcome() (out outcome, ok bool) {
	out = outcome{object: a.object, review: a.review}
	switch {
	case a.refused != nil:
		out.denials = []engine.Finding{refusal(a.refused)}
	case a.unknown != "":
		out.undecided = []engine.Undecided{{Reason: a.unknown}}
	default:
		if a.kind.Version != a.object.kind.Version {
			out.as = a.kind.GroupVersion().String()
		}
		return out, true
	}
	return out, false
}

// refusal is a finding of the API server's own.
func refusal(err error) engine.Finding { return engine.Finding{Words: err.Error()} }

// arriveAll brings the placed objects before the policies.
func (c *checker) arriveAll(objects []object) ([]arrival, error) {
	arrivals := make([]arrival, len(objects))
	for i, o := range objects {
		var err error
		if arrivals[i], err = c.arrive(o); err != nil {
			return nil, err
		}
	}
	return arrivals, nil
}

// arrive does what the API server does up to the first webhook: it reads the object
// strictly, and converts it to the version that the policies are registered for.
func (c *checker) arrive(o object) (arrival, error) {
	a := arrival{object: o, kind: o.kind}
	resource, _ := c.resources.lookup(o.kind)
	var err error
	if a.review, err = newReview(o, resource, c.options.operation); err != nil {
		return a, err
	}
	if a.unknown = c.resources.unserved(o.kind); a.unknown != "" {
		return a, nil
	}
	if err := c.read(&a); err != nil || a.refused != nil {
		return a, err
	}
	versions := c.asked.Versions(resource, c.options.operation)
	switch {
	case len(versions) > 1:
		a.unknown = fmt.Sprintf("policies of several sources take %s in %s, and for each the API server converts it: ask the sources one by one", o.kind.Kind, strings.Join(versions, " and "))
	case len(versions) == 1 && versions[0] != o.kind.Version:
		a.kind.Version = versions[0]
		err = c.convert(&a)
	case len(a.object.text) > 0:
		a.review, err = newReview(a.object, resource, c.options.operation)
	}
	return a, err
}

// read reads the object as strictly as the API server does. What is deleted, or is in
// the cluster already, was read before.
func (c *checker) read(a *arrival) error {
	if c.options.operation == "DELETE" || a.object.inVersion != nil {
		return nil
	}
	text, err := a.object.json()
	if err != nil {
		return err
	}
	text, err = c.resources.kinds.Arrive(text, a.object.kind, c.options.operation == "CREATE")
	switch refused, isRefusal := errors.AsType[*kinds.Refusal](err); {
	case isRefusal:
		a.refused = refused
	case errors.Is(err, kinds.ErrNotKnown):
		a.unknown = err.Error()
	case err != nil:
		return fmt.Errorf("%s: %w", a.object.origin, err)
	default:
		a.object.text = text
	}
	return nil
}

// convert gives the review the object in the version of a.kind.
func (c *checker) convert(a *arrival) error {
	converted := a.object
	text, err := a.object.json()
	if err != nil {
		return err
	}
	if inVersion := a.object.inVersion; inVersion != nil {
		text, err = inVersion(a.kind.Version)
	} else {
		text, err = c.resources.kinds.Convert(text, a.object.kind, a.kind.Version)
	}
	if errors.Is(err, kinds.ErrNotKnown) {
		a.unknown = err.Error()
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.object.origin, err)
	}
	converted.text, converted.kind = text, a.kind
	resource, _ := c.resources.lookup(a.kind)
	a.review, err = newConvertedReview(converted, resource, a.object.kind, c.options.operation)
	return err
}

// validated is what the API server finds wrong with a custom resource that is created,
// once the policies have changed it: nil where it looks at nothing.
func (c *checker) validated(ctx context.Context, a arrival) validator {
	if c.options.operation != "CREATE" || a.object.inVersion != nil {
		return nil
	}
	return func(review *admission.Review) ([]engine.Finding, error) {
		text, err := review.Object()
		if err == nil {
			err = c.resources.kinds.Validate(ctx, text, a.kind)
		}
		if refused, isRefusal := errors.AsType[*kinds.Refusal](err); isRefusal {
			return []engine.Finding{refusal(refused)}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.object.origin, err)
		}
		return nil, nil
	}
}

// concerned are the objects that somebody is asked about.
func concerned(arrivals []arrival) []object {
	var objects []object
	for _, a := range arrivals {
		if _, ok := a.outcome(); ok {
			objects = append(objects, a.object)
		}
	}
	return slices.Clip(objects)
}
