package main

import (
	"context"
	"fmt"
	"time"
)

const (
	residentLimit = 80 << 20
	// residentSettle is how long the manager is left alone: Go gives memory back in
	// the background, at about one percent of a CPU.
	residentSettle = 12 * time.Second
)

// measureMemory reads the resident memory of a manager that nobody calls, before it
// has any policies and with the samples.
func (b *bench) measureMemory(ctx context.Context) error {
	say("measuring idle memory …")
	if err := b.residentIdle(ctx, "no policies"); err != nil {
		return err
	}
	if err := b.applySamples(ctx); err != nil {
		return err
	}
	if err := b.residentIdle(ctx, "ten policies"); err != nil {
		return err
	}
	return b.deleteSources(ctx, samplesSource)
}

func (b *bench) residentIdle(ctx context.Context, policies string) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(residentSettle):
	}
	bytes, err := residentOf(b.managerPID)
	if err != nil {
		return err
	}
	b.row(row{
		What: "resident memory, idle, " + policies, Lintel: mebibytes(bytes),
		Target: "< 80 MiB", Verdict: verdict(float64(bytes), residentLimit),
	})
	return nil
}

// residentAfterLoad is for information.
func (b *bench) residentAfterLoad() error {
	lintel, err := residentOf(b.managerPID)
	if err != nil {
		return err
	}
	echo, err := residentOf(b.echo.pid)
	if err != nil {
		return err
	}
	b.row(ratioRow("resident memory right after the direct calls, ten policies", mebibytes(lintel), mebibytes(echo), float64(lintel), float64(echo), 0))
	return nil
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
