package webhooks

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
	"github.com/lintel-policy/lintel/policies/rules"
)

const (
	// maxMessageBytes bounds the message of a denial.
	maxMessageBytes = 32 << 10
	// maxAnnotationBytes bounds one audit annotation.
	maxAnnotationBytes = 1 << 10
	// retryAfterSeconds is when clients may repeat a request that a busy replica denied.
	retryAfterSeconds = 1
)

// answer is the verdict of one entry on one review, before it is encoded as a response.
type answer struct {
	denials, warnings, audits []engine.Finding
	// exempted are findings without effect, because of exceptions.
	exempted []engine.Finding
	// denialTexts and warningTexts are what users see of the findings.
	denialTexts, warningTexts []string
	patch                     json.RawMessage // a JSON Patch; nil = none
	operations                int             // of patch
	policies                  int
	digest                    string
	// code and reason are the status of a denial.
	code   int32
	reason metav1.StatusReason
	// retryAfter is the number of seconds after which clients may retry; 0 for none.
	retryAfter int32
	// failure is why the review could not be evaluated; nil otherwise.
	failure error
}

func (a *answer) allowed() bool { return len(a.denialTexts) == 0 }

// outcome is the metric label.
func (a *answer) outcome() string {
	switch {
	case a.failure != nil:
		return outcomeError
	case !a.allowed():
		return outcomeDenied
	case a.operations > 0:
		return outcomeMutated
	default:
		return outcomeAllowed
	}
}

func decided(decision *engine.Decision, digest string) *answer {
	a := &answer{
		denials:      decision.Denials,
		warnings:     decision.Warnings,
		audits:       decision.Audits,
		exempted:     decision.Exempted,
		warningTexts: limitWarnings(append(engine.ExemptionTexts(decision.Exempted), engine.WarningTexts(decision.Warnings)...)),
		policies:     decision.Policies,
		digest:       digest,
		code:         http.StatusForbidden,
		reason:       metav1.StatusReasonForbidden,
	}
	for _, finding := range decision.Denials {
		a.denialTexts = append(a.denialTexts, finding.Text())
	}
	return a
}

// productAnswer converts a product's verdict to an answer. Its texts become findings of the
// entry, so that the log shows them like those of policies.
func productAnswer(verdict *rules.Answer, entry string) (*answer, error) {
	findings := func(texts []string, rule string) []engine.Finding {
		var out []engine.Finding
		for _, text := range texts {
			out = append(out, engine.Finding{Words: text, Policy: entry, Rule: rule})
		}
		return out
	}
	a := &answer{
		denials:      findings(verdict.Denials, "deny"),
		warnings:     findings(verdict.Warnings, "warn"),
		denialTexts:  verdict.Denials,
		warningTexts: limitWarnings(verdict.Warnings),
		code:         http.StatusForbidden,
		reason:       metav1.StatusReasonForbidden,
	}
	return a, a.setPatch(verdict.Patch)
}

// setPatch encodes early, so that a patch that cannot be encoded is still an error
// that the failure policy answers.
func (a *answer) setPatch(patch []jsonpatch.Operation) (err error) {
	if len(patch) == 0 {
		return nil
	}
	a.operations = len(patch)
	if a.patch, err = json.Marshal(patch); err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	return nil
}

// undecided is the answer of the failure policy, for a review that could not be evaluated.
func undecided(policy definition.FailurePolicy, failure error) *answer {
	a := &answer{
		code: http.StatusInternalServerError, reason: metav1.StatusReasonInternalError, failure: failure,
	}
	text := "Lintel could not review this request: " + failure.Error()
	if errors.Is(failure, errNotLoaded) {
		a.code, a.reason = http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable
		text = "Lintel has not loaded its policies yet; retry"
	}
	if errors.Is(failure, errOutOfTime) {
		a.code, a.reason, a.retryAfter = http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, retryAfterSeconds
	}
	if policy == definition.Ignore {
		a.warningTexts = limitWarnings([]string{"admitted unchecked: " + text})
	} else {
		a.denialTexts = []string{text}
	}
	return a
}

