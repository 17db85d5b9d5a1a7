package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// finding is a place that breaks a rule of the style.
type finding struct {
	kind    kind
	file    string
	line    int
	rule    string // without the name of the style
	message string
}

// alert is a finding as Vale prints it. Span has the first and the last character, from 1.
type alert struct {
	Check, Message string
	Line           int
	Span           [2]int
}

// check runs Vale once over all texts. The findings are in the order of files and lines.
func check(ctx context.Context, vale string, texts []text) ([]finding, error) {
	folder, err := os.MkdirTemp("", "prose")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	byPath := map[string]text{}
	for i, t := range texts {
		path := fmt.Sprintf("%d.md", i)
		content := t.markdown
		if content == nil {
			if len(t.paragraphs) == 0 {
				continue
			}
			path, content = fmt.Sprintf("%d.txt", i), lines(t.paragraphs)
		}
		if err := os.WriteFile(filepath.Join(folder, path), content, 0o600); err != nil {
			return nil, err
		}
		byPath[path] = t
	}
	alerts, err := alertsBelow(ctx, vale, folder)
	if err != nil {
		return nil, err
	}
	var found []finding
	for path, all := range alerts {
		t := byPath[filepath.Base(path)]
		for _, a := range all {
			found = append(found, finding{t.kind, t.file, t.lineOf(a), strings.TrimPrefix(a.Check, "Lintel."), a.Message})
		}
	}
	slices.SortFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.message, b.message))
	})
	return found, nil
}

// lines are the paragraphs for Vale: the paragraph i is on line 2i+1.
func lines(paragraphs []paragraph) []byte {
	var b bytes.Buffer
	for _, p := range paragraphs {
		b.WriteString(p.line + "\n\n")
	}
	return b.Bytes()
}

// lineOf is the line of the file that an alert is on.
func (t text) lineOf(a alert) int {
	if t.markdown != nil {
		return a.Line
	}
	i := min(max(a.Line-1, 0)/2, len(t.paragraphs)-1)
	return t.paragraphs[i].lineAt(a.Span[0] - 1)
}

func alertsBelow(ctx context.Context, vale, folder string) (map[string][]alert, error) {
	vale, err := filepath.Abs(vale)
	if err != nil {
		return nil, err
	}
	config, err := filepath.Abs(".vale.ini")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, vale, "--config", config, "--no-global", "--no-exit", "--output", "JSON", ".")
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("running Vale: %w: %s", err, out)
	}
	var alerts map[string][]alert
	if err := json.Unmarshal(out, &alerts); err != nil {
		return nil, fmt.Errorf("reading the output of Vale: %w: %s", err, out)
	}
	return alerts, nil
}
