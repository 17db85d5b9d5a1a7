package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// kind is a group of texts with a ceiling of its own.
type kind string

const (
	documents      kind = "documents"
	otherDocuments kind = "other documents"
	comments       kind = "comments"
	messages       kind = "messages"
)

var allKinds = []kind{documents, otherDocuments, comments, messages}

// text is the prose of one file. Markdown is checked as it is. Other prose is divided into
// paragraphs, each of which Vale reads as one line.
type text struct {
	file       string
	kind       kind
	markdown   []byte
	paragraphs []paragraph
}

// paragraph is a line for Vale, and where its parts are in the file.
type paragraph struct {
	line  string
	parts []part
}

// part begins at a character of a paragraph and is on a line of the file.
type part struct{ offset, line int }

// add appends words that are on a line of the file.
func (p *paragraph) add(words string, line int) {
	if p.line != "" {
		p.line += " "
	}
	p.parts = append(p.parts, part{utf8.RuneCountInString(p.line), line})
	p.line += words
}

// lineAt is the line of the file that has the character at an offset.
func (p *paragraph) lineAt(offset int) int {
	line := 0
	for _, part := range p.parts {
		if part.offset <= offset {
			line = part.line
		}
	}
	return line
}

// versioned are the files that are under version control or about to be.
func versioned(ctx context.Context) ([]string, error) {
	out, err := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return nil, fmt.Errorf("listing files: %w", err)
	}
	return strings.Split(strings.TrimRight(string(out), "\x00"), "\x00"), nil
}

var (
	generated   = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	writtenDocs = []byte("<!-- Written by make generate")
	// foreign are files of other authors, or with prose that is wrong on purpose.
	foreign = regexp.MustCompile(`(^|/)(testdata|vendor|node_modules|third_party|\.git)/`)
)

// extractAll reads the prose of files below a folder. Files that are deleted are left out.
func extractAll(root string, names []string) ([]text, error) {
	var texts []text
	for _, name := range names {
		if foreign.MatchString(name) {
			continue
		}
		extract, ok := map[string]func(string, []byte) ([]text, error){".md": extractMarkdown, ".go": extractGo, ".rego": extractRego}[filepath.Ext(name)]
		if !ok {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found, err := extract(name, content)
		if err != nil {
			return nil, err
		}
		texts = append(texts, found...)
	}
	return texts, nil
}

// extractMarkdown returns a page, unless it is generated from texts that are checked
// themselves.
func extractMarkdown(name string, content []byte) ([]text, error) {
	if bytes.Contains(content, writtenDocs) {
		return nil, nil
	}
	k := otherDocuments
	if strings.Count(name, "/") >= 2 && strings.HasPrefix(name, "docs/") && !strings.HasPrefix(name, "docs/benchmarks/") || name == "docs/index.md" {
		k = documents
	}
	return []text{{file: name, kind: k, markdown: content}}, nil
}

// isProduct reports whether a file is part of the product, and not of tests or tools.
func isProduct(name string) bool {
	room, _, _ := strings.Cut(name, "/")
	switch room {
	case "api", "cmd", "controllers", "policies", "webhooks":
		return !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, "_test.rego")
	}
	return false
}

// isProse reports whether a string literal has at least three words.
func isProse(s string) bool {
	words := 0
	for _, field := range strings.Fields(s) {
		if len(field) > 1 && strings.IndexFunc(field, func(r rune) bool { return r >= 'a' && r <= 'z' }) >= 0 {
			words++
		}
	}
	return words >= 3
}

// literal divides a string literal, which begins on a line, into its paragraphs.
func literal(value string, line int, isRaw bool) (found []paragraph) {
	var p paragraph
	for i, words := range strings.Split(value, "\n") {
		at := line
		if isRaw {
			at += i
		}
		if strings.TrimSpace(words) == "" {
			found, p = append(found, p), paragraph{}
			continue
		}
		p.add(strings.TrimSpace(words), at)
	}
	return append(found, p)
}

// withProse are the paragraphs that are prose.
func withProse(all []paragraph) (found []paragraph) {
	for _, p := range all {
		if isProse(p.line) {
			found = append(found, p)
		}
	}
	return found
}

// ofComment divides the lines of a comment into paragraphs. Directives and code are left out.
func ofComment(lines []string, first int) (found []paragraph) {
	var p paragraph
	end := func() { found, p = append(found, p), paragraph{} }
	for i, line := range lines {
		words := strings.TrimSpace(line)
		isCode := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, " \t")
		if words == "" || isCode || strings.HasPrefix(words, "+") || directive.MatchString(line) {
			end()
			continue
		}
		if item.MatchString(words) {
			end()
		}
		p.add(words, first+i)
	}
	end()
	return found
}

var (
	directive = regexp.MustCompile(`^(go|nolint|lint|line|export|extern):?\S|^(nolint|nosec)\b`)
	item      = regexp.MustCompile(`^(- |\* |\d+\. )`)
)
