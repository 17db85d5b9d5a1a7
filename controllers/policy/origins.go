package policy

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/source/origin"
)

const (
	// firstRetry is the pause after a first failure; each further one doubles it, up
	// to the interval.
	firstRetry = 5 * time.Second
	// jitter is the share by which an interval may be shorter, so that sources spread.
	jitter = 0.1
	// askedRate and askedBurst bound the looks that others ask for.
	askedRate  = 2
	askedBurst = 10
)

// fetched is how a look ends that found what there is.
const fetched = "success"

// FetchFunc asks an origin. An error of the type *origin.Error is about the origin.
type FetchFunc func(context.Context, origin.Request) (*origin.Answer, error)

// Origins looks at the origins of PolicySources, each on its own: one that is slow
// holds up no other. It runs on the leader, and keeps what was found last.
type Origins struct {
	fetch FetchFunc
	// secrets reads Secrets of the namespace.
	secrets   client.Reader
	namespace string
	allowFile bool
	// found is told of a source whose origin was looked at.
	found func(name string)
	count func(name, result string, at time.Time)

	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex // over sources and what is below
	sources map[string]*originState
}

// OriginOptions are what Origins needs.
type OriginOptions struct {
	// Fetch asks an origin.
	Fetch FetchFunc
	// Secrets reads Secrets of Namespace.
	Secrets   client.Reader
	Namespace string
	// AllowFile permits origins on the manager's own disk.
	AllowFile bool
	// Count, if any, is told of every look and how it ended.
	Count func(source, result string, at time.Time)
}

// NewOrigins makes an Origins that has looked at nothing.
func NewOrigins(options OriginOptions) *Origins {
	o := &Origins{
		fetch: options.Fetch, secrets: options.Secrets, namespace: options.Namespace, allowFile: options.AllowFile,
		count: options.Count, sources: map[string]*originState{},
	}
	o.ctx, o.end = context.WithCancel(context.Background())
	return o
}

// originState is what is known of one origin.
type originState struct {
	uid  types.UID
	spec string // the origin as JSON: what was found of another says nothing
	// secrets is a digest of the Secrets that the last look used: with other keys, all
	// is verified again.
	secrets string
	latest  look
	// asked is what the last look was asked for by: the annotation, and the
	// notifications that each replica received.
	asked asked
	// looked is when the last look ended, and interval the source's at that time.
	looked   time.Time
	interval time.Duration
	due      time.Time
	running  bool
	// again asks for another look once the running one has ended.
	again    bool
	failures int
	limiter  *rate.Limiter
}

// asked are the reasons to look before the interval ends. A value that differs from
// that of the last look is one.
type asked struct {
	annotation    string
	notifications map[string]string // by replica
}

// anew says whether there is a reason that was not there before. A replica that has
// ended, and its notifications with it, is none.
func (a asked) anew(before asked) bool {
	for replica, at := range a.notifications {
		if before.notifications[replica] != at {
			return true
		}
	}
	return a.annotation != before.annotation
}

// look is what the origin had.
type look struct {
	// answer is the last that was good: nil before there was any.
	answer *origin.Answer
	// failure is why the latest look found nothing: nil where it did.
	failure *origin.Error
	// done is false until the first look has ended.
	done bool
	// handled is the annotation that the look was asked for by.
	handled string
}

// NeedLeaderElection says that one replica fetches.
func (o *Origins) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable: looks end with it.
func (o *Origins) Start(ctx context.Context) error {
	<-ctx.Done()
	o.end()
	o.running.Wait()
	return nil
}

// Look is what is known of a source's origin, and how long until it is worth asking
// again. It begins a look where one is due.
func (o *Origins) Look(object *v1alpha1.PolicySource, notifications map[string]string) (look, time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	state := o.state(object)
	now := time.Now()
	if interval := object.Spec.Interval.Duration; interval != state.interval {
		state.interval = interval
		if due := state.looked.Add(interval); due.Before(state.due) {
			state.due = due
		}
	}
	asked := asked{object.Annotations[v1alpha1.ReconcileAtAnnotation], notifications}
	switch {
	case asked.anew(state.asked) && state.running:
		// The running look may have read the refs before.
		state.again = true
		state.asked = asked
	case asked.anew(state.asked):
		state.asked = asked
		state.hurry(now)
	}
	if !state.running && !now.Before(state.due) && o.ctx.Err() == nil {
		o.begin(object.DeepCopy(), state)
	}
	return state.latest, max(state.due.Sub(now), 0)
}

// Notify asks for a look at a source that is known.
func (o *Origins) Notify(name string) {
	o.mu.Lock()
	state, ok := o.sources[name]
	if ok {
		state.again = state.running
		if !state.running {
			state.hurry(time.Now())
		}
	}
	o.mu.Unlock()
	if ok {
		o.found(name)
	}
}

// Forget drops what is known of a source that is gone.
func (o *Origins) Forget(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.sources, name)
}

