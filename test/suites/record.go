package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// recordVersion changes when a record's meaning does; a record of another version is none.
const recordVersion = 1

// record is what a checkout keeps of earlier runs.
type record struct {
	Version int `json:"version"`
	// Environment identifies the toolchain and tools of the last run.
	Environment string `json:"environment"`
	// Salt is part of the flags of cacheable tests, so that Go reuses results only of
	// runs with this record and this environment.
	Salt   time.Duration    `json:"salt"`
	Suites map[string]entry `json:"suites"`
}

// entry is the record of one suite.
type entry struct {
	// Passed is when the suite last passed; zero if it never did.
	Passed time.Time `json:"passed,omitzero"`
	// Commit is the commit that was checked out then.
	Commit string `json:"commit,omitempty"`
	// Inputs are the files that it passed with, each with its digest.
	Inputs map[string]string `json:"inputs,omitempty"`
	// Seconds is how long the suite took when it last passed, on this machine.
	Seconds float64 `json:"seconds,omitempty"`
	// Failed is set when the suite failed after it last passed.
	Failed bool `json:"failed,omitempty"`
	// Missed counts the runs since the suite last ran.
	Missed int `json:"missed,omitempty"`
}

// useEnvironment changes the salt where the toolchain or the tools differ from those of
// the record: Go's cache does not see the versions of programs that tests start.
func (r *record) useEnvironment(environment string) {
	if r.Environment != environment {
		r.Environment, r.Salt = environment, rand.N(time.Minute).Truncate(time.Microsecond)
	}
}

func newRecord() record {
	return record{Version: recordVersion, Suites: map[string]entry{}}
}

// lockRecord waits until no other run uses the record, the logs and the programs of the
// checkout.
func lockRecord(ctx context.Context, name string, out io.Writer) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, fmt.Errorf("locking the record of suites: %w", err)
	}
	file, err := os.OpenFile(name+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking the record of suites: %w", err)
	}
	for said := false; ; {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			file.Close()
			return nil, fmt.Errorf("locking %s: %w", file.Name(), err)
		}
		if !said {
			said = true
			fmt.Fprintln(out, "another run uses this checkout: waiting for it to end")
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// loadRecord reads a record. A missing one is new; an unreadable one is an error.
func loadRecord(name string) (record, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return newRecord(), nil
	}
	if err != nil {
		return record{}, err
	}
	r := newRecord()
	if err := json.Unmarshal(text, &r); err != nil {
		return record{}, fmt.Errorf("%s: %w", name, err)
	}
	if r.Version != recordVersion || r.Salt < 0 {
		return record{}, fmt.Errorf("%s: version %d and salt %s, expected version %d", name, r.Version, r.Salt, recordVersion)
	}
	if r.Suites == nil {
		r.Suites = map[string]entry{}
	}
	return r, nil
}

// save replaces the record, so that a reader sees the old one or the new one.
func (r record) save(name string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("writing the record of suites: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("writing the record of suites: %w", err)
	}
	partial, err := os.CreateTemp(filepath.Dir(name), ".lintel-suites-*")
	if err != nil {
		return fmt.Errorf("writing the record of suites: %w", err)
	}
	defer os.Remove(partial.Name())
	_, err = partial.Write(text)
	if err = errors.Join(err, partial.Sync(), partial.Close()); err != nil {
		return fmt.Errorf("writing the record of suites: %w", err)
	}
	if err := os.Rename(partial.Name(), name); err != nil {
		return fmt.Errorf("writing the record of suites: %w", err)
	}
	return nil
}

// hasPasses says whether any suite has passed in this checkout.
func (r record) hasPasses() bool {
	for _, e := range r.Suites {
		if !e.Passed.IsZero() {
			return true
		}
	}
	return false
}

// changed are the inputs that differ from those that the suite passed with, sorted.
func (e entry) changed(now map[string]string) []string {
	var names []string
	for name, digest := range now {
		if e.Inputs[name] != digest {
			names = append(names, name)
		}
	}
	for name := range e.Inputs {
		if _, ok := now[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// estimate is how long the suite will probably take.
func (r record) estimate(s suite) time.Duration {
	if seconds := r.Suites[s.name].Seconds; seconds > 0 {
		return time.Duration(seconds * float64(time.Second))
	}
	return s.usual
}
