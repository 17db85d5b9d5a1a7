package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lintel-policy/lintel/test/installation"
)

// Quiet periods and periods in which the slow teams send take turns.
const (
	slowPeriodCount = 6
	slowPeriod      = 5 * time.Second
	// settleTime is between two periods, for reviews that were cut off.
	settleTime = time.Second
	// neighborRate is in reviews a second, of each neighbor.
	neighborRate = 25
	// slowClients are of each slow team; each sends one object after the other.
	slowClients = 32
	// slowCPUs are the processors of the manager.
	slowCPUs = 2
	// neighborLimit is how much a neighbor's p99 may grow.
	neighborLimit = 2
)

const (
	neighborNamespace = "bench-neighbor"
	loopsNamespace    = "bench-loops"
	callsNamespace    = "bench-calls"
)

// measureNeighbors compares the reviews of neighbors with and without two teams whose policies
// use all the time that they may use.
func (b *bench) measureNeighbors(ctx context.Context) error {
	say("measuring the neighbors of two slow teams …")
	m, err := b.startSlowTeams(ctx)
	if err != nil {
		return err
	}
	for range slowPeriodCount {
		for _, loaded := range []bool{false, true} {
			if err := m.period(ctx, loaded); err != nil {
				return err
			}
		}
	}
	m.report()
	if err := b.deleteSources(ctx, samplesSource, neighborNamespace, loopsNamespace, callsNamespace); err != nil {
		return err
	}
	return b.restart(ctx, "manager-after-slow-teams", b.excluding()...)
}

// slowTeamMeasurement measures two slow teams and their neighbors.
type slowTeamMeasurement struct {
	*bench
	neighbors []*neighbor
	teams     []*slowTeam
}

func (b *bench) startSlowTeams(ctx context.Context) (*slowTeamMeasurement, error) {
	if err := b.restartWith(ctx, installation.ManagerOptions{
		Name: "manager-slow-teams", Args: b.excluding(), Env: []string{fmt.Sprint("GOMAXPROCS=", slowCPUs)},
	}); err != nil {
		return nil, err
	}
	if err := b.applySamples(ctx); err != nil {
		return nil, err
	}
	for namespace, files := range map[string]map[string]string{
		neighborNamespace: neighborFiles(), loopsNamespace: slowFiles(loopingRule), callsNamespace: slowFiles(callingRule),
	} {
		if err := b.createNamespace(ctx, namespace); err != nil {
			return nil, err
		}
		scope := map[string]any{"level": "team", "name": namespace, "namespaces": []string{namespace}}
		if err := b.cluster.ApplySource(ctx, namespace, files, map[string]any{"scope": scope}); err != nil {
			return nil, err
		}
	}
	admitted := b.reviews.recorded
	denied := bytes.Replace(admitted, []byte(`"allowPrivilegeEscalation":false`), []byte(`"privileged":true`), 1)
	m := &slowTeamMeasurement{bench: b}
	const enterprise = "/validate/fail"
	for _, n := range []struct{ name, path, namespace, denial string }{
		{"enterprise", enterprise, namespaceLintel, "samples.privileged deny"},
		{"another team", scopePath(neighborNamespace), neighborNamespace, "neighbor.privileged deny"},
	} {
		one := &neighbor{name: n.name, endpoint: b.lintel(n.path), denial: []byte(n.denial)}
		for i, body := range [][]byte{admitted, denied} {
			var err error
			if one.reviews[i], err = reviewsIn(n.namespace, body); err != nil {
				return nil, err
			}
		}
		m.neighbors = append(m.neighbors, one)
	}
	echo := &neighbor{name: nameEcho, endpoint: b.echo}
	echo.reviews = m.neighbors[0].reviews
	m.neighbors = append(m.neighbors, echo)
	for _, namespace := range []string{loopsNamespace, callsNamespace} {
		team := &slowTeam{name: namespace, entries: []*endpoint{b.lintel(enterprise), b.lintel(scopePath(namespace))}}
		var err error
		if team.reviews, err = reviewsIn(namespace, admitted); err != nil {
			return nil, err
		}
		m.teams = append(m.teams, team)
	}
	return m, nil
}

// scopePath is where the entry of a team is served.
func scopePath(team string) string { return "/validate/fail/team-" + team }

// reviewsIn are copies of a review, in another namespace.
func reviewsIn(namespace string, recorded []byte) (*reviews, error) {
	return newReviews(bytes.ReplaceAll(recorded, []byte(namespaceLintel), []byte(namespace)))
}

