package engine

import (
	"context"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
)

// clusterKey is where cluster objects stand under data.
const clusterKey = "cluster"

// dataView is one immutable version of `data`, read by OPA as its store and its
// transaction in one. Reads give AST values, so nothing is converted.
type dataView struct {
	storage.PolicyNotSupported
	storage.TriggersNotSupported
	storage.WritesNotSupported
	root    ast.Object
	cluster *clusterView // nil where the source requires nothing
	// inventory is the cluster as templates see it: nil for Lintel's own policies.
	inventory *inventoryView
}

// ID implements storage.Transaction; a view has only itself.
func (*dataView) ID() uint64 { return 0 }

// NewTransaction implements storage.Store.
func (v *dataView) NewTransaction(_ context.Context, params ...storage.TransactionParams) (storage.Transaction, error) {
	if len(params) > 0 && params[0].Write {
		return nil, &storage.Error{Code: storage.WritesNotSupportedErr, Message: "policy data is read-only"}
	}
	return v, nil
}

// Read implements storage.Store.
func (v *dataView) Read(_ context.Context, _ storage.Transaction, path storage.Path) (any, error) {
	value, err := v.read(path)
	if err != nil {
		return nil, &storage.Error{Code: storage.InternalErr, Message: err.Error()}
	}
	if value == nil {
		return nil, &storage.Error{Code: storage.NotFoundErr, Message: fmt.Sprintf("data.%s is not there", path)}
	}
	return value, nil
}

// read is nil where there is nothing.
func (v *dataView) read(path storage.Path) (ast.Value, error) {
	switch {
	case v.inventory != nil:
		return v.template(path), nil
	case v.cluster == nil:
		return descend(v.root, path), nil
	case len(path) > 0 && path[0] == clusterKey:
		return v.cluster.read(path[1:])
	case len(path) > 0:
		return descend(v.root, path), nil
	}
	cluster, err := v.cluster.read(nil)
	if err != nil {
		return nil, err
	}
	return replaceKey(v.root, clusterKey, ast.NewTerm(cluster)), nil
}

// template is what a template finds: its inventory, and nothing else. OPA's index also
// asks for what is above it.
func (v *dataView) template(path storage.Path) ast.Value {
	if len(path) > 1 && path[0] == templateKey && path[1] == inventoryKey {
		return v.inventory.read(path[2:])
	}
	inventory := ast.Item(ast.StringTerm(inventoryKey), ast.NewTerm(v.inventory.read(nil)))
	return descend(ast.NewObject(ast.Item(ast.StringTerm(templateKey), ast.ObjectTerm(inventory))), path)
}

// Commit implements storage.Store.
func (*dataView) Commit(context.Context, storage.Transaction) error { return nil }

// Abort implements storage.Store.
func (*dataView) Abort(context.Context, storage.Transaction) {}

// Truncate implements storage.Store.
func (*dataView) Truncate(context.Context, storage.Transaction, storage.TransactionParams, storage.Iterator) error {
	return &storage.Error{Code: storage.WritesNotSupportedErr, Message: "policy data is read-only"}
}
