package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// busyProcesses are next to the API server and the manager, and use all CPU time that they get.
	busyProcesses = 16
	busyClients   = 16
	// busyReviews are of objects that are created; one of eight is to be denied.
	busyReviews = 10_000
)

// measureBusy counts the wrong and undecided reviews on a machine that others keep busy.
func (b *bench) measureBusy(ctx context.Context) (err error) {
	say("measuring next to %d busy processes …", busyProcesses)
	if err := b.applySamples(ctx); err != nil {
		return err
	}
	if err := b.checkDecisions(ctx); err != nil {
		return err
	}
	var children []*child
	defer func() {
		for _, c := range children {
			c.stop()
		}
	}()
	for i := range busyProcesses {
		c, err := startChild(b.folder, fmt.Sprint("busy-", i), "/bin/sh", nil, []string{"-c", "while :; do :; done"})
		if err != nil {
			return err
		}
		children = append(children, c)
	}
	m := b.createAll(ctx)
	b.keep("creation next to busy processes", m.latencies)
	b.row(row{
		What:   fmt.Sprintf("Pods created next to %d busy processes, %d clients: wrong and undecided", busyProcesses, busyClients),
		Lintel: fmt.Sprintf("%d and %d of %d", m.wrong, m.undecided, len(m.latencies)), Target: "0",
		Verdict: verdict(float64(m.wrong+m.undecided), 0),
	})
	b.row(row{What: "… p50 / p99 / p99.9", Lintel: m.latencies.percentiles()})
	if m.first != "" {
		say("the first of them: %s", m.first)
	}
	return b.deleteSources(ctx, samplesSource)
}

// busyCreation is what the API server answered.
type busyCreation struct {
	mutex            sync.Mutex
	latencies        samples
	wrong, undecided int
	first            string // of the answers that are wrong or undecided
}

func (b *bench) createAll(ctx context.Context) *busyCreation {
	m := &busyCreation{}
	numbers := make(chan int)
	var clients sync.WaitGroup
	for range busyClients {
		clients.Go(func() {
			for i := range numbers {
				m.create(ctx, b, i)
			}
		})
	}
	for i := range busyReviews {
		numbers <- i
	}
	close(numbers)
	clients.Wait()
	return m
}

func (m *busyCreation) create(ctx context.Context, b *bench, i int) {
	p, deny := pod(fmt.Sprint("busy-", i)), i%8 == 7
	if deny {
		p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
	}
	start := time.Now()
	_, err := b.clientset.CoreV1().Pods(namespaceLintel).Create(ctx, p, dryRun)
	took := time.Since(start)
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.latencies = append(m.latencies, took)
	isVerdict := err == nil || apierrors.IsForbidden(err)
	switch {
	case !isVerdict:
		m.undecided++
	case deny != (err != nil && strings.Contains(err.Error(), "samples.privileged deny")):
		m.wrong++
	default:
		return
	}
	if m.first == "" {
		m.first = fmt.Sprint(p.Name, ": ", err)
	}
}
