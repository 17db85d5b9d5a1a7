package main

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
)

// measured are the patterns that were counted in other projects.
var measured = []string{"WhatIs", "Nobody", "IsNo", "Beside", "HasDo", "Told"}

var fence = regexp.MustCompile("(?ms)^[ ]*```.*?^[ ]*```[ ]*$")

// printCounts prints how often documents and comments use each measured pattern, for
// 10,000 words.
func printCounts(ctx context.Context, o options) error {
	words, counts, err := countBelow(ctx, o.vale, o.count)
	if err != nil {
		return err
	}
	fmt.Printf("%d words", words)
	for _, rule := range measured {
		fmt.Printf("  %s %.1f (%d)", rule, 10_000*float64(counts[rule])/float64(max(words, 1)), counts[rule])
	}
	fmt.Println()
	return nil
}

// countBelow returns the number of words below a folder, and of the findings of each rule.
func countBelow(ctx context.Context, vale, folder string) (words int, counts map[string]int, err error) {
	var names []string
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	all, err := extractAll(folder, names)
	if err != nil {
		return 0, nil, err
	}
	var texts []text
	for _, t := range all {
		if t.kind != messages {
			texts = append(texts, t)
			words += t.words()
		}
	}
	findings, err := check(ctx, vale, texts)
	if err != nil {
		return 0, nil, err
	}
	counts = map[string]int{}
	for _, f := range findings {
		counts[f.rule]++
	}
	return words, counts, nil
}

// words is the number of words of a text, without code.
func (t text) words() int {
	if t.markdown != nil {
		return len(strings.Fields(fence.ReplaceAllString(string(t.markdown), "")))
	}
	words := 0
	for _, p := range t.paragraphs {
		words += len(strings.Fields(p.line))
	}
	return words
}
