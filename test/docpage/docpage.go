// Package docpage reads the fenced blocks of a documentation page, for tests that run what
// a page shows: a block with a title is a file of that name, and a console block has
// commands with their output.
package docpage

import (
	"regexp"
	"strings"
)

// Block is a fenced block of a page.
type Block struct {
	// Line is the line of its opening fence, from 1.
	Line int
	// Indent is the white space before its fence.
	Indent string
	// Info is the text after its opening fence, such as `yaml title="pod.yaml"`.
	Info string
	// Text is its content without indentation.
	Text string
}

// Command is a command of a console block.
type Command struct {
	// Line is its line in the page, from 1.
	Line int
	// Text is the command without its prompt.
	Text string
	// Output is what the page shows below it.
	Output string
}

var (
	fence = regexp.MustCompile("^( *)```(.*)$")
	title = regexp.MustCompile(`title="([^"]+)"`)
)

// ParseBlocks returns the fenced blocks of a page in their order.
func ParseBlocks(page string) []Block {
	var blocks []Block
	var open *Block
	for i, line := range strings.Split(page, "\n") {
		match := fence.FindStringSubmatch(line)
		switch {
		case open == nil && match != nil:
			open = &Block{Line: i + 1, Indent: match[1], Info: match[2]}
		case open != nil && match != nil:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.Text += strings.TrimPrefix(line, open.Indent) + "\n"
		}
	}
	return blocks
}

// File returns the name of the file that the block shows, or "" if it shows none.
func (b Block) File() string {
	if match := title.FindStringSubmatch(b.Info); match != nil {
		return match[1]
	}
	return ""
}

// Commands returns the commands of a console block.
func (b Block) Commands() []Command {
	if !strings.HasPrefix(b.Info, "console") {
		return nil
	}
	var commands []Command
	for i, line := range strings.SplitAfter(b.Text, "\n") {
		if text, ok := strings.CutPrefix(line, "$ "); ok {
			commands = append(commands, Command{Line: b.Line + 1 + i, Text: strings.TrimSuffix(text, "\n")})
		} else if len(commands) > 0 {
			commands[len(commands)-1].Output += line
		}
	}
	return commands
}
