package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/lintel-policy/lintel/controllers/openclaw"
)

// systems are what --systems switches on: each adds its controllers, with caches of
// their own.
var systems = map[string]func(context.Context, manager.Manager, *options) error{
	"openclaw": addOpenClaw,
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

func addSystems(ctx context.Context, mgr manager.Manager, o *options) error {
	for _, name := range slices.Compact(slices.Sorted(slices.Values(o.systems))) {
		if err := systems[name](ctx, mgr, o); err != nil {
			return fmt.Errorf("switching on %s: %w", name, err)
		}
	}
	return nil
}

func addOpenClaw(ctx context.Context, mgr manager.Manager, o *options) error {
	return openclaw.SetupWithManager(ctx, mgr, openclaw.Options{
		RootNamespace:   o.openclawRootNamespace,
		ImageRegistries: o.openclawImageRegistries,
	})
}
