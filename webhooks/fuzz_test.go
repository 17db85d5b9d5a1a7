package webhooks

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/lintel-policy/lintel/policies/admission"
)

// FuzzBody: the answer to any request is a review with its uid, or HTTP 400 and plain text, and
// an unreadable request is never admitted.
func FuzzBody(f *testing.F) {
	f.Add(podRequest)
	f.Add(podRequest + podRequest)
	f.Add(podRequest[:len(podRequest)-30])
	f.Add(strings.Replace(podRequest, "u-1", `\ud800`, 1))
	f.Add(strings.Replace(podRequest, "u-1", "\xff", 1))
	f.Add(strings.Replace(podRequest, `"u-1"`, `"a","uid":"b"`, 1))
	f.Add(podRequest + strings.Repeat(" ", 64<<10))
	f.Add(strings.Repeat("[", 5000))
	f.Add(`{"request":{"uid":null}}`)
	f.Add("")
	fixture := newFixture(f, decisions{}, nil)
	f.Fuzz(func(t *testing.T, body string) {
		fixture.log.Reset()
		recorder := fixture.post("/validate/ignore", body)
		review, err := admission.DecodeReview([]byte(body))
		switch recorder.Code {
		case http.StatusBadRequest:
			if json.Valid(recorder.Body.Bytes()) || err == nil && len(body) <= 64<<10 {
				t.Fatalf("HTTP 400: %s", recorder.Body)
			}
		case http.StatusOK:
			var answer admissionv1.AdmissionReview
			if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil || answer.Response == nil {
				t.Fatalf("not a review (%v): %s", err, recorder.Body)
			}
			if answer.Response.UID == "" {
				t.Fatal("no uid")
			}
			if answer.Response.Allowed != (err == nil && len(body) <= 64<<10) {
				t.Fatalf("allowed: %v, readable: %v", answer.Response.Allowed, err)
			}
			if err == nil && string(answer.Response.UID) != review.UID {
				t.Fatalf("uid %q, want %q", answer.Response.UID, review.UID)
			}
		default:
			t.Fatalf("HTTP %d", recorder.Code)
		}
	})
}
