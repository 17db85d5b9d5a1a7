package architecture

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
)

const maxLines = 400

// TestFiles fails for a file that has more than one subject, which its length usually shows.
func TestFiles(t *testing.T) {
	t.Parallel()
	for name, text := range sources(t) {
		lines := bytes.Count(text, []byte("\n"))
		assert.LessOrEqual(t, lines, maxLines, "%s: divide the file by subject: %d lines are more than %d", name, lines, maxLines)
	}
}
