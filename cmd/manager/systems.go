package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/lintel-policy/lintel/webhooks"
)

// systems are what --systems switches on. Each gives its webhook entries, which are
// always registered, and where it is on adds its controllers, with caches of their own.
var systems = map[string]func(ctx context.Context, mgr manager.Manager, o *options, on bool) ([]webhooks.Product, error){
	"openclaw": newOpenClaw,
	"openvox":  newOpenVox,
	"orloj":    newOrloj,
}

func systemNames() []string { return slices.Sorted(maps.Keys(systems)) }

func checkSystems(names []string) error {
	for _, name := range names {
		if systems[name] == nil {
			return fmt.Errorf("--systems: there is no system %q; there are %s", name, strings.Join(systemNames(), ", "))
		}
	}
	return nil
}

func addSystems(ctx context.Context, mgr manager.Manager, o *options) ([]webhooks.Product, error) {
	var products []webhooks.Product
	for _, name := range systemNames() {
		added, err := systems[name](ctx, mgr, o, slices.Contains(o.systems, name))
		if err != nil {
			return nil, fmt.Errorf("setting up %s: %w", name, err)
		}
		products = append(products, added...)
	}
	return products, nil
}