// period sends the reviews of the neighbors, and those of the slow teams in the loaded periods.
func (m *slowTeamMeasurement) period(ctx context.Context, loaded bool) error {
	loading, cancel := context.WithCancel(ctx)
	defer cancel()
	var clients, wait sync.WaitGroup
	if loaded {
		for _, team := range m.teams {
			for range slowClients {
				clients.Go(func() {
					for loading.Err() == nil {
						team.send(loading)
					}
				})
			}
		}
	}
	for _, n := range m.neighbors {
		wait.Go(func() { n.send(ctx, n.of(loaded)) })
	}
	wait.Wait()
	cancel()
	clients.Wait()
	select {
	case <-ctx.Done():
	case <-time.After(settleTime):
	}
	return ctx.Err()
}

// neighbor sends reviews at a steady rate.
type neighbor struct {
	name string
	*endpoint
	reviews       [2]*reviews // of Pods to admit and to deny
	denial        []byte      // of the second; empty if they are admitted, too
	quiet, loaded steady
}

func (n *neighbor) of(loaded bool) *steady {
	if loaded {
		return &n.loaded
	}
	return &n.quiet
}

// send sends the reviews of a period. One of eight is to be denied.
func (n *neighbor) send(ctx context.Context, to *steady) {
	var wait sync.WaitGroup
	var mutex sync.Mutex
	start := time.Now()
	for i := range int(neighborRate * slowPeriod / time.Second) {
		due := start.Add(time.Duration(i) * time.Second / neighborRate)
		time.Sleep(time.Until(due))
		wait.Go(func() {
			err := n.decided(ctx, i%8 == 7)
			took := time.Since(due)
			mutex.Lock()
			defer mutex.Unlock()
			to.Latencies = append(to.Latencies, took)
			if err != nil {
				if to.Failed++; to.FirstFailure == "" {
					to.FirstFailure = err.Error()
				}
			}
		})
	}
	wait.Wait()
}

// decided is post where an answer that is not the verdict of the policies is an error.
func (n *neighbor) decided(ctx context.Context, deny bool) error {
	if !deny || len(n.denial) == 0 {
		return n.admitted(ctx, n.reviews[0].next())
	}
	answer, err := n.post(ctx, n.reviews[1].next())
	if err == nil && (isAllowed(answer) || !bytes.Contains(answer, n.denial)) {
		err = fmt.Errorf("%s was to deny, and answered %s", n.url, answer)
	}
	return err
}

// slowTeam sends objects, each to all its entries at the same time, as the API server does.
type slowTeam struct {
	name    string
	entries []*endpoint
	reviews *reviews
	// evaluated, busy and failed count the answers: verdicts, 429, and others.
	evaluated, busy, failed atomic.Int64
}

func (t *slowTeam) send(ctx context.Context) {
	body := t.reviews.next()
	var wait sync.WaitGroup
	for _, entry := range t.entries {
		wait.Go(func() {
			answer, err := entry.post(ctx, body)
			switch {
			case err != nil && (errors.Is(err, context.Canceled) || ctx.Err() != nil): // the end of the period
			case err != nil:
				t.failed.Add(1)
			case bytes.Contains(answer, fmt.Appendf(nil, `"code":%d`, http.StatusTooManyRequests)):
				t.busy.Add(1)
			default:
				t.evaluated.Add(1)
			}
		})
	}
	wait.Wait()
}

func (m *slowTeamMeasurement) report() {
	seconds := slowPeriodCount * slowPeriod.Seconds()
	for _, n := range m.neighbors {
		what := "neighbor of two slow teams: " + n.name
		m.keep(what+", before", n.quiet.Latencies)
		m.keep(what+", during", n.loaded.Latencies)
		limit := float64(neighborLimit)
		if n.name == nameEcho {
			limit = 0
		}
		p99 := func(s *steady) float64 { return milliseconds(s.Latencies.percentile(99)) }
		m.row(ratioRow(fmt.Sprintf("%s, %d CPUs, %d reviews/s: p50 / p99 / p99.9; the ratio is of p99 (reference: before)", what, slowCPUs, neighborRate),
			n.loaded.Latencies.percentiles(), n.quiet.Latencies.percentiles(), p99(&n.loaded), p99(&n.quiet), limit))
		failed := row{
			What: "… wrong or undecided answers", Lintel: fmt.Sprintf("%d of %d", n.loaded.Failed, len(n.loaded.Latencies)),
			Reference: fmt.Sprintf("%d (before)", n.quiet.Failed), Target: "0", Verdict: verdict(float64(n.loaded.Failed), 0),
		}
		if n.loaded.FirstFailure != "" {
			failed.Verdict += fmt.Sprintf(": %.300s", n.loaded.FirstFailure)
		}
		m.row(failed)
	}
	for _, t := range m.teams {
		m.row(row{
			What:   fmt.Sprintf("slow team %s, %d clients: evaluated, 429 and failed reviews a second", t.name, slowClients),
			Lintel: fmt.Sprintf("%.1f, %.1f, %.1f", float64(t.evaluated.Load())/seconds, float64(t.busy.Load())/seconds, float64(t.failed.Load())/seconds),
		})
	}
}
