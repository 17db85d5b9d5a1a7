package zopp

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/zopp/store"
	rules "github.com/lintel-policy/lintel/policies/rules/zopp"
)

// Reasons of outcomes, in addition to those of store.Error and of ZoppSecretSyncs.
const (
	reasonIncomplete = "Incomplete"
	reasonTooLarge   = "TooLarge"
	reasonImmutable  = "Immutable"
	reasonRefused    = "Refused"
)

// maxNamed is how many keys a message names.
const maxNamed = 10

// outcome is the result of a sync, for users.
type outcome struct {
	status          v1alpha1.SyncStatus
	reason, message string
	// since is when the problem began, if known.
	since time.Time
	// keys are how many are zopp's.
	keys int
}

// failed reports whether the outcome is a problem.
func (o outcome) failed() bool { return o.status != v1alpha1.StatusSynced }

// desiredSecret is the desired state of a Secret.
type desiredSecret struct {
	data    map[string][]byte
	record  record
	outcome outcome
	// kept reports that data is the actual data of the Secret, since no newer data is known.
	kept bool
}

// desiredOf returns the desired contents of a Secret, from its actual contents and the snapshots of
// the requested sources.
func desiredOf(request rules.Request, snapshots []*snapshot, actual actualSecret) (desired desiredSecret) {
	if broken, at := failing(snapshots); broken != nil {
		desired = keepActual(request, actual)
		desired.outcome = outcome{
			status: v1alpha1.StatusFailed, reason: broken.reason, since: broken.since,
			message: fmt.Sprintf("%s cannot be read: %s", environmentFor(request.Sources[at]), strings.TrimSuffix(broken.message, ".")),
		}
		if known(snapshots) && actual.record.Request == digestOf(request) {
			// Values that were read before are already in the Secret, or were being written.
			data, _ := selectValues(request, snapshots, actual)
			desired.data, desired.kept, desired.record = data, false, actual.record.of(request, snapshots)
		}
	} else {
		desired = fromSources(request, snapshots, actual)
	}
	desired.outcome.keys = len(desired.data)
	return enforceLimits(desired, actual)
}

// keepActual leaves a Secret unchanged while its sources cannot be read. Only keys of a previous
// request are removed immediately, if the request asks for removal.
func keepActual(request rules.Request, actual actualSecret) desiredSecret {
	if actual.isOf(request) || !request.Cleanup && !actual.record.Cleanup {
		return desiredSecret{data: maps.Clone(actual.ours), record: actual.record, kept: true}
	}
	return desiredSecret{data: map[string][]byte{}, record: record{Changed: actual.record.Changed}, kept: true}
}

// failing is the first failure of a source, and whose it is.
func failing(snapshots []*snapshot) (*failure, int) {
	for i, s := range snapshots {
		if s.failure != nil {
			return s.failure, i
		}
	}
	return nil, 0
}

// known reports whether every source was read at least once.
func known(snapshots []*snapshot) bool {
	return !slices.ContainsFunc(snapshots, func(s *snapshot) bool { return s.contents == nil })
}

// fromSources is for sources that can all be read.
func fromSources(request rules.Request, snapshots []*snapshot, actual actualSecret) desiredSecret {
	if !actual.isOf(request) {
		actual.ours = nil // they are of another request
	}
	data, problems := selectValues(request, snapshots, actual)
	desired := desiredSecret{data: data, record: actual.record.of(request, snapshots)}
	desired.outcome = outcome{
		status: v1alpha1.StatusSynced, reason: v1alpha1.ReasonSyncSuccess,
		message: fmt.Sprintf("in step with %s (keys: %d)", strings.Join(namesOf(request), ", "), len(data)),
	}
	if message := problems.String(); message != "" {
		desired.outcome.status, desired.outcome.reason = v1alpha1.StatusFailed, problems.reason()
		desired.outcome.message = message + "; the rest is " + desired.outcome.message
	}
	return desired
}

// problems groups the keys with problems by kind of problem.
type problems struct {
	undecryptable, unnamable, notText, missing []string
}

