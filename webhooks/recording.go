package webhooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/record"
)

const (
	// maxRecordedFindings bounds the findings of a record.
	maxRecordedFindings = 200
	// maxClusterBytes bounds the cluster data of a record.
	maxClusterBytes = 256 << 10
)

// recording collects what a review reads in addition to its request.
type recording struct {
	entry     string
	start     time.Time
	namespace []byte
	reads     clusterdata.Reads
	// reader knows what the policies can read; nil if they may read all.
	reader inputReader
}

func newRecording(entry string, start time.Time) *recording {
	return &recording{entry: entry, start: start}
}

type recordingKey struct{}

func withRecording(ctx context.Context, r *recording) context.Context {
	return context.WithValue(ctx, recordingKey{}, r)
}

// recordingOf is nil if the review is not recorded.
func recordingOf(ctx context.Context) *recording {
	r, _ := ctx.Value(recordingKey{}).(*recording)
	return r
}

// record queues a decided review that the sampling selects. It never waits, and masks the review
// before it is queued.
func (r *Recorder) record(from *recording, body []byte, review *admission.Review, a *answer, tenant string) {
	var unread *admission.ReviewError
	if errors.As(a.failure, &unread) {
		return // the review was refused before the policies were evaluated
	}
	share, outcome := r.options.Sampling.share(a)
	if !selects(share, samplingKey(review, r.now())) {
		return
	}
	if tenant == "" {
		tenant = "namespace " + review.Namespace
	}
	key, isRepeat := repeatKey{}, false
	if r.repeats != nil {
		var comparable bool
		if key, comparable = r.keyOf(from, review, a); comparable {
			found, evicted := r.repeats.look(key)
			r.storeHeld(evicted)
			if isRepeat = found == repeatedRequest; found == countedRequest {
				r.merged.Inc()
				return
			}
		}
	}
	queued, dropped := r.reserveAndBuild(from, body, review, a, tenant)
	switch {
	case dropped != "":
		r.drop(dropped, 1)
		if r.repeats != nil {
			r.repeats.forget(key)
		}
	case isRepeat:
		queued.record.Count = 1
		isHeld, evicted := r.repeats.hold(key, &heldRecord{queued, outcome, r.now()})
		if r.queue.cancel(tenant, queued.bytes); !isHeld {
			r.merged.Inc()
		}
		r.storeHeld(evicted)
	default:
		r.store(queued, outcome)
	}
}

// reserveAndBuild returns a masked record for which there is room in the queue, or the reason why
// there is none.
func (r *Recorder) reserveAndBuild(from *recording, body []byte, review *admission.Review, a *answer, tenant string) (queued queuedRecord, dropped string) {
	// The reservation bounds the work for records that would be dropped.
	reserved := int64(len(body) + len(from.namespace) + len(a.patch))
	if dropped := r.queue.reserve(tenant, reserved); dropped != "" {
		return queued, dropped
	}
	built, err := r.build(from, body, review, a)
	if err != nil {
		r.queue.cancel(tenant, reserved)
		return queued, droppedMask
	}
	if more := recordBytes(built) - reserved; more > 0 {
		if dropped := r.queue.reserve(tenant, more); dropped != "" {
			r.queue.cancel(tenant, reserved)
			return queued, dropped
		}
		reserved += more
	}
	return queuedRecord{built, tenant, reserved}, ""
}

// store queues a record for which there is room.
func (r *Recorder) store(queued queuedRecord, outcome string) {
	if !r.queue.add(queued) {
		r.queue.cancel(queued.tenant, queued.bytes)
		r.drop(droppedStore, int64(requestsOf(queued.record)))
		return
	}
	r.recorded.WithLabelValues(outcome).Add(1)
}

// storeHeld queues records that are no longer held.
func (r *Recorder) storeHeld(held []*heldRecord) {
	for _, one := range held {
		if one.record.Count == 1 {
			one.record.Count = 0
		}
		if dropped := r.queue.reserve(one.tenant, one.bytes); dropped != "" {
			r.drop(dropped, int64(requestsOf(one.record)))
			continue
		}
		r.store(one.queuedRecord, one.outcome)
	}
}

// recordBytes is about the memory of a record.
func recordBytes(r *record.Record) int64 {
	total := len(r.Request) + len(r.Namespace) + len(r.Decision.Patch)
	for _, data := range r.Cluster {
		for _, object := range data.Objects {
			total += len(object)
		}
		total += 64 * (len(data.Absent) + len(data.CompleteNamespaces) + len(data.Masked))
	}
	for _, findings := range [][]record.Finding{r.Decision.Denials, r.Decision.Warnings, r.Decision.Audits, r.Decision.Exempted} {
		for _, finding := range findings {
			total += len(finding.Msg) + len(finding.Field) + 256
		}
	}
	return int64(total)
}

