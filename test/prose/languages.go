package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// extractGo returns the comments of a Go file, and the messages of one of the product.
func extractGo(name string, content []byte) ([]text, error) {
	if generated.Match(content) {
		return nil, nil
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parsing %s: %w", name, err)
	}
	lineOf := func(pos token.Pos) int { return files.Position(pos).Line }
	found := text{file: name, kind: comments}
	for _, group := range parsed.Comments {
		var lines []string
		for _, comment := range group.List {
			body := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(comment.Text, "//"), "/*"), "*/")
			for line := range strings.SplitSeq(body, "\n") {
				lines = append(lines, strings.TrimPrefix(line, " "))
			}
		}
		found.paragraphs = append(found.paragraphs, withProse(ofComment(lines, lineOf(group.Pos())))...)
	}
	if !isProduct(name) {
		return []text{found}, nil
	}
	said := text{file: name, kind: messages}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			x.Tag = nil
		case *ast.BasicLit:
			if value, err := strconv.Unquote(x.Value); err == nil && x.Kind == token.STRING {
				said.paragraphs = append(said.paragraphs, withProse(literal(value, lineOf(x.Pos()), x.Value[0] == '`'))...)
			}
		}
		return true
	})
	return []text{found, said}, nil
}

var quoted = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`")

// extractRego returns the comments of a Rego file, and the messages of one of the product.
func extractRego(name string, content []byte) ([]text, error) {
	found, said := text{file: name, kind: comments}, text{file: name, kind: messages}
	var comment []string
	lines := strings.Split(string(content), "\n")
	for i, line := range append(lines, "") {
		if words, ok := strings.CutPrefix(strings.TrimSpace(line), "#"); ok {
			comment = append(comment, strings.TrimPrefix(words, " "))
			continue
		}
		found.paragraphs = append(found.paragraphs, withProse(ofComment(comment, i+1-len(comment)))...)
		comment = nil
		for _, value := range quoted.FindAllString(line, -1) {
			said.paragraphs = append(said.paragraphs, withProse(literal(value[1:len(value)-1], i+1, false))...)
		}
	}
	if !isProduct(name) {
		return []text{found}, nil
	}
	return []text{found, said}, nil
}