func (p *problems) reason() string {
	if len(p.undecryptable) > 0 {
		return v1alpha1.ReasonDecryptionFailed
	}
	return reasonIncomplete
}

// String names the keys and the next step for each.
func (p *problems) String() string {
	var all []string
	for _, kind := range []struct {
		keys      []string
		one, many string
	}{
		{p.undecryptable, "cannot be decrypted, and stays as it was last: set it in zopp again", "cannot be decrypted, and stay as they were last: set them in zopp again"},
		{p.notText, "is no UTF-8, and stays as it was last: set it in zopp again as text", "are no UTF-8, and stay as they were last: set them in zopp again as text"},
		{
			p.unnamable, "cannot be a key of a Secret, which is of letters, digits, - _ and . : give it another name with " + v1alpha1.KeysAnnotation,
			"cannot be keys of a Secret, which are of letters, digits, - _ and . : give them another name with " + v1alpha1.KeysAnnotation,
		},
		{p.missing, "is asked for, and no source has it", "are asked for, and no source has them"},
	} {
		switch len(kind.keys) {
		case 0:
		case 1:
			all = append(all, list(kind.keys)+" "+kind.one)
		default:
			all = append(all, list(kind.keys)+" "+kind.many)
		}
	}
	return strings.Join(all, "; ")
}

// list names keys, but not all of many.
func list(keys []string) string {
	slices.Sort(keys)
	if more := len(keys) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", quoted(keys[:maxNamed]), more)
	}
	return quoted(keys)
}

func quoted(keys []string) string {
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = fmt.Sprintf("%q", key)
	}
	return strings.Join(texts, ", ")
}

// selectValues selects the requested values, each from the last source that has its key. An unusable
// value keeps its previous contents, if any.
func selectValues(request rules.Request, snapshots []*snapshot, actual actualSecret) (map[string][]byte, *problems) {
	values := map[string]store.Value{}
	for _, s := range snapshots {
		for _, value := range s.contents.Values {
			values[value.Key] = value
		}
	}
	selected, missing := request.Keys.Select(slices.Sorted(maps.Keys(values)))
	data, p := make(map[string][]byte, len(selected)), &problems{missing: missing}
	for name, key := range selected {
		value := values[key]
		switch {
		case len(validation.IsConfigMapKey(name)) > 0:
			p.unnamable = append(p.unnamable, name)
			continue
		case value.Err != nil:
			p.undecryptable = append(p.undecryptable, name)
		case !utf8.Valid(value.Value):
			p.notText = append(p.notText, name)
		default:
			data[name] = value.Value
			continue
		}
		if last, had := actual.ours[name]; had {
			data[name] = last
		}
	}
	return data, p
}

// enforceLimits rejects contents that the API server would not accept.
func enforceLimits(desired desiredSecret, actual actualSecret) desiredSecret {
	reason, message := "", ""
	switch size := sizeOf(desired.data, actual); {
	case actual.immutable && !sameData(desired.data, actual.ours):
		reason, message = reasonImmutable, "the Secret is immutable, and keeps its values; delete it and make it again without immutable: true"
	case size > corev1.MaxSecretSize:
		reason, message = reasonTooLarge, fmt.Sprintf("the Secret would have %d bytes, and may have %d: ask for fewer keys with %s", size, corev1.MaxSecretSize, v1alpha1.KeysAnnotation)
	default:
		return desired
	}
	desired.data, desired.record, desired.kept = maps.Clone(actual.ours), actual.record, true
	desired.outcome = outcome{status: v1alpha1.StatusFailed, reason: reason, message: message, keys: len(desired.data)}
	return desired
}

func sizeOf(data map[string][]byte, actual actualSecret) (size int) {
	for _, value := range data {
		size += len(value)
	}
	for key, length := range actual.others {
		if _, replaced := data[key]; !replaced {
			size += length
		}
	}
	return size
}

func sameData(a, b map[string][]byte) bool {
	return maps.EqualFunc(a, b, func(a, b []byte) bool { return string(a) == string(b) })
}

func namesOf(request rules.Request) (names []string) {
	for _, environment := range environmentsOf(request) {
		names = append(names, environment.String())
	}
	return names
}
