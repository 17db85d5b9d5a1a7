package policy

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/tracing"
	"github.com/lintel-policy/lintel/policies/source/origin"
)

const (
	// firstRetry is the delay after a first failure; each further failure doubles it, up to the
	// interval.
	firstRetry = 5 * time.Second
	// jitter is the share by which an interval may be shortened, so that checks of sources are
	// spread over time.
	jitter = 0.1
)

// fetched is the result of a successful check.
const fetched = "success"

// fetchFunc fetches from an origin. An error of the type *origin.Error is about the origin.
type fetchFunc func(context.Context, origin.Request) (*origin.Answer, error)

// origins checks the origins of PolicySources, or of DataSources, independently, so that a slow one does not delay
// the others. It runs on the leader and stores the latest result of each.
type origins struct {
	fetch fetchFunc
	// secrets reads Secrets of the namespace.
	secrets   client.Reader
	namespace string
	// allowFile permits origins on the manager's own disk.
	allowFile bool
	// count, if set, is called for every check with its result.
	count   func(name, result string, at time.Time)
	fetches *attempt.Runner[fetch]

	mu      sync.Mutex // guards sources and the fields below
	sources map[string]*originState
}

// newOrigins completes the given origins, without any results.
func newOrigins(o *origins) *origins {
	o.fetches, o.sources = attempt.NewRunner[fetch](time.Now), map[string]*originState{}
	return o
}

// version identifies an origin: a result for another version does not apply.
type version struct {
	uid    types.UID
	origin string // as JSON
}

// originState is the state of one origin.
type originState struct {
	version version
	// secrets is a digest of the Secrets that the last check used: after a change of keys,
	// everything is verified again.
	secrets string
	latest  look
	// triggers are those of the last check: the annotation, and the
	// notifications that each replica received.
	triggers triggers
}

// fetch is the result of one check of an origin.
type fetch struct {
	answer *origin.Answer
	err    error
	// secrets is a digest of the Secrets, and handled the annotation that triggered the check.
	secrets, handled string
}

// triggers are the reasons to check an origin before the interval ends. A value that differs
// from that of the last check triggers one.
type triggers struct {
	annotation    string
	notifications map[string]string // by replica
}

// hasNew reports whether there is a new reason. The end of a replica, which removes its
// notifications, does not count as one.
func (t triggers) hasNew(before triggers) bool {
	for replica, at := range t.notifications {
		if before.notifications[replica] != at {
			return true
		}
	}
	return t.annotation != before.annotation
}

// look is the latest result of the checks of an origin.
type look struct {
	// answer is the last good answer: nil before the first.
	answer *origin.Answer
	// failure is the error of the latest check: nil if it succeeded.
	failure *origin.Error
	// done is false until the first check has ended.
	done bool
	// handled is the annotation that triggered the check.
	handled string
	// succeeded is when the origin was last checked without an error.
	succeeded time.Time
}

// Start implements manager.Runnable: only the leader checks origins.
func (o *origins) Start(ctx context.Context) error { return o.fetches.Start(ctx) }

// Look returns the state of a source's origin and the time until the next check. It starts a
// check if one is due.
func (o *origins) Look(object client.Object, notifications map[string]string) (look, time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	of := remoteOf(object)
	state, name := o.state(of), attempt.Name{Name: of.name}
	interval := max(of.interval, firstRetry) // an object may be older than the default
	if found, ended := o.fetches.Outcome(name, state.version); ended {
		o.note(name, state, interval, found)
	}
	o.fetches.NoLater(name, state.version, interval)
	current := triggers{object.GetAnnotations()[v1alpha1.ReconcileAtAnnotation], notifications}
	if current.hasNew(state.triggers) {
		state.triggers = current
		o.fetches.Hurry(name)
	}
	wait := max(time.Until(o.fetches.Due(name, state.version)), 0)
	if wait == 0 {
		known, secrets, handled := state.latest.answer, state.secrets, state.triggers.annotation
		o.fetches.Begin(name, name, state.version, func(ctx context.Context) fetch {
			found := fetch{handled: handled}
			found.answer, found.secrets, found.err = o.ask(ctx, of, known, secrets)
			return found
		})
	}
	return state.latest, wait
}

// notify triggers a check of a known source.
func (o *origins) notify(source string) {
	if name := (attempt.Name{Name: source}); o.fetches.Hurry(name) {
		o.fetches.Wake(context.Background(), name)
	}
}

// Forget drops the state of a deleted source.
func (o *origins) Forget(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.sources, name)
	o.fetches.Forget(attempt.Name{Name: name})
}

