// Package system is the shape of what a system brings to the manager.
//
// Invariant: the webhook entries of a system are the same whether it is on or off, but that
// those of one that is off are called for nothing: entries never come and go. A system
// that is off watches nothing, and needs no kinds and no permissions.
package system

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/lintel-policy/lintel/policies/rules"
)

// Manager is what a system is set up in.
type Manager struct {
	manager.Manager
	// Namespace is the platform's own.
	Namespace string
	// Excluded are the namespaces in which only Lintel's own kinds are reviewed: the platform's,
	// and those without which a cluster cannot start.
	Excluded []string
	// Metrics gets those of the system.
	Metrics prometheus.Registerer
	// Namespaces finds Namespaces in a cache, or live where that has not got them yet.
	Namespaces func(cached, live client.Reader) rules.NamespaceGetter
}

// Part is the part of one system. Fields that the system does not need are nil.
type Part struct {
	// Name is what switches the system on, and what its flags begin with.
	Name string
	// Flags adds the flags, and Check validates their values.
	Flags func(*pflag.FlagSet)
	Check func() error
	// Scheme adds the kinds that the manager's own cache holds, and Caches says which
	// objects of them.
	Scheme func(*runtime.Scheme) error
	Caches func() map[client.Object]cache.ByObject
	// Controls describes the objects that the controllers create, once the system is set up:
	// nil if they create none.
	Controls func() *Controls
	// SetUp gives the webhook entries, and adds the controllers where the system is on.
	SetUp func(ctx context.Context, mgr Manager, on bool) ([]rules.Product, error)
}

// CheckNamespaces validates the value of a flag that lists namespaces.
func CheckNamespaces(flag string, namespaces []string) error {
	for _, namespace := range namespaces {
		if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
			return fmt.Errorf("--%s: Invalid value %q: %s", flag, namespace, problems[0])
		}
	}
	return nil
}
