package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// runFuzz fuzzes each target of the main module: go test takes one at a time.
func (r *runner) runFuzz(ctx context.Context, st step, log io.Writer) (tally, error) {
	var all tally
	var failed []error
	for _, file := range slices.Sorted(maps.Keys(r.before.files)) {
		if !strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "test/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(r.checkout.root, file))
		if err != nil {
			return all, fmt.Errorf("looking for fuzz targets: %w", err)
		}
		for _, match := range fuzzTarget.FindAllStringSubmatch(string(text), -1) {
			if ctx.Err() != nil {
				return all, errors.Join(append(failed, ctx.Err())...)
			}
			cmd := command("go", "test", "-json", "-run=^$", "-fuzz=^"+match[1]+"$", "-fuzztime="+st.fuzz, "-timeout="+st.timeout.String(), "./"+filepath.Dir(file))
			cmd.Dir, cmd.Env = r.checkout.root, r.environment(st)
			counted, err := r.follow(ctx, cmd, nil, log)
			all.add(counted)
			failed = append(failed, err)
		}
	}
	return all, errors.Join(failed...)
}
