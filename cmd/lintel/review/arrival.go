package review

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
)

// arrival is the treatment of an object by the API server before it calls webhooks: its outcome
// has the object, the review for the policies and, where no policy is evaluated, the verdict.
type arrival struct {
	outcome
	// kind is that of the review's object, which may be of another version than the
	// manifest.
	kind schema.GroupVersionKind
	// at is where it stands among the objects.
	at int
}

// isDecided reports whether the verdict is known without a policy.
func (a *arrival) isDecided() bool { return len(a.denials)+len(a.undecided) > 0 }

// arriveAll brings the objects before the policies.
func (c *checker) arriveAll() error {
	for _, o := range c.objects {
		a, err := c.arrive(o)
		if err != nil {
			return err
		}
		a.at = len(c.arrivals)
		c.arrivals = append(c.arrivals, a)
	}
	return nil
}

// webhookMessages are kinds that the API server sends and does not serve, with what to give
// instead: policies are never evaluated for them.
var webhookMessages = map[schema.GroupKind]string{
	{Group: "admission.k8s.io", Kind: "AdmissionReview"}:      "give its request.object with -f, and its operation with --operation",
	{Group: "apiextensions.k8s.io", Kind: "ConversionReview"}: "give its request.objects with -f",
	{Group: "imagepolicy.k8s.io", Kind: "ImageReview"}:        "give the Pod with -f",
}

// arrive does what the API server does up to the first webhook: it reads the object
// strictly, and converts it to the version that the policies are registered for.
func (c *checker) arrive(o manifests.Object) (arrival, error) {
	a := arrival{outcome: outcome{object: o}, kind: o.Kind}
	if remedy, ok := webhookMessages[o.Kind.GroupKind()]; ok {
		return a, fmt.Errorf("%s: %s is not a manifest, but a message to a webhook: %s", o.Origin, o.Kind.Kind, remedy)
	}
	resource, _ := c.resources.Lookup(o.Kind)
	var err error
	if a.review, err = newReview(o, resource, o.Kind, c.options.operation); err != nil {
		return a, err
	}
	if reason := c.resources.Unserved(o.Kind); reason != "" {
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
	if err == nil && len(versions) > 0 && !a.isDecided() {
		a.checkValues()
	}
	return a, err
}

// checkValues denies objects that the webhook refuses to decode, independent of the policies.
func (a *arrival) checkValues() {
	if err := a.review.CheckValues(); err != nil {
		a.denials = []engine.Finding{{Words: err.Error()}}
	}
}

// read reads the object as strictly as the API server does. An object that is deleted, or is in
// the cluster already, was read before.
func (c *checker) read(a *arrival) error {
	if c.options.operation == "DELETE" || a.object.InVersion != nil {
		return nil
	}
	text, err := a.object.JSON()
	if err != nil {
		return err
	}
	a.object.Text, err = c.resources.Kinds.Arrive(text, a.object.Kind, c.options.operation == "CREATE")
	return a.take(err)
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
		text, err = c.resources.Kinds.Convert(text, a.object.Kind, version)
	}
	if err != nil {
		return a.take(err)
	}
	converted := a.object
	converted.Text, converted.Kind.Version = text, version
	a.kind, a.as = converted.Kind, converted.Kind.GroupVersion().String()
	resource, _ := c.resources.Lookup(a.kind)
	a.review, err = newReview(converted, resource, a.object.Kind, c.options.operation)
	return err
}

// validator finds what the API server has against a custom resource that is created, once
// the policies have changed it: nil where it looks at nothing.
func (c *checker) validator(ctx context.Context, a arrival) func(*admission.Review) error {
	if c.options.operation != "CREATE" || a.object.InVersion != nil {
		return nil
	}
	return func(review *admission.Review) error {
		text, err := review.Object()
		if err != nil {
			return err
		}
		return c.resources.Kinds.Validate(ctx, text, a.kind)
	}
}
