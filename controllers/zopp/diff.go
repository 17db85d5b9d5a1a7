package zopp

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
)

// lastWrite is the last write to a Secret. It stays in memory.
type lastWrite struct {
	uid types.UID
	// values is a digest of the values from zopp. It distinguishes a change in zopp from a
	// manual edit of the Secret.
	values digest
	// cleanup reports whether the values are removed from the Secret when its sync ends.
	cleanup bool
	// changed is the record's.
	changed int64
}

type digest = [sha256.Size]byte

// extras is the metadata of a Secret in addition to its values and its outcome, if it was
// created for an object.
type extras struct {
	labels, annotations map[string]string
	owners              []metav1.OwnerReference
}

// secretDiff is a write of a Secret.
type secretDiff struct {
	desiredSecret
	annotations map[string]string
	extras      extras
	// changes reports that the values from zopp differ. It is not set where a manual edit is
	// reverted.
	changes bool
	// noticed is when the event of that change came: zero where none did.
	noticed time.Time
	digest  digest
}

// diffOf compares the desired and the actual Secret. last is the last known write: nil for none.
// isNew is false where nothing needs to be written.
func diffOf(secret *corev1.Secret, actual actualSecret, desired desiredSecret, more extras, noticed time.Time, last *lastWrite, now time.Time) (diff *secretDiff, isNew bool) {
	diff = &secretDiff{desiredSecret: desired, extras: more, digest: digestOfData(desired.data)}
	known := last != nil
	if desired.kept && known {
		diff.digest = last.values // zopp has said nothing new
	}
	if known && diff.digest == last.values {
		// A user who may edit the Secret may have written a different time.
		diff.record.Changed, actual.record.Changed = last.changed, last.changed
	}
	differs := !hasData(secret, actual, desired.data)
	switch {
	case differs && !(known && last.values == digestOfData(desired.data)):
		diff.changes = true
		diff.record.Changed = now.UnixNano()
		if known {
			diff.noticed = noticed
		}
	case !differs && diff.record.sameButVersions(actual.record) && secret.Annotations[v1alpha1.StatusAnnotation] == string(desired.outcome.status):
		diff.record = actual.record // versions alone are no news
	}
	diff.annotations = outcomeAnnotations(diff.desiredSecret, secret.Annotations)
	return diff, differs || !sameData(desired.data, actual.ours) || !hasMetadata(secret, diff.annotations, more)
}

// hasData reports whether a Secret has these values, and no other values of ours.
func hasData(secret *corev1.Secret, actual actualSecret, data map[string][]byte) bool {
	for key, value := range data {
		if is, found := secret.Data[key]; !found || !bytes.Equal(is, value) {
			return false
		}
	}
	for key := range actual.ours {
		if _, wanted := data[key]; !wanted {
			return false
		}
	}
	return true
}

// hasMetadata reports whether a Secret has all desired metadata, and no other metadata of ours.
func hasMetadata(secret *corev1.Secret, annotations map[string]string, more extras) bool {
	for _, name := range ourAnnotations {
		if _, wanted := annotations[name]; !wanted && secret.Annotations[name] != "" {
			return false
		}
	}
	within := func(wanted, is map[string]string) bool {
		for name, value := range wanted {
			if have, found := is[name]; !found || have != value {
				return false
			}
		}
		return true
	}
	for i := range more.owners {
		if !slices.ContainsFunc(secret.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == more.owners[i].UID }) {
			return false
		}
	}
	return within(annotations, secret.Annotations) && within(more.annotations, secret.Annotations) && within(more.labels, secret.Labels)
}

// allAnnotations returns the annotations of a write, including the outcome, which extras cannot
// override.
func (diff *secretDiff) allAnnotations() map[string]string {
	annotations := maps.Clone(diff.extras.annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, diff.annotations)
	return annotations
}

// digestOfData returns a digest of the values.
func digestOfData(data map[string][]byte) (sum digest) {
	hash := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		value := sha256.Sum256(data[key])
		fmt.Fprintf(hash, "%d %s", len(key), key)
		hash.Write(value[:])
	}
	hash.Sum(sum[:0])
	return sum
}
