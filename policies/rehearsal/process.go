package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/policies/source/process"
)

const (
	// Argument is the argument with which a Runner starts its program: the program calls Child
	// and does nothing else.
	Argument = "rehearse-source"
	// maxBytes is the memory of a child, which belongs to the manager's container.
	maxBytes = 256 << 20
	// maxOutput bounds the reports of a child, in bytes.
	maxOutput = 64 << 20
	// part is the time after which a rehearsal pauses, so that others have a turn. The child has
	// partTimeout to read the records up to its own part.
	part        = 5 * time.Minute
	partTimeout = 30 * time.Minute
	// reportInterval is the interval of reports.
	reportInterval = 5 * time.Second
)

// Runner runs rehearsals in child processes.
type Runner struct{ program string }

// NewRunner returns a Runner that starts a program, usually os.Executable, with Argument.
func NewRunner(program string) *Runner { return &Runner{program: program} }

// message is a report of the child. Err is empty, or the reason why there is no further report.
type message struct {
	Tally   *Tally `json:"tally,omitempty"`
	Changed bool   `json:"changed,omitempty"`
	Err     string `json:"error,omitempty"`
}

// Run runs a part of a rehearsal, and calls progress with the state at intervals. It returns the
// last state, which is complete or can be continued by another Run. The error is ErrChanged if the
// records changed, and a *process.LimitError if the policies require too much memory or time.
func (r *Runner) Run(ctx context.Context, request Request, progress func(*Tally)) (*Tally, error) {
	child := process.Child{
		Program: r.program, Argument: Argument, Timeout: partTimeout, MemoryBytes: maxBytes, OutputBytes: maxOutput,
		Variables: storeVariables(request.Records, os.Environ()),
	}
	last := request.Tally
	var failed *message
	err := child.Converse(ctx, func(_ context.Context, requests *json.Encoder, answers *json.Decoder) error {
		if err := requests.Encode(request); err != nil {
			return fmt.Errorf("sending the request: %w", err)
		}
		for {
			var m message
			err := answers.Decode(&m)
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return fmt.Errorf("reading the result: %w", err)
			case m.Err != "":
				failed = &m
				return nil
			}
			last = m.Tally
			progress(last.clone())
		}
	})
	switch {
	case err != nil:
		return last, fmt.Errorf("evaluating recorded requests in a separate process: %w", err)
	case failed != nil && failed.Changed:
		return nil, ErrChanged
	case failed != nil:
		return last, errors.New(failed.Err)
	case last == nil:
		return nil, errors.New("the process that evaluates recorded requests ended without a result")
	}
	return last, nil
}

// Child is the main function of the child. It returns the exit code.
func Child(stdin io.Reader, stdout, stderr io.Writer) int {
	return process.ServeConversation(stdin, stdout, stderr, func(requests *json.Decoder, answers *json.Encoder) error {
		var request Request
		if err := requests.Decode(&request); err != nil {
			return err
		}
		err := evaluate(context.Background(), request, limits{part, reportInterval}, func(t *Tally) error {
			return answers.Encode(message{Tally: t})
		})
		if err != nil {
			return answers.Encode(message{Err: err.Error(), Changed: errors.Is(err, ErrChanged)})
		}
		return nil
	})
}

// storePrefixes are those of the variables that configure clients of object stores.
var storePrefixes = []string{"AWS_", "GOOGLE_", "AZURE_"}

// storeVariables are the names of the variables that the store of records requires: none for a
// folder.
func storeVariables(location string, environment []string) (names []string) {
	if parsed, err := url.Parse(location); err != nil || parsed.Scheme == "file" {
		return nil
	}
	names = slices.Clone(process.NetworkVariables)
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		if slices.ContainsFunc(storePrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			names = append(names, name)
		}
	}
	return names
}
