package reference

import (
	"fmt"
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// catalogues are the pages of messages: where their code is.
var catalogues = []struct {
	page, title, introduction string
	rego, code                []string
}{
	{"openclaw", "Messages of OpenClaw", "The built-in rules for OpenClaw objects deny with these messages.", []string{"policies/rules/openclaw"}, nil},
	{"openvox", "Messages of OpenVox", "The built-in rules for OpenVox objects deny with these messages.", []string{"policies/rules/openvox"}, nil},
	{"orloj", "Messages of Orloj", "The built-in rules for Orloj objects deny with these messages.", []string{"policies/rules/orloj"}, nil},
	{"openzro", "Messages of openZro", "The built-in rules for openZro objects deny with these messages.", []string{"policies/rules/openzro"}, nil},
	{"zopp", "Messages of zopp", "The built-in rules for zopp objects deny with these messages.", []string{"policies/rules/zopp"}, nil},
	{"controlled-objects", "Messages about controlled objects", "The rules for objects that a controller keeps deny with these messages.", []string{"policies/rules/controlled"}, nil},
	{"policies", "Messages about policies", "A policy that cannot be compiled, or whose evaluation fails, is reported with these messages.", nil,
		[]string{"policies/definition", "policies/engine", "policies/policyset", "policies/bounds", "policies/source", "policies/scope", "policies/gatekeeper", "webhooks"}},
	{"command-line", "Messages of the command line", "The command `lintel` ends with these messages.", nil, []string{"cmd/lintel"}},
	{"programs", "Messages of the programs", "The manager, and the programs of Puppet servers, end with these messages.", nil,
		[]string{"cmd/manager", "cmd/openvox-autosign", "cmd/openvox-ca-setup", "cmd/openvox-enc", "cmd/openvox-report"}},
}

// addErrors adds the catalogue of messages, a page for each part of Lintel.
func (p pages) addErrors(t *testing.T) {
	var rows [][]string
	for _, c := range catalogues {
		byFile := map[string][]string{}
		for _, folder := range c.rego {
			regoMessages(t, folder, byFile)
		}
		for _, s := range sources(t, c.code...) {
			if found := goMessages(s.file); len(found) > 0 {
				byFile[s.path] = found
			}
		}
		require.NotEmpty(t, byFile, "%s has no messages", c.page)
		var sections []section
		for _, file := range slices.Sorted(maps.Keys(byFile)) {
			for i, part := range inParts(byFile[file]) {
				heading := fmt.Sprintf("`%s`", file)
				if i > 0 {
					heading += fmt.Sprintf(", part %d", i+1)
				}
				sections = append(sections, section{file, fmt.Sprintf("## %s\n\n%s", heading, part)})
			}
		}
		p.add(t, "errors/"+c.page+".md", c.title, "the messages in the code", c.introduction+" `…` is a value.", sections)
		rows = append(rows, []string{fmt.Sprintf("[%s](%s.md)", c.title, c.page), cell(c.introduction)})
	}
	p.add(t, "errors/index.md", "Messages", "the messages in the code",
		"Search this site for a part of a message. Each page lists messages by the file that they are in.",
		[]section{{text: table([]string{"Page", "Messages"}, rows)}})
}

// inParts are lists of messages, none of which is too large for a page.
func inParts(messages []string) (parts []string) {
	list := ""
	for _, message := range messages {
		line := "- " + code(message) + "\n"
		if len(list)+len(line) > limit-1500 {
			parts, list = append(parts, list), ""
		}
		list += line
	}
	return append(parts, list)
}

var (
	verb   = regexp.MustCompile(`%[-+#0 ]*[0-9]*(?:\.[0-9]+)?[a-zA-Z]`)
	quoted = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`")
)

// message is a text with … for its values. A text of fewer than three words is none.
func message(text string) (string, bool) {
	text = strings.ReplaceAll(verb.ReplaceAllString(text, "…"), "%%", "%")
	words := 0
	for _, field := range strings.Fields(text) {
		if strings.IndexFunc(field, func(r rune) bool { return r >= 'a' && r <= 'z' }) >= 0 {
			words++
		}
	}
	return strings.Join(strings.Fields(text), " "), words >= 3
}

// creators are the functions that create errors and findings, with the number of the
// argument that is the message.
var creators = map[string]int{"Errorf": 0, "New": 0, "Sprintf": 0, "denied": 0, "report": 0}

// goMessages are the messages of the errors that a file creates.
func goMessages(file *ast.File) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		position, ok := creators[name(call.Fun)]
		if !ok || len(call.Args) <= position {
			return true
		}
		if words, ok := text(call.Args[position]); ok {
			if m, ok := message(words); ok && !slices.Contains(found, m) {
				found = append(found, m)
			}
		}
		return true
	})
	return found
}

// regoMessages adds the messages of the rules below a folder.
func regoMessages(t *testing.T, folder string, byFile map[string][]string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".rego") || strings.HasSuffix(path, "_test.rego") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, path)
		file = filepath.ToSlash(file)
		for line := range strings.SplitSeq(string(content), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			for _, value := range quoted.FindAllString(line, -1) {
				if m, ok := message(strings.ReplaceAll(value[1:len(value)-1], `\"`, `"`)); ok && !slices.Contains(byFile[file], m) {
					byFile[file] = append(byFile[file], m)
				}
			}
		}
		return err
	}))
}
