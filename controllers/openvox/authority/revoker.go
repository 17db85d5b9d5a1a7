package authority

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// confirmAfter is the time between two reads of a CRL that have to agree: a revocation by
// another client of the CA may overwrite the CRL in between.
const confirmAfter = time.Second

// Revoker revokes certificates at CAs. A Puppet CA overwrites its CRL when revocations overlap,
// and answers 200 to each.
//
// Invariant: at one CA, one batch runs at a time. A certificate is in the CA's record before the
// CA is asked to revoke it, unless the record cannot be written: then it is revoked all the same,
// and the error is returned afterwards. Unless its certname is needed and it is in the record, the
// CA keeps its file until two CRLs have listed it: without the file, it could not be revoked again.
type Revoker struct {
	secrets Secrets
	now     func() time.Time
	// Pause is confirmAfter; read requests a refresh of the CRL of a CA, after each change.
	Pause time.Duration
	Read  func(ctx context.Context, ca types.NamespacedName)

	mutex  sync.Mutex
	queues map[types.NamespacedName]*revocationQueue
}

// NewRevoker returns a revoker. read requests a refresh of the CRL of a CA.
func NewRevoker(s Secrets, now func() time.Time, read func(context.Context, types.NamespacedName)) *Revoker {
	return &Revoker{secrets: s, now: now, Pause: confirmAfter, Read: read, queues: map[types.NamespacedName]*revocationQueue{}}
}

// revocationOrder is one certificate of a batch.
type revocationOrder struct {
	Revocation
	// frees removes the certificate from the CA even if the CRL does not list it: another
	// certificate needs the certname.
	frees bool
	// alone is an order that the caller's own client has to carry out: it revokes the
	// certificate that other clients use.
	alone bool

	done, listed bool
	err          error
}

// revocationQueue is the orders for one CA.
type revocationQueue struct {
	turn    chan struct{} // held while a batch runs
	mutex   sync.Mutex
	waiting []*revocationOrder
}

func (r *Revoker) queue(ca types.NamespacedName) *revocationQueue {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.queues[ca] == nil {
		r.queues[ca] = &revocationQueue{turn: make(chan struct{}, 1)}
	}
	return r.queues[ca]
}

// forget drops the queue of a CA that is gone.
func (r *Revoker) forget(ca types.NamespacedName) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.queues, ca)
}

func (q *revocationQueue) add(orders []*revocationOrder) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.waiting = append(q.waiting, orders...)
}

// take removes from the queue the orders that are executed in one batch: all pending orders, or
// only own if a single order must run alone.
func (q *revocationQueue) take(own []*revocationOrder) (batch []*revocationOrder) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	alone := slices.ContainsFunc(own, func(o *revocationOrder) bool { return o.alone })
	q.waiting = slices.DeleteFunc(q.waiting, func(o *revocationOrder) bool {
		taken := slices.Contains(own, o) || !alone && !o.alone
		if taken {
			batch = append(batch, o)
		}
		return taken
	})
	return batch
}

func (q *revocationQueue) remove(orders []*revocationOrder) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(o *revocationOrder) bool { return slices.Contains(orders, o) })
}

// run carries out orders, together with those of others that wait. It returns when all have
// their result.
func (r *Revoker) run(ctx context.Context, ca *v1alpha1.CertificateAuthority, a *Connection, orders ...*revocationOrder) error {
	q := r.queue(types.NamespacedName{Namespace: ca.Namespace, Name: ca.Name})
	q.add(orders)
	select {
	case q.turn <- struct{}{}:
		defer func() { <-q.turn }()
	case <-ctx.Done():
		q.remove(orders)
		return ctx.Err()
	}
	if slices.ContainsFunc(orders, func(o *revocationOrder) bool { return !o.done }) {
		b := revocationBatch{Revoker: r, ca: ca, authority: a, orders: q.take(orders)}
		err := b.run(ctx)
		for _, o := range b.orders {
			o.done = true
			if o.err == nil {
				o.err = err
			}
		}
	}
	return nil
}

// revocationBatch is orders that are carried out together.
type revocationBatch struct {
	*Revoker
	ca        *v1alpha1.CertificateAuthority
	authority *Connection
	orders    []*revocationOrder
	// recorded: the orders were in the record before the CA was asked. confirmed: the CRL was read
	// for them.
	recorded, confirmed bool
}

func (b *revocationBatch) run(ctx context.Context) error {
	recordErr := b.record(ctx, false)
	b.recorded = recordErr == nil
	key := types.NamespacedName{Namespace: b.ca.Namespace, Name: b.ca.Name}
	b.Read(ctx, key) // the CA's status lists missing revocations meanwhile
	defer b.Read(ctx, key)
	err := b.carryOut(ctx)
	if b.confirmed {
		recordErr = b.record(ctx, true)
	}
	return errors.Join(err, recordErr)
}

// carryOut revokes the certificates, looks for them on the CRL, and cleans them.
func (b *revocationBatch) carryOut(ctx context.Context) error {
	for _, o := range b.orders {
		if o.err = b.revoke(ctx, o); hangs(o.err) {
			return o.err
		}
	}
	if err := b.confirm(ctx); err != nil {
		return err
	}
	for _, o := range b.orders {
		if !o.listed && !o.Forgotten && o.err == nil { // the CA has answered 200
			if o.err = b.revoke(ctx, o); hangs(o.err) {
				return o.err
			}
		}
	}
	if !b.complete() {
		if err := b.look(ctx); err != nil {
			return err
		}
	}
	b.confirmed = true
	return b.clean(ctx)
}

