package installation

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Raced reports whether the programs under test are built with the race detector.
func Raced() bool { return os.Getenv(raceVariable) == "1" }

// RaceOptions is the value of the variable GORACE with which a program, and the processes that it
// starts, write data races to files of a folder. Each file starts with a name. A report is
// complete as soon as the race is found, so it stays when the process is killed. A program that
// cannot write to the folder ends when it has a race to report.
func RaceOptions(folder, name string) string {
	return "atexit_sleep_ms=50 log_path=" + filepath.Join(folder, name)
}

// FindRaces returns an error with the first data race of each file in a folder.
func FindRaces(folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("reading reports of data races: %w", err)
	}
	var all []error
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(folder, file.Name()))
		if err != nil {
			return fmt.Errorf("reading reports of data races: %w", err)
		}
		if at := bytes.Index(text, []byte("WARNING: DATA RACE")); at >= 0 {
			all = append(all, fmt.Errorf("%s reports a data race:\n%s", file.Name(), text[at:min(len(text), at+8<<10)]))
		}
	}
	return errors.Join(all...)
}
