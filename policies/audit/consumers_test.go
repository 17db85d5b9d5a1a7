package audit_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/definition"
)

// consumed is a report as Policy Reporter and the Kyverno plugin of Headlamp read it, in either API.
type consumed struct {
	APIVersion string
	Metadata   struct {
		Name, Namespace string
		Labels          map[string]string
	}
	Source  string
	Scope   any
	Summary struct{ Pass, Fail, Warn, Error, Skip int }
	Results []struct {
		Source, Policy, Rule, Category, Severity, Result, Message string
		Scored                                                    bool
		Timestamp                                                 struct{ Seconds, Nanos int64 }
		Resources                                                 []struct{ APIVersion, Kind, Namespace, Name, UID string }
		Properties                                                map[string]string
	}
}

// consume reads the report of one result.
func consume(t *testing.T, detail audit.Detail, format audit.Format) (read consumed) {
	t.Helper()
	key := audit.GroupKey{Namespace: detail.Object.Namespace, Source: detail.Result.Source}
	reports, err := audit.Build(audit.Group{GroupKey: key, Counts: audit.Counts{detail.Result.Outcome: 1}, Details: []audit.Detail{detail}}, 10, format)
	require.NoError(t, err)
	require.Len(t, reports, 1)
	text, err := json.Marshal(reports[0])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &read))
	require.Len(t, read.Results, 1)
	return read
}

func detailOf(change func(*audit.Detail)) audit.Detail {
	d := audit.Detail{
		Object: audit.Object{Kind: admission.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespace: "shop", Name: "web", UID: "1234"},
		Result: audit.Result{
			Source: "labels", Scope: "enterprise", Policy: "labels.owner", Rule: "deny", Location: definition.Location{File: "p.rego", Line: 4},
			Outcome: audit.Fail, Enforcement: definition.EnforceDeny, Message: "no owner", Field: "metadata.labels", Severity: "high", Category: "Labels",
		},
		Since: time.Unix(1700000000, 0),
	}
	if change != nil {
		change(&d)
	}
	return d
}

// Each assertion names the consumer that needs the field: Policy Reporter 3 (pkg/openreports,
// pkg/report/result, pkg/database) or the Kyverno plugin of Headlamp (src/components, src/resources).
func TestReportsFitTheirConsumers(t *testing.T) {
	t.Parallel()
	for format, apiVersion := range map[audit.Format]string{audit.OpenReports: "openreports.io/v1alpha1", audit.WGPolicy: "wgpolicyk8s.io/v1alpha2"} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			read := consume(t, detailOf(nil), format)
			// Policy Reporter lists both APIs, and Headlamp the second one.
			require.Equal(t, apiVersion, read.APIVersion)
			// Policy Reporter identifies a report by its namespace and name.
			require.Equal(t, []string{"shop", "lintel-labels"}, []string{read.Metadata.Namespace, read.Metadata.Name})
			// Policy Reporter would use the scope as the object of all results.
			require.Nil(t, read.Scope)
			// Headlamp adds the summaries.
			require.Equal(t, 1, read.Summary.Fail)
			result := read.Results[0]
			// Policy Reporter groups by source and category. Without the field of a report, as in
			// wgpolicyk8s.io, the source of a report is that of its first result.
			require.Equal(t, []string{"lintel", "Labels"}, []string{result.Source, result.Category})
			if format == audit.OpenReports {
				require.Equal(t, "lintel", read.Source)
			}
			// Both accept these words only.
			require.Contains(t, []string{"pass", "fail", "warn", "error", "skip"}, result.Result)
			require.Contains(t, []string{"critical", "high", "medium", "low", "info"}, result.Severity)
			// Both show policy, rule and message.
			require.Equal(t, []string{"labels.owner", "deny", "no owner"}, []string{result.Policy, result.Rule, result.Message})
			// Both show the first resource. Policy Reporter links it by all of its fields.
			require.Len(t, result.Resources, 1)
			require.Equal(t, []string{"v1", "Pod", "shop", "web", "1234"}, []string{
				result.Resources[0].APIVersion, result.Resources[0].Kind, result.Resources[0].Namespace, result.Resources[0].Name, result.Resources[0].UID,
			})
			// Policy Reporter sends results to its targets that are newer than its start.
			require.EqualValues(t, 1700000000, result.Timestamp.Seconds)
			require.NotEmpty(t, result.Properties["resultID"])
		})
	}
}

// TestPolicyReporterKeepsAllResults: the identity of a result is unique among all reports, and does
// not change with the time or the version of the object's API.
func TestPolicyReporterKeepsAllResults(t *testing.T) {
	t.Parallel()
	identity := func(change func(*audit.Detail)) string {
		return consume(t, detailOf(change), audit.OpenReports).Results[0].Properties["resultID"]
	}
	seen := map[string]string{}
	for name, change := range map[string]func(*audit.Detail){
		"the same":           nil,
		"another field":      func(d *audit.Detail) { d.Result.Field = "metadata.annotations" },
		"another message":    func(d *audit.Detail) { d.Result.Message = "no team" },
		"another rule":       func(d *audit.Detail) { d.Result.Rule = "warn" },
		"another line":       func(d *audit.Detail) { d.Result.Location.Line = 5 },
		"another code":       func(d *audit.Detail) { d.Result.Code = 422 },
		"another outcome":    func(d *audit.Detail) { d.Result.Outcome = audit.Warn },
		"another exception":  func(d *audit.Detail) { d.Result.Exception = "friday" },
		"another policy":     func(d *audit.Detail) { d.Result.Policy = "labels.team" },
		"another source":     func(d *audit.Detail) { d.Result.Source = "team-labels" },
		"another object":     func(d *audit.Detail) { d.Object.Name = "web-2" },
		"another namespace":  func(d *audit.Detail) { d.Object.Namespace = "shop-2" },
		"a recreated object": func(d *audit.Detail) { d.Object.UID = "5678" },
		"another kind":       func(d *audit.Detail) { d.Object.Kind.Kind = "PodTemplate" },
		"shifted boundaries": func(d *audit.Detail) { d.Object.Namespace, d.Object.Name = "shopw", "eb" },
	} {
		id := identity(change)
		require.Empty(t, seen[id], name)
		seen[id] = name
	}
	require.Equal(t, identity(nil), identity(func(d *audit.Detail) {
		d.Since = time.Unix(1800000000, 0)
		d.Object.Kind.Version = "v2"
		d.Result.Revision = "abc"
	}))
}
