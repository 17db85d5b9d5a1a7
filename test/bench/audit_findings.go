package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	openreports "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// violation is one violation that an audit found.
type violation struct {
	constraint string // kind/name
	object     string // apiVersion kind namespace/name
	message    string // as Gatekeeper logs it: at most 256 bytes
}

func (v violation) String() string { return v.constraint + ": " + v.object + ": " + v.message }

// findings are the results of an audit.
type findings struct {
	violations map[violation]int
	// errors are the constraints with an object for which the template fails.
	errors []string
	// statuses are the status of the constraints, by kind/name.
	statuses map[string]auditedStatus
}

// auditedStatus has the fields of a constraint's status that audit writes.
type auditedStatus struct {
	AuditTimestamp  string
	TotalViolations *int
	Violations      []statusViolation
	ByPod           []struct {
		ID     string
		Errors []struct{ Message string }
	}
}

// refusal is why Lintel does not enforce a constraint: empty if it does.
func (s auditedStatus) refusal() string {
	for _, entry := range s.ByPod {
		if entry.ID == "lintel" && len(entry.Errors) > 0 {
			return entry.Errors[0].Message
		}
	}
	return ""
}

type statusViolation struct {
	EnforcementAction, Group, Version, Kind, Namespace, Name, Message string
}

// logged are the fields of a line of Gatekeeper's log.
type logged struct {
	Message    string `json:"msg"`
	Event      string `json:"event_type"`
	Audit      string `json:"audit_id"`
	Kind       string `json:"constraint_kind"`
	Name       string `json:"constraint_name"`
	Group      string `json:"resource_group"`
	Version    string `json:"resource_api_version"`
	ObjectKind string `json:"resource_kind"`
	Namespace  string `json:"resource_namespace"`
	ObjectName string `json:"resource_name"`
	Error      string `json:"error"`
}

// readLog reads the lines of a log that are JSON, from an offset.
func readLog(path string, offset int64) (lines []logged, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text[min(offset, int64(len(text))):]) {
		var l logged
		if json.Unmarshal(line, &l) == nil {
			lines = append(lines, l)
		}
	}
	return lines, nil
}

// finishedAudit is the id of the first audit that started and ended in these lines.
func finishedAudit(lines []logged) string {
	started := map[string]bool{}
	for _, l := range lines {
		switch {
		case l.Event == "audit_started":
			started[l.Audit] = true
		case l.Event == "audit_finished" && started[l.Audit]:
			return l.Audit
		}
	}
	return ""
}

// loggedFindings are the violations of one audit.
func loggedFindings(lines []logged, audit string) findings {
	found := findings{violations: map[violation]int{}}
	for _, l := range lines {
		if l.Audit == audit && l.Event == "violation_audited" {
			if evaluationFailure.MatchString(l.Message) {
				l.Message = failedMessage
			}
			found.violations[violation{l.Kind + "/" + l.Name, objectText(l.Group, l.Version, l.ObjectKind, l.Namespace, l.ObjectName), l.Message}]++
		}
	}
	return found
}

// failedMessage stands for the message about a template that fails for an object: each engine has
// its own.
const failedMessage = "<error>"

// evaluationFailure is how such a message of OPA begins.
var evaluationFailure = regexp.MustCompile(`^template:\d+: eval_\w+: `)

func objectText(group, version, kind, namespace, name string) string {
	return fmt.Sprintf("%s %s %s/%s", schema.GroupVersion{Group: group, Version: version}, kind, namespace, name)
}

// reportResources are the kinds of reports.
var reportResources = []schema.GroupVersionResource{
	openreports.SchemeGroupVersion.WithResource("reports"), openreports.SchemeGroupVersion.WithResource("clusterreports"),
}

