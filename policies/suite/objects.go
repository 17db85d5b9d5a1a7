package suite

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/cel"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/manifest"
)

// caseInput is the input of a case.
type caseInput struct {
	review    *admission.Review
	cluster   *clusterdata.Objects
	kinds     []admission.GroupVersionKind // of the inventory, without version
	namespace engine.Namespace             // of the object, where the inventory has it
}

// readCases reads the objects of all cases that are to run.
func (r *runner) readCases(suite suiteFile, test suiteTest) ([]caseInput, error) {
	cases := make([]caseInput, len(test.Cases))
	for i, c := range test.Cases {
		if c.Skip {
			continue
		}
		var err error
		if cases[i], err = r.readCase(suite, test, c); err != nil {
			return nil, fmt.Errorf("case %q: %w", c.Name, err)
		}
	}
	return cases, nil
}

func (r *runner) readCase(suite suiteFile, test suiteTest, c suiteCase) (caseInput, error) {
	var objects caseInput
	if len(c.Assertions) == 0 {
		return objects, fmt.Errorf("it has no assertions; write at least `- violations: no`")
	}
	if c.Object == "" {
		return objects, fmt.Errorf("it names no object")
	}
	found, err := r.read(suite.path(c.Object))
	if err != nil {
		return objects, err
	}
	if len(found) != 1 {
		return objects, fmt.Errorf("%s holds %d objects; a case has one", suite.path(c.Object), len(found))
	}
	template := suite.path(test.Template)
	if c.Request == nil && cel.IsPolicyFile(template, r.source.Files[template]) && !isReview(found[0].JSON) {
		c.Request = &caseRequest{} // the API server evaluates its policies for requests alone
	}
	if c.Request != nil {
		objects.review, err = r.requestOf(suite, *c.Request, found[0].JSON)
	} else {
		objects.review, err = reviewOf(found[0].JSON)
	}
	if err != nil {
		return objects, fmt.Errorf("%s: %w", found[0], err)
	}
	var inventory []json.RawMessage
	for _, name := range c.Inventory {
		documents, err := r.read(suite.path(name))
		if err != nil {
			return objects, err
		}
		for _, d := range documents {
			inventory = append(inventory, d.JSON)
			if err := objects.note(d.JSON); err != nil {
				return objects, fmt.Errorf("%s: %w", d, err)
			}
		}
	}
	objects.cluster, err = clusterdata.New(inventory)
	return objects, err
}

func (r *runner) read(name string) ([]manifest.Document, error) {
	text, ok := r.source.Files[name]
	if !ok {
		return nil, fmt.Errorf("%s is not among the files of the source", name)
	}
	documents, err := manifest.Read(name, []byte(text))
	if err == nil && len(documents) == 0 {
		return nil, fmt.Errorf("%s holds no objects", name)
	}
	return documents, err
}

// note records an object of the inventory.
func (o *caseInput) note(text []byte) error {
	var object struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return err
	}
	group := schema.FromAPIVersionAndKind(object.APIVersion, object.Kind).Group
	o.kinds = append(o.kinds, admission.GroupVersionKind{Group: group, Kind: object.Kind})
	if group == "" && object.Kind == "Namespace" && object.Metadata.Name == o.review.Namespace {
		var err error
		if o.namespace, err = engine.ReadNamespace(text); err != nil {
			return err
		}
	}
	return nil
}

// isReview reports whether an object is an AdmissionReview.
func isReview(text []byte) bool {
	var header struct{ APIVersion, Kind string }
	return json.Unmarshal(text, &header) == nil && header.Kind == "AdmissionReview" && strings.HasPrefix(header.APIVersion, "admission.k8s.io/")
}

// reviewOf is the review of an object, or the one in an AdmissionReview.
func reviewOf(text []byte) (*admission.Review, error) {
	if !isReview(text) {
		return admission.NewTestObjectReview(text)
	}
	var review struct{ Request json.RawMessage }
	if err := json.Unmarshal(text, &review); err != nil {
		return nil, err
	}
	if len(review.Request) == 0 {
		return nil, fmt.Errorf("the AdmissionReview has no request")
	}
	return admission.NewTestReview(review.Request)
}
