package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/admission"
)

// readObjects reads the objects of -f. AdmissionReviews become the objects that their requests are
// about.
func readObjects(cmd *cobra.Command, o *options) ([]manifests.Object, error) {
	objects, err := manifests.Read(o.manifests, cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if err := o.CheckReviewKind(); err != nil {
			return nil, err
		}
	}
	i := slices.IndexFunc(objects, manifests.Object.IsReview)
	if i < 0 {
		return objects, nil
	}
	if names := givenRequestFlags(cmd); len(names) > 0 {
		return nil, usage.Errorf(cmd, "%s is an AdmissionReview, whose request is evaluated as it is: leave out %s", objects[i].Origin, strings.Join(names, ", "))
	}
	table, err := manifests.NewTable(withoutReviews(objects))
	if err != nil {
		return nil, err
	}
	for i := range objects {
		if !objects[i].IsReview() {
			continue
		}
		subject, assumed, err := objects[i].Subject(table, o.namespace)
		if err != nil {
			return nil, err
		}
		if len(assumed) > 0 {
			o.notes = append(o.notes, fmt.Sprintf("%s: the request lacks fields, which are taken from its object: %s", objects[i].Origin, strings.Join(assumed, ", ")))
		}
		objects[i] = subject
	}
	return objects, nil
}

// checkReview returns an error for a request whose object is of another kind than the request, and
// a note for one without the old object: an API server sends neither.
func checkReview(review *admission.Review) (note string, err error) {
	if review.SubResource == "" {
		for field, object := range map[string]*admission.Object{"object": review.New, "oldObject": review.Old} {
			if object == nil {
				continue
			}
			if kind := admission.ObjectKind(object.Value(), review.Kind); kind.Version != "" && kind != review.Kind {
				return "", fmt.Errorf("request.%s is of kind %s in version %q, and request.kind is %s in version %q: make them equal", field, kind, kind.Version, review.Kind, review.Kind.Version)
			}
		}
	}
	if review.Old == nil && (review.Operation == "UPDATE" || review.Operation == "DELETE") {
		note = "the request lacks oldObject, which an API server sends on " + review.Operation + ": rules that read it do not fire"
	}
	return note, nil
}

// withoutReviews are the objects in manifests, without those in AdmissionReviews.
func withoutReviews(objects []manifests.Object) []manifests.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(o manifests.Object) bool { return o.IsReview() || o.Request != nil })
}

// arriveReview takes the request of an AdmissionReview as it is: the API server has read and
// converted its objects.
func (c *checker) arriveReview(o manifests.Object) (arrival, error) {
	a := arrival{outcome: outcome{object: o}, kind: o.Kind}
	review, err := admission.NewReview(o.Request)
	if err != nil {
		return a, fmt.Errorf("%s: %w", o.Origin, err)
	}
	note, err := checkReview(review)
	if err != nil {
		return a, fmt.Errorf("%s: %w", o.Origin, err)
	}
	if note != "" {
		c.notes = append(c.notes, o.Origin+": "+note)
	}
	a.review = review
	a.question.Operation, a.question.Subresource = review.Operation, review.SubResource
	a.request = describe(review)
	a.checkValues()
	return a, nil
}

// describe is the request of a review apart from its object, for people.
func describe(review *admission.Review) string {
	resource := strings.TrimSuffix(review.Resource.Resource+"."+review.Resource.Group, ".")
	if review.SubResource != "" {
		resource += "/" + review.SubResource
	}
	text := review.Operation + " " + resource
	if review.Username != "" {
		text += " by " + review.Username
	}
	if review.DryRun {
		text += ", dry run"
	}
	return text
}
