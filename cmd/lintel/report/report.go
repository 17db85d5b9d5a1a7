// Package report holds what the reports of all commands have in common: the flag for their
// format, JSON, text that is safe in a terminal, and the exit code that stands for the
// verdict.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/usage"
)

// Exit is the exit code of a command whose report has said why: an error without a message.
type Exit int

// The exit codes of every command. A command that ends without an error has Allowed.
const (
	Allowed Exit = 0 // nothing was denied
	Denied  Exit = 1 // something was denied or refused, or a test failed
	Error   Exit = 2 // bad usage or input, or a policy that could not be asked
	Unknown Exit = 3 // it was not found out whether a policy permits too much
)

// Error implements error.
func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Format is the flag -o: what a report is written as.
type Format struct {
	name    string
	choices []string
}

// AddFlag adds the flag; the first of the choices is the default.
func (f *Format) AddFlag(cmd *cobra.Command, choices ...string) {
	f.choices = choices
	cmd.Flags().StringVarP(&f.name, "output", "o", choices[0], "`format` of the report: "+f.listed())
	usage.CompleteFlag(cmd, "output", choices...)
}

// Check returns an error of usage if the format is not one of the choices.
func (f *Format) Check(cmd *cobra.Command) error {
	if !slices.Contains(f.choices, f.name) {
		return usage.Errorf(cmd, "--output %s is not %s", f.name, f.listed())
	}
	return nil
}

// Name is the choice.
func (f *Format) Name() string { return f.name }

// Is says whether the report is to be written as name.
func (f *Format) Is(name string) bool { return f.name == name }

// listed is such as "text, json or sarif".
func (f *Format) listed() string {
	last := len(f.choices) - 1
	return strings.Join(f.choices[:last], ", ") + " or " + f.choices[last]
}

// Write writes a report that is ready.
func Write(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// WriteJSON writes a report as JSON that people read, too.
func WriteJSON(w io.Writer, report any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(report); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// Printable makes control characters visible, so that no text of a manifest, a policy or a
// cluster can steer a terminal.
func Printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// Counted is such as "1 test" or "2 tests".
func Counted(n int, what string) string { return CountedAs(n, what, what+"s") }

// CountedAs is Counted for a word with a plural of its own.
func CountedAs(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
