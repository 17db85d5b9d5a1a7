package engine

import (
	"context"
	"fmt"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
)

// dataView is one immutable version of `data`, read by OPA as its store and its
// transaction in one. Reads give AST values, so nothing is converted.
type dataView struct {
	storage.PolicyNotSupported
	storage.TriggersNotSupported
	storage.WritesNotSupported
	root ast.Object
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
	var node ast.Value = v.root
	for _, key := range path {
		switch value := node.(type) {
		case ast.Object:
			node = lookup(value, key)
		case *ast.Array:
			node = nil
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < value.Len() {
				node = value.Elem(i).Value
			}
		default:
			node = nil
		}
		if node == nil {
			return nil, &storage.Error{Code: storage.NotFoundErr, Message: fmt.Sprintf("data.%s is not there", path)}
		}
	}
	return node, nil
}

// Commit implements storage.Store.
func (*dataView) Commit(context.Context, storage.Transaction) error { return nil }

// Abort implements storage.Store.
func (*dataView) Abort(context.Context, storage.Transaction) {}

// Truncate implements storage.Store.
func (*dataView) Truncate(context.Context, storage.Transaction, storage.TransactionParams, storage.Iterator) error {
	return &storage.Error{Code: storage.WritesNotSupportedErr, Message: "policy data is read-only"}
}
