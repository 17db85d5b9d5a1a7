// Command recording draws the transcript of make run as an animated picture of a terminal,
// for the README. make recording runs both.
//
// Lines appear one after the other, once. A viewer without animations, or a reader who
// prefers none, sees the last picture, which has all lines.
package main

import (
	"fmt"
	"html"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// The geometry, in pixels and characters.
const (
	columns    = 104
	charWidth  = 7.6
	lineHeight = 18.0
	margin     = 18.0
	titleBar   = 34.0
	fontSize   = 12.6
)

// The tempo, in seconds.
const (
	perCharacter = 0.022
	afterCommand = 0.5
	perLine      = 0.06
	afterOutput  = 1.4
)

// left out are commands that the picture has no room for.
var leftOut = []string{"kubectl get policysources", "kubectl apply -f config/samples/rbac"}

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err == nil {
		_, err = os.Stdout.WriteString(draw(string(text)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

// line is one line of the terminal.
type line struct {
	text  string
	class string
	at    float64 // when it appears
	typed float64 // how long it takes to be typed; 0 if it is printed
}

// draw returns the picture of a transcript.
func draw(transcript string) string {
	lines := arrange(transcript)
	width := 2*margin + columns*charWidth
	height := titleBar + 2*margin + float64(len(lines))*lineHeight - lineHeight/2
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label="Terminal: Lintel denies a Pod, sets defaults in another, and warns about a third">
<style>
text { font: %.1fpx ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #c9d1d9; white-space: pre }
.heading { fill: #8b949e } .command { fill: #f0f6fc; font-weight: 600 } .denied { fill: #ff7b72 } .warned { fill: #e3b341 }
.added { fill: #7ee787 } .removed { fill: #ffa198 } .hunk { fill: #79c0ff }
.printed { animation: printed .01s backwards } .typed { animation: typed backwards }
@keyframes printed { from { opacity: 0 } }
@keyframes typed { from { clip-path: inset(0 100%% 0 0) } to { clip-path: inset(0 0 0 0) } }
@media (prefers-reduced-motion: reduce) { .printed, .typed { animation: none } }
</style>
<rect x=".5" y=".5" width="%.0f" height="%.0f" rx="9" fill="#0d1117" stroke="#484f58"/>
<path d="M1 %.0fH%.0f" stroke="#30363d"/>
<circle cx="20" cy="17" r="5.5" fill="#ff5f57"/><circle cx="38" cy="17" r="5.5" fill="#febc2e"/><circle cx="56" cy="17" r="5.5" fill="#28c840"/>
<text class="heading" x="%.0f" y="21" text-anchor="middle">make run</text>
`, width, height, width, height, fontSize, width-1, height-1, titleBar, width-1, width/2)
	for i, l := range lines {
		if l.text == "" {
			continue
		}
		characters := utf8.RuneCountInString(l.text)
		class, style := l.class+" printed", fmt.Sprintf("animation-delay:%.2fs", l.at)
		if l.typed > 0 {
			class = l.class + " typed"
			style += fmt.Sprintf(";animation-duration:%.2fs;animation-timing-function:steps(%d)", l.typed, characters)
		}
		fmt.Fprintf(&b, `<text class="%s" style="%s" x="%.0f" y="%.0f" textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>`+"\n",
			strings.TrimSpace(class), style, margin, titleBar+margin+float64(i)*lineHeight+4, float64(characters)*charWidth, html.EscapeString(l.text))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// arrange divides a transcript into the lines of the terminal.
func arrange(transcript string) []line {
	var lines []line
	now, class, skipping, inOutput := 0.4, "", false, false
	for text := range strings.SplitSeq(strings.TrimSpace(transcript), "\n") {
		command := strings.HasPrefix(text, "$ ")
		if command || strings.HasPrefix(text, "# ") || text == "" {
			if inOutput && !skipping {
				now += afterOutput
			}
			inOutput, skipping = false, command && isLeftOut(text[2:])
		} else {
			inOutput = true
		}
		if skipping {
			continue
		}
		class = classOf(text)
		for _, part := range wrap(text) {
			l := line{text: part, class: class, at: now}
			if command {
				l.typed = perCharacter * float64(utf8.RuneCountInString(part))
				now += l.typed
			} else {
				now += perLine
			}
			lines = append(lines, l)
		}
		if command {
			now += afterCommand
		}
	}
	return lines
}

func isLeftOut(command string) bool {
	for _, prefix := range leftOut {
		if strings.HasPrefix(command, prefix) {
			return true
		}
	}
	return false
}

// classOf is how a line is colored, by its beginning.
func classOf(text string) string {
	for _, c := range []struct{ prefix, class string }{
		{"$ ", "command"}, {"# ", "heading"}, {"Error", "denied"}, {"Warning", "warned"},
		{"+++", "hunk"}, {"---", "hunk"}, {"@@", "hunk"}, {"+", "added"}, {"-", "removed"},
	} {
		if strings.HasPrefix(text, c.prefix) {
			return c.class
		}
	}
	return ""
}

// wrap breaks a line that is too long, where there is a space if possible.
func wrap(text string) []string {
	var parts []string
	runes := []rune(text)
	for len(runes) > columns {
		end := columns
		for i := columns; i > columns/2; i-- {
			if runes[i] == ' ' {
				end = i
				break
			}
		}
		parts = append(parts, string(runes[:end]))
		runes = []rune(strings.TrimPrefix(string(runes[end:]), " "))
	}
	return append(parts, string(runes))
}
