package webhooks

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
)

// The outcomes of a review by which records are sampled.
const (
	recordDenied   = "denied"
	recordError    = "error"
	recordWarned   = "warned"
	recordAudited  = "audited"
	recordExempted = "exempted"
	recordMutated  = "mutated"
	recordAllowed  = "allowed"
)

var recordOutcomes = []string{recordDenied, recordError, recordWarned, recordAudited, recordExempted, recordMutated, recordAllowed}

// RecordSampling is the share of reviews that are recorded, by outcome and policy.
type RecordSampling struct {
	outcomes map[string]float64
	policies map[string]map[string]float64 // by outcome and policy
}

// DefaultRecordSampling is all denials, all errors and one in ten of all others.
func DefaultRecordSampling() []string {
	return []string{recordDenied + "=1", recordError + "=1", "other=0.1"}
}

// ParseRecordSampling reads items such as denied=1, other=0.1 or teams/images:denied=0.5. Items
// add to the defaults. A review is recorded if the share of its outcome, or that of the policy of
// one of its findings, selects it.
func ParseRecordSampling(items []string) (RecordSampling, error) {
	s := RecordSampling{outcomes: map[string]float64{}, policies: map[string]map[string]float64{}}
	for _, item := range append(DefaultRecordSampling(), items...) {
		key, text, ok := strings.Cut(item, "=")
		share, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil || !(share >= 0 && share <= 1) {
			return s, fmt.Errorf("%q is not an outcome and a share from 0 to 1, such as denied=1", item)
		}
		policy, outcome, hasPolicy := cutLast(key, ":")
		switch {
		case !hasPolicy && key == "other":
			for _, outcome := range recordOutcomes {
				if outcome != recordDenied && outcome != recordError {
					s.outcomes[outcome] = share
				}
			}
		case !slices.Contains(recordOutcomes, outcome), hasPolicy && (policy == "" || outcome == recordAllowed || outcome == recordMutated):
			return s, fmt.Errorf("%q: Invalid outcome %q: must be %s or other; those of a policy are denied, error, warned, audited and exempted", item, outcome, strings.Join(recordOutcomes, ", "))
		case hasPolicy:
			if s.policies[outcome] == nil {
				s.policies[outcome] = map[string]float64{}
			}
			s.policies[outcome][policy] = share
		default:
			s.outcomes[outcome] = share
		}
	}
	return s, nil
}

func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return "", text, false
}

// share returns the largest share that applies to a review, and the outcome that it is for.
func (s RecordSampling) share(a *answer) (share float64, outcome string) {
	consider := func(of string, candidate float64) {
		if outcome == "" || candidate > share {
			share, outcome = candidate, of
		}
	}
	if a.failure != nil {
		consider(recordError, s.outcomes[recordError])
	}
	for _, part := range []struct {
		outcome  string
		findings []engine.Finding
	}{{recordDenied, a.denials}, {recordWarned, a.warnings}, {recordAudited, a.audits}, {recordExempted, a.exempted}} {
		for _, finding := range part.findings {
			of := part.outcome
			if finding.Error {
				of = recordError
			}
			candidate, ok := s.policies[of][finding.Policy]
			if !ok {
				candidate = s.outcomes[of]
			}
			consider(of, candidate)
		}
	}
	if outcome == "" {
		of := recordAllowed
		if a.operations > 0 {
			of = recordMutated
		}
		consider(of, s.outcomes[of])
	}
	return share, outcome
}

// sampledFor is the time during which requests with one samplingKey are all recorded, or none is.
const sampledFor = 10 * time.Second

// samplingKey is equal at all entries and replicas for one request, unless they are called in two
// different intervals. The API server calls each entry with a uid of its own.
func samplingKey(review *admission.Review, now time.Time) string {
	return fmt.Sprintf("%s %s %s/%s %q %d", review.Operation, review.Kind, review.Namespace, review.DisplayName(), review.Username, now.UnixNano()/int64(sampledFor))
}

// selects decides by a key, so that a request is recorded at all entries and replicas or at none.
func selects(share float64, key string) bool {
	if share >= 1 {
		return true
	}
	hash := fnv.New64a()
	hash.Write([]byte(key)) // never fails
	mixed := hash.Sum64()
	mixed ^= mixed >> 33
	mixed *= 0xff51afd7ed558ccd
	mixed ^= mixed >> 33
	return float64(mixed) < share*math.MaxUint64
}
