package authority

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/policies/csr"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
	hook "github.com/lintel-policy/lintel/policies/rules/openvox/signing"
)

const (
	// reasonRequestsRefused means that requests wait at the CA because no SigningPolicy permits them.
	reasonRequestsRefused = "RequestsRefused"

	// lookAfter is the shortest time between two looks at the requests of a CA, and reportAfter
	// the one between two Events: any client that reaches the CA may send requests.
	lookAfter   = time.Minute
	reportAfter = 10 * time.Minute
	// maxEvaluated bounds the requests that are evaluated at a time, and maxReported those that
	// an Event names.
	maxEvaluated = 50
	maxReported  = 3
	maxNote      = 1000
)

// refusedRequests are those that were reported last of a CA.
type refusedRequests struct {
	looked, reported time.Time
	digest           string
}

// refusedReporter reports requests that the signing policies refuse.
type refusedReporter struct {
	client  client.Client
	secrets Secrets
	now     func() time.Time

	mutex sync.Mutex
	last  map[types.NamespacedName]refusedRequests
}

func (r *refusedReporter) forget(ca types.NamespacedName) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.last, ca)
}

// report adds an Event about requests that wait at a CA because the signing policies refuse
// them. The CA's hook has no way to report that itself; the same rules and policies give the same
// reasons here. Nothing else depends on it, so an error is only logged.
func (r *refusedReporter) report(ctx context.Context, ca *v1alpha1.CertificateAuthority, a *Connection, out *refreshResult) {
	key, now := client.ObjectKeyFromObject(ca), r.now()
	r.mutex.Lock()
	last := r.last[key]
	r.mutex.Unlock()
	if a.Admin == nil || a.Waiting != nil || now.Sub(last.looked) < lookAfter {
		return
	}
	last.looked = now
	names, message, err := r.describe(ctx, ca, a)
	if err != nil {
		log.FromContext(ctx).Info("requests that wait at the CA are not reported", "reason", err.Error())
	} else if sum := digest([]byte(strings.Join(names, " "))); len(names) > 0 && sum != last.digest && now.Sub(last.reported) >= reportAfter {
		last.digest, last.reported = sum, now
		out.events = append(out.events, object.Event{Warning: true, Reason: reasonRequestsRefused, Message: message})
	}
	r.mutex.Lock()
	r.last[key] = last
	r.mutex.Unlock()
}

// describe evaluates the requests that wait at a CA, but for those of Certificates, whose
// status reports them. names are of those that are refused.
func (r *refusedReporter) describe(ctx context.Context, ca *v1alpha1.CertificateAuthority, a *Connection) (names []string, message string, err error) {
	waiting, err := a.Admin.Requested(ctx)
	if err != nil || len(waiting) == 0 {
		return nil, "", err
	}
	configs, err := layout.ConfigsIn(ctx, r.client, ca.Namespace)
	if err != nil {
		return nil, "", err
	}
	servers, err := layout.ServersIn(ctx, r.client, ca.Namespace)
	if err != nil {
		return nil, "", err
	}
	if len(rules.AutosignConfigs(ca.Name, configs, servers)) > 0 {
		return nil, "", nil // a program decides in place of the policies
	}
	certificates, err := layout.CertificatesIn(ctx, r.client, ca.Namespace)
	if err != nil {
		return nil, "", err
	}
	waiting = slices.DeleteFunc(waiting, func(name string) bool {
		return slices.ContainsFunc(certificates, func(c v1alpha1.Certificate) bool {
			return c.Spec.AuthorityRef == ca.Name && c.Spec.Certname == name
		})
	})
	data, err := r.secrets.Owned(ctx, ca, layout.AutosignSecret(ca.Name))
	if err != nil {
		return nil, "", err
	}
	rendered, err := hook.Read(data[layout.PolicyFile])
	if err != nil {
		return nil, "", fmt.Errorf("reading the signing policies: %w", err)
	}
	slices.Sort(waiting)
	var described []string
	for _, name := range waiting[:min(len(waiting), maxEvaluated)] {
		text, err := a.Admin.RequestText(ctx, name)
		if hangs(err) {
			return nil, "", err
		}
		if err != nil {
			continue // it waits no longer
		}
		refusals, err := hook.Refusals(ctx, hook.Question{Certname: name, CSR: csr.Parse(text), Rendered: rendered})
		if err != nil {
			return nil, "", err
		}
		if len(refusals) == 0 {
			continue
		}
		names = append(names, name)
		if len(described) < maxReported {
			described = append(described, fmt.Sprintf("%.100q (%.160s)", name, printable(refusals[0])))
		}
	}
	more := ""
	if rest := len(names) - len(described); rest > 0 {
		more = fmt.Sprintf(" and %d more", rest)
	}
	if len(waiting) > maxEvaluated {
		more += fmt.Sprintf("; only %d of %d requests were evaluated", maxEvaluated, len(waiting))
	}
	message = fmt.Sprintf("the SigningPolicies refuse requests that wait at the CA: %s%s; `lintel openvox ca list --state pending` shows all", strings.Join(described, ", "), more)
	return names, strings.ToValidUTF8(message[:min(len(message), maxNote)], ""), nil
}

// printable replaces non-graphic characters: a reason may quote the request.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, text)
}
