package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

const ceilingsFile = ".tools/vale/ceilings.json"

// ceilings are the numbers of findings that are accepted. A kind without one has none.
type ceilings map[kind]int

func readCeilings(file string) (ceilings, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	limits := ceilings{}
	if err := json.Unmarshal(content, &limits); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return limits, nil
}

// lower are the ceilings without room above the counts. None of them rises.
func (c ceilings) lower(counts map[kind]int) ceilings {
	lowered := ceilings{}
	for k, limit := range c {
		lowered[k] = min(limit, counts[k])
	}
	return lowered
}

func (c ceilings) write(file string) error {
	content, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(content, '\n'), 0o644)
}

// ranges are lines of files. A file without lines has all of them.
type ranges map[string][][2]int

func (r ranges) contains(file string, line int) bool {
	if r == nil {
		return true
	}
	lines, listed := r[file]
	for _, span := range lines {
		if span[0] <= line && line <= span[1] {
			return true
		}
	}
	return listed && lines == nil
}

var hunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// addedLines are the lines that are new since the ceilings were last written. Without a
// commit that wrote them, each line is new.
func addedLines(ctx context.Context) (ranges, error) {
	base, err := git(ctx, "log", "-1", "--format=%H", "--", ceilingsFile)
	if err != nil || strings.TrimSpace(base) == "" {
		return nil, err
	}
	diff, err := git(ctx, "diff", "--unified=0", "--find-renames", "--no-ext-diff", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", strings.TrimSpace(base))
	if err != nil {
		return nil, err
	}
	added := ranges{}
	file := ""
	for line := range strings.SplitSeq(diff, "\n") {
		if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			file = name
		}
		if match := hunk.FindStringSubmatch(line); match != nil {
			first, _ := strconv.Atoi(match[1])
			count := 1
			if match[2] != "" {
				count, _ = strconv.Atoi(match[2])
			}
			added[file] = append(added[file], [2]int{first, first + count - 1})
		}
	}
	untracked, err := git(ctx, "ls-files", "--others", "--exclude-standard")
	for name := range strings.SplitSeq(untracked, "\n") {
		added[name] = nil
	}
	return added, err
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("running git %s: %w", args[0], err)
	}
	return string(out), nil
}
