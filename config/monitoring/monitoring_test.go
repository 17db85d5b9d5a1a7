// Package monitoring_test checks alerts and dashboard against the exported metrics: an alert
// about a metric that is not exported never fires.
package monitoring_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/webhooks"
)

// rules are a file of Prometheus rules.
type rules struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []struct {
			Alert       string            `json:"alert"`
			Expr        string            `json:"expr"`
			For         string            `json:"for,omitempty"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"rules"`
	} `json:"groups"`
}

// panel has the fields of a panel of a dashboard that are read.
type panel struct {
	ID      int    `json:"id"`
	Title   string `json:"title"`
	GridPos struct{ X, Y, W, H int }
	Targets []struct {
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
	} `json:"targets"`
}

func TestAlertsSayWhatToDo(t *testing.T) {
	pages := map[string]string{}
	for _, page := range []string{"alerts.md", "alerts-of-systems.md"} {
		pages[page] = readFile(t, "../../docs/reference/"+page)
	}
	seen := map[string]bool{}
	for _, group := range readRules(t).Groups {
		for _, rule := range group.Rules {
			t.Run(rule.Alert, func(t *testing.T) {
				assert.False(t, seen[rule.Alert], "twice")
				seen[rule.Alert] = true
				checkExpression(t, rule.Expr)
				assert.Contains(t, []string{"critical", "warning"}, rule.Labels["severity"])
				assert.NotEmpty(t, rule.Annotations["summary"])
				assert.NotEmpty(t, rule.Annotations["description"])
				_, location, _ := strings.Cut(rule.Annotations["runbook_url"], "/docs/reference/")
				page, anchor, _ := strings.Cut(location, "#")
				assert.Equal(t, strings.ToLower(rule.Alert), anchor)
				assert.Contains(t, pages[page], "\n### "+rule.Alert+"\n", "docs/reference/%s has no such heading", page)
			})
		}
	}
	for page, text := range pages {
		for _, heading := range regexp.MustCompile(`(?m)^### (Lintel\w+)$`).FindAllStringSubmatch(text, -1) {
			assert.True(t, seen[heading[1]], "docs/reference/%s explains %s, and there is no such alert", page, heading[1])
		}
	}
	assert.NotEmpty(t, seen)
}

