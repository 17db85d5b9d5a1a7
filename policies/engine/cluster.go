package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// ClusterData holds cluster objects for policies with `requires`, at
// data.cluster["Kind.group"][namespace][name]. It is immutable.
type ClusterData struct {
	kinds map[GroupVersionKind]*ast.Term // without version
}

// NewClusterData arranges objects, given in JSON. Their managedFields are left out.
func NewClusterData(objects []json.RawMessage) (*ClusterData, error) {
	type place struct{ namespace, name string }
	byKind := map[GroupVersionKind]map[string]map[string]*ast.Term{}
	for i, raw := range objects {
		term, err := decodeJSON(raw)
		if err != nil {
			return nil, fmt.Errorf("cluster object %d: %w", i, err)
		}
		object, ok := term.Value.(ast.Object)
		if !ok {
			return nil, fmt.Errorf("cluster object %d: not an object", i)
		}
		group := groupOf(text(object, "apiVersion"))
		kind := GroupVersionKind{Group: group, Kind: text(object, "kind")}
		metadata, _ := lookup(object, "metadata").(ast.Object)
		at := place{text(metadata, "namespace"), text(metadata, "name")}
		if kind.Kind == "" || at.name == "" {
			return nil, fmt.Errorf("cluster object %d: kind or metadata.name is missing", i)
		}
		object = replaceKey(object, "metadata", ast.NewTerm(removeKey(metadata, "managedFields")))
		if byKind[kind] == nil {
			byKind[kind] = map[string]map[string]*ast.Term{}
		}
		if byKind[kind][at.namespace] == nil {
			byKind[kind][at.namespace] = map[string]*ast.Term{}
		}
		byKind[kind][at.namespace][at.name] = ast.NewTerm(object)
	}
	data := &ClusterData{kinds: map[GroupVersionKind]*ast.Term{}}
	for kind, namespaces := range byKind {
		var items [][2]*ast.Term
		for _, namespace := range sortedKeys(namespaces) {
			items = append(items, ast.Item(ast.StringTerm(namespace), objectOf(namespaces[namespace])))
		}
		data.kinds[kind] = ast.ObjectTerm(items...)
	}
	return data, nil
}

// project is data.cluster as a source may see it: the kinds it requires, present
// even where there are no objects, so that a reference to them is never unknown.
func (c *ClusterData) project(kinds []GroupVersionKind) *ast.Term {
	terms := map[string]*ast.Term{}
	for _, kind := range kinds {
		objects := c.kinds[GroupVersionKind{Group: kind.Group, Kind: kind.Kind}]
		if objects == nil {
			objects = ast.ObjectTerm()
		}
		terms[kind.String()] = objects
	}
	return objectOf(terms)
}

func objectOf(terms map[string]*ast.Term) *ast.Term {
	var items [][2]*ast.Term
	for _, key := range sortedKeys(terms) {
		items = append(items, ast.Item(ast.StringTerm(key), terms[key]))
	}
	return ast.ObjectTerm(items...)
}

// groupOf is the group of an apiVersion: "" for the core group's.
func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}
