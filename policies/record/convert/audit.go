package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/policies/record"
)

// event is an entry of the audit log of an API server.
type event struct {
	Level            string          `json:"level"`
	AuditID          string          `json:"auditID"`
	Stage            string          `json:"stage"`
	RequestURI       string          `json:"requestURI"`
	Verb             string          `json:"verb"`
	User             json.RawMessage `json:"user"`
	ImpersonatedUser json.RawMessage `json:"impersonatedUser"`
	ObjectRef        *struct {
		Resource    string `json:"resource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		APIGroup    string `json:"apiGroup"`
		APIVersion  string `json:"apiVersion"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"responseStatus"`
	RequestObject  json.RawMessage `json:"requestObject"`
	ResponseObject json.RawMessage `json:"responseObject"`
	Received       time.Time       `json:"requestReceivedTimestamp"`
}

// Operations of verbs.
var operations = map[string]string{"create": "CREATE", "update": "UPDATE", "patch": "UPDATE", "delete": "DELETE"}

func fromAudit(entry []byte) (*record.Record, error) {
	var e event
	if err := json.Unmarshal(entry, &e); err != nil {
		return nil, fmt.Errorf("the event is damaged: %w", err)
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	operation := operations[e.Verb]
	if e.Verb == "patch" && e.ResponseStatus.Code == http.StatusCreated { // server-side apply
		operation = "CREATE"
	}
	r := &record.Record{Schema: record.Schema, Time: e.Received, Entry: "validate/imported", Decision: record.Decision{Allowed: true}}
	if e.ResponseStatus.Code >= http.StatusBadRequest {
		r.Decision.Allowed = false
		r.Decision.Denials = []record.Finding{{Policy: "audit-log", Rule: "deny", Msg: e.ResponseStatus.Message}}
	}
	object, err := e.object(operation)
	if err != nil {
		return nil, err
	}
	r.Request, err = e.request(operation, object)
	return r, err
}

// check returns the reason why an event is not a request that admission has decided.
func (e *event) check() error {
	switch {
	case e.Stage != "ResponseComplete" && e.Stage != "Panic" && e.Stage != "ResponseStarted":
		return &IgnoredError{"an earlier stage of a request"}
	case e.ObjectRef == nil || e.ObjectRef.Resource == "":
		return &IgnoredError{"not about an object"}
	}
	switch e.Verb {
	case "get", "list", "watch":
		if strings.Contains(" exec attach portforward proxy ", " "+e.ObjectRef.Subresource+" ") && e.ObjectRef.Subresource != "" {
			return errors.New("a CONNECT request lacks its options in an audit log")
		}
		return &IgnoredError{"a read"}
	case "deletecollection":
		return errors.New("an audit log lacks the objects of a deletecollection")
	}
	if operations[e.Verb] == "" {
		return fmt.Errorf("the verb %q is not known", e.Verb)
	}
	if e.Level != "RequestResponse" {
		return fmt.Errorf("the event is of level %s: the audit policy must log the request at level RequestResponse", e.Level)
	}
	if e.Stage != "ResponseComplete" {
		return fmt.Errorf("the request ended in stage %s, without a response", e.Stage)
	}
	const denied = "admission webhook "
	if code := e.ResponseStatus.Code; code >= http.StatusBadRequest && !strings.Contains(e.ResponseStatus.Message, denied) {
		return fmt.Errorf("the API server refused the request with status %d, and no webhook did", code)
	}
	return nil
}

// object is the object as the last webhook saw it, as far as the event has it.
func (e *event) object(operation string) (json.RawMessage, error) {
	kindOf := func(text json.RawMessage) (kind struct{ APIVersion, Kind string }) {
		_ = json.Unmarshal(text, &kind) // empty if there is no object
		return kind
	}
	request, response := kindOf(e.RequestObject), kindOf(e.ResponseObject)
	isObject := response.Kind != "" && response.Kind != "Status"
	switch {
	case operation == "UPDATE":
		return nil, errors.New("an audit log lacks the object before an UPDATE")
	case operation == "DELETE" && !isObject:
		return nil, errors.New("the event lacks the deleted object")
	case operation == "DELETE", isObject && (request.Kind == "" || request == response || e.Verb == "patch"):
		return e.ResponseObject, nil
	case request.Kind != "" && e.Verb == "create":
		return e.RequestObject, nil
	case e.Verb == "patch":
		return nil, errors.New("the event lacks the object that the patch results in")
	}
	return nil, errors.New("the event lacks the object")
}

// request is the AdmissionRequest.
func (e *event) request(operation string, object json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name         string `json:"name"`
			GenerateName string `json:"generateName"`
		} `json:"metadata"`
	}
	if err := errors.Join(json.Unmarshal(object, &fields), json.Unmarshal(object, &head)); err != nil {
		return nil, fmt.Errorf("the object is damaged: %w", err)
	}
	group, version, hasGroup := strings.Cut(head.APIVersion, "/")
	if !hasGroup {
		group, version = "", head.APIVersion
	}
	ref := e.ObjectRef
	kind := map[string]string{"group": group, "version": version, "kind": head.Kind}
	resource := map[string]string{"group": ref.APIGroup, "version": ref.APIVersion, "resource": ref.Resource}
	user := e.User
	if len(e.ImpersonatedUser) > 0 && string(e.ImpersonatedUser) != "null" {
		user = e.ImpersonatedUser
	}
	uri, err := url.Parse(e.RequestURI)
	if err != nil {
		return nil, fmt.Errorf("the event has an invalid requestURI: %w", err)
	}
	request := map[string]any{
		"uid": e.AuditID, "kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource,
		"name": firstOf(ref.Name, head.Metadata.Name), "operation": operation, "userInfo": user,
		"object": nil, "oldObject": nil, "dryRun": uri.Query().Get("dryRun") == "All",
	}
	if ref.Subresource != "" {
		request["subResource"], request["requestSubResource"] = ref.Subresource, ref.Subresource
	}
	if ref.Namespace != "" {
		request["namespace"] = ref.Namespace
	}
	if operation == "DELETE" {
		request["oldObject"] = object
	} else {
		request["object"] = object
	}
	return json.Marshal(request)
}
