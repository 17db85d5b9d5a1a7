package system

import (
	"encoding/json"
	"fmt"

	"github.com/lintel-policy/lintel/policies/admission"
)

// Read decodes an object of a review into a T. text is review.Object or review.OldObject.
func Read[T any](review *admission.Review, text func() (json.RawMessage, error)) (*T, error) {
	raw, err := text()
	if err != nil {
		return nil, err
	}
	object := new(T)
	if err := json.Unmarshal(raw, object); err != nil {
		return nil, fmt.Errorf("reading the %s: %w", review.Kind.Kind, err)
	}
	return object, nil
}
