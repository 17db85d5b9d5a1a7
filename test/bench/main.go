// Command bench measures Lintel on a real control plane, side by side with other
// engines and with a webhook that decodes nothing and admits everything, and prints one
// table.
//
//	go run -C test/bench .
//	go run -C test/bench . --only unmatched,samples
//	go run -C test/bench . --only library --library FOLDER
//	go run -C test/bench . --write 2026-11-20   # and keep it in docs/benchmarks
//
// Contenders are measured in turns, in one run: on a shared machine only ratios are meaningful.
// A target that is missed is a row like the others, and no error; an answer that is not the
// expected one ends the run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "echo" {
		exit(runEcho(os.Args[2]))
	}
	name := flag.String("write", "", "write docs/benchmarks/`name`.json, name.md and, of the part peers, name.svg")
	only := flag.String("only", "", "measure only these `parts`: "+strings.Join(partNames(), ", "))
	folder := flag.String("library", "", "measure the parts library and audit on the templates of this `folder`, a checkout of gatekeeper-library")
	objects := flag.Int("audit-objects", 2000, "`number` of Pods of the part audit; the targets are for 50000")
	records := flag.Int("replay-records", replayRecords, "`number` of records of the part replay; the targets are for the default")
	flag.Parse()
	chosen, err := choose(*only, *folder)
	if err != nil {
		exit(err)
	}
	var public *publicLibrary
	if *folder != "" {
		if public, err = readPublicLibrary(*folder); err != nil {
			exit(err)
		}
	} else if *only == "" {
		say("%s", needsLibrary)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit(run(ctx, chosen, options{public: public, library: *folder, auditObjects: *objects, replayRecords: *records}, *name))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// part is a measurement that can run by itself.
type part struct {
	name    string
	measure func(*bench, context.Context) error
}

var allParts = []part{
	{"memory", (*bench).measureMemory},
	{"unmatched", (*bench).measureWithoutMatch},
	{"samples", (*bench).measureWithSamples},
	{"swaps", (*bench).measureSwaps},
	{"pushes", (*bench).measurePushes},
	{"hostile", (*bench).measureHostile},
	{"neighbors", (*bench).measureNeighbors},
	{"busy", (*bench).measureBusy},
	{"peers", (*bench).measurePeers},
	{partLibrary, (*bench).measureLibrary},
	{partAudit, (*bench).measureAudit},
	{"replay", (*bench).measureReplay},
	// These take the place of the manager that the others measure.
	{"orloj", (*bench).measureOrloj},
	{"openvox", (*bench).measureOpenVox},
}

func partNames() []string {
	var names []string
	for _, p := range allParts {
		names = append(names, p.name)
	}
	return names
}

// choose reads the flag --only: none is all. folder is that of --library.
func choose(only, folder string) ([]part, error) {
	if only == "" {
		return allParts, nil
	}
	names := strings.Split(only, ",")
	switch named := slices.Contains(names, partLibrary); {
	case named && folder == "":
		return nil, errors.New(needsLibrary)
	case !named && !slices.Contains(names, partAudit) && folder != "":
		return nil, fmt.Errorf("--library is for the parts %s and %s, which --only leaves out: add one there, or remove --library", partLibrary, partAudit)
	}
	var chosen []part
	for _, name := range names {
		i := slices.Index(partNames(), name)
		if i < 0 {
			return nil, fmt.Errorf("--only names %q, which is not one of %s", name, strings.Join(partNames(), ", "))
		}
		chosen = append(chosen, allParts[i])
	}
	return chosen, nil
}

// options are the flags that parts read.
type options struct {
	public        *publicLibrary // nil without --library
	library       string         // the folder of --library
	auditObjects  int
	replayRecords int
}

func run(ctx context.Context, chosen []part, o options, name string) (err error) {
	b, err := start(ctx)
	if err != nil {
		return err
	}
	b.public, b.libraryFolder, b.auditObjects, b.replayRecords = o.public, o.library, o.auditObjects, o.replayRecords
	defer func() {
		if stopErr := b.stop(); err == nil {
			err = stopErr
		}
	}()
	for _, p := range chosen {
		if err := p.measure(b, ctx); err != nil {
			// The results up to the error are printed as well.
			return errors.Join(err, b.result.print(os.Stdout))
		}
	}
	if err := b.result.print(os.Stdout); err != nil || name == "" {
		return err
	}
	return b.result.write(name)
}

// measureWithoutMatch: policies are served, but none is about Pods.
func (b *bench) measureWithoutMatch(ctx context.Context) error {
	say("measuring without a matching policy …")
	if err := b.applyUnmatched(ctx); err != nil {
		return err
	}
	if err := b.measureDirect(ctx, "no matching policy", 2); err != nil {
		return err
	}
	return b.deleteSources(ctx, unmatchedSource)
}

// measureWithSamples: the policies of config/samples, directly and as users meet them.
func (b *bench) measureWithSamples(ctx context.Context) error {
	say("measuring with the ten sample policies …")
	if err := b.applySamples(ctx); err != nil {
		return err
	}
	if err := b.registerEcho(ctx); err != nil {
		return err
	}
	if err := b.checkDecisions(ctx); err != nil {
		return err
	}
	if err := b.measureDirect(ctx, "ten policies", 10); err != nil {
		return err
	}
	if err := b.residentAfterLoad(); err != nil {
		return err
	}
	if err := b.measureCreate(ctx); err != nil {
		return err
	}
	if err := b.unregisterEcho(ctx); err != nil {
		return err
	}
	return b.deleteSources(ctx, samplesSource)
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
