package openvox

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
)

// target is a certname that is revoked or cleaned.
type target struct {
	certname    string
	certificate *x509.Certificate // nil where only a request waits
	listed      bool              // on the CRL
	failure     error             // why the last revocation was not carried out
}

func (t *target) String() string {
	return fmt.Sprintf("%s (serial %x)", t.certname, t.certificate.SerialNumber)
}

// revocation revokes certificates of one CA, and cleans them if wanted.
type revocation struct {
	*session
	force, clean bool
	out          io.Writer
}

func (r revocation) say(format string, args ...any) {
	fmt.Fprintln(r.out, report.Printable(fmt.Sprintf(format, args...)))
}

// finishTimeout bounds the requests to the CA that follow the interruption of the command.
const finishTimeout = 30 * time.Second

// finishing is a context in which the results of a change are read: also after ctx has ended.
func finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
}

// confirmAfter is the time between two reads of the CRL that have to agree: a revocation by
// another client may overwrite the CA's CRL in between.
const confirmAfter = time.Second

// confirm reads the CRL twice: certificates are listed that both have.
func (r revocation) confirm(ctx context.Context, targets []*target) error {
	if err := r.look(ctx, targets); err != nil {
		return err
	}
	var first []*target
	for _, t := range targets {
		if t.listed {
			first = append(first, t)
		}
	}
	select {
	case <-time.After(r.pause):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := r.look(ctx, targets); err != nil {
		return err
	}
	for _, t := range targets {
		t.listed = t.listed && slices.Contains(first, t)
	}
	return nil
}

func (r revocation) look(ctx context.Context, targets []*target) error {
	lists, err := r.crl(ctx)
	if err != nil {
		return err
	}
	for _, t := range targets {
		t.listed = onCRL(lists, t.certificate, r.bundle)
	}
	return nil
}
