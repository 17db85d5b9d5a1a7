package request

import (
	"encoding/json"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/policies/admission"
)

// DeleteCollection is the operation of a Spec that deletes a collection.
const DeleteCollection = "DELETECOLLECTION"

// Operations are those that a Spec may have.
var Operations = []string{"CREATE", "UPDATE", "DELETE", DeleteCollection, "CONNECT"}

// Spec describes a request as a user does: everything may be missing.
type Spec struct {
	// Operation is one of Operations. If it is empty, the subresource decides, then HasOld, and
	// otherwise the request creates the object.
	Operation string
	// User, UID and Groups are those that the request impersonates.
	User, UID string
	Groups    []string
	// HasOld reports that there is an object before the update.
	HasOld bool
	// Subresource is a name such as exec or, with the resource, deployments.apps/scale.
	Subresource string
	DryRun      bool
	// Options are a part of the options of the operation, in JSON.
	Options json.RawMessage
}

// Question is a request about objects of a kind.
type Question struct {
	Attributes
	Target Target
}

// About returns the request that the Spec describes for an object of a kind. own is the resource of
// the kind. The errors name no file.
func (s Spec) About(kind schema.GroupVersionKind, own admission.ServedResource, resources *admission.Resources) (Question, error) {
	target, err := Resolve(s.Subresource, kind, own, resources)
	if err != nil {
		return Question{}, fmt.Errorf("subresource %s: %w", s.Subresource, err)
	}
	q := Question{Attributes{Operation: s.Operation, Subresource: target.Subresource, User: s.user()}, target}
	switch {
	case target.Operation != "" && q.Operation != "" && q.Operation != target.Operation:
		return q, fmt.Errorf("requests for the subresource %s have the operation %s, not %s", target.Subresource, target.Operation, q.Operation)
	case q.Operation == "CONNECT" && target.Operation == "":
		return q, errors.New("operation CONNECT is about a subresource: exec, attach, portforward or proxy")
	case target.Operation != "":
		q.Operation = target.Operation
	case q.Operation == "" && s.HasOld:
		q.Operation = "UPDATE"
	case q.Operation == "":
		q.Operation = "CREATE"
	case q.Operation == DeleteCollection:
		q.Operation, q.Collection = "DELETE", true
	}
	if s.HasOld && q.Operation != "UPDATE" {
		return q, fmt.Errorf("an old object is about an update, and the request has the operation %s", q.Operation)
	}
	if q.Options, q.DryRun, err = Options(s.Options, q.Operation, s.DryRun); err != nil {
		return q, fmt.Errorf("options of the request: %w", err)
	}
	return q, nil
}

func (s Spec) user() authenticationv1.UserInfo {
	if s.User == "" {
		return authenticationv1.UserInfo{}
	}
	return Impersonated(s.User, s.UID, s.Groups)
}
