package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/policies/record"
)

// decision is an entry of a decision log of OPA.
type decision struct {
	ID        string    `json:"decision_id"`
	Path      string    `json:"path"`
	Query     string    `json:"query"`
	Timestamp time.Time `json:"timestamp"`
	Input     *struct {
		Request json.RawMessage `json:"request"`
		// Review is the request in the input of a ConstraintTemplate.
		Review json.RawMessage `json:"review"`
	} `json:"input"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	Erased []string        `json:"erased"`
	Masked []string        `json:"masked"`
}

func fromDecision(entry []byte) (*record.Record, error) {
	var d decision
	if err := json.Unmarshal(entry, &d); err != nil {
		return nil, fmt.Errorf("the decision is damaged: %w", err)
	}
	if d.Input == nil {
		return nil, errors.New("the decision has no input: it is erased, or the policy does not read one")
	}
	r := &record.Record{Schema: record.Schema, Time: d.Timestamp, Entry: "validate/imported", Request: d.Input.Request}
	below := "/input/request"
	if len(r.Request) == 0 {
		r.Request, below = d.Input.Review, "/input/review"
	}
	if len(r.Request) == 0 {
		return nil, errors.New("the input of the decision is not an AdmissionReview: it lacks input.request")
	}
	for _, pointer := range append(d.Erased, d.Masked...) {
		switch inner, ok := strings.CutPrefix(pointer, below); {
		case ok && strings.HasPrefix(inner, "/"):
			r.Masked = append(r.Masked, inner)
		case ok, strings.HasPrefix(below, pointer):
			return nil, errors.New("the request of the decision is erased or masked")
		}
	}
	if len(d.Error) > 0 && string(d.Error) != "null" {
		r.Decision.Error = string(d.Error)
		return r, nil
	}
	allowed, messages, err := resultOf(d.Result)
	if err != nil {
		return nil, err
	}
	r.Decision.Allowed = allowed
	if !allowed && len(messages) == 0 {
		messages = []string{"denied"}
	}
	for _, message := range messages {
		r.Decision.Denials = append(r.Decision.Denials, record.Finding{Policy: strings.ReplaceAll(d.Path, "/", "."), Rule: "deny", Msg: message})
	}
	return r, nil
}

// resultOf reads the decision in a result: an AdmissionReview, a document with allowed, or the
// messages of a deny rule.
func resultOf(result json.RawMessage) (allowed bool, messages []string, err error) {
	var list []json.RawMessage
	if json.Unmarshal(result, &list) == nil && list != nil {
		for _, one := range list {
			messages = append(messages, messageOf(one))
		}
		return len(list) == 0, messages, nil
	}
	type response struct {
		Allowed *bool `json:"allowed"`
		Status  struct {
			Message string `json:"message"`
			Reason  string `json:"reason"`
		} `json:"status"`
	}
	var document struct {
		response
		Response *response `json:"response"`
	}
	if json.Unmarshal(result, &document) != nil {
		return false, nil, errors.New("the result of the decision is not that of an admission policy")
	}
	found := document.response
	if document.Response != nil {
		found = *document.Response
	}
	if found.Allowed == nil {
		return false, nil, errors.New("the decision lacks result.response.allowed and result.allowed")
	}
	if text := found.Status.Message + found.Status.Reason; !*found.Allowed && text != "" {
		messages = []string{firstOf(found.Status.Message, found.Status.Reason)}
	}
	return *found.Allowed, messages, nil
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// messageOf is the message of an element of a deny rule.
func messageOf(element json.RawMessage) string {
	var text string
	if json.Unmarshal(element, &text) == nil {
		return text
	}
	var object struct {
		Msg     string `json:"msg"`
		Message string `json:"message"`
	}
	if json.Unmarshal(element, &object) == nil {
		if found := firstOf(object.Msg, object.Message); found != "" {
			return found
		}
	}
	return string(element)
}
