package zopp

import (
	"context"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lintel-policy/lintel/controllers/zopp/store"
	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
)

// Fault is what goes wrong with calls.
type Fault struct {
	// Method is which calls, as ListSecrets; all where it is empty.
	Method string
	// Delay is how long requests are delayed before they are processed.
	Delay time.Duration
	// Hang keeps them until the fault is removed or the caller gives up.
	Hang bool
	// Err is answered, as by status.Error.
	Err error
	// Alter changes an answer before it is sent, or an event.
	Alter func(answer proto.Message)

	removed, stopped chan struct{}
}

// Inject makes calls fail, until the function is called that it returns.
func (d *Double) Inject(fault Fault) (remove func()) {
	fault.removed, fault.stopped = make(chan struct{}), make(chan struct{})
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.faults[&fault] = struct{}{}
	return func() { d.remove(&fault) }
}

func (d *Double) remove(fault *Fault) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if _, there := d.faults[fault]; there {
		delete(d.faults, fault)
		close(fault.removed)
	}
}

// release removes all faults that keep calls.
func (d *Double) release() {
	for _, fault := range d.faultsOf("") {
		if fault.Hang {
			close(fault.stopped)
			d.remove(fault)
		}
	}
}

// faultsOf are those of one method, or all.
func (d *Double) faultsOf(method string) (list []*Fault) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for fault := range d.faults {
		if method == "" || fault.Method == "" || prefix+fault.Method == method {
			list = append(list, fault)
		}
	}
	return list
}

// hinder does to a call what its faults say.
func (d *Double) hinder(ctx context.Context, method string) error {
	for _, fault := range d.faultsOf(method) {
		if fault.Delay > 0 {
			select {
			case <-time.After(fault.Delay):
			case <-ctx.Done():
			}
		}
		if fault.Hang {
			select {
			case <-fault.removed:
			case <-ctx.Done():
			}
			select {
			case <-fault.stopped:
				return status.Error(codes.Unavailable, "the server has ended")
			default:
			}
		}
		if fault.Err != nil {
			return fault.Err
		}
	}
	return ctx.Err()
}

// alter does to an answer what the faults of its call say.
func (d *Double) alter(method string, answer proto.Message) proto.Message {
	for _, fault := range d.faultsOf(method) {
		if fault.Alter != nil {
			answer = proto.Clone(answer)
			fault.Alter(answer)
		}
	}
	return answer
}

// date returns the server's time in the metadata, as real servers do.
func (d *Double) date() metadata.MD {
	return metadata.Pairs("date", d.Now().UTC().Format(http.TimeFormat))
}

// Drop loses the next events, of any environment.
func (d *Double) Drop(events int) {
	d.bus.mutex.Lock()
	defer d.bus.mutex.Unlock()
	d.bus.drop = events
}

// Lag keeps events back from all subscribers, until the function is called that it
// returns. Of more than a subscriber's capacity the older ones are lost.
func (d *Double) Lag() (resume func()) { return d.bus.pause() }

// EndStreams ends all streams: with an error, or without one where it is nil.
func (d *Double) EndStreams(err error) { d.bus.end(err) }

// RequireResync asks all subscribers of an environment to list it again, which current servers
// never do.
func (d *Double) RequireResync(e store.Environment) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if found := d.find(e); found != nil {
		d.bus.send(found.id, &wire.WatchSecretsResponse{Response: &wire.WatchSecretsResponse_Resync{
			Resync: &wire.ResyncRequired{CurrentVersion: found.version},
		}})
	}
}

// EmitCreated makes the double distinguish created from updated secrets, which current servers
// do not.
func (d *Double) EmitCreated() {
	d.bus.mutex.Lock()
	defer d.bus.mutex.Unlock()
	d.bus.created = true
}

// find is called with the mutex held. It is nil where there is none.
func (d *Double) find(e store.Environment) *storedEnvironment {
	for _, w := range d.workspaces {
		if p := w.projects[e.Project]; w.name == e.Workspace && p != nil && p.environments[e.Name] != nil {
			return p.environments[e.Name]
		}
	}
	return nil
}
