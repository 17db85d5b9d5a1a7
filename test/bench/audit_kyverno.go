package main

import (
	"encoding/json"

	openreports "github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	exampleUID     = "20000000-0000-4000-8000-000000000000"
	exampleSeconds = 1767225600
)

// kyvernoReportBytes is a lower bound of what Kyverno's background scan stores for Pods: one report for
// each object, with one result for each policy that matches it, also for those that pass. It is
// computed from the fields that Kyverno 1.19 always writes, without the fields that the API server
// adds, and without messages of results that pass.
func kyvernoReportBytes(pods *auditPods, constraints []constraint) (int64, error) {
	var total int64
	for _, each := range []struct{ n, count, failing int }{{0, pods.violations(), 1}, {1, pods.count - pods.violations(), 0}} {
		pod, err := pods.pod(each.n)
		if err != nil {
			return 0, err
		}
		text, err := json.Marshal(kyvernoReport(pod, constraints, each.failing))
		if err != nil {
			return 0, err
		}
		total += int64(len(text)) * int64(each.count)
	}
	return total, nil
}

// kyvernoReport has the fields of both APIs of reports.
func kyvernoReport(pod *corev1.Pod, constraints []constraint, failing int) *openreports.Report {
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: exampleUID}
	report := &openreports.Report{
		TypeMeta: metav1.TypeMeta{APIVersion: "wgpolicyk8s.io/v1alpha2", Kind: "PolicyReport"},
		ObjectMeta: metav1.ObjectMeta{
			Name: exampleUID, Namespace: pod.Namespace, UID: exampleUID, OwnerReferences: []metav1.OwnerReference{owner},
			Labels: map[string]string{"app.kubernetes.io/managed-by": "kyverno"},
		},
		Scope:   &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: exampleUID},
		Summary: openreports.ReportSummary{Pass: len(constraints) - failing, Fail: failing},
	}
	for i, c := range constraints {
		result := openreports.ReportResult{
			Source: "KyvernoValidatingPolicy", Policy: c.name, Result: "pass", Scored: true,
			Timestamp: metav1.Timestamp{Seconds: exampleSeconds}, Properties: map[string]string{"process": "background scan"},
		}
		if i < failing {
			result.Result, result.Description = "fail", "denied by "+c.name
		}
		report.Results = append(report.Results, result)
	}
	return report
}