func TestPrometheusRuleHasTheSameAlerts(t *testing.T) {
	var object struct {
		Spec rules `json:"spec"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(readFile(t, "prometheusrule.yaml")), &object))
	assert.Equal(t, readRules(t), object.Spec)
}

func TestDashboard(t *testing.T) {
	var dashboard struct {
		Title  string  `json:"title"`
		UID    string  `json:"uid"`
		Panels []panel `json:"panels"`
	}
	require.NoError(t, json.Unmarshal([]byte(readFile(t, "dashboard.json")), &dashboard))
	assert.NotEmpty(t, dashboard.Title)
	assert.NotEmpty(t, dashboard.UID)
	ids, places := map[int]bool{}, map[[2]int]bool{}
	shown := map[string]bool{}
	for _, panel := range dashboard.Panels {
		t.Run(panel.Title, func(t *testing.T) {
			assert.False(t, ids[panel.ID], "two panels have the id %d", panel.ID)
			ids[panel.ID] = true
			assert.NotEmpty(t, panel.Targets)
			for x := panel.GridPos.X; x < panel.GridPos.X+panel.GridPos.W; x++ {
				for y := panel.GridPos.Y; y < panel.GridPos.Y+panel.GridPos.H; y++ {
					assert.False(t, places[[2]int{x, y}], "it covers another panel")
					places[[2]int{x, y}] = true
				}
			}
			for _, target := range panel.Targets {
				for _, name := range checkExpression(t, target.Expr) {
					shown[name] = true
				}
			}
		})
	}
	assert.Equal(t, slices.Sorted(maps.Keys(metrics(t))), slices.Sorted(maps.Keys(shown)), "every metric is on the dashboard")
}

var (
	metricName = regexp.MustCompile(`\b(?:lintel|openvox)_[a-z_]+`)
	grouping   = regexp.MustCompile(`\bby \(([^)]*)\)`)
	matcher    = regexp.MustCompile(`\{([a-z]+)=`)
)

// checkExpression checks the names in an expression, and returns its metrics. It does
// not parse PromQL: the parser would bring all of Prometheus.
func checkExpression(t *testing.T, expression string) []string {
	t.Helper()
	known := metrics(t)
	var names []string
	labels := []string{"le", "instance"}
	for _, name := range metricName.FindAllString(expression, -1) {
		name = strings.TrimSuffix(name, "_bucket")
		if assert.Contains(t, known, name, expression) {
			names = append(names, name)
			labels = append(labels, known[name]...)
		}
	}
	assert.NotEmpty(t, names, expression)
	for _, group := range grouping.FindAllStringSubmatch(expression, -1) {
		for label := range strings.SplitSeq(group[1], ", ") {
			assert.Contains(t, labels, label, expression)
		}
	}
	for _, match := range matcher.FindAllStringSubmatch(expression, -1) {
		assert.Contains(t, labels, match[1], expression)
	}
	for _, pair := range []string{"()", "[]", "{}"} {
		assert.Equal(t, strings.Count(expression, pair[:1]), strings.Count(expression, pair[1:]), expression)
	}
	return names
}

// metrics are Lintel's own, with their labels.
func metrics(t *testing.T) map[string][]string {
	t.Helper()
	all := descriptions{
		"lintel_policy_limit_total":                         {"source", "policy", "limit"},
		"lintel_cluster_data_objects":                       {"kind"},
		"lintel_cluster_data_bytes":                         {"kind"},
		"lintel_source_ready":                               {"source"},
		"lintel_source_files_left_out":                      {"source"},
		"lintel_source_rehearsal":                           {"source", "result"},
		"lintel_source_rehearsal_new_denials":               {"source"},
		"lintel_webhooks_called":                            nil,
		"lintel_policy_exceptions":                          {"source", "policy"},
		"lintel_data_source_ready":                          {"data_source"},
		"lintel_data_source_stale":                          {"data_source"},
		"lintel_data_source_bytes":                          {"data_source"},
		"lintel_data_source_info":                           {"data_source", "revision"},
		"lintel_data_source_last_success_timestamp_seconds": {"data_source"},
		"lintel_data_source_fetches_total":                  {"data_source", "result"},

		"lintel_policy_exception_expiry_timestamp_seconds": {"exception", "source", "policy"},

		"lintel_gatekeeper_not_enforced": {"kind", "name"},

		"lintel_audit_violations":                       {"source", "policy", "scope", "outcome"},
		"lintel_audit_objects":                          nil,
		"lintel_audit_last_full_pass_timestamp_seconds": {"source"},
		"lintel_audit_full_pass_seconds":                {"kind"},
		"lintel_audit_evaluations_total":                nil,
		"lintel_audit_errors_total":                     nil,
		"lintel_audit_evaluation_seconds_total":         nil,
		"lintel_audit_report_writes_total":              nil,

		"lintel_openvox_crl_age_seconds":                    {"namespace", "name"},
		"lintel_openvox_crl_next_update_timestamp_seconds":  {"namespace", "name"},
		"lintel_openvox_crl_last_refresh_timestamp_seconds": {"namespace", "name"},
		"lintel_openvox_crl_refresh_failures_total":         {"namespace", "name"},
		"lintel_openvox_ca_not_after_timestamp_seconds":     {"namespace", "name"},
		"lintel_openvox_crl_missing_revocations":            {"namespace", "name"},
		"openvox_server_replicas_desired":                   {"namespace", "name"},
		"openvox_server_replicas_ready":                     {"namespace", "name"},
		"openvox_certificate_expiry_timestamp_seconds":      {"namespace", "name"},
		"lintel_openvox_ready":                              {"kind", "namespace", "name", "reason"},
		"lintel_openvox_metrics_failures_total":             {"kind"},

		"lintel_openzro_server_up":         {"tenant"},
		"lintel_openzro_objects_failing":   {"kind"},
		"lintel_openzro_requests_total":    {"collection", "method", "code"},
		"lintel_zopp_environments":         nil,
		"lintel_zopp_streams":              nil,
		"lintel_zopp_environments_failing": nil,
		"lintel_zopp_undecryptable_values": nil,
		"lintel_zopp_lag_seconds":          nil,
		"lintel_zopp_failures_total":       {"reason"},
		"lintel_zopp_writes_total":         nil,
		"lintel_zopp_outcomes_total":       {"status"},
		"lintel_zopp_reloads_total":        {"kind"},
	}
	webhooks.NewMetrics(all)
	webhooks.NewRecorder(webhooks.RecorderOptions{Registerer: all})
	return all
}

// descriptions is a registry that keeps names and labels only: one that gathers
// shows no metric that has not been counted yet.
type descriptions map[string][]string

var description = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

// Register implements prometheus.Registerer.
func (d descriptions) Register(collector prometheus.Collector) error {
	found := make(chan *prometheus.Desc)
	go func() {
		collector.Describe(found)
		close(found)
	}()
	for desc := range found {
		match := description.FindStringSubmatch(desc.String())
		d[match[1]] = strings.Split(match[2], ",")
	}
	return nil
}

// MustRegister implements prometheus.Registerer.
func (d descriptions) MustRegister(collectors ...prometheus.Collector) {
	for _, collector := range collectors {
		_ = d.Register(collector)
	}
}

// Unregister implements prometheus.Registerer.
func (descriptions) Unregister(prometheus.Collector) bool { return false }

func readRules(t *testing.T) rules {
	t.Helper()
	var read rules
	require.NoError(t, yaml.UnmarshalStrict([]byte(readFile(t, "rules.yaml")), &read))
	return read
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
