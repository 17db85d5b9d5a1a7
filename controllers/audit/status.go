package audit

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/audit"
)

const (
	// statusInterval is how often the status is compared, and statusEvery and statusBurst bound
	// its writes per object.
	statusInterval = time.Second
	statusEvery    = 10 * time.Second
	statusBurst    = 4
	maxMessage     = 1024
)

// statuses writes the results into the status of PolicySources and constraints.
type statuses struct {
	client      client.Client
	view        func() *view
	constraints *constraints // nil where Gatekeeper's objects are not enforced
	limiters    map[string]*rate.Limiter
}

// Start implements manager.Runnable, on the leader.
func (s *statuses) Start(ctx context.Context) error {
	ticker := time.NewTicker(statusInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		view := s.view()
		if view == nil {
			continue
		}
		if err := s.write(ctx, view); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "writing the results of audit into the status")
		}
	}
}

func (s *statuses) write(ctx context.Context, view *view) error {
	var list v1alpha1.PolicySourceList
	if err := s.client.List(ctx, &list); err != nil {
		return err
	}
	for i := range list.Items {
		if err := s.writeSource(ctx, &list.Items[i], view); err != nil {
			return err
		}
	}
	if s.constraints == nil {
		return nil
	}
	return s.constraints.write(ctx, view)
}

func (s *statuses) writeSource(ctx context.Context, source *v1alpha1.PolicySource, view *view) error {
	next := source.DeepCopy()
	setAudit(next, view.state, view.totals, view.problem)
	if reflect.DeepEqual(next.Status, source.Status) {
		return nil
	}
	limiter := s.limiters[source.Name]
	if limiter == nil {
		limiter = rate.NewLimiter(rate.Every(statusEvery), statusBurst)
		s.limiters[source.Name] = limiter
	}
	if !limiter.Allow() {
		return nil
	}
	err := s.client.Status().Patch(ctx, next, client.MergeFromWithOptions(source, client.MergeFromWithOptimisticLock{}), client.FieldOwner(fieldManager))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) { // the cache is behind
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing the status of PolicySource %s: %w", source.Name, err)
	}
	return nil
}

// setAudit writes the results of a source into its status.
func setAudit(source *v1alpha1.PolicySource, state *state, totals map[audit.PolicyKey]audit.Counts, problem string) {
	found, live := state.sources[source.Name]
	if !live { // no policy of it denies or warns
		source.Status.Audit = nil
		meta.RemoveStatusCondition(&source.Status.Conditions, v1alpha1.ConditionAudited)
		return
	}
	previous := source.Status.Audit
	counted := auditStatus(source.Name, state, totals)
	if found.reason == "" {
		counted.LastFullPass = new(metav1.NewTime(found.last).Rfc3339Copy())
	} else if previous != nil {
		counted.LastFullPass = previous.LastFullPass
	}
	source.Status.Audit = counted
	conditions := object.Conditions{List: &source.Status.Conditions, Generation: source.Generation}
	set := func(status metav1.ConditionStatus, reason, message string) {
		if problem != "" {
			message += "; " + problem
		}
		conditions.SetStatus(v1alpha1.ConditionAudited, status, reason, object.Shorten(message, maxMessage))
	}
	switch {
	case found.waiting:
		set(metav1.ConditionUnknown, found.reason, found.message)
	case found.reason != "":
		set(metav1.ConditionFalse, found.reason, found.message)
	default:
		set(metav1.ConditionTrue, ReasonAudited, "all objects that the policies match were evaluated")
	}
}

// auditStatus counts the policies of a source by their results.
func auditStatus(source string, state *state, totals map[audit.PolicyKey]audit.Counts) *v1alpha1.AuditStatus {
	counted := &v1alpha1.AuditStatus{}
	for _, info := range state.policies {
		if info.Source != source {
			continue
		}
		key := audit.PolicyKey{Source: info.Source, Policy: info.Package}
		counts := totals[key]
		violations := counts.Violations()
		counted.Violations += int64(violations)
		switch {
		case violations > 0:
			counted.Violating++
		case len(info.NotAuditable) > 0:
			counted.NotAuditable++
		case state.incomplete[key]: // nothing is known of it yet
		default:
			counted.Compliant++
		}
		for _, reference := range info.NotAuditable {
			if len(counted.References) < v1alpha1.MaxAuditReferences {
				counted.References = append(counted.References, strings.Join([]string{info.Package, reference.String()}, ": "))
			}
		}
	}
	return counted
}
