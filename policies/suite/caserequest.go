package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/request"
)

// caseRequest is the request of a case apart from its object: an addition of Lintel to the Suites of
// Gatekeeper. Its fields mean what the flags of `lintel check` mean.
type caseRequest struct {
	Operation string   `json:"operation"`
	As        string   `json:"as"`
	AsGroups  []string `json:"asGroups"`
	AsUID     string   `json:"asUID"`
	// OldObject is the path of the object before an update.
	OldObject   string          `json:"oldObject"`
	Subresource string          `json:"subresource"`
	DryRun      bool            `json:"dryRun"`
	Options     json.RawMessage `json:"options"`
}

// caseObject is an object of a case, with what identifies it.
type caseObject struct {
	text            []byte
	kind            schema.GroupVersionKind
	name, namespace string
}

func readCaseObject(text []byte) (caseObject, error) {
	var fields struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
	}
	if err := json.Unmarshal(text, &fields); err != nil {
		return caseObject{}, err
	}
	if fields.Kind == "" {
		return caseObject{}, errors.New("the object has no kind")
	}
	return caseObject{text, schema.FromAPIVersionAndKind(fields.APIVersion, fields.Kind), fields.Metadata.Name, fields.Metadata.Namespace}, nil
}

// withoutMetadata is the text of an object of a kind that has no metadata.
func (o caseObject) withoutMetadata() ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(o.text, &fields); err != nil {
		return nil, err
	}
	delete(fields, "metadata")
	return json.Marshal(fields)
}

// requestOf is the review of an object by the request of its case.
func (r *runner) requestOf(suite suiteFile, c caseRequest, text []byte) (*admission.Review, error) {
	object, err := readCaseObject(text)
	switch {
	case err != nil:
		return nil, err
	case object.kind.Group == "admission.k8s.io":
		return nil, errors.New("an AdmissionReview has a request of its own: leave out the request of the case")
	case c.As == "" && (c.AsUID != "" || len(c.AsGroups) > 0):
		return nil, errors.New("request.asGroups and request.asUID are about a user: set request.as, too")
	case c.Operation != "" && !slices.Contains(request.Operations, c.Operation):
		return nil, fmt.Errorf("request.operation: Invalid value %q: must be %s", c.Operation, strings.Join(request.Operations, ", "))
	}
	old := object.text
	if c.OldObject != "" {
		if old, err = r.oldObject(suite, c.OldObject, object); err != nil {
			return nil, err
		}
	}
	resources := admission.BuiltinResources()
	q, err := request.Spec{
		Operation: c.Operation, User: c.As, UID: c.AsUID, Groups: c.AsGroups, HasOld: c.OldObject != "",
		Subresource: c.Subresource, DryRun: c.DryRun, Options: c.Options,
	}.About(object.kind, resourceOf(object.kind, resources), resources)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	if q.Target.HasNoMetadata {
		if object.text, err = object.withoutMetadata(); err != nil {
			return nil, err
		}
	}
	return request.New(request.Subject{
		Object: object.text, Old: old, Kind: object.kind, Requested: object.kind, Resource: q.Target.Resource,
		Name: object.name, Namespace: object.namespace,
	}, q.Attributes)
}

// oldObject is the text of the object before an update.
func (r *runner) oldObject(suite suiteFile, file string, updated caseObject) ([]byte, error) {
	found, err := r.read(suite.path(file))
	if err != nil {
		return nil, fmt.Errorf("request.oldObject: %w", err)
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("request.oldObject: %s holds %d objects; an update has one", suite.path(file), len(found))
	}
	old, err := readCaseObject(found[0].JSON)
	if err != nil {
		return nil, fmt.Errorf("request.oldObject: %s: %w", found[0], err)
	}
	if old.kind != updated.kind || old.name != updated.name || old.namespace != updated.namespace {
		return nil, fmt.Errorf("request.oldObject: %s: the old object is %s %s/%s, and the object is %s %s/%s: both must have the same kind, namespace and name",
			found[0], old.kind.Kind, old.namespace, old.name, updated.kind.Kind, updated.namespace, updated.name)
	}
	return old.text, nil
}

// resourceOf is the resource of a kind in its version. Kinds that Kubernetes does not have are
// assumed to be namespaced.
func resourceOf(kind schema.GroupVersionKind, resources *admission.Resources) admission.ServedResource {
	resource, known := resources.ByKind(kind.Group, kind.Kind)
	if !known {
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		resource = admission.ServedResource{Group: kind.Group, Kind: kind.Kind, Name: plural.Resource, Namespaced: true}
	}
	resource.Version = kind.Version
	return resource
}
