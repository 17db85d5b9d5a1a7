package engine

import (
	"context"
	"time"
)

// PolicyInfo describes one policy of a snapshot.
type PolicyInfo struct {
	Package       string
	Title         string
	Source        string
	FailurePolicy FailurePolicy
	Enforcement   Enforcement
	Match         Match
	// Validates and Mutates say which entry points the policy has: deny or warn,
	// and patch or defaults.
	Validates, Mutates bool
	Location           Location
}

// Enforcement says what the verdicts of a policy do.
type Enforcement string

// The enforcements, strictest first.
const (
	EnforceDeny  Enforcement = "deny"
	EnforceWarn  Enforcement = "warn"
	EnforceAudit Enforcement = "audit"
)

// Options are what a caller knows beside the review.
type Options struct {
	// FailurePolicy asks only the policies of sources with that failure policy, as
	// each webhook entry does; empty asks all.
	FailurePolicy FailurePolicy
	// Namespace is the Namespace object in JSON of the review's namespace.
	Namespace []byte
	// Now is the time that policies with `clock: true` see.
	Now time.Time
	// Offline makes a policy that cannot be asked, because the caller lacks
	// cluster objects, undecided instead of an error.
	Offline bool
}

// PolicySet is one compiled source. It is immutable.
type PolicySet struct{}

// Compile compiles a source. The error is CompileErrors.
func Compile(source Source) (*PolicySet, error) { return nil, nil }

// Snapshot is an immutable set of compiled sources.
type Snapshot struct{}

// NewSnapshot combines compiled sources; it is cheap.
func NewSnapshot(resources *Resources, sets ...*PolicySet) *Snapshot { return nil }

// Digest identifies the policies and settings: equal digests decide alike.
func (s *Snapshot) Digest() string { return "" }

// Resources is the table of kinds the snapshot was made with.
func (s *Snapshot) Resources() *Resources { return nil }

// Policies lists the policies by scope, source and package.
func (s *Snapshot) Policies() []PolicyInfo { return nil }

// Validate decides by deny and warn.
func (s *Snapshot) Validate(ctx context.Context, review *Review, options Options) *Decision {
	return nil
}

// Mutate applies patch and defaults until nothing changes.
func (s *Snapshot) Mutate(ctx context.Context, review *Review, options Options) *Mutation {
	return nil
}