// reports lists all reports of Lintel.
func (b *bench) reports(ctx context.Context) (all []unstructured.Unstructured, err error) {
	for _, resource := range reportResources {
		list, err := b.dynamic.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

// maxLoggedBytes is the length after which Gatekeeper shortens a message.
const maxLoggedBytes = 256

func shortened(message string) string {
	if len(message) > maxLoggedBytes {
		return message[:maxLoggedBytes-3] + "..."
	}
	return message
}

// reportedFindings are the violations in Lintel's reports, and how many results their summaries
// count.
func (b *bench) reportedFindings(ctx context.Context) (found findings, counted int, err error) {
	found = findings{violations: map[violation]int{}}
	all, err := b.reports(ctx)
	if err != nil {
		return found, 0, err
	}
	for _, each := range all {
		var report openreports.Report // a ClusterReport has the same fields
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(each.Object, &report); err != nil {
			return found, 0, fmt.Errorf("reading %s %s/%s: %w", each.GetKind(), each.GetNamespace(), each.GetName(), err)
		}
		counted += report.Summary.Fail + report.Summary.Warn + report.Summary.Error
		for _, result := range report.Results {
			about := result.Subjects[0]
			version := about.GroupVersionKind()
			object := objectText(version.Group, version.Version, about.Kind, about.Namespace, about.Name)
			if result.Result == "error" {
				result.Description = failedMessage
				found.errors = append(found.errors, result.Policy)
			}
			found.violations[violation{result.Policy, object, shortened(result.Description)}]++
		}
	}
	return found, counted, nil
}

// constraintStatuses reads the status of all constraints.
func (p *peers) constraintStatuses(ctx context.Context) (map[string]auditedStatus, error) {
	statuses := map[string]auditedStatus{}
	for _, kind := range p.gatekeeper.constraintKinds() {
		list, err := p.dynamic.Resource(constraintResource(kind)).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for _, item := range list.Items {
			status, _, _ := unstructured.NestedMap(item.Object, "status")
			text, err := json.Marshal(status)
			if err != nil {
				return nil, err
			}
			var read auditedStatus
			if err := json.Unmarshal(text, &read); err != nil {
				return nil, fmt.Errorf("reading the status of %s %s: %w", kind, item.GetName(), err)
			}
			statuses[kind+"/"+item.GetName()] = read
		}
	}
	return statuses, nil
}

// only keeps the violations of objects for which a condition is true.
func (f findings) only(keep func(v violation) bool) findings {
	kept := findings{violations: maps.Clone(f.violations), errors: f.errors, statuses: f.statuses}
	maps.DeleteFunc(kept.violations, func(v violation, _ int) bool { return !keep(v) })
	return kept
}

func (f findings) total() (n int) {
	for _, times := range f.violations {
		n += times
	}
	return n
}

// differences are the violations that two audits did not find equally often.
func differences(ours, theirs findings) (lines []string) {
	all := maps.Clone(ours.violations)
	maps.Copy(all, theirs.violations)
	for v := range all {
		if mine, its := ours.violations[v], theirs.violations[v]; mine != its {
			lines = append(lines, fmt.Sprintf("found %d times, and %d times by Gatekeeper: %s", mine, its, v))
		}
	}
	slices.Sort(lines)
	return lines
}

// statusDifferences compares the status of constraints: their numbers, and the violations where
// the status contains all of them, and no messages about templates that fail. Constraints with an
// object that is left out are omitted.
func statusDifferences(ours, theirs findings, omitted map[string]bool) (compared int, lines []string) {
	for _, id := range sortedKeys(theirs.statuses) {
		if omitted[id] {
			continue
		}
		compared++
		mine, its := ours.statuses[id], theirs.statuses[id]
		if refusal := mine.refusal(); refusal != "" {
			lines = append(lines, fmt.Sprintf("%s: not enforced by Lintel: %s", id, refusal))
			continue
		}
		if number(mine.TotalViolations) != number(its.TotalViolations) {
			lines = append(lines, fmt.Sprintf("%s: totalViolations is %s, and %s by Gatekeeper", id, number(mine.TotalViolations), number(its.TotalViolations)))
			continue
		}
		if slices.Contains(ours.errors, id) || len(its.Violations) == 0 && len(mine.Violations) == 0 || its.TotalViolations != nil && *its.TotalViolations > len(its.Violations) {
			continue
		}
		if a, b := sortedViolations(mine.Violations), sortedViolations(its.Violations); !slices.Equal(a, b) {
			lines = append(lines, fmt.Sprintf("%s: violations are %v, and %v by Gatekeeper", id, a, b))
		}
	}
	return compared, lines
}

func number(n *int) string {
	if n == nil {
		return "missing"
	}
	return fmt.Sprint(*n)
}

func sortedViolations(list []statusViolation) (lines []string) {
	for _, v := range list {
		v.Message = shortened(v.Message)
		lines = append(lines, fmt.Sprintf("%+v", v))
	}
	slices.Sort(lines)
	return lines
}

// kindOf is the kind in the text of an object.
func kindOf(object string) string { return strings.Fields(object)[1] }
