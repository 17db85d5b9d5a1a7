package review

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/kinds"
)

// arrival is what the API server makes of an object before it asks any policy: its outcome
// has the object, the review that policies are asked about and, where nobody is asked, the
// verdict.
type arrival struct {
	outcome
	// kind is that of the review's object, which may be of another version than the
	// manifest.
	kind schema.GroupVersionKind
}

// isDecided says that nobody is asked.
func (a *arrival) isDecided() bool { return len(a.denials)+len(a.undecided) > 0 }

// cannotSay is the verdict where it is not known whether the API server refuses the object,
// or what the policies would be asked about.
func (a *arrival) cannotSay(reason string) {
	a.undecided = []engine.Undecided{{Reason: reason}}
}

// refusal is a finding of the API server's own.
func refusal(err error) []engine.Finding { return []engine.Finding{{Words: err.Error()}} }

// arriveAll writes the notes, and brings the objects before the policies: all, before any
// is judged, because a report of half of them would mislead.
func (c *checker) arriveAll(stderr io.Writer) ([]arrival, error) {
	for _, note := range c.notes {
		fmt.Fprintf(stderr, "note: %s\n", note)
	}
	arrivals := make([]arrival, len(c.objects))
	for i, o := range c.objects {
		var err error
		if arrivals[i], err = c.arrive(o); err != nil {
			return nil, err
		}
	}
	return arrivals, nil
}

// arrive does what the API server does up to the first webhook: it reads the object
// strictly, and converts it to the version that the policies are registered for.
func (c *checker) arrive(o manifests.Object) (arrival, error) {
	a := arrival{outcome: outcome{object: o}, kind: o.Kind}
	resource, _ := c.resources.lookup(o.Kind)
	var err error
	if a.review, err = newReview(o, resource, o.Kind, c.options.operation); err != nil {
		return a, err
	}
	if reason := c.resources.unserved(o.Kind); reason != "" {
		a.cannotSay(reason)
		return a, nil
	}
	if err := c.read(&a); err != nil || a.isDecided() {
		return a, err
	}
	versions := c.asked.Versions(resource, c.options.operation)
	switch {
	case len(versions) > 1:
		a.cannotSay(fmt.Sprintf("policies of several sources take %s in %s, and for each the API server converts it: ask the sources one by one", o.Kind.Kind, strings.Join(versions, " and ")))
	case len(versions) == 1 && versions[0] != o.Kind.Version:
		err = c.convert(&a, versions[0])
	case len(a.object.Text) > 0:
		a.review, err = newReview(a.object, resource, o.Kind, c.options.operation)
	}
	return a, err
}

// read reads the object as strictly as the API server does. What is deleted, or is in
// the cluster already, was read before.
func (c *checker) read(a *arrival) error {
	if c.options.operation == "DELETE" || a.object.InVersion != nil {
		return nil
	}
	text, err := a.object.JSON()
	if err != nil {
		return err
	}
	text, err = c.resources.kinds.Arrive(text, a.object.Kind, c.options.operation == "CREATE")
	switch refused, isRefusal := errors.AsType[*kinds.Refusal](err); {
	case isRefusal:
		a.denials = refusal(refused)
	case errors.Is(err, kinds.ErrNotKnown):
		a.cannotSay(err.Error())
	case err != nil:
		return fmt.Errorf("%s: %w", a.object.Origin, err)
	default:
		a.object.Text = text
	}
	return nil
}

// convert gives the review the object in another version.
func (c *checker) convert(a *arrival, version string) error {
	text, err := a.object.JSON()
	if err != nil {
		return err
	}
	if inVersion := a.object.InVersion; inVersion != nil {
		text, err = inVersion(version)
	} else {
		text, err = c.resources.kinds.Convert(text, a.object.Kind, version)
	}
	if errors.Is(err, kinds.ErrNotKnown) {
		a.cannotSay(err.Error())
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.object.Origin, err)
	}
	converted := a.object
	converted.Text, converted.Kind.Version = text, version
	a.kind, a.as = converted.Kind, converted.Kind.GroupVersion().String()
	resource, _ := c.resources.lookup(a.kind)
	a.review, err = newReview(converted, resource, a.object.Kind, c.options.operation)
	return err
}

// validated is what the API server finds wrong with a custom resource that is created,
// once the policies have changed it: nil where it looks at nothing.
func (c *checker) validated(ctx context.Context, a arrival) validator {
	if c.options.operation != "CREATE" || a.object.InVersion != nil {
		return nil
	}
	return func(review *admission.Review) ([]engine.Finding, error) {
		text, err := review.Object()
		if err == nil {
			err = c.resources.kinds.Validate(ctx, text, a.kind)
		}
		if refused, isRefusal := errors.AsType[*kinds.Refusal](err); isRefusal {
			return refusal(refused), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.object.Origin, err)
		}
		return nil, nil
	}
}
