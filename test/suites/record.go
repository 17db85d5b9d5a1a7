package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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

// entry is what is known of one suite.
type entry struct {
	// Passed is when the suite last passed; zero if it never did.
	Passed time.Time `json:"passed,omitzero"`
	// Commit is what was checked out then.
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
	if r.Version != recordVersion {
		return record{}, fmt.Errorf("%s: version %d, expected %d", name, r.Version, recordVersion)
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
