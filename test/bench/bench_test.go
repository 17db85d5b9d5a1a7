package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPercentile(t *testing.T) {
	var hundred samples
	for i := 100; i >= 1; i-- {
		hundred = append(hundred, time.Duration(i)*time.Millisecond)
	}
	for _, c := range []struct {
		samples samples
		p       float64
		want    time.Duration
	}{
		{nil, 50, 0},
		{samples{7}, 50, 7},
		{samples{7}, 99.9, 7},
		{samples{3, 1, 2}, 50, 2},
		{samples{4, 1, 3, 2}, 50, 2},
		{hundred, 50, 50 * time.Millisecond},
		{hundred, 99, 99 * time.Millisecond},
		{hundred, 99.9, 100 * time.Millisecond},
	} {
		require.Equal(t, c.want, c.samples.percentile(c.p), "%v of %d", c.p, len(c.samples))
	}
	require.Equal(t, 100*time.Millisecond, hundred[0], "the order of measuring is kept")
	require.Equal(t, "50.00 / 99.00 / 100.00 ms", hundred.percentiles())
}

func TestSamplesAreMicroseconds(t *testing.T) {
	text, err := json.Marshal(samples{1500 * time.Nanosecond, time.Second})
	require.NoError(t, err)
	require.JSONEq(t, `[1, 1000000]`, string(text))
}

func TestParseStat(t *testing.T) {
	const after = ") S 42 1 1 0 -1 4194304 900 0 0 0 150 25 7 8 20 0 9 0 1000 1 2"
	for name, c := range map[string]struct{ text, name string }{
		"plain":                  {"7 (manager" + after, "manager"},
		"spaces and parentheses": {"7 (a) S 9 (b" + after, "a) S 9 (b"},
	} {
		t.Run(name, func(t *testing.T) {
			stat, err := parseStat(c.text)
			require.NoError(t, err)
			require.Equal(t, processStat{c.name, 42, 1750 * time.Millisecond, 150 * time.Millisecond}, stat)
		})
	}
	for _, text := range []string{"", "7 manager S", "7 (manager) S 42", "7 (manager" + strings.Replace(after, "150", "x", 1)} {
		_, err := parseStat(text)
		require.Error(t, err, text)
	}
}

func TestParseMemory(t *testing.T) {
	const text = "Name:\tmanager\nVmHWM:\t  70000 kB\nVmRSS:\t   65536 kB\nRssAnon:\t 1 kB\n"
	bytes, err := parseMemory(text, "VmRSS")
	require.NoError(t, err)
	require.EqualValues(t, 64<<20, bytes)
	bytes, err = parseMemory(text, "VmHWM")
	require.NoError(t, err)
	require.EqualValues(t, 70000<<10, bytes)
	_, err = parseMemory("Name:\tkthreadd\n", "VmRSS")
	require.Error(t, err)
}

func TestVerdict(t *testing.T) {
	require.Equal(t, "met", verdict(2, 2))
	require.Equal(t, "missed by 0.1 %", verdict(2.002, 2), "2.00 when printed, and missed all the same")
	require.Equal(t, "met", verdict(0, 0))
	require.Equal(t, "missed by 3", verdict(3, 0))
}

func TestTables(t *testing.T) {
	rows := []row{
		ratioRow("CPU", "0.3 ms", "0.1 ms", 0.3, 0.1, 2),
		ratioRow("a | b", "5 ms", "4 ms", 5, 4, 0),
		ratioRow("a small part", "1 ms", "9 ms", 1, 9, 1.0/8),
		{What: "failed", Lintel: "0", Target: "0", Verdict: verdict(0, 0)},
	}
	var printed strings.Builder
	require.NoError(t, printTable(&printed, rows))
	require.Equal(t, ""+
		"what          Lintel  reference  ratio  target  result\n"+
		"CPU           0.3 ms  0.1 ms     3.00×  ≤ 2×    missed by 50.0 %\n"+
		"a | b         5 ms    4 ms       1.25×          \n"+
		"a small part  1 ms    9 ms       1/9    ≤ 1/8   met\n"+
		"failed        0                         0       met\n", printed.String())
}

func TestEchoFindsTheUID(t *testing.T) {
	require.Equal(t, "a-b", string(uidOf([]byte(`{"kind":"AdmissionReview","request":{"uid":"a-b","object":{"metadata":{"uid":"c"}}}}`))))
	require.Empty(t, uidOf([]byte(`{"request":{}}`)))
}

func TestHostileTable(t *testing.T) {
	require.Equal(t, "policy  outcome  time  peak memory\na  b  1ms  0 MiB\n", hostileTable(
		"=== RUN   TestHostilePolicies\npolicy  outcome  time  peak memory\na  b  1ms  0 MiB\n--- PASS: TestHostilePolicies (1s)\nPASS\n"))
	require.Empty(t, hostileTable("FAIL\tbuild failed\n"))
}

func TestChoose(t *testing.T) {
	chosen, err := choose("", "")
	require.NoError(t, err)
	require.Len(t, chosen, len(allParts))
	chosen, err = choose("samples,memory", "")
	require.NoError(t, err)
	require.Len(t, chosen, 2)
	require.Equal(t, "samples", chosen[0].name)
	_, err = choose("sample", "")
	require.EqualError(t, err, `--only names "sample", which is not one of memory, unmatched, samples, swaps, pushes, hostile, neighbors, busy, peers, library, audit, replay, orloj, openvox`)
	_, err = choose("library", "")
	require.EqualError(t, err, needsLibrary)
	_, err = choose("samples", "/library")
	require.ErrorContains(t, err, "which --only leaves out")
	for _, part := range []string{"library", "audit"} {
		chosen, err = choose(part, "/library")
		require.NoError(t, err)
		require.Len(t, chosen, 1)
	}
}
