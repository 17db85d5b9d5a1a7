package replay

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/lintel-policy/lintel/cmd/lintel/records"
	core "github.com/lintel-policy/lintel/policies/replay"
)

// checkpoint is the state of a run.
type checkpoint struct {
	// Inputs identifies the policies, the records and the flags that decide about the results.
	Inputs string    `json:"inputs"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
	// Done is the number of requests that are counted, and Last the last of them.
	Done  int64       `json:"done"`
	Last  string      `json:"last"`
	Tally *core.Tally `json:"tally"`
	// Requests are those of the examples.
	Requests []*core.Request `json:"requests"`

	saved time.Time
}

// saveEvery is the time between two writes of the file of --resume.
const saveEvery = 5 * time.Second

// begin returns the state of the run that is resumed, or that of a new one.
func (o *options) begin(candidate, baseline *side) (*checkpoint, error) {
	state := &checkpoint{Inputs: o.inputs(candidate, baseline, o.records, o.since, o.until), Tally: core.NewTally(), saved: o.now}
	var err error
	if state.Since, err = records.TimeOf(o.since, o.now); err != nil {
		return nil, err
	}
	if state.Until, err = records.TimeOf(cmp.Or(o.until, "0d"), o.now); err != nil {
		return nil, err
	}
	if o.resume == "" {
		return state, nil
	}
	text, err := os.ReadFile(o.resume)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return state, nil
	case err != nil:
		return nil, fmt.Errorf("reading the state of the run: %w", err)
	}
	read := &checkpoint{Tally: core.NewTally(), saved: o.now}
	if err := json.Unmarshal(text, read); err != nil {
		return nil, fmt.Errorf("%s is not the state of a run: %w", o.resume, err)
	}
	if read.Inputs != state.Inputs {
		return nil, fmt.Errorf("%s is the state of a run with other policies, records or flags: delete it to start again", o.resume)
	}
	if read.restore() != nil {
		return nil, fmt.Errorf("%s is damaged; delete it", o.resume)
	}
	return read, nil
}

// inputs identifies the policies, and what else decides about the results.
func (o *options) inputs(candidate, baseline *side, others ...any) string {
	policies := candidate.snapshot.Digest()
	if baseline != nil {
		policies += " " + baseline.snapshot.Digest()
	}
	var exceptions []string
	for _, of := range []*side{candidate, baseline} {
		if of == nil {
			continue
		}
		for _, one := range of.snapshot.Exceptions() {
			exceptions = append(exceptions, fmt.Sprintf("%+v", *one))
		}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", append([]any{policies, exceptions, o.examples}, others...)))
	return fmt.Sprintf("%x", sum)
}

// restore gives the examples of a state that was read their requests.
func (c *checkpoint) restore() error {
	if c.Done < 0 || c.Tally == nil || !c.Tally.IsComplete() || len(c.Requests) != len(c.Tally.Examples) {
		return errors.New("the state is damaged")
	}
	for i, example := range c.Tally.Examples {
		example.Request = c.Requests[i]
	}
	return nil
}

// keepRequests adds the requests of the examples.
func (c *checkpoint) keepRequests() {
	c.Requests = nil
	for _, example := range c.Tally.Examples {
		c.Requests = append(c.Requests, example.Request)
	}
}

// save writes the state if it is due, or in any case.
func (o *options) save(state *checkpoint, now bool) error {
	if o.resume == "" || !now && time.Since(state.saved) < saveEvery {
		return nil
	}
	state.saved = time.Now()
	state.keepRequests()
	text, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("writing the state of the run: %w", err)
	}
	// Records are confidential.
	if err = os.WriteFile(o.resume+".tmp", text, 0o600); err == nil {
		err = os.Rename(o.resume+".tmp", o.resume)
	}
	if err != nil {
		return fmt.Errorf("writing the state of the run: %w", err)
	}
	return nil
}

// end deletes the state of a run that has ended.
func (o *options) end() error {
	if o.resume == "" {
		return nil
	}
	if err := os.Remove(o.resume); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("deleting the state of the run: %w", err)
	}
	return nil
}