// state returns the state of an origin in its current version. The caller holds o.mu.
func (o *origins) state(of remote) *originState {
	state := o.sources[of.name]
	if now := (version{of.uid, of.identity()}); state == nil || state.version != now {
		state = &originState{version: now}
		o.sources[of.name] = state
	}
	return state
}

// ask fetches an origin with the current Secrets.
func (o *origins) ask(ctx context.Context, of remote, known *origin.Answer, secrets string) (_ *origin.Answer, used string, err error) {
	ctx, end := tracing.Step(ctx, "fetch", of.name)
	defer func() { end(err) }()
	request, err := o.request(ctx, of)
	if err != nil {
		return nil, "", err
	}
	used = digestOf(request.Credentials, request.Keys)
	if known != nil && used == secrets {
		request.Known = known.Revision
	}
	answer, err := o.fetch(ctx, request)
	if err != nil {
		return nil, used, err
	}
	if answer.Files == nil && request.Known != "" {
		return known, used, nil
	}
	return answer, used, nil
}

// note stores the result of a check and schedules the next one. The caller holds o.mu.
func (o *origins) note(name attempt.Name, state *originState, interval time.Duration, found fetch) {
	state.latest.done, state.latest.handled, state.latest.failure = true, found.handled, failureOf(found.err)
	result := fetched
	if failure := state.latest.failure; failure != nil {
		result = failure.Reason
		o.fetches.Failed(name, state.version, attempt.Backoff{First: firstRetry, Longest: interval, Jitter: jitter})
	} else {
		state.latest.answer, state.secrets = found.answer, found.secrets
		state.latest.succeeded = time.Now()
		o.fetches.Succeeded(name, state.version, attempt.Jitter(interval, jitter))
	}
	if o.count != nil {
		o.count(name.Name, result, time.Now())
	}
}

// failureOf converts an error to an *origin.Error: nil for nil.
func failureOf(err error) *origin.Error {
	var failure *origin.Error
	if err == nil || errors.As(err, &failure) {
		return failure
	}
	return &origin.Error{Reason: origin.ReasonFetchFailed, Message: err.Error()}
}

// request reads the Secrets that an origin references.
func (o *origins) request(ctx context.Context, of remote) (request origin.Request, err error) {
	var credentials, keys *v1alpha1.SecretReference
	if git := of.git; git != nil {
		if err := checkGitOrigin(git, o.allowFile); err != nil {
			return request, err
		}
		request.Git, credentials = git, git.SecretRef
		if git.Verify != nil {
			keys = &git.Verify.SecretRef
		}
	}
	if oci := of.oci; oci != nil {
		request.OCI, credentials = oci, oci.SecretRef
		if oci.Verify != nil {
			keys = &oci.Verify.SecretRef
		}
	}
	if https := of.https; https != nil {
		request.HTTPS, credentials = https, https.SecretRef
		if https.Verify != nil {
			keys = &https.Verify.SecretRef
		}
	}
	if request.Data = of.data; request.Data != nil {
		request.Limits = origin.DataLimits(request.Data.MaxBytes)
	}
	if request.Credentials, err = o.secret(ctx, credentials); err != nil {
		return request, err
	}
	request.Keys, err = o.secret(ctx, keys)
	return request, err
}

// checkGitOrigin validates a Git origin without contacting it.
func checkGitOrigin(git *v1alpha1.GitOrigin, allowFile bool) error {
	if err := origin.CheckGitURL(git.URL); err != nil {
		return err
	}
	if origin.IsFile(git.URL) && !allowFile {
		return &origin.Error{Reason: origin.ReasonContentRefused, Message: "spec.git.url is a folder of the manager's own disk, which is permitted only where the manager runs with --allow-file-origins"}
	}
	return nil
}

// secret returns the data of a Secret in the manager's namespace: nil without a reference.
func (o *origins) secret(ctx context.Context, reference *v1alpha1.SecretReference) (map[string][]byte, error) {
	if reference == nil {
		return nil, nil
	}
	var secret corev1.Secret
	err := o.secrets.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: reference.Name}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, &origin.Error{Reason: origin.ReasonCredentialsInvalid, Message: fmt.Sprintf("there is no Secret %s in namespace %s: create it", reference.Name, o.namespace)}
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s/%s: %w", o.namespace, reference.Name, err)
	}
	return secret.Data, nil
}

// digestOf returns a digest of Secrets, to detect their changes.
func digestOf(secrets ...map[string][]byte) string {
	hash := sha256.New()
	for _, secret := range secrets {
		for _, key := range slices.Sorted(maps.Keys(secret)) {
			fmt.Fprintf(hash, "%q %q\n", key, secret[key])
		}
		fmt.Fprintln(hash)
	}
	return string(hash.Sum(nil))
}