// hangs says whether a CA has not answered at all: each further call would wait for the timeout.
// An error of a server's own may be about one certificate only.
func hangs(err error) bool {
	_, answered := errors.AsType[*puppet.StatusError](err)
	return !answered && puppet.Unanswered(err)
}

// revoke revokes one certificate, if the CA has that certificate for the certname.
func (b *revocationBatch) revoke(ctx context.Context, o *revocationOrder) error {
	has, err := b.has(ctx, o)
	if err != nil || !has {
		return err
	}
	return b.authority.Admin.Revoke(ctx, o.Certname)
}

func (b *revocationBatch) has(ctx context.Context, o *revocationOrder) (bool, error) {
	has, err := b.authority.Anyone.Certificate(ctx, o.Certname)
	if err != nil && !errors.Is(err, puppet.ErrNotFound) {
		return false, err
	}
	o.Forgotten = err != nil || !o.is(has)
	return !o.Forgotten, nil
}

// confirm reads the CRL twice: certificates are listed that both have.
func (b *revocationBatch) confirm(ctx context.Context) error {
	if err := b.look(ctx); err != nil {
		return err
	}
	first := map[*revocationOrder]bool{}
	for _, o := range b.orders {
		first[o] = o.listed
	}
	select {
	case <-time.After(b.Pause):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := b.look(ctx); err != nil {
		return err
	}
	for _, o := range b.orders {
		o.listed = o.listed && first[o]
	}
	return nil
}

func (b *revocationBatch) look(ctx context.Context) error {
	text, _, err := b.authority.Anyone.CRL(ctx, puppet.Version{})
	if err != nil {
		return err
	}
	lists, err := puppet.ParseCRLs(text)
	if err != nil {
		return fmt.Errorf("reading the CRL: %w", err)
	}
	has := newListed(lists, b.authority.Bundle)
	for _, o := range b.orders {
		o.listed = has.has(o.Revocation)
	}
	return nil
}

func (b *revocationBatch) complete() bool {
	return !slices.ContainsFunc(b.orders, func(o *revocationOrder) bool { return !o.listed })
}

// clean removes the certificates' files from the CA, in one call.
func (b *revocationBatch) clean(ctx context.Context) error {
	var certnames []string
	var cleaned []*revocationOrder
	for _, o := range b.orders {
		if o.err != nil || o.Forgotten || !o.listed && !(o.frees && b.recorded) {
			continue
		}
		has, err := b.has(ctx, o)
		if hangs(err) {
			return err
		}
		if o.err = err; has {
			certnames, cleaned = append(certnames, o.Certname), append(cleaned, o)
		}
	}
	if len(certnames) == 0 {
		return nil
	}
	if err := b.authority.Admin.Clean(ctx, certnames...); err != nil {
		return err
	}
	for _, o := range cleaned {
		o.Forgotten = true
	}
	return nil
}

// record writes the orders into the record of the CA: those that it does not have yet, or, at the
// end, all as they are now.
func (b *revocationBatch) record(ctx context.Context, end bool) error {
	if end {
		for _, o := range b.orders {
			switch {
			case o.listed && o.Forgotten:
				o.State = revocationDone
			case o.listed:
				o.State = revocationListed
			}
		}
	}
	err := b.secrets.ChangeRevocations(ctx, b.ca, b.now(), func(record []Revocation) []Revocation {
		for _, o := range b.orders {
			at := slices.IndexFunc(record, func(r Revocation) bool { return r.Fingerprint == o.Fingerprint })
			switch {
			case at < 0:
				record = append(record, o.Revocation)
			case end:
				record[at].Forgotten = o.Forgotten
				if o.State != revocationWanted {
					record[at].State = o.State
				}
			}
		}
		return record
	})
	if err != nil {
		return fmt.Errorf("recording the revocations: %w", err)
	}
	return nil
}

// Revoke revokes the certificate that the CA has for a certname, and removes its file: in any case
// where frees is set, otherwise once the CRL lists the certificate. listed says whether it does.
func (r *Revoker) Revoke(ctx context.Context, a *Connection, certname string, has *x509.Certificate, frees bool) (listed bool, err error) {
	if err := a.stepAside(ctx, certname, has); err != nil {
		return false, err
	}
	o := &revocationOrder{Revocation: NewRevocation(has, a.Bundle, r.now()), frees: frees, alone: a.administers(has)}
	o.Certname = certname
	if err := r.run(ctx, a.CA, a, o); err != nil {
		return false, err
	}
	return o.listed, o.err
}

// WasRevoked says whether a certificate was revoked from here: the CA may still have its file.
func (r *Revoker) WasRevoked(ctx context.Context, ca *v1alpha1.CertificateAuthority, has *x509.Certificate) (bool, error) {
	record, err := r.secrets.readRevocations(ctx, ca)
	return slices.ContainsFunc(record, func(r Revocation) bool { return r.is(has) }), err
}
