package webhooks

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/engine"
)

// An exemption is visible in the response, the audit annotations, the log and the metric, also
// where only denials are logged.
func TestExemptionsAreVisible(t *testing.T) {
	exempted := finding("no team")
	exempted.Exception, exempted.Expires = "friday", time.Date(2026, 12, 4, 17, 0, 0, 0, time.UTC)
	again := exempted
	again.Words = "no owner"
	f := newFixture(t, says(engine.Decision{Exempted: []engine.Finding{exempted, again}, Warnings: []engine.Finding{finding("w")}}), nil)
	response := f.ask(t, "/validate/fail", podRequest)
	assert.True(t, response.Allowed)
	require.Len(t, response.Warnings, 2)
	assert.Equal(t, "PolicyException friday exempts this object from team.labels deny until 2026-12-04T17:00:00Z", response.Warnings[0])
	assert.Equal(t, "friday", response.AuditAnnotations["exceptions"])

	var line struct {
		Allowed  bool
		Exempted []map[string]any
	}
	require.NoError(t, json.Unmarshal(f.log.Bytes(), &line))
	assert.True(t, line.Allowed)
	require.Len(t, line.Exempted, 2)
	assert.Equal(t, "friday", line.Exempted[0]["exception"])
	assert.Equal(t, "2026-12-04T17:00:00Z", line.Exempted[0]["until"])
	assert.InDelta(t, 1, testutil.ToFloat64(f.options.Metrics.exempted.WithLabelValues("team", "team.labels")), 0, "one request")
}
