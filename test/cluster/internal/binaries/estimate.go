package binaries

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Until this machine has compiled much, its speed is guessed: packages that a processor
// compiles in a second, in the fast flavour, on the machine of the estimate.
const (
	guessedRate = 6.0
	// most processors wait at the end of a program, for its last packages and its linking
	usefulProcessors = 8
	// enough packages say how fast a machine is
	enough = 150
)

// estimate says how long building still takes, by packages that have to be compiled.
type estimate struct {
	file             string
	total            int
	programs, number int

	mu      sync.Mutex
	done    int
	cost    float64 // of the packages in total, compared with as many in the fast flavour
	rate    float64 // packages of cost 1 a second, as known before
	started time.Time
}

// speed is the record of earlier builds.
type speed struct {
	Rate float64 `json:"packagesPerSecond"`
}

func newEstimate(cache string, tasks []task) *estimate {
	e := &estimate{file: filepath.Join(cache, "speed.json"), started: time.Now()}
	var cost float64
	for _, t := range tasks {
		e.total += t.packages
		e.programs += len(t.programs)
		cost += float64(t.packages) * t.cost
	}
	e.cost = 1
	if e.total > 0 {
		e.cost = cost / float64(e.total)
	}
	e.rate = guessedRate * float64(min(runtime.NumCPU(), usefulProcessors))
	var known speed
	if content, err := os.ReadFile(e.file); err == nil && json.Unmarshal(content, &known) == nil && known.Rate > 0 {
		e.rate = known.Rate
	}
	return e
}

// compiled counts a line of go build -v, which names each package that it compiles.
func (e *estimate) compiled(line string) {
	if line == "" || strings.HasPrefix(line, "#") || strings.ContainsAny(line, " \t") {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done++
}

// left is the time that the packages still take.
func (e *estimate) left() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Duration(float64(max(0, e.total-e.done)) / e.current() * float64(time.Second))
}

// current is the packages compiled in a second: as known before, and more and more as
// seen now.
func (e *estimate) current() float64 {
	before, seen := e.rate/e.cost, e.seen()
	weight := min(1, float64(e.done)/enough)
	return max(before*(1-weight)+seen*weight, 0.1)
}

func (e *estimate) seen() float64 {
	seconds := time.Since(e.started).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(e.done) / seconds
}

// String is the estimate in words.
func (e *estimate) String() string {
	if e.total == 0 {
		return ""
	}
	left := e.left()
	if left < 5*time.Second {
		return "almost done"
	}
	return "about " + roughly(left) + " left"
}

// record keeps how fast this machine was.
func (e *estimate) record() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done < enough {
		return nil
	}
	content, err := json.Marshal(speed{e.seen() * e.cost})
	if err != nil {
		return fmt.Errorf("keeping the speed of this machine: %w", err)
	}
	partial := e.file + ".partial"
	err = os.WriteFile(partial, content, 0o644)
	if err = errors.Join(err, os.Rename(partial, e.file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keeping the speed of this machine: %w", err)
	}
	return nil
}

// roughly rounds to what an estimate is worth.
func roughly(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return "10 seconds"
	case d < 90*time.Second:
		return fmt.Sprintf("%d seconds", int(d.Round(10*time.Second).Seconds()))
	}
	return fmt.Sprintf("%d minutes", int(d.Round(time.Minute).Minutes()))
}
