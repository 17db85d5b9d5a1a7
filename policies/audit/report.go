package audit

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	openreports "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// MaxReportBytes is the maximum size of the JSON of one report.
	MaxReportBytes = 256 << 10
	// reportOverhead is left for what a report contains in addition to its results.
	reportOverhead = 4 << 10
	// ReportSource is the source of all reports.
	ReportSource = "lintel"
	// SourceLabel is the label of reports with the name of the PolicySource, and
	// ManagedByLabel the one with ReportSource.
	SourceLabel    = "lintel.dev/audit-source"
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// sourceAnnotation holds the whole name of the PolicySource.
	sourceAnnotation = "lintel.dev/audit-source"
	maxLabel         = 63
	// resultID is the property by which Policy Reporter identifies a result among those of all
	// reports. Without this property, it would store only one of several results for which the
	// object, the policy, the rule, the outcome, the category and the message are equal.
	resultID = "resultID"
)

// Format is the API in which reports are written.
type Format string

// The formats.
const (
	OpenReports Format = "openreports" // openreports.io/v1alpha1
	WGPolicy    Format = "wgpolicyk8s" // wgpolicyk8s.io/v1alpha2
	NoReports   Format = "none"
)

// Kinds returns the kinds of reports about namespaced and about cluster-scoped objects.
func (f Format) Kinds() (namespaced, cluster schema.GroupVersionKind) {
	if f == WGPolicy {
		gv := schema.GroupVersion{Group: "wgpolicyk8s.io", Version: "v1alpha2"}
		return gv.WithKind("PolicyReport"), gv.WithKind("ClusterPolicyReport")
	}
	gv := openreports.SchemeGroupVersion
	return gv.WithKind("Report"), gv.WithKind("ClusterReport")
}

// Resource returns the plural name of a kind of Kinds.
func (f Format) Resource(namespaced bool) string {
	switch {
	case f == WGPolicy && namespaced:
		return "policyreports"
	case f == WGPolicy:
		return "clusterpolicyreports"
	case namespaced:
		return "reports"
	default:
		return "clusterreports"
	}
}

// ReportName is the name of the n-th report of a source, from 0.
func ReportName(source string, n int) string {
	const room = 230 // of 253
	name := "lintel-" + source
	if len(name) > room {
		name = name[:room-13] + "-" + shortHash(source)
	}
	if n > 0 {
		name += "-" + strconv.Itoa(n+1)
	}
	return name
}

func shortHash(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:12] }

// SourceLabelValue is the value of SourceLabel for a source.
func SourceLabelValue(source string) string {
	if len(source) > maxLabel {
		return source[:maxLabel-13] + "-" + shortHash(source)
	}
	return source
}

// Build returns the reports of a group: none without results. Together, their summaries count all
// results, also those that the details omit. limit is the maximum number of results per policy.
func Build(g Group, limit int, format Format) ([]*unstructured.Unstructured, error) {
	if g.Counts.Total() == 0 {
		return nil, nil
	}
	var chunks [][]openreports.ReportResult
	size := MaxReportBytes // the first result begins a report
	for _, detail := range g.Details {
		result := reportResult(detail)
		text, err := json.Marshal(result)
		if err != nil {
			return nil, fmt.Errorf("writing a result of %s: %w", detail.Result.Policy, err)
		}
		if size += len(text) + 1; size > MaxReportBytes-reportOverhead {
			chunks, size = append(chunks, nil), len(text)
		}
		chunks[len(chunks)-1] = append(chunks[len(chunks)-1], result)
	}
	if len(chunks) == 0 { // the details of its policies are all in other reports
		chunks = append(chunks, nil)
	}
	omitted := omittedOf(g)
	reports := make([]*unstructured.Unstructured, 0, len(chunks))
	for n, results := range chunks {
		report := newReport(g.GroupKey, n, results, limit)
		if n == 0 {
			for outcome, count := range omitted {
				add(&report.Summary, openreports.Result(outcome), count)
			}
		}
		converted, err := format.convert(report, g.Namespace != "")
		if err != nil {
			return nil, err
		}
		reports = append(reports, converted)
	}
	return reports, nil
}

