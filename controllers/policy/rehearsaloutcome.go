package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rehearsal"
)

// The reasons of Ready for a revision that does not go live.
const (
	// ReasonRehearsing: the latest revision is evaluated for recorded requests.
	ReasonRehearsing = "Rehearsing"
	// ReasonRehearsalFailed: the latest revision would decide more recorded requests differently
	// than spec.rehearse permits. It goes live if an administrator approves it.
	ReasonRehearsalFailed = "RehearsalFailed"
	// ReasonRehearsalWaiting: there are no recent records for the rehearsal of the latest
	// revision.
	ReasonRehearsalWaiting = "RehearsalWaiting"
)

// rehearsalOutcome is the result of the rehearsal of a revision. status may be nil.
type rehearsalOutcome struct {
	permitted bool
	status    *v1alpha1.RehearsalStatus
}

// reason is that of Ready for a revision that is not permitted.
func (o *rehearsalOutcome) reason() string {
	switch o.status.Result {
	case v1alpha1.RehearsalFailed:
		return ReasonRehearsalFailed
	case v1alpha1.RehearsalWaiting:
		return ReasonRehearsalWaiting
	}
	return ReasonRehearsing
}

// approved is the outcome of a revision that an administrator approved. The numbers stay.
func approved(set *engine.PolicySet, previous *v1alpha1.RehearsalStatus) *rehearsalOutcome {
	next := statusOf(set, previous)
	next.Result, next.Message = v1alpha1.RehearsalApproved, "approved by the annotation "+v1alpha1.ApprovedRevisionAnnotation
	next.Checkpoint = ""
	return &rehearsalOutcome{permitted: true, status: next}
}

// inForce is the outcome of a revision that is live. The state of its rehearsal is not needed.
func inForce(previous *v1alpha1.RehearsalStatus) *rehearsalOutcome {
	o := &rehearsalOutcome{permitted: true, status: previous.DeepCopy()}
	if o.status != nil {
		o.status.Inputs, o.status.Checkpoint = "", ""
	}
	return o
}

// held is the outcome of a revision that is not rehearsed yet.
func held(set *engine.PolicySet, previous *v1alpha1.RehearsalStatus, result v1alpha1.RehearsalResult, message string) *rehearsalOutcome {
	next := statusOf(set, previous)
	next.Result, next.Message = result, message
	return &rehearsalOutcome{status: next}
}

func statusOf(set *engine.PolicySet, previous *v1alpha1.RehearsalStatus) *v1alpha1.RehearsalStatus {
	next := &v1alpha1.RehearsalStatus{}
	if previous != nil {
		next = previous.DeepCopy()
	}
	next.Digest, next.Revision = set.Digest(), set.Revision()
	return next
}

// outcomeOf is the outcome of a state. unrecorded are kinds without records.
func outcomeOf(source *v1alpha1.PolicySource, set *engine.PolicySet, state *rehearsalState, records string, unrecorded []string) *rehearsalOutcome {
	spec := source.Spec.Rehearse
	next := statusOf(set, nil)
	next.Inputs = state.inputs
	tally := state.tally
	if tally != nil {
		next.Since, next.Until = timesOf(state)
		next.Requests, next.NewDenials, next.NewWarnings = tally.Requests, tally.NewDenials, tally.NewWarnings
		next.Undecided, next.Unreadable = tally.Undecided, tally.Unreadable
		next.Policies, next.Namespaces = countsOf(tally.Policies), countsOf(tally.Namespaces)
		if text, err := json.Marshal(tally); err == nil {
			next.Checkpoint = string(text)
		}
	}
	o := &rehearsalOutcome{status: next}
	missing := state.missing
	switch {
	case state.exceeded != "":
		next.Result = v1alpha1.RehearsalFailed
		next.Message = "the evaluation of recorded requests takes " + state.exceeded
	case missing == "" && (tally == nil || !tally.Complete):
		next.Result = v1alpha1.RehearsalRunning
		next.Message = fmt.Sprintf("%d recorded requests are evaluated so far", next.Requests)
		if state.failure != "" {
			next.Message += "; the evaluation is repeated after an error: " + state.failure
		}
		return o
	}
	if missing == "" && next.Result == "" {
		if exceeded := exceededLimits(spec, tally); len(exceeded) > 0 {
			next.Result, next.Message = v1alpha1.RehearsalFailed, exceededMessage(tally, next, exceeded)
			next.Command = replayCommand(source, set, next, records)
		} else {
			missing = unrecordedMessage(unrecorded)
		}
	}
	switch {
	case next.Result != "":
		next.Message += approveHint(source, set)
	case missing == "":
		next.Result, o.permitted = v1alpha1.RehearsalPassed, true
		next.Message = fmt.Sprintf("%s, %d of them newly denied", requestsSince(tally.Requests, next), tally.NewDenials)
	case spec.OnMissingRecords == v1alpha1.OnMissingRecordsProceed:
		next.Result, next.Message, o.permitted = v1alpha1.RehearsalSkipped, "it is not rehearsed: "+missing, true
	default:
		next.Result = v1alpha1.RehearsalWaiting
		next.Message = "it waits for records: " + missing + approveHint(source, set) + "; spec.rehearse.onMissingRecords: Proceed does not wait"
	}
	next.Message = object.Shorten(next.Message, maxMessage)
	return o
}

// unrecordedMessage returns which kinds have no records; empty if all have.
func unrecordedMessage(kinds []string) string {
	if len(kinds) == 0 {
		return ""
	}
	return "Lintel receives no requests about " + strings.Join(kinds, ", ") + " yet, so there are no records of them"
}