// unreadable denies under either failure policy: see the package comment.
func unreadable(err *admission.ReviewError) *answer {
	code := cmp.Or(err.Code, http.StatusBadRequest)
	reason, retryAfter := metav1.StatusReasonBadRequest, int32(0)
	switch code {
	case http.StatusRequestEntityTooLarge:
		reason = metav1.StatusReasonRequestEntityTooLarge
	case http.StatusTooManyRequests:
		reason, retryAfter = metav1.StatusReasonTooManyRequests, retryAfterSeconds
	case http.StatusInternalServerError:
		reason = metav1.StatusReasonInternalError
	}
	return &answer{
		retryAfter: retryAfter,
		code:       int32(code), reason: reason, failure: err,
		denialTexts: []string{truncate(err.Message, maxMessageBytes)},
	}
}

// response puts the answer into the words of the API.
func (a *answer) response(uid string) *admissionv1.AdmissionReview {
	response := &admissionv1.AdmissionResponse{
		UID:              types.UID(uid),
		Allowed:          a.allowed(),
		AuditAnnotations: a.auditAnnotations(),
	}
	for _, text := range a.warningTexts {
		response.Warnings = append(response.Warnings, printable(text))
	}
	if !response.Allowed {
		response.Result = &metav1.Status{
			Status:  metav1.StatusFailure,
			Code:    a.code,
			Reason:  a.reason,
			Message: joinDenials(a.denialTexts),
		}
		if a.retryAfter > 0 {
			// The API server sends it as the header Retry-After, which client-go follows.
			response.Result.Details = &metav1.StatusDetails{RetryAfterSeconds: a.retryAfter}
		}
	} else if a.operations > 0 {
		patchType := admissionv1.PatchTypeJSONPatch
		response.Patch, response.PatchType = a.patch, &patchType
	}
	return &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Response: response,
	}
}

// auditAnnotations are bounded; the API server puts the entry's name before each key.
func (a *answer) auditAnnotations() map[string]string {
	annotations := map[string]string{"decision": "allowed"}
	if !a.allowed() {
		annotations["decision"] = "denied"
	}
	if a.failure != nil {
		annotations["error"] = truncate(a.failure.Error(), maxAnnotationBytes)
	}
	if a.digest != "" {
		annotations["snapshot"] = definition.ShortRevision(a.digest)
	}
	var policies, codes distinct
	for _, findings := range [][]engine.Finding{a.denials, a.audits} {
		for _, finding := range findings {
			policies.add(finding.Policy)
			if finding.Code != 0 {
				codes.add(strconv.Itoa(finding.Code))
			}
		}
	}
	var exceptions distinct
	for _, finding := range a.exempted {
		exceptions.add(finding.Exception)
	}
	if len(exceptions.texts) > 0 {
		annotations["exceptions"] = truncate(strings.Join(exceptions.texts, ","), maxAnnotationBytes)
	}
	if len(policies.texts) > 0 {
		annotations["policies"] = truncate(strings.Join(policies.texts, ","), maxAnnotationBytes)
	}
	if len(codes.texts) > 0 {
		annotations["codes"] = truncate(strings.Join(codes.texts, ","), maxAnnotationBytes)
	}
	return annotations
}

// distinct collects texts in the order of their first appearance; policies may have very
// many.
type distinct struct {
	texts []string
	seen  map[string]bool
}

func (d *distinct) add(text string) {
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	if !d.seen[text] {
		d.seen[text] = true
		d.texts = append(d.texts, text)
	}
}

// joinDenials writes one denial per line. The last line counts denials that do not fit, but at
// least a part of the first is always shown.
func joinDenials(texts []string) string {
	const reserve = 64 // for the line that counts omitted denials
	room := maxMessageBytes - reserve
	var b strings.Builder
	for i, text := range texts {
		if i == 0 {
			text = truncate(text, room)
		}
		if b.Len()+1+len(text) > room && i > 0 {
			fmt.Fprintf(&b, "\n%d more denials are not shown", len(texts)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text)
	}
	return b.String()
}

// limitWarnings applies engine's limits to texts that are not findings of policies.
func limitWarnings(texts []string) []string {
	const reserve = 64 // for the line that counts omitted denials
	var out []string
	total := 0
	for i, text := range texts {
		text = truncate(text, engine.MaxWarningBytes)
		if total += len(text); total > engine.MaxResponseWarningBytes-reserve {
			return append(out, fmt.Sprintf("%d more warnings are not shown", len(texts)-i))
		}
		out = append(out, text)
	}
	return out
}

// printable replaces control characters: warnings travel in an HTTP header, and
// the API server silently drops one that holds any.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// truncate shortens text to at most limit bytes of valid UTF-8, ending in "…".
func truncate(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}
