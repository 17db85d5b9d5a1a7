package clusterdata

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/terms"
)

// part is a part of data that policies read piece by piece: what the cluster has is
// large, and most policies name one kind, namespace or object of it.
type part struct {
	get   func(key string) (ast.Value, eval.Document, error)
	whole func() (ast.Value, error)
}

// Get implements eval.Document.
func (p part) Get(key string) (ast.Value, eval.Document, error) { return p.get(key) }

// Value implements eval.Document.
func (p part) Value() (ast.Value, error) { return p.whole() }

// beside is data with the objects of the cluster in it.
func (v *clusterView) beside(data ast.Object) eval.Document {
	own := eval.ObjectDocument(data)
	return part{
		get: func(key string) (ast.Value, eval.Document, error) {
			if key == definition.ClusterKey {
				return nil, v.document(), nil
			}
			return own.Get(key)
		},
		whole: func() (ast.Value, error) {
			cluster, err := v.all()
			if err != nil {
				return nil, err
			}
			return terms.With(data, definition.ClusterKey, ast.NewTerm(cluster)), nil
		},
	}
}

// under is an object with one key.
func under(name string, document eval.Document) eval.Document {
	return part{
		get: func(key string) (ast.Value, eval.Document, error) {
			if key != name {
				return nil, nil, nil
			}
			return nil, document, nil
		},
		whole: func() (ast.Value, error) {
			value, err := document.Value()
			if err != nil {
				return nil, err
			}
			return ast.NewObject(ast.Item(ast.StringTerm(name), ast.NewTerm(value))), nil
		},
	}
}

// document is data.cluster: by kind, namespace and name.
func (v *clusterView) document(path ...string) eval.Document {
	return part{
		get: func(key string) (ast.Value, eval.Document, error) {
			at := append(path[:len(path):len(path)], key)
			if len(at) > 2 {
				value, err := v.read(at)
				return value, nil, err
			}
			if there, err := v.has(at); !there || err != nil {
				return nil, nil, err
			}
			return nil, v.document(at...), nil
		},
		whole: func() (ast.Value, error) {
			if len(path) == 0 {
				return v.all()
			}
			return v.read(path)
		},
	}
}

// has says whether there is a kind, or a namespace of it.
func (v *clusterView) has(path []string) (bool, error) {
	kind, required := v.kinds[path[0]]
	if !required {
		return false, nil
	}
	held, err := v.held(kind)
	if len(path) == 1 || held == nil || err != nil {
		return err == nil && len(path) == 1, err
	}
	if v.sees != nil && !v.sees(kind, path[1]) {
		return false, nil
	}
	_, there := held.namespaces.Get(path[1])
	return there, nil
}

// document is all that templates find in data: their inventory, of which a namespace is
// made by itself.
func (v *inventoryView) document() eval.Document {
	namespaces := part{
		get: func(namespace string) (ast.Value, eval.Document, error) {
			if namespace == "" || len(v.held(namespace)) == 0 {
				return nil, nil, nil
			}
			return v.in(namespace), nil, nil
		},
		whole: func() (ast.Value, error) { return terms.Lookup(v.whole().(ast.Object), inventoryNamespace), nil },
	}
	return under(definition.TemplateKey, under(definition.InventoryKey, part{
		get: func(key string) (ast.Value, eval.Document, error) {
			switch key {
			case inventoryCluster:
				return v.in(""), nil, nil
			case inventoryNamespace:
				return nil, namespaces, nil
			}
			return nil, nil, nil
		},
		whole: func() (ast.Value, error) { return v.whole(), nil },
	}))
}
