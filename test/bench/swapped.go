package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// compareSwapped: a constraint is changed ten times a second while Pods are reviewed.
func (p *peers) compareSwapped(ctx context.Context) error {
	const name, interval = "repos-retired", 100 * time.Millisecond
	constraints := p.library.matching(usual)
	changed := p.library.named([]string{name})[0]
	revision := func(n int) constraint {
		c := changed
		c.parameters = map[string]any{"repos": []any{"old-registry.example.com/", fmt.Sprintf("retired-%d.example.com/", n)}}
		return c
	}
	load := pace{rate: 10, turns: 1, length: 8 * time.Second}
	for _, each := range []struct {
		contender *contender
		change    func(context.Context, int) error
	}{
		{p.lintelAt("/validate/fail"), func(ctx context.Context, n int) error {
			next := append([]constraint(nil), constraints...)
			for i := range next {
				if next[i].name == name {
					next[i] = revision(n)
				}
			}
			files, err := p.library.files(next)
			if err != nil {
				return err
			}
			return p.merge(ctx, map[string]any{"spec": map[string]any{"inline": map[string]any{"files": files}}})
		}},
		{p.gatekeeperAt("/v1/admit"), func(ctx context.Context, n int) error {
			patch, err := json.Marshal(map[string]any{"spec": map[string]any{"parameters": revision(n).parameters}})
			if err != nil {
				return err
			}
			_, err = p.dynamic.Resource(constraintResource(changed.kind)).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		}},
	} {
		quiet, err := p.compare(ctx, "unique Pods, policies left alone", usual, p.workloads.unique, load, []*contender{each.contender})
		if err != nil {
			return err
		}
		swapping, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		changes := 0
		go func() {
			done <- everyInterval(swapping, interval, func(n int) error { changes++; return each.change(ctx, n) })
		}()
		swapped, err := p.compare(ctx, "unique Pods, a policy changed ten times a second", usual, p.workloads.unique, load, []*contender{each.contender})
		cancel()
		if err := errors.Join(err, <-done); err != nil {
			return err
		}
		p.percentileRow(fmt.Sprintf("45 matching, 10 reviews a second, %d changes of a policy, %s", changes, each.contender.name), 99,
			swapped.Contenders[0], named(quiet.Contenders[0], "left alone"), 0)
	}
	return nil
}

// merge patches the source of the constraints.
func (p *peers) merge(ctx context.Context, patch map[string]any) error {
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = p.dynamic.Resource(policySources).Patch(ctx, peersSource, types.MergePatchType, text, metav1.PatchOptions{})
	return err
}

// everyInterval calls until ctx ends; a call that takes longer delays the next.
func everyInterval(ctx context.Context, interval time.Duration, call func(n int) error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := call(n); err != nil {
				return err
			}
		}
	}
}

// named is a measurement, under the name for a row.
func named(m *measured, name string) *measured {
	copied := *m
	copied.name = name
	return &copied
}
