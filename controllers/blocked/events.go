package blocked

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/admission"
)

const (
	// ReasonChildDenied: admission has denied an object that a controller creates for the workload.
	ReasonChildDenied = "ChildDenied"
	action            = "Create"

	// queueLength is how many denials wait. Controllers repeat a denied creation, so
	// a dropped denial is reported by a later attempt.
	queueLength = 64
	// repeatAfter is how long a message is not repeated for one owner.
	repeatAfter = 10 * time.Minute
	// ownerEvery and ownerBurst bound the denials of one owner that are processed, with equal or
	// different messages. allEvery and allBurst bound those of all owners together.
	ownerEvery = time.Minute
	ownerBurst = 3
	allEvery   = 500 * time.Millisecond
	allBurst   = 10
	// maxOwners is how many owners are remembered.
	maxOwners = 1000
	// maxDepth is how many owners one above the other are followed: a CronJob has Jobs, which have
	// Pods.
	maxDepth = 5
	// readTimeout limits the requests for one Event.
	readTimeout = 10 * time.Second
)

// Events sends Events about denied creations.
type Events struct {
	resources func() *admission.Resources
	metadata  metadata.Interface
	recorder  events.EventRecorder
	now       func() time.Time

	queue  chan denial
	all    *rate.Limiter
	owners map[types.UID]*recent
}

// recent bounds the Events of one owner.
type recent struct {
	limiter  *rate.Limiter
	messages map[string]time.Time
	used     time.Time
}

// New returns Events. resources are the kinds of the cluster, and owners are read by the client.
func New(resources func() *admission.Resources, client metadata.Interface, recorder events.EventRecorder) *Events {
	return &Events{
		resources: resources, metadata: client, recorder: recorder, now: time.Now,
		queue: make(chan denial, queueLength), all: rate.NewLimiter(rate.Every(allEvery), allBurst), owners: map[types.UID]*recent{},
	}
}

// Denied queues the denial of a review, if its object has a controller. It never waits.
func (e *Events) Denied(review *admission.Review, texts []string) {
	denied, ok := denialOf(review, texts)
	if !ok {
		return
	}
	select {
	case e.queue <- denied:
	default:
	}
}

// Start sends Events until the context ends.
func (e *Events) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case next := <-e.queue:
			if !e.due(next) {
				continue
			}
			if err := e.send(ctx, next); err != nil && ctx.Err() == nil {
				log.FromContext(ctx).Info("no Event about a denied object", "namespace", next.namespace, "object", next.object, "reason", err.Error())
			}
		}
	}
}

// due reports whether an Event about a denial may be sent.
func (e *Events) due(next denial) bool {
	now := e.now()
	known := e.owners[next.owner.uid]
	if known == nil {
		e.makeRoom()
		known = &recent{limiter: rate.NewLimiter(rate.Every(ownerEvery), ownerBurst), messages: map[string]time.Time{}}
		e.owners[next.owner.uid] = known
	}
	for message, at := range known.messages {
		if now.Sub(at) >= repeatAfter {
			delete(known.messages, message)
		}
	}
	known.used = now
	if _, repeated := known.messages[next.message]; repeated || !known.limiter.AllowN(now, 1) || !e.all.AllowN(now, 1) {
		return false
	}
	known.messages[next.message] = now
	return true
}

// makeRoom forgets the owner of which nothing was denied for the longest time, if there are too many.
func (e *Events) makeRoom() {
	if len(e.owners) < maxOwners {
		return
	}
	var oldest types.UID
	var used time.Time
	for uid, known := range e.owners {
		if used.IsZero() || known.used.Before(used) {
			oldest, used = uid, known.used
		}
	}
	delete(e.owners, oldest)
}

// send sends an Event to the workload at the top.
func (e *Events) send(ctx context.Context, next denial) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	top, err := e.top(ctx, next)
	if err != nil {
		return err
	}
	through := ""
	if top.uid != next.owner.uid {
		through = " of " + next.owner.kind + " " + next.owner.name
	}
	about := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: top.apiVersion, Kind: top.kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: next.namespace, Name: top.name, UID: top.uid},
	}
	object.Send(e.recorder, about, action, object.Event{
		Warning: true, Reason: ReasonChildDenied, Message: fmt.Sprintf("%s%s was denied: %s", next.object, through, next.message),
	})
	return nil
}

// top follows the controllers up to one that has no controller, or that may not be read.
func (e *Events) top(ctx context.Context, next denial) (owner, error) {
	current, verified := next.owner, false
	for range maxDepth {
		found, err := e.read(ctx, next.namespace, current)
		switch {
		case err != nil && verified && (apierrors.IsForbidden(err) || errors.Is(err, errUnknownKind)):
			return current, nil
		case err != nil:
			return owner{}, err
		case found.UID != current.uid:
			return owner{}, fmt.Errorf("%s %s has another uid than the reference", current.kind, current.name)
		}
		controller := metav1.GetControllerOf(found)
		if controller == nil {
			return current, nil
		}
		current, verified = owner{controller.APIVersion, controller.Kind, controller.Name, controller.UID}, true
	}
	return current, nil
}

var errUnknownKind = errors.New("not a namespaced kind of the cluster")

// read reads the metadata of an owner, which is in the namespace of the object.
func (e *Events) read(ctx context.Context, namespace string, of owner) (*metav1.PartialObjectMetadata, error) {
	version, err := schema.ParseGroupVersion(of.apiVersion)
	if err != nil {
		return nil, fmt.Errorf("reading an ownerReference: %w", err)
	}
	resource, known := e.resources().ByKind(version.Group, of.kind)
	if !known || !resource.Namespaced || namespace == "" {
		return nil, fmt.Errorf("%s in %q: %w", of.kind, of.apiVersion, errUnknownKind)
	}
	found, err := e.metadata.Resource(schema.GroupVersionResource{Group: resource.Group, Version: resource.Version, Resource: resource.Name}).
		Namespace(namespace).Get(ctx, of.name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading %s %s/%s: %w", of.kind, namespace, of.name, err)
	}
	return found, nil
}
