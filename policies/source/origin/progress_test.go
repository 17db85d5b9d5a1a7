package origin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

// TestPhases: a fetch that reaches its time limit names what it has waited for.
func TestPhases(t *testing.T) {
	var out strings.Builder
	p := &progress{out: &out}
	require.Equal(t, phaseStarting, phaseIn(out.String()))
	p.reach(phaseAsking)
	p.reach(phaseAsking)
	require.Equal(t, phaseAsking, phaseIn(out.String()))
	p.reach(phaseReceiving)
	require.Equal(t, "phase: asking\nphase: receiving\n", out.String())
	require.Equal(t, phaseReceiving, phaseIn(out.String()+"another message\n"))

	request := withLimits(Request{Git: &v1alpha1.GitOrigin{URL: "https://git.example.com/p.git"}})
	for reached, want := range map[phase]string{
		phaseStarting:  "the origin was not asked",
		phaseAsking:    "nothing was received",
		phaseReceiving: "an answer was being received",
	} {
		requireRefused(t, tooSlow(request, reached), ReasonFetchFailed, "fetching from https://git.example.com/p.git took longer than 1m0s: ")
		require.ErrorContains(t, tooSlow(request, reached), want)
	}
}

// TestChildThatDoesNotStart: on a busy node, the time of a fetch may pass before its process runs. The
// origin is not at fault.
func TestChildThatDoesNotStart(t *testing.T) {
	program := filepath.Join(t.TempDir(), "waits")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nexec cat 3>&1 >/dev/null\n"), 0o700))
	request := withLimits(Request{Git: &v1alpha1.GitOrigin{URL: "https://git.example.com/p.git"}})
	request.Limits.Time = 200 * time.Millisecond
	_, err := NewFetcher(program, 1).Fetch(t.Context(), request)
	requireRefused(t, err, ReasonFetchFailed, "the process that fetches did not start in this time, and the origin was not asked")
}
