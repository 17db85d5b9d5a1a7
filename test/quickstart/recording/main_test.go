package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../../../"

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// TestTheRecordingIsCurrent: the picture in the README is that of the stored transcript.
func TestTheRecordingIsCurrent(t *testing.T) {
	t.Parallel()
	picture := read(t, root+"docs/recording.svg")
	require.Equal(t, draw(read(t, "testdata/transcript.txt")), picture, "run make recording")
	require.Less(t, len(picture), 300_000)
	var lines []string
	for decoder := xml.NewDecoder(strings.NewReader(picture)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if text, ok := token.(xml.CharData); ok {
			lines = append(lines, string(text))
		}
	}
	require.Contains(t, strings.Join(lines, " "), "admission webhook")
}

// TestTheREADMEShowsTheTranscript: the README's commands of kubectl have the same output as in
// the stored transcript, and lintel check prints the same message as the webhook.
func TestTheREADMEShowsTheTranscript(t *testing.T) {
	t.Parallel()
	transcript := read(t, "testdata/transcript.txt")
	compared, checked := 0, ""
	for _, block := range strings.Split(read(t, root+"README.md"), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, command := range strings.Split("\n"+block, "\n$ ")[1:] {
			if strings.HasPrefix(command, "lintel check") {
				checked = command
				continue
			}
			compared++
			require.Contains(t, transcript, "$ "+strings.TrimSpace(command)+"\n", "run make recording, and copy the output")
		}
	}
	require.Greater(t, compared, 1)
	_, message, found := strings.Cut(checked, "  deny       ")
	require.True(t, found, checked)
	message, _, _ = strings.Cut(message, "\n")
	require.Contains(t, transcript, "denied the request: "+message+"\n")
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, part := range wrap(strings.Repeat("word ", 50)) {
		require.LessOrEqual(t, len(part), columns)
	}
	require.Equal(t, []string{strings.Repeat("x", columns), "x"}, wrap(strings.Repeat("x", columns+1)))
}
