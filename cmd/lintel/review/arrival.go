package review

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/request"
)

// arrival is the treatment of an object by the API server before it calls webhooks: its outcome
// has the object, the review for the policies and, where no policy is evaluated, the verdict.
type arrival struct {
	outcome
	// kind is that of the review's object, which may be of another version than the manifest,
	// whose kind is then arrived.
	kind, arrived schema.GroupVersionKind
	// question is the request about the object: of an AdmissionReview, operation and subresource.
	question request.Question
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
	if o.Request != nil {
		return c.arriveReview(o)
	}
	var err error
	if a.question, err = c.questionAbout(o); err != nil {
		return a, err
	}
	if a.question.Target.HasNoMetadata {
		a.object.RemoveMetadata()
	}
	if err = c.setReview(&a, nil); err != nil {
		return a, err
	}
	if reason := c.unserved(a); reason != "" {
		a.cannotSay(reason)
		return a, nil
	}
	if err := c.read(&a); err != nil || a.isDecided() {
		return a, err
	}
	c.noteGeneratedName(a)
	versions := c.versions(a)
	to := o.Kind.Version
	switch {
	case len(versions) > 1:
		a.cannotSay(fmt.Sprintf("policies of several sources take %s in %s, and for each the API server converts it: ask the sources one by one", o.Kind.Kind, strings.Join(versions, " and ")))
	case len(versions) == 1 && !a.question.Target.HasOwnKind:
		to = versions[0]
	}
	if !a.isDecided() {
		err = c.convert(&a, to)
	}
	if err == nil && len(versions) > 0 && !a.isDecided() {
		a.checkValues()
	}
	return a, err
}

// setReview sets the review of the object as it is now. old is the object before an update; nil if
// it is the object itself.
func (c *checker) setReview(a *arrival, old []byte) (err error) {
	arrived := a.kind
	if a.as != "" {
		arrived = a.arrived
	}
	if a.review, err = newReview(a.object, a.question, arrived, old); err != nil {
		return err
	}
	if a.review.Username != "" || a.review.SubResource != "" || a.review.DryRun {
		a.request = describe(a.review)
	}
	return nil
}

// unserved returns why the API server does not serve the kind of the object; empty if it does.
func (c *checker) unserved(a arrival) string {
	if a.question.Target.HasOwnKind {
		return ""
	}
	return c.resources.Unserved(a.object.Kind)
}

// versions are those in which policies are registered for the request.
func (c *checker) versions(a arrival) []string {
	resource := a.question.Target.Resource
	if a.question.Subresource != "" {
		resource.Name += "/" + a.question.Subresource
	}
	return c.asked.Versions(resource, a.question.Operation)
}

// checkValues denies objects that the webhook refuses to decode, independent of the policies.
func (a *arrival) checkValues() {
	if err := a.review.CheckValues(); err != nil {
		a.denials = []engine.Finding{{Words: err.Error()}}
	}
}

// noteGeneratedName adds a note if the API server generates the name of the object.
func (c *checker) noteGeneratedName(a arrival) {
	o := a.object
	if o.Name == "" && o.GenerateName != "" && a.question.Operation == "CREATE" && !a.question.Target.HasOwnKind {
		c.notes = append(c.notes, fmt.Sprintf("%s: the API server generates the name of %s after mutation: policies that validate see %q here, and a name that ends in five random characters in a cluster", o.Origin, o.Kind.Kind, admission.GeneratedName(o.GenerateName)))
	}
}

// read reads the object as strictly as the API server does. An object that is deleted was read
// before, and is read as it is stored. One that is in a cluster is complete.
func (c *checker) read(a *arrival) error {
	if a.object.InVersion != nil {
		return nil
	}
	if a.question.Operation == "DELETE" {
		return c.readStored(&a.object)
	}
	text, err := a.object.JSON()
	if err != nil {
		return err
	}
	a.object.Text, err = c.resources.Kinds.Arrive(text, a.object.Kind, a.question.Operation == "CREATE")
	return a.take(err)
}

// convert gives the review the object, and the one before the update, in a version.
func (c *checker) convert(a *arrival, version string) error {
	old, err := c.oldObject(a.object, version)
	if err != nil {
		return a.take(err)
	}
	if version == a.object.Kind.Version {
		if old == nil && len(a.object.Text) == 0 {
			return nil
		}
		return c.setReview(a, old)
	}
	text, err := c.inVersion(a.object, version)
	if err != nil {
		return a.take(err)
	}
	given := a.object
	a.object.Text, a.object.Kind.Version = text, version
	a.arrived, a.kind, a.as = given.Kind, a.object.Kind, a.object.Kind.GroupVersion().String()
	err = c.setReview(a, old)
	a.object = given
	return err
}

// inVersion is an object in a version of its kind.
func (c *checker) inVersion(o manifests.Object, version string) ([]byte, error) {
	if o.InVersion != nil && version != o.Kind.Version {
		return o.InVersion(version)
	}
	text, err := o.JSON()
	if err != nil || version == o.Kind.Version {
		return text, err
	}
	return c.resources.Kinds.Convert(text, o.Kind, version)
}

// decoder does what the API server does with the object after a patch.
func (c *checker) decoder() func(*admission.Review) error {
	return func(review *admission.Review) error {
		text, err := review.Object()
		if err != nil {
			return err
		}
		return c.resources.Kinds.DecodePatched(text, schema.GroupVersionKind{Group: review.Kind.Group, Version: review.Kind.Version, Kind: review.Kind.Kind})
	}
}

// validator finds what the API server has against a custom resource that is created, once
// the policies have changed it: nil where it looks at nothing.
func (c *checker) validator(ctx context.Context, a arrival) func(*admission.Review) error {
	if a.question.Operation != "CREATE" || a.question.Subresource != "" || a.object.InVersion != nil || a.object.Request != nil {
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
