// Command prose checks the language of documents, comments and messages with Vale and the
// style of .tools/vale. It reads Markdown, the comments of Go and Rego, and the texts in
// string literals of both, and prints each finding with its file, line and replacement.
//
// Documents have no findings. Each other kind has a ceiling, which may only fall.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.vale, "vale", ".cluster/vale", "path of Vale")
	flag.BoolVar(&o.all, "all", false, "print every finding, not only new ones of kinds that exceed their ceiling")
	flag.BoolVar(&o.lower, "lower", false, "lower the ceilings to the number of findings")
	flag.StringVar(&o.count, "count", "", "print how often the documents and comments below this folder use each measured pattern")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

type options struct {
	vale, count string
	all, lower  bool
}

func run(ctx context.Context, o options) error {
	if o.count != "" {
		return printCounts(ctx, o)
	}
	names, err := versioned(ctx)
	if err != nil {
		return err
	}
	texts, err := extractAll(".", names)
	if err != nil {
		return err
	}
	findings, err := check(ctx, o.vale, texts)
	if err != nil {
		return err
	}
	return compareFindings(ctx, o, findings)
}

// compareFindings compares the findings of each kind with its ceiling.
func compareFindings(ctx context.Context, o options, findings []finding) error {
	limits, err := readCeilings(ceilingsFile)
	if err != nil {
		return err
	}
	counts := map[kind]int{}
	for _, f := range findings {
		counts[f.kind]++
	}
	var exceeded []kind
	for _, k := range allKinds {
		fmt.Fprintf(os.Stderr, "prose: %d findings in %s (ceiling: %d)\n", counts[k], k, limits[k])
		if counts[k] > limits[k] {
			exceeded = append(exceeded, k)
		}
	}
	if o.lower {
		return limits.lower(counts).write(ceilingsFile)
	}
	added, err := addedLines(ctx)
	if err != nil {
		return err
	}
	for _, f := range findings {
		if o.all || slices.Contains(exceeded, f.kind) && (limits[f.kind] == 0 || added.contains(f.file, f.line)) {
			fmt.Printf("%s:%d: %s [%s]\n", f.file, f.line, f.message, f.rule)
		}
	}
	if len(exceeded) > 0 {
		return fmt.Errorf("too many findings in %s: rewrite the sentences above as shared/style.md and .tools/vale/styles say", joined(exceeded))
	}
	return nil
}

func joined(ks []kind) string {
	var names []string
	for _, k := range ks {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}