// omittedOf counts the results that the details of a group omit.
func omittedOf(g Group) Counts {
	omitted := Counts{}
	for outcome, count := range g.Counts {
		omitted.add(outcome, count)
	}
	for _, detail := range g.Details {
		omitted.add(detail.Result.Outcome, -1)
	}
	return omitted
}

func newReport(at GroupKey, n int, results []openreports.ReportResult, limit int) *openreports.Report {
	report := &openreports.Report{
		ObjectMeta: metav1.ObjectMeta{
			Name: ReportName(at.Source, n), Namespace: at.Namespace,
			Labels:      map[string]string{ManagedByLabel: ReportSource, SourceLabel: SourceLabelValue(at.Source)},
			Annotations: map[string]string{sourceAnnotation: at.Source},
		},
		Source:        ReportSource,
		Configuration: &openreports.ReportConfiguration{Limits: openreports.Limits{MaxResults: limit}},
		Results:       results,
	}
	for _, outcome := range AllOutcomes {
		report.Configuration.Limits.StatusFilter = append(report.Configuration.Limits.StatusFilter, openreports.StatusFilter(outcome))
	}
	for _, result := range results {
		add(&report.Summary, result.Result, 1)
	}
	return report
}

// SourceOf is the PolicySource whose results a report contains.
func SourceOf(report metav1.Object) string { return report.GetAnnotations()[sourceAnnotation] }

func add(summary *openreports.ReportSummary, result openreports.Result, n int) {
	switch Outcome(result) {
	case Fail:
		summary.Fail += n
	case Warn:
		summary.Warn += n
	case Error:
		summary.Error += n
	case Skip:
		summary.Skip += n
	}
}

// identityOf differs between any two results, and does not change while a result holds.
func identityOf(detail Detail) string {
	result, object := detail.Result, detail.Object
	return shortHash(fmt.Sprintf("%q", []string{
		object.Kind.WithoutVersion().String(), object.Namespace, object.Name, object.UID,
		result.Source, result.Policy, result.Rule, result.Location.String(), string(result.Outcome), result.Message, result.Field, strconv.Itoa(result.Code), result.Exception,
	}))
}

func reportResult(detail Detail) openreports.ReportResult {
	result, object := detail.Result, detail.Object
	properties := map[string]string{
		"source": result.Source, "scope": result.Scope, "location": result.Location.String(), "enforcement": string(result.Enforcement),
		resultID: identityOf(detail),
	}
	for name, value := range map[string]string{"field": result.Field, "exception": result.Exception} {
		if value != "" {
			properties[name] = value
		}
	}
	if !result.ExceptionExpires.IsZero() {
		properties["exceptionExpiresAt"] = result.ExceptionExpires.Format(time.RFC3339)
	}
	if result.Code != 0 {
		properties["code"] = strconv.Itoa(result.Code)
	}
	return openreports.ReportResult{
		Source: ReportSource, Policy: result.Policy, Rule: result.Rule,
		Category: result.Category, Severity: openreports.ResultSeverity(result.Severity),
		Timestamp: metav1.Timestamp{Seconds: detail.Since.Unix()},
		Result:    openreports.Result(result.Outcome), Scored: result.Outcome == Fail || result.Outcome == Error,
		Subjects: []corev1.ObjectReference{{
			APIVersion: schema.GroupVersion{Group: object.Kind.Group, Version: object.Kind.Version}.String(), Kind: object.Kind.Kind,
			Namespace: object.Namespace, Name: object.Name, UID: types.UID(object.UID),
		}},
		Description: result.Message, Properties: properties,
	}
}

// convert writes a report in the format. Its kinds of reports differ only in the fields at the
// top.
func (f Format) convert(report *openreports.Report, namespaced bool) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(report)
	if err != nil {
		return nil, fmt.Errorf("writing report %s: %w", report.Name, err)
	}
	delete(content["metadata"].(map[string]any), "creationTimestamp")
	if f == WGPolicy {
		delete(content, "source")
		delete(content, "configuration")
	}
	out := &unstructured.Unstructured{Object: content}
	ofNamespaces, ofCluster := f.Kinds()
	out.SetGroupVersionKind(ofCluster)
	if namespaced {
		out.SetGroupVersionKind(ofNamespaces)
	}
	return out, nil
}
