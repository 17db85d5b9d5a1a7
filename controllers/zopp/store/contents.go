package store

// Environment names one of zopp's environments.
type Environment struct{ Workspace, Project, Name string }

// String is the three names with slashes between them, as in acme/backend/production.
func (e Environment) String() string { return e.Workspace + "/" + e.Project + "/" + e.Name }

// Value is one secret of an environment.
type Value struct {
	Key string
	// Value is decrypted. It may be of any bytes, and be empty.
	Value []byte
	// Err is why this one cannot be decrypted, an *Error of ReasonUndecryptable; Value is
	// nil then.
	Err error
}

// Contents has the values of an environment.
type Contents struct {
	// ID is the environment's own. A re-created environment has a different one.
	ID string
	// Version counts the changes since the environment was created. The server reads it before
	// the values, which may be newer.
	Version int64
	// Values are sorted by key, each key once.
	Values []Value
}

// EventType is the kind of an event.
type EventType int

// The types of events.
const (
	// Resync means that everything may have changed: the server requested it, or sent an unknown
	// event.
	Resync EventType = iota
	// Created, which current servers do not send, and Updated mean that a key has a value.
	Created
	Updated
	// Deleted means that a key was deleted.
	Deleted
)

// String is the type as one word.
func (t EventType) String() string {
	switch t {
	case Created:
		return "Created"
	case Updated:
		return "Updated"
	case Deleted:
		return "Deleted"
	}
	return "Resync"
}

// Event is one change of an environment.
type Event struct {
	Type EventType
	// Key is that of the secret; a Resync has none.
	Key string
	// Version is that of the environment after the change.
	Version int64
}