// exceededLimits lists the limits that the numbers exceed.
func exceededLimits(spec *v1alpha1.Rehearse, t *rehearsal.Tally) (exceeded []string) {
	if t.NewDenials > spec.MaxNewDenials {
		exceeded = append(exceeded, fmt.Sprintf("%d would be newly denied (maxNewDenials: %d)", t.NewDenials, spec.MaxNewDenials))
	}
	if spec.MaxNewWarnings != nil && t.NewWarnings > *spec.MaxNewWarnings {
		exceeded = append(exceeded, fmt.Sprintf("%d would have new warnings (maxNewWarnings: %d)", t.NewWarnings, *spec.MaxNewWarnings))
	}
	if unknown := t.Undecided + t.Unreadable; unknown > spec.MaxUndecided {
		text := fmt.Sprintf("%d are undecided or unreadable (maxUndecided: %d)", unknown, spec.MaxUndecided)
		if first := cmp.Or(t.FirstUndecided, t.FirstUnreadable); first != "" {
			text += ", first " + first
		}
		exceeded = append(exceeded, text)
	}
	return exceeded
}

// exceededMessage is the message about a revision that exceeds limits.
func exceededMessage(t *rehearsal.Tally, next *v1alpha1.RehearsalStatus, exceeded []string) string {
	message := "of " + requestsSince(t.Requests, next) + ", " + strings.Join(exceeded, " and ")
	for _, group := range []struct {
		title  string
		counts []v1alpha1.RehearsalCount
	}{{"policies", next.Policies}, {"namespaces", next.Namespaces}} {
		var parts []string
		for _, one := range group.counts[:min(len(group.counts), 3)] {
			parts = append(parts, fmt.Sprintf("%s (%d)", cmp.Or(one.Name, "none"), one.Requests))
		}
		if len(parts) > 0 {
			message += "; " + group.title + " " + strings.Join(parts, ", ")
		}
	}
	return message
}

func requestsSince(requests int64, next *v1alpha1.RehearsalStatus) string {
	return fmt.Sprintf("%d recorded requests since %s", requests, next.Since.UTC().Format(time.RFC3339))
}

// approveHint is the command that lets the revision go live.
func approveHint(source *v1alpha1.PolicySource, set *engine.PolicySet) string {
	hint := fmt.Sprintf("; to approve: kubectl annotate --overwrite policysource %s %s=%s", source.Name, v1alpha1.ApprovedRevisionAnnotation, set.Digest())
	if source.Annotations[v1alpha1.ApprovedRevisionAnnotation] != "" {
		hint = "; the annotation " + v1alpha1.ApprovedRevisionAnnotation + " approves another revision" + hint
	}
	return hint
}

func countsOf(groups map[string]int64) (counts []v1alpha1.RehearsalCount) {
	for _, one := range rehearsal.Top(groups, v1alpha1.MaxRehearsalCounts) {
		counts = append(counts, v1alpha1.RehearsalCount{Name: one.Name, Requests: one.Requests})
	}
	return counts
}

// replayCommand is the command that shows all requests.
func replayCommand(source *v1alpha1.PolicySource, set *engine.PolicySet, next *v1alpha1.RehearsalStatus, records string) string {
	parts := []string{"lintel", "replay"}
	prefix := ""
	switch spec := source.Spec; {
	case spec.Git != nil:
		parts = append(parts, "--against", gitLocation(spec.Git, set.Revision()))
		if source.Status.Digest != "" {
			parts = append(parts, "--baseline", gitLocation(spec.Git, source.Status.Revision))
		}
		parts = append(parts, "--name", source.Name)
	case spec.OCI != nil:
		parts = append(parts, "--against", "FOLDER-OF-"+set.Revision(), "--name", source.Name)
	default:
		prefix = fmt.Sprintf("kubectl get policysource %[1]s -o yaml > %[1]s.yaml && ", source.Name)
		parts = append(parts, "--against", source.Name+".yaml")
	}
	parts = append(parts, "--since", next.Since.UTC().Format(time.RFC3339), "--until", next.Until.UTC().Format(time.RFC3339), recordsArgument(records))
	for i, part := range parts {
		parts[i] = quoted(part)
	}
	return prefix + strings.Join(parts, " ")
}

// gitLocation is a revision of a repository, as --against accepts it.
func gitLocation(git *v1alpha1.GitOrigin, revision string) string {
	commit := revision[strings.LastIndex(revision, ":")+1:]
	location := "git+" + git.URL + "?ref=" + commit
	if git.Path != "" {
		location += "&path=" + url.QueryEscape(git.Path)
	}
	return location
}

// recordsArgument is the store as `lintel replay` accepts it.
func recordsArgument(records string) string {
	if parsed, err := url.Parse(records); err == nil && parsed.Scheme == "file" {
		return parsed.Path
	}
	return records
}

// quoted is a word of a shell.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@+,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// unrecordedKinds lists the kinds that the policies of a set match and that no policy in force
// matches: the API server does not send requests about them to Lintel.
func unrecordedKinds(set *engine.PolicySet, snapshot *engine.Snapshot) (kinds []string) {
	inForce := snapshot.Policies()
	for _, p := range engine.Describe(set) {
		for _, kind := range p.Match.Kinds {
			received := slices.ContainsFunc(inForce, func(other engine.PolicyInfo) bool {
				return len(other.Match.Kinds) == 0 || slices.ContainsFunc(other.Match.Kinds, func(known admission.GroupVersionKind) bool {
					return (known.Kind == kind.Kind || known.Kind == "*") && (known.Group == kind.Group || known.Group == "*")
				})
			})
			if name := kind.WithoutVersion().String(); !received && !slices.Contains(kinds, name) {
				kinds = append(kinds, name)
			}
		}
	}
	return kinds
}
