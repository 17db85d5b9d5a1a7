package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/lintel-policy/lintel/controllers/guard"
	"github.com/lintel-policy/lintel/controllers/openclaw"
	"github.com/lintel-policy/lintel/controllers/openvox"
	"github.com/lintel-policy/lintel/controllers/openzro"
	"github.com/lintel-policy/lintel/controllers/orloj"
	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/controllers/zopp"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/rules"
	"github.com/lintel-policy/lintel/policies/rules/systems"
	"github.com/lintel-policy/lintel/webhooks"
)

// parts are the parts of all systems in the registry, which --systems enables.
func parts() []system.Part {
	controllers := map[string]func() system.Part{
		"openclaw": openclaw.Part, "openvox": openvox.Part, "openzro": openzro.Part, "orloj": orloj.Part, "zopp": zopp.Part,
	}
	var parts []system.Part
	for _, registered := range systems.All() {
		part := controllers[registered.Name]()
		part.Name = registered.Name
		parts = append(parts, part)
	}
	return parts
}

func (o *options) systemNames() (names []string) {
	for _, part := range o.parts {
		names = append(names, part.Name)
	}
	return names
}

// checkSystems validates the flags of systems.
func (o *options) checkSystems() error {
	for _, part := range o.parts {
		if part.Check == nil {
			continue
		}
		if err := part.Check(); err != nil {
			return err
		}
	}
	for _, name := range o.systems {
		if !slices.Contains(o.systemNames(), name) {
			return fmt.Errorf("--systems: Unsupported value %q: supported values: %s", name, strings.Join(o.systemNames(), ", "))
		}
	}
	return nil
}

// addSystems sets up the systems that are on. It returns the webhook entries of all, and a
// function that recognizes their controllers' own writes.
func addSystems(ctx context.Context, mgr manager.Manager, o *options) ([]rules.Product, func(*admission.Review) bool, error) {
	in := system.Manager{
		Manager: mgr, Namespace: o.namespace, Excluded: append([]string{o.namespace}, o.excludedNamespaces...), Metrics: metrics.Registry,
		Namespaces: func(cached, live client.Reader) rules.NamespaceGetter { return webhooks.NewNamespaces(cached, live) },
	}
	var products []rules.Product
	var controls []system.Controls
	for _, part := range o.parts {
		added, err := part.SetUp(ctx, in, slices.Contains(o.systems, part.Name))
		if err != nil {
			return nil, nil, fmt.Errorf("setting up %s: %w", part.Name, err)
		}
		products = append(products, added...)
		if part.Controls == nil || !slices.Contains(o.systems, part.Name) {
			continue
		}
		if created := part.Controls(); created != nil {
			controls = append(controls, *created)
		}
	}
	guarded, own, err := guard.Products(ctx, mgr, controls)
	return append(products, guarded...), own, err
}
