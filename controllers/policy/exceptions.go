package policy

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/source"
)

// exceptionLoader loads the PolicyExceptions of the cluster. It runs on every replica.
type exceptionLoader struct {
	client client.Reader
	live   *engine.Live
}

// setUp registers the controller. All exceptions are one request: they are loaded together.
func (l *exceptionLoader) setUp(mgr manager.Manager) error {
	everywhere := false
	all := func(context.Context, client.Object) []reconcile.Request { return object.Request("", "all") }
	return builder.ControllerManagedBy(mgr).
		Named("lintel-exception-loader").
		WithOptions(controller.Options{NeedLeaderElection: &everywhere}).
		Watches(&v1alpha1.PolicyException{}, handler.EnqueueRequestsFromMapFunc(all), builder.WithPredicates(specChanged)).
		Complete(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, l.load(ctx)
		}))
}

// load makes all exceptions live. An exception that cannot be read has no effect, which its
// status reports, and does not hinder the others.
func (l *exceptionLoader) load(ctx context.Context) error {
	var list v1alpha1.PolicyExceptionList
	if err := l.client.List(ctx, &list); err != nil {
		return fmt.Errorf("listing the PolicyExceptions: %w", err)
	}
	var loaded []*exception.Exception
	for i := range list.Items {
		one, err := source.FromPolicyException(&list.Items[i])
		if err != nil {
			log.FromContext(ctx).Error(err, "a PolicyException has no effect", "exception", list.Items[i].Name)
			continue
		}
		loaded = append(loaded, one)
	}
	l.live.PutExceptions(loaded)
	return nil
}
