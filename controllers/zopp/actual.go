package zopp

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	rules "github.com/lintel-policy/lintel/policies/rules/zopp"
)

// legacyManager is the field manager of the original operator.
const legacyManager = "zopp-operator"

// actualSecret is the actual state of a Secret before a write.
type actualSecret struct {
	// ours are the keys that were written for zopp, with their values.
	ours map[string][]byte
	// others are how many bytes the values of other keys have, by key.
	others map[string]int
	// record describes the sources of the last write.
	record record
	// immutable reports that the data cannot be changed.
	immutable bool
	// legacy reports that the original operator owns keys, which this controller adopts.
	legacy bool
}

// actualOf reads the actual state of a Secret. Keys of the given field manager are ours.
func actualOf(secret *corev1.Secret, manager string) actualSecret {
	actual := actualSecret{
		ours: map[string][]byte{}, others: map[string]int{}, record: readRecord(secret.Annotations),
		immutable: ptr.Deref(secret.Immutable, false),
	}
	owned := map[string]bool{}
	for i := range secret.ManagedFields {
		entry := &secret.ManagedFields[i]
		switch {
		case entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "":
			owned = dataKeys(entry)
		case entry.Operation == metav1.ManagedFieldsOperationUpdate && (entry.Manager == legacyManager || entry.Manager == manager):
			actual.legacy = true
		}
	}
	for key, value := range secret.Data {
		if owned[key] {
			actual.ours[key] = value
		} else {
			actual.others[key] = len(value)
		}
	}
	return actual
}

// isOf reports whether our keys are those of a request, as far as known.
func (actual actualSecret) isOf(request rules.Request) bool {
	return actual.record.Request == "" || actual.record.Request == digestOf(request)
}

// dataKeys are the keys of a Secret that an entry of managedFields owns.
func dataKeys(entry *metav1.ManagedFieldsEntry) map[string]bool {
	keys := map[string]bool{}
	var fields struct {
		Data map[string]json.RawMessage `json:"f:data"`
	}
	if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
		return keys
	}
	for name := range fields.Data {
		if key, is := strings.CutPrefix(name, "f:"); is {
			keys[key] = true
		}
	}
	return keys
}

// isOurs reports whether a field manager owns any field of a Secret.
func isOurs(secret *corev1.Secret, manager string) bool {
	for i := range secret.ManagedFields {
		if entry := &secret.ManagedFields[i]; entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply {
			return true
		}
	}
	return false
}
