package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sampleReport is what puppet apply 7.23 has reported of five resources, of which one failed
// and one was skipped for that.
func sampleReport(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/report.json")
	require.NoError(t, err)
	return text
}

var received = time.Date(2026, 1, 2, 3, 4, 5, 678900000, time.FixedZone("", 3600))

// TestStoreReport: each part of a real report is where PuppetDB looks for it, with every
// field that its wire format has, and no other.
func TestStoreReport(t *testing.T) {
	text, err := storeReport(sampleReport(t), received)
	require.NoError(t, err)
	var command struct {
		Command string
		Version int
		Payload map[string]any
	}
	require.NoError(t, json.Unmarshal(text, &command))
	require.Equal(t, "store report", command.Command)
	require.Equal(t, 8, command.Version)
	payload := command.Payload
	lists := map[string]int{"resources": 4, "metrics": 23, "logs": 8}
	for name, count := range lists {
		require.Len(t, payload[name], count, name)
	}
	resources, metrics, logs := payload["resources"].([]any), payload["metrics"].([]any), payload["logs"].([]any)
	maps.DeleteFunc(payload, func(name string, _ any) bool { return lists[name] > 0 })
	require.Equal(t, map[string]any{
		"certname": "web1.example.com", "environment": "production", "puppet_version": "7.23.0", "report_format": 12.0, "configuration_version": "1795490207",
		"start_time": "2026-11-24T03:16:48.271Z", "end_time": "2026-11-24T03:16:49.180Z", "producer_timestamp": "2026-01-02T02:04:05.678Z", "producer": "web1.example.com",
		"transaction_uuid": "a2a69b67-b118-40e8-a328-ea9649514cde", "catalog_uuid": "da0c631b-6288-4bb6-96e2-f180504b07f8", "code_id": nil, "job_id": nil,
		"cached_catalog_status": "not_used", "status": "failed", "noop": false, "noop_pending": false, "corrective_change": false,
	}, payload)

	var titles []string
	for _, one := range resources {
		resource := one.(map[string]any)
		titles = append(titles, resource["resource_type"].(string)+"["+resource["resource_title"].(string)+"]")
		require.ElementsMatch(t, []string{"resource_type", "resource_title", "timestamp", "skipped", "file", "line", "containment_path", "corrective_change", "events"}, slices.Collect(maps.Keys(resource)))
	}
	require.Equal(t, []string{"Exec[broken]", "Exec[sched]", "File[/etc/made]", "Notify[hello]"}, titles, "not those that nothing happened to")
	require.Empty(t, resources[1].(map[string]any)["events"])
	require.Equal(t, true, resources[1].(map[string]any)["skipped"])
	require.Equal(t, []any{map[string]any{
		"status": "failure", "timestamp": "2026-11-24T03:16:48.287419645+00:00", "name": "executed_command", "property": "returns",
		"new_value": `["0"]`, "old_value": "notrun", "corrective_change": false, "message": "change from 'notrun' to ['0'] failed: '/bin/false' returned 1 instead of one of [0]",
	}}, withTime(resources[0].(map[string]any)["events"].([]any), "2026-11-24T03:16:48.287419645+00:00"))
	require.Equal(t, map[string]any{"category": "changes", "name": "total", "value": 2.0}, metrics[0])
	require.Contains(t, metrics, map[string]any{"category": "time", "name": "total", "value": 0.908564593})
	require.ElementsMatch(t, []string{"file", "line", "level", "message", "source", "tags", "time"}, slices.Collect(maps.Keys(logs[0].(map[string]any))))
}

// withTime replaces the times of events, which are not to be seen in the test above.
func withTime(events []any, text string) []any {
	for _, event := range events {
		if _, err := time.Parse(time.RFC3339Nano, event.(map[string]any)["timestamp"].(string)); err == nil {
			event.(map[string]any)["timestamp"] = text
		}
	}
	return events
}

// TestSameCommand: metrics and resources, which Puppet has in maps, are in one order.
func TestSameCommand(t *testing.T) {
	var report map[string]any
	require.NoError(t, json.Unmarshal(sampleReport(t), &report))
	values := report["metrics"].(map[string]any)["time"].(map[string]any)["values"].([]any)
	command := func() string {
		text, err := json.Marshal(report)
		require.NoError(t, err)
		got, err := storeReport(text, received)
		require.NoError(t, err)
		return string(got)
	}
	want := command()
	for range 10 {
		slices.Reverse(values)
		values[0], values[3] = values[3], values[0]
		require.Equal(t, want, command())
	}
}

// TestOddReports: what agents of other versions leave out or write otherwise.
func TestOddReports(t *testing.T) {
	payload := func(text string) wireReport {
		command, err := storeReport([]byte(text), received)
		require.NoError(t, err)
		var read struct{ Payload wireReport }
		require.NoError(t, json.Unmarshal(command, &read))
		return read.Payload
	}
	least := payload(`{"host":"a","time":"2026-01-02T03:04:05+01:00","report_format":"10","configuration_version":"abc","transaction_uuid":"u","metrics":{},"server_used":"puppet.example.com:8140"}`)
	require.Equal(t, "10", string(least.ReportFormat))
	require.Equal(t, "abc", least.ConfigurationVersion)
	require.Equal(t, "puppet.example.com", least.Producer)
	require.Equal(t, "u", *least.CatalogUUID)
	require.Equal(t, "2026-01-02T02:04:05.000Z", least.StartTime)
	require.Equal(t, least.StartTime, least.EndTime, "a run that failed has no metrics")
	require.NotNil(t, least.Resources)
	require.NotNil(t, least.Metrics)
	require.NotNil(t, least.Logs)
	for _, text := range []string{`[]`, `{"time":"yesterday"}`, `{"time":"2026-01-02T03:04:05Z","metrics":{"time":{"values":[["total"]]}}}`, `{"time":"2026-01-02T03:04:05Z","metrics":{"time":{"values":[["total","Total","x"]]}}}`} {
		_, err := storeReport([]byte(text), received)
		require.ErrorContains(t, err, "not a Puppet report", text)
	}
}