// state is that of the object as it is now; o.mu is held.
func (o *Origins) state(object *v1alpha1.PolicySource) *originState {
	text, err := json.Marshal([]any{object.Spec.Git, object.Spec.OCI})
	if err != nil {
		panic("an API type always has JSON: " + err.Error())
	}
	state := o.sources[object.Name]
	if state == nil || state.uid != object.UID || state.spec != string(text) {
		state = &originState{uid: object.UID, spec: string(text), limiter: rate.NewLimiter(askedRate, askedBurst)}
		o.sources[object.Name] = state
	}
	return state
}

// hurry makes the next look due as soon as those who ask too often may have one.
func (s *originState) hurry(now time.Time) {
	s.due = now.Add(s.limiter.ReserveN(now, 1).DelayFrom(now))
}

// begin looks in a goroutine of its own; o.mu is held.
func (o *Origins) begin(object *v1alpha1.PolicySource, state *originState) {
	state.running = true
	handled := state.asked.annotation
	known := state.latest.answer
	secrets := state.secrets
	o.running.Go(func() {
		answer, used, err := o.ask(object, known, secrets)
		if o.ctx.Err() != nil {
			return
		}
		o.mu.Lock()
		o.note(object, state, answer, err)
		if err == nil {
			state.secrets = used
		}
		state.latest.handled = handled
		o.mu.Unlock()
		o.found(object.Name)
	})
}

// ask fetches with what the Secrets hold now.
func (o *Origins) ask(object *v1alpha1.PolicySource, known *origin.Answer, secrets string) (_ *origin.Answer, used string, err error) {
	request, err := o.request(object)
	if err != nil {
		return nil, "", err
	}
	used = digestOf(request.Credentials, request.Keys)
	if known != nil && used == secrets {
		request.Known = known.Revision
	}
	answer, err := o.fetch(o.ctx, request)
	if err != nil {
		return nil, used, err
	}
	if answer.Files == nil && request.Known != "" {
		return known, used, nil
	}
	return answer, used, nil
}

// note keeps how a look ended, and when the next one is due; o.mu is held.
func (o *Origins) note(object *v1alpha1.PolicySource, state *originState, answer *origin.Answer, err error) {
	now := time.Now()
	state.running, state.looked = false, now
	state.latest.done = true
	interval := max(object.Spec.Interval.Duration, firstRetry) // an object may be older than the default
	result := fetched
	if err != nil {
		state.latest.failure = failureOf(err)
		result = state.latest.failure.Reason
		interval = min(interval, firstRetry<<min(state.failures, 10))
		state.failures++
	} else {
		state.latest.answer, state.latest.failure = answer, nil
		state.failures = 0
	}
	state.due = now.Add(time.Duration(float64(interval) * (1 - jitter*rand.Float64())))
	if state.again {
		state.again = false
		state.hurry(now)
	}
	if o.count != nil {
		o.count(object.Name, result, now)
	}
}

// failureOf is an error as one about the origin.
func failureOf(err error) *origin.Error {
	var failure *origin.Error
	if errors.As(err, &failure) {
		return failure
	}
	return &origin.Error{Reason: origin.ReasonFetchFailed, Message: err.Error()}
}

// request reads the Secrets that an origin names.
func (o *Origins) request(object *v1alpha1.PolicySource) (request origin.Request, err error) {
	var credentials, keys *v1alpha1.SecretReference
	if git := object.Spec.Git; git != nil {
		if err := CheckGitOrigin(git, o.allowFile); err != nil {
			return request, err
		}
		request.Git, credentials = git, git.SecretRef
		if git.Verify != nil {
			keys = &git.Verify.SecretRef
		}
	}
	if oci := object.Spec.OCI; oci != nil {
		request.OCI, credentials = oci, oci.SecretRef
		if oci.Verify != nil {
			keys = &oci.Verify.SecretRef
		}
	}
	if request.Credentials, err = o.secret(credentials); err != nil {
		return request, err
	}
	request.Keys, err = o.secret(keys)
	return request, err
}

// CheckGitOrigin says what can be known of a Git origin without asking it.
func CheckGitOrigin(git *v1alpha1.GitOrigin, allowFile bool) error {
	if err := origin.CheckGitURL(git.URL); err != nil {
		return err
	}
	if origin.IsFile(git.URL) && !allowFile {
		return &origin.Error{Reason: origin.ReasonContentRefused, Message: "spec.git.url is a folder of the manager's own disk, which is permitted only where the manager runs with --allow-file-origins"}
	}
	return nil
}

// secret is the data of a Secret in the manager's namespace: nothing where none is named.
func (o *Origins) secret(reference *v1alpha1.SecretReference) (map[string][]byte, error) {
	if reference == nil {
		return nil, nil
	}
	var secret corev1.Secret
	err := o.secrets.Get(o.ctx, client.ObjectKey{Namespace: o.namespace, Name: reference.Name}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, &origin.Error{Reason: origin.ReasonCredentialsInvalid, Message: fmt.Sprintf("there is no Secret %s in namespace %s: create it", reference.Name, o.namespace)}
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s/%s: %w", o.namespace, reference.Name, err)
	}
	return secret.Data, nil
}

// digestOf tells whether Secrets have changed.
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
