package webhooks

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/record"
)

// RecordMasker masks records that no Recorder has built, such as imported ones, as a Recorder does.
type RecordMasker struct{ masks *recordMasks }

// NewRecordMasker returns a masker with further locations: see ParseRecordMask.
func NewRecordMasker(mask Mask) *RecordMasker { return &RecordMasker{newRecordMasks(mask)} }

// Mask replaces the masked values of a record, also in the texts of its decision. The record has
// no cluster data and no patch.
func (m *RecordMasker) Mask(r *record.Record) error {
	if len(r.Cluster) > 0 || len(r.Decision.Patch) > 0 {
		return fmt.Errorf("masking the record: it has cluster data or a patch")
	}
	var request struct {
		Kind struct{ Group, Version, Kind string } `json:"kind"`
	}
	if err := json.Unmarshal(r.Request, &request); err != nil {
		return fmt.Errorf("masking the request: %w", err)
	}
	hidden := newConcealed()
	review, err := json.Marshal(map[string]json.RawMessage{"request": r.Request})
	if err != nil {
		return fmt.Errorf("masking the request: %w", err)
	}
	text, pointers, err := m.masks.request(review, admission.GroupVersionKind(request.Kind), hidden)
	if err != nil {
		return fmt.Errorf("masking the request: %w", err)
	}
	r.Request = text
	for _, pointer := range pointers {
		if !slices.Contains(r.Masked, pointer) {
			r.Masked = append(r.Masked, pointer)
		}
	}
	if len(r.Namespace) > 0 {
		namespace := admission.GroupVersionKind{Version: "v1", Kind: "Namespace"}
		if r.Namespace, r.NamespaceMasked, err = m.masks.object(r.Namespace, namespace, "", hidden); err != nil {
			return fmt.Errorf("masking the Namespace: %w", err)
		}
	}
	r.Decision.Error = truncate(hidden.text(r.Decision.Error), maxLoggedWords)
	for _, findings := range [][]record.Finding{r.Decision.Denials, r.Decision.Warnings, r.Decision.Audits, r.Decision.Exempted} {
		for i, f := range findings {
			findings[i].Msg, findings[i].Field = truncate(hidden.text(f.Msg), maxLoggedWords), truncate(hidden.text(f.Field), maxLoggedWords)
		}
	}
	return nil
}
