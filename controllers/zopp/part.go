package zopp

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/controllers/zopp/store"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/zopp"
)

// Part is the system zopp.
func Part() system.Part {
	a := &admitter{}
	return system.Part{Flags: a.settings.addTo, Check: a.settings.check, Controls: a.controls, SetUp: a.setUp}
}

func (a *admitter) setUp(ctx context.Context, mgr system.Manager, on bool) (products []builtin.Product, err error) {
	if a.rules, err = rules.New(); err != nil {
		return nil, fmt.Errorf("compiling its rules: %w", err)
	}
	if !on {
		return a.products(false), nil
	}
	if a.settings, a.mapping, err = a.settings.complete(); err != nil {
		return nil, err
	}
	values, err := a.settings.open()
	if err != nil {
		return nil, err
	}
	c, err := newCluster(ctx, mgr.GetConfig(), a.settings)
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(c); err != nil {
		return nil, err
	}
	a.objects, a.namespaces = c.GetClient(), mgr.Namespaces(c.GetClient(), c.GetAPIReader())
	a.warn(mgr, values)
	return a.products(true), a.addControllers(mgr, c, values)
}

// warn logs settings at startup that an administrator may have overlooked.
func (a *admitter) warn(mgr system.Manager, values *store.Store) {
	logger := mgr.GetLogger().WithName("zopp")
	if a.mapping == rules.Open {
		logger.Info("--zopp-namespace-mapping=Open: Secrets of every Namespace without " + v1alpha1.AllowedSourcesAnnotation + " may read whatever the principal may read; Restricted, the default, permits nothing there")
	}
	if err := values.CheckCredentials(); err != nil {
		logger.Error(err, "nothing can be read from zopp until its credentials are mended")
	}
}

func (a *admitter) addControllers(mgr system.Manager, c cluster.Cluster, values *store.Store) error {
	return addControllers(mgr, c, options{
		store: values, pollInterval: a.settings.pollInterval, admit: a.admit,
		events:      c.GetEventRecorder("lintel-zopp"),
		secretSyncs: a.settings.secretSyncs, reload: a.settings.reload,
	})
}
