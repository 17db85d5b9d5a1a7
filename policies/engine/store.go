package engine

import "github.com/open-policy-agent/opa/v1/ast"

// clusterKey is where cluster objects stand under data.
const clusterKey = "cluster"

// dataView is one immutable version of `data`. Reads give AST values, so nothing is
// converted.
type dataView struct {
	root    ast.Object
	cluster *clusterView // nil where the source requires nothing
	// inventory is the cluster as templates see it: nil for Lintel's own policies.
	inventory *inventoryView
}

// read is nil where there is nothing.
func (v *dataView) read(path []string) (ast.Value, error) {
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

// template is what a template finds: its inventory, and nothing else.
func (v *dataView) template(path []string) ast.Value {
	if len(path) > 1 && path[0] == templateKey && path[1] == inventoryKey {
		return v.inventory.read(path[2:])
	}
	inventory := ast.Item(ast.StringTerm(inventoryKey), ast.NewTerm(v.inventory.read(nil)))
	return descend(ast.NewObject(ast.Item(ast.StringTerm(templateKey), ast.ObjectTerm(inventory))), path)
}
