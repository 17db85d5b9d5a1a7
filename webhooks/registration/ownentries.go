package registration

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lintel-policy/lintel/policies/hierarchy"
)

const (
	// ownEntriesInterval is how often the configurations are read.
	ownEntriesInterval = 2 * time.Second
	// ownEntriesDelay is how much later than this replica the API server may see a
	// configuration.
	ownEntriesDelay = 10 * time.Second
)

// OwnEntries knows which scopes below the enterprise have entries that the API server calls.
// The entries of the enterprise evaluate the policies of all other scopes, too: those of an
// earlier version are called for them, and no moment is without either. Every replica has one.
type OwnEntries struct {
	reader client.Reader
	now    func() time.Time
	since  map[string]time.Time // by the ID of the scope: when its entries were first seen complete
	called atomic.Pointer[map[string]bool]
}

// NewOwnEntries reads the configurations from a cache.
func NewOwnEntries(reader client.Reader) *OwnEntries {
	return &OwnEntries{reader: reader, now: time.Now, since: map[string]time.Time{}}
}

// Lacks reports whether a scope has no entries of its own that the API server calls; so it is
// for the enterprise.
func (o *OwnEntries) Lacks(scope hierarchy.Key) bool {
	if scope.Level == hierarchy.Enterprise {
		return true
	}
	called := o.called.Load()
	return called == nil || !(*called)[scope.ID()]
}

// Start reads the configurations again and again until ctx ends.
func (o *OwnEntries) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := o.Read(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "cannot read the entries of scopes; the last known state is used")
		}
	}, ownEntriesInterval)
	return nil
}

// Read reads the configurations once.
func (o *OwnEntries) Read(ctx context.Context) error {
	var validating admissionregistrationv1.ValidatingWebhookConfigurationList
	if err := o.reader.List(ctx, &validating); err != nil {
		return fmt.Errorf("listing the validating webhook configurations: %w", err)
	}
	var mutating admissionregistrationv1.MutatingWebhookConfigurationList
	if err := o.reader.List(ctx, &mutating); err != nil {
		return fmt.Errorf("listing the mutating webhook configurations: %w", err)
	}
	complete := map[string]int{}
	count := func(config client.Object) {
		id := config.GetLabels()[ScopeLabel]
		if !isOfScope(config) || config.GetName() != ConfigurationName+"-"+id {
			return
		}
		for _, e := range entriesOf(config) {
			if len(e.client.CABundle) == 0 {
				return
			}
		}
		complete[id]++
	}
	for i := range validating.Items {
		count(&validating.Items[i])
	}
	for i := range mutating.Items {
		count(&mutating.Items[i])
	}
	called := map[string]bool{}
	for id, n := range complete {
		if n < 2 {
			delete(complete, id)
			continue
		}
		if o.since[id].IsZero() {
			o.since[id] = o.now()
		}
		if o.now().Sub(o.since[id]) >= ownEntriesDelay {
			called[id] = true
		}
	}
	for id := range o.since {
		if complete[id] == 0 {
			delete(o.since, id)
		}
	}
	o.called.Store(&called)
	return nil
}