// build returns the masked record of a review.
func (r *Recorder) build(from *recording, body []byte, review *admission.Review, a *answer) (*record.Record, error) {
	out := &record.Record{Schema: record.Schema, Time: from.start.UTC(), Entry: from.entry}
	// Masked values are required only where a text may quote them.
	var hidden *concealed
	if len(a.patch) > 0 || a.failure != nil || len(a.denials)+len(a.warnings)+len(a.audits)+len(a.exempted) > 0 {
		hidden = newConcealed()
	}
	var err error
	if out.Request, out.Masked, err = r.masks.request(body, review.Kind, hidden); err != nil {
		return nil, fmt.Errorf("masking the request: %w", err)
	}
	if len(from.namespace) > 0 {
		namespace := admission.GroupVersionKind{Version: "v1", Kind: "Namespace"}
		if out.Namespace, out.NamespaceMasked, err = r.masks.object(from.namespace, namespace, "", hidden); err != nil {
			return nil, fmt.Errorf("masking the Namespace: %w", err)
		}
	}
	if out.Cluster, err = r.cluster(&from.reads, hidden); err != nil {
		return nil, err
	}
	out.Decision = record.Decision{Allowed: a.allowed(), Snapshot: a.digest, Policies: a.policies}
	if hidden == nil {
		return out, nil
	}
	if out.Decision.Patch, err = r.masks.patch(a.patch, review.Kind, hidden); err != nil {
		return nil, err
	}
	if a.failure != nil {
		out.Decision.Error = truncate(hidden.text(a.failure.Error()), maxLoggedWords)
	}
	left := maxRecordedFindings
	add := func(findings []engine.Finding) []record.Finding {
		kept := findings[:min(len(findings), left)]
		left -= len(kept)
		out.Decision.MoreFindings += len(findings) - len(kept)
		return recordedFindings(kept, hidden)
	}
	out.Decision.Denials, out.Decision.Warnings = add(a.denials), add(a.warnings)
	out.Decision.Audits, out.Decision.Exempted = add(a.audits), add(a.exempted)
	return out, nil
}

func recordedFindings(findings []engine.Finding, hidden *concealed) []record.Finding {
	var out []record.Finding
	for _, f := range findings {
		recorded := record.Finding{
			Policy: f.Policy, Rule: f.Rule, Source: f.Source, Revision: f.Revision, Scope: string(f.Scope),
			Field: truncate(hidden.text(f.Field), maxLoggedWords), Msg: truncate(hidden.text(f.Words), maxLoggedWords),
			Error: f.Error, Exception: f.Exception,
		}
		if f.Location != (definition.Location{}) {
			recorded.Location = f.Location.String()
		}
		out = append(out, recorded)
	}
	return out
}

// cluster returns the cluster data that was read, masked and bounded. Objects that are left out are
// in no list of complete or absent objects.
func (r *Recorder) cluster(reads *clusterdata.Reads, hidden *concealed) (out []record.ClusterData, err error) {
	room := maxClusterBytes
	reads.Kinds(func(kind admission.GroupVersionKind, read *clusterdata.KindReads) {
		if err != nil {
			return
		}
		var data record.ClusterData
		if data, err = r.ofKind(kind, read, &room, hidden); err == nil {
			out = append(out, data)
		}
	})
	slices.SortFunc(out, func(a, b record.ClusterData) int { return cmp.Compare(a.Kind, b.Kind) })
	return out, err
}

func (r *Recorder) ofKind(kind admission.GroupVersionKind, read *clusterdata.KindReads, room *int, hidden *concealed) (record.ClusterData, error) {
	data := record.ClusterData{Kind: kind.String()}
	if fields := read.Fields(); !fields.Covers(nil) {
		data.Fields = fields
	}
	var failed error
	all := read.Each(func(object *clusterdata.DecodedObject) bool {
		if *room -= object.Bytes(); *room < 0 {
			return false
		}
		text, err := object.Recorded()
		if err != nil {
			failed = err
			return false
		}
		prefix := fmt.Sprintf("/%d", len(data.Objects))
		text, pointers, err := r.masks.object(text, kind, prefix, hidden)
		if err != nil {
			failed = err
			return false
		}
		data.Objects, data.Masked = append(data.Objects, text), append(data.Masked, pointers...)
		return true
	})
	if failed != nil {
		return data, fmt.Errorf("recording the objects of kind %s: %w", kind, failed)
	}
	for key, object := range read.Objects {
		if object == nil {
			data.Absent = append(data.Absent, key)
		}
	}
	slices.SortFunc(data.Absent, func(a, b clusterdata.Key) int {
		return cmp.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	if all {
		data.Complete = read.All
		for namespace := range read.Namespaces {
			data.CompleteNamespaces = append(data.CompleteNamespaces, namespace)
		}
		slices.Sort(data.CompleteNamespaces)
		return data, nil
	}
	if hidden != nil && r.mayHide(kind, read.Fields()) {
		hidden.all = true // values of objects that are left out may be quoted
	}
	return data, nil
}

// mayHide reports whether objects of a kind with these fields may have masked values.
func (r *Recorder) mayHide(kind admission.GroupVersionKind, fields *clusterdata.Fields) bool {
	return slices.ContainsFunc(r.masks.paths(kind), func(path []string) bool { return fields.Include(path) })
}
