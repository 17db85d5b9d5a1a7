package openclaw

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/controllers/object"
)

// The reasons of a PolicyBundle's conditions.
const (
	ReasonValid              = "Valid"
	ReasonPoliciesApplied    = "PoliciesApplied"
	ReasonNoGateways         = "NoGateways"
	ReasonApplyFailed        = "ApplyFailed"
	ReasonGatewaysRollingOut = "GatewaysRollingOut"
	ReasonNotInForce         = "NotInForce"
	// ReasonOrphaned is why gateways of an instance that does not exist run no policies.
	ReasonOrphaned = "Orphaned"
)

// bundleFacts are what the status of a bundle is computed from.
type bundleFacts struct {
	// record is the last valid revision, and inForce the desired content of gateways; both may
	// be nil. gathered means that they could be read.
	record   *record
	inForce  *bound
	gathered bool
	// invalid is an error in the spec, or the reason why the rules could not be evaluated.
	// denied is a violation of the rules, if they were evaluated.
	invalid, denied *problem
	answered        bool
	// stored is why its ConfigMap could not be written.
	stored *problem
	// kept is how many policies of the spec the last good content has just so.
	kept int
	// gateways are how many instances it binds, and synced how many of them run all
	// policies that bind them.
	gateways, synced int
	// notInForce lists the instances that do not run the policies, with their obstacles. left
	// counts the policies that at least one gateway lacks.
	notInForce []notInForce
	left       int
}

// notInForce is why the gateways of an instance do not run all policies that bind it.
type notInForce struct {
	instance string // namespace/name
	why      *problem
}

// maxNamed is how many instances a message names.
const maxNamed = 5

// good says that nothing is against the spec.
func (f bundleFacts) good() bool { return f.invalid == nil && f.denied == nil }

// maxQuoted is how many characters of the message of an instance are quoted. It may have
// text of the users who write that instance.
const maxQuoted = 200

// severity orders why instances do not run policies: first those that answer by others.
func (n notInForce) severity() int {
	reasons := []string{ReasonPoliciesOutdated, ReasonOrphaned, ReasonDeleting}
	if i := slices.Index(reasons, n.why.reason); i >= 0 {
		return i
	}
	return len(reasons)
}

// notInForceMessage counts the instances that do not run all policies, and names the worst.
func (f bundleFacts) notInForceMessage() string {
	worst := slices.SortedStableFunc(slices.Values(f.notInForce), func(a, b notInForce) int {
		return cmp.Compare(a.severity(), b.severity())
	})
	var lines []string
	for _, n := range worst[:min(len(worst), maxNamed)] {
		lines = append(lines, fmt.Sprintf("at OpenClawInstance %s: %s: %s", n.instance, n.why.reason, quoted(n.why.message)))
	}
	if more := len(f.notInForce) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and at %d more", more))
	}
	return fmt.Sprintf("%d of %d instances do not run all policies that bind them: %s", f.gateways-f.synced, f.gateways, strings.Join(lines, "; "))
}

// quoted puts a text of other users in quotation marks, on one line and shortened.
func quoted(text string) string {
	if runes := []rune(text); len(runes) > maxQuoted {
		text = string(runes[:maxQuoted]) + "…"
	}
	return strconv.Quote(text)
}

// bundleStatus is what the bundle says next.
func bundleStatus(bundle *v1.PolicyBundle, f bundleFacts, now time.Time) v1.PolicyBundleStatus {
	before := meta.FindStatusCondition(bundle.Status.Conditions, v1.ConditionPolicySynced)
	loaded := loadedBefore(before, bundle.Generation)
	next := *bundle.Status.DeepCopy()
	next.ObservedGeneration = bundle.Generation
	next.Total = int32(len(bundle.Spec.Policies))
	c := object.Conditions{List: &next.Conditions, Generation: bundle.Generation}
	setAdmitted(c, f.answered, f.denied)

	broken := cmp.Or(f.invalid, f.denied)
	if broken == nil {
		c.Set(v1.ConditionPolicyReady, true, ReasonValid, fmt.Sprintf("%d policies compile", next.Total))
	} else {
		message := broken.message
		if f.kept < int(next.Total) {
			message += "; gateways keep the last good policies of this bundle"
		}
		c.Set(v1.ConditionPolicyReady, false, broken.reason, message)
	}

	next.Applied = min(next.Applied, next.Total)
	done := f.synced == f.gateways
	switch {
	case broken != nil && f.kept < int(next.Total):
		next.Applied = int32(f.kept)
		c.Set(v1.ConditionPolicySynced, false, broken.reason, "gateways do not run these policies: see PolicyReady")
	case f.stored != nil:
		c.Set(v1.ConditionPolicySynced, false, f.stored.reason, f.stored.message)
	case len(f.notInForce) > 0:
		if f.left > 0 {
			next.Applied = max(0, next.Total-int32(f.left))
		}
		c.Set(v1.ConditionPolicySynced, false, ReasonNotInForce, f.notInForceMessage())
	case !done && loaded:
		next.Applied = next.Total
		c.Set(v1.ConditionPolicySynced, false, ReasonGatewaysRollingOut, "gateways that run these policies are being replaced for another reason")
	case !done:
		c.Set(v1.ConditionPolicySynced, false, ReasonRollingOut, "gateways are being replaced, to load the policies")
	case f.gateways == 0:
		next.Applied = next.Total
		c.Set(v1.ConditionPolicySynced, true, ReasonNoGateways, "there is no OpenClawInstance that the policies bind")
	default:
		next.Applied = next.Total
		if !loaded {
			next.LastReloadTime = new(metav1.NewTime(now).Rfc3339Copy())
		}
		c.Set(v1.ConditionPolicySynced, true, ReasonPoliciesApplied, fmt.Sprintf("Successfully applied %d/%d policies", next.Applied, next.Total))
	}
	return next
}

// loadedBefore says whether gateways have loaded this generation already, so that they
// now roll out for another reason.
func loadedBefore(synced *metav1.Condition, generation int64) bool {
	return synced != nil && synced.ObservedGeneration == generation &&
		(synced.Reason == ReasonPoliciesApplied || synced.Reason == ReasonGatewaysRollingOut)
}
