package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	root  = "../.."
	style = ".tools/vale/styles/Lintel"
)

// TestMain runs the tests at the root of the repository, where the configuration of Vale is.
func TestMain(m *testing.M) {
	if err := os.Chdir(root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// pinned builds the pinned Vale, which is a link of cached packages after the first time.
func pinned(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(".cluster/vale")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	cmd := exec.CommandContext(t.Context(), "go", "build", "-C", ".tools/vale", "-o", path, "github.com/vale-cli/vale/v3/cmd/vale")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// examples are sentences for each rule: the rule finds the first ones, and no rule finds
// the others.
var examples = map[string]struct{ bad, good []string }{
	"WhatIs": {
		[]string{"It stores what is read.", "Delete what it could not store.", "What is missing is created.", "What they have stays."},
		[]string{"It stores the data that it reads.", "What is a policy?", "Which policies match, and what do they decide?", "See what the policy reads."},
	},
	"Nobody": {
		[]string{"Nobody may call it.", "Ask somebody else.", "Whoever signs it is trusted.", "It is nobody's."},
		[]string{"No user may call the server.", "Any user who signs the request is trusted."},
	},
	"Who": {
		[]string{"Who may write it may read it.", "Say who has the key, and who is to have it."},
		[]string{"Who may sign?", "A user who may write the object may read it."},
	},
	"IsNo": {
		[]string{"It is no address.", "The name is none of the list."},
		[]string{"There is no Secret.", "The Pod is no longer ready.", "The value is not one of the list."},
	},
	"Beside": {
		[]string{"It runs beside the manager.", "Besides, it logs."},
		[]string{"It runs next to the manager."},
	},
	"HasDo": {
		[]string{"It has the CA sign the request.", "The controller has its CA set up.", "This makes it be there."},
		[]string{"The controller creates the CA.", "The manager has the permission to write.", "The Secret has been created.", "It has a name."},
	},
	"Told": {
		[]string{"The user is told why.", "The page tells of errors."},
		[]string{"The status reports why."},
	},
	"Tells": {
		[]string{"The status tells why.", "The log says which.", "The user was, in short, told why."},
		[]string{"The condition reports the reason.", "The policy says which names are valid."},
	},
	"Pair": {
		[]string{"It replaces the pair.", "Create a pair of keys."},
		[]string{"It replaces the key pair.", "The pair of names is unique."},
	},
	"Stands": {
		[]string{"It stands in the status.", "The error has its place."},
		[]string{"The field is in the status.", "CA stands for certification authority."},
	},
	"Words": {
		[]string{"It starts anew.", "It is deleted at once.", "It is not used any more.", "The webhook judges objects.", "Ask the policies.", "Every rule is asked."},
		[]string{"It starts again, immediately.", "No more than ten, and nothing else.", "Each policy is evaluated."},
	},
	"Objects": {
		[]string{"The Secret is made.", "It waits until it goes.", "Pods are kept."},
		[]string{"The Secret is created.", "The image is made of layers.", "It goes to the server."},
	},
	"Genitive": {
		[]string{"It is a group of Lintel's.", "A report of Puppet's has it."},
		[]string{"The Lintel group.", "The name of Puppet's server."},
	},
}

// TestStyle checks each rule against a bad and a good sentence.
func TestStyle(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(style)
	require.NoError(t, err)
	var texts []text
	for _, file := range files {
		rule := strings.TrimSuffix(file.Name(), ".yml")
		_, err := os.ReadFile(filepath.Join(style, file.Name())) // for Go's cache of results
		require.NoError(t, err)
		require.NotEmpty(t, examples[rule].bad, "rule %s has no bad sentence", rule)
		require.NotEmpty(t, examples[rule].good, "rule %s has no good sentence", rule)
		for i, sentence := range examples[rule].bad {
			texts = append(texts, text{file: fmt.Sprintf("%s bad %d", rule, i), kind: documents, markdown: []byte("# Title\n\n" + sentence + "\n")})
		}
		for i, sentence := range examples[rule].good {
			texts = append(texts, text{file: fmt.Sprintf("%s good %d", rule, i), kind: documents, markdown: []byte("# Title\n\n" + sentence + "\n")})
		}
	}
	require.Len(t, examples, len(files))
	findings, err := check(t.Context(), pinned(t), texts)
	require.NoError(t, err)
	found := map[string][]finding{}
	for _, f := range findings {
		found[f.file] = append(found[f.file], f)
	}
	for _, sentence := range texts {
		rule, name, _ := strings.Cut(sentence.file, " ")
		if strings.HasPrefix(name, "good") {
			assert.Empty(t, found[sentence.file], "%s", sentence.markdown)
			continue
		}
		if assert.NotEmpty(t, found[sentence.file], "%s does not find: %s", rule, sentence.markdown) {
			assert.Equal(t, rule, found[sentence.file][0].rule)
			assert.Equal(t, 3, found[sentence.file][0].line)
		}
	}
}

const program = `// Package x is a package that
// stands in the way.
package x

import "errors"

// The first paragraph of this comment is
// good.
//
//	nobody reads code that is indented
//
// The second one tells
// what is wrong.
var err = errors.New("the name is no address")
`

const rules = `package x

# A comment that nobody
# reads, because it is told.
deny contains "the field is none of the list" if input.x
`

// TestFindingsAreOnTheirLines: paragraphs of comments and messages are found on the lines
// of the file that have them.
func TestFindingsAreOnTheirLines(t *testing.T) {
	t.Parallel()
	ofGo, err := extractGo("policies/x/x.go", []byte(program))
	require.NoError(t, err)
	ofRego, err := extractRego("policies/x/x.rego", []byte(rules))
	require.NoError(t, err)
	findings, err := check(t.Context(), pinned(t), append(ofGo, ofRego...))
	require.NoError(t, err)
	var found []string
	for _, f := range findings {
		found = append(found, fmt.Sprintf("%s:%d %s %s", f.file, f.line, f.kind, f.rule))
	}
	assert.Equal(t, []string{
		"policies/x/x.go:2 comments Stands",
		"policies/x/x.go:12 comments Tells",
		"policies/x/x.go:13 comments WhatIs",
		"policies/x/x.go:14 messages IsNo",
		"policies/x/x.rego:3 comments Nobody",
		"policies/x/x.rego:4 comments Told",
		"policies/x/x.rego:5 messages IsNo",
	}, found)
}

// TestCounts counts the words and the patterns of documents and comments, and not of messages.
func TestCounts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "cmd"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "cmd", "x.go"), []byte(program), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "x.md"), []byte("# Title\n\nNobody reads code:\n\n```sh\nnobody\n```\n"), 0o644))
	words, counts, err := countBelow(t.Context(), pinned(t), folder)
	require.NoError(t, err)
	assert.Equal(t, 29, words)
	assert.Equal(t, map[string]int{"Nobody": 1, "Stands": 1, "Tells": 1, "WhatIs": 1}, counts)
}

// TestCeilingsFallOnly: a ceiling follows a lower count, and never a higher one.
func TestCeilingsFallOnly(t *testing.T) {
	t.Parallel()
	limits := ceilings{comments: 10, messages: 5}
	assert.Equal(t, ceilings{comments: 7, messages: 5}, limits.lower(map[kind]int{comments: 7, messages: 6, documents: 1}))
}

// TestKindsOfDocuments: pages of the documentation must have no findings, and generated
// ones are checked at their source.
func TestKindsOfDocuments(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]kind{
		"docs/index.md": documents, "docs/how-to/install.md": documents, "docs/reference/api/x.md": documents,
		"docs/openvox.md": otherDocuments, "docs/benchmarks/README.md": otherDocuments, "CHANGELOG.md": otherDocuments,
	} {
		texts, err := extractMarkdown(name, []byte("# Title\n"))
		require.NoError(t, err)
		assert.Equal(t, want, texts[0].kind, name)
	}
	texts, err := extractMarkdown("docs/reference/flags.md", []byte("# Flags\n\n<!-- Written by make generate, from the flags. -->\n"))
	require.NoError(t, err)
	assert.Empty(t, texts)
}
