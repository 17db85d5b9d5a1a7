package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// endpoint is a webhook that is called without the API server.
type endpoint struct {
	url    string
	pid    int
	client *http.Client
}

// newEndpoint calls as the API server does: HTTP/2 over one persistent connection.
func newEndpoint(url string, pid int, authority []byte) (*endpoint, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("calling %s: no authority", url)
	}
	return &endpoint{url: url, pid: pid, client: &http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: roots},
			ForceAttemptHTTP2: true,
		},
	}}, nil
}

// anyCertificate is for asking whether a server of this machine is up.
var anyCertificate = &tls.Config{InsecureSkipVerify: true}

// post sends a review and returns the answer.
func (e *endpoint) post(ctx context.Context, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+"?timeout=10s", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, */*")
	response, err := e.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s answered %s: %s", e.url, response.Status, answer)
	case response.ProtoMajor != 2:
		return nil, fmt.Errorf("%s answered by %s, not HTTP/2", e.url, response.Proto)
	}
	return answer, nil
}

// admitted is post where anything but an admission without patch is an error.
func (e *endpoint) admitted(ctx context.Context, body []byte) error {
	answer, err := e.post(ctx, body)
	switch {
	case err != nil:
		return err
	case !bytes.Contains(answer, []byte(`"allowed":true`)) || bytes.Contains(answer, []byte(`"patch"`)) ||
		!bytes.Contains(answer, uidOf(body)):
		return fmt.Errorf("%s was to admit, and answered %s", e.url, answer)
	}
	return nil
}

// load is what a number of requests took.
type load struct {
	Latencies samples       `json:"latenciesMicros"`
	CPU       time.Duration `json:"cpuNanos"` // of the server process
}

func (l *load) add(other load) {
	l.Latencies = append(l.Latencies, other.Latencies...)
	l.CPU += other.CPU
}

// perRequest is the CPU of one request in milliseconds.
func (l *load) perRequest() float64 { return milliseconds(l.CPU) / float64(len(l.Latencies)) }

// closedLoop has clients that send one review after the other.
func (e *endpoint) closedLoop(ctx context.Context, reviews *reviews, clients, requests int) (load, error) {
	before, err := statOf(e.pid)
	if err != nil {
		return load{}, err
	}
	var wait sync.WaitGroup
	latencies, errs := make([]samples, clients), make([]error, clients)
	for c := range clients {
		wait.Go(func() {
			for range requests / clients {
				body := reviews.next()
				start := time.Now()
				if errs[c] = e.admitted(ctx, body); errs[c] != nil {
					return
				}
				latencies[c] = append(latencies[c], time.Since(start))
			}
		})
	}
	wait.Wait()
	after, err := statOf(e.pid)
	l := load{CPU: after.cpu - before.cpu}
	for _, s := range latencies {
		l.Latencies = append(l.Latencies, s...)
	}
	return l, errors.Join(append(errs, err)...)
}

// recordedName and the uid are what makes each review another one.
const recordedName = "bench-pod-0000000"

// reviews are copies of a recorded AdmissionReview, each of another Pod.
type reviews struct {
	recorded []byte
	uid      []byte
	count    atomic.Int64
}

func newReviews(recorded []byte) (*reviews, error) {
	r := &reviews{recorded: recorded, uid: uidOf(recorded)}
	if len(r.uid) != 36 || !bytes.Contains(recorded, []byte(recordedName)) {
		return nil, fmt.Errorf("not the review of a Pod named %s: %s", recordedName, recorded)
	}
	return r, nil
}

func (r *reviews) next() []byte {
	n := r.count.Add(1)
	body := bytes.ReplaceAll(r.recorded, r.uid, fmt.Appendf(nil, "00000000-0000-4000-8000-%012d", n))
	return bytes.ReplaceAll(body, []byte(recordedName), fmt.Appendf(nil, "bench-pod-%07d", n))
}

// directCase is a path of Lintel with a limit on its CPU, in CPU of the echo.
type directCase struct {
	what, path string
}

var allDirectCases = []directCase{{"validate", "/validate/fail"}, {"mutate", "/mutate/fail"}}

// measureDirect compares Lintel's paths with the echo, in blocks that take turns.
func (b *bench) measureDirect(ctx context.Context, policies string, limit float64) error {
	const warmUp, rounds, block = 300, 8, 300
	endpoints := []*endpoint{b.echo}
	for _, c := range allDirectCases {
		endpoints = append(endpoints, b.lintel(c.path))
	}
	for _, e := range endpoints {
		if _, err := e.closedLoop(ctx, b.reviews, 4, warmUp); err != nil {
			return err
		}
	}
	for _, clients := range []int{1, 4} {
		loads := make([]load, len(endpoints))
		for round := range rounds {
			for i := range endpoints {
				i = (i + round) % len(endpoints)
				l, err := endpoints[i].closedLoop(ctx, b.reviews, clients, block)
				if err != nil {
					return err
				}
				loads[i].add(l)
			}
		}
		reference := &loads[0]
		b.keep(fmt.Sprintf("direct, %s, %d clients, echo", policies, clients), reference)
		for i, c := range allDirectCases {
			l := &loads[i+1]
			what := fmt.Sprintf("direct, %s, %s, %s", policies, c.what, plural(clients, "client"))
			b.keep(what, l)
			b.row(ratioRow("CPU per request: "+what, fmt.Sprintf("%.3f ms", l.perRequest()),
				fmt.Sprintf("%.3f ms", reference.perRequest()), l.perRequest(), reference.perRequest(), limit))
			b.row(ratioRow("p50 / p99 / p99.9: "+what, l.Latencies.percentiles(), reference.Latencies.percentiles(),
				milliseconds(l.Latencies.percentile(50)), milliseconds(reference.Latencies.percentile(50)), 0))
		}
	}
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
