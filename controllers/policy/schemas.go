package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"k8s.io/client-go/openapi"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/source/schema"
)

// clusterSchemas reads from a cluster the fields of the kinds that policies name, and caches
// them until the cluster changes. Schemas that cannot be read count as unknown: policies do not
// wait for them.
type clusterSchemas struct {
	client openapi.Client
	// failed is called with read errors.
	failed func(error)

	mu    sync.Mutex
	known map[string]*documentKinds // by path, such as apis/apps/v1
}

// documentKinds are the kinds of one document.
type documentKinds struct {
	url   string                    // changes with the content
	kinds map[string]*schema.Schema // nil for those that the document does not have
}

// newClusterSchemas reads with a client, which must have a timeout. Every authenticated user may
// read these documents.
func newClusterSchemas(client openapi.Client, failed func(error)) *clusterSchemas {
	return &clusterSchemas{client: client, failed: failed, known: map[string]*documentKinds{}}
}

// Schemas implements source.Schemas.
func (c *clusterSchemas) Schemas(ctx context.Context, kinds []admission.GroupVersionKind) map[admission.GroupVersionKind]*schema.Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(kinds) == 0 || ctx.Err() != nil {
		return nil
	}
	paths, err := c.client.Paths()
	if err != nil {
		c.failed(fmt.Errorf("reading which schemas the cluster has: %w", err))
		return nil
	}
	found := map[admission.GroupVersionKind]*schema.Schema{}
	for _, kind := range kinds {
		one, err := c.versions(ctx, paths, kind)
		if err != nil {
			c.failed(err)
			continue
		}
		if len(one) > 0 {
			found[kind] = schema.Union(one...)
		}
	}
	return found
}

// versions are the schemas of a kind, by version.
func (c *clusterSchemas) versions(ctx context.Context, paths map[string]openapi.GroupVersion, kind admission.GroupVersionKind) ([]*schema.Schema, error) {
	prefix := "apis/" + kind.Group + "/"
	if kind.Group == "" {
		prefix = "api/"
	}
	var found []*schema.Schema
	for path, document := range paths {
		version, ok := strings.CutPrefix(path, prefix)
		if !ok || strings.Contains(version, "/") || (kind.Version != "" && kind.Version != version) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("reading the schema of %s: %w", kind, err)
		}
		one, err := c.kind(path, document, schema.OpenAPIKind{Group: kind.Group, Version: version, Kind: kind.Kind})
		if err != nil {
			return nil, err // the version that is not known may have what the others have not
		}
		if one != nil {
			found = append(found, one)
		}
	}
	return found, nil
}

func (c *clusterSchemas) kind(path string, document openapi.GroupVersion, kind schema.OpenAPIKind) (*schema.Schema, error) {
	url := document.ServerRelativeURL()
	if c.known[path] == nil || c.known[path].url != url {
		c.known[path] = &documentKinds{url: url, kinds: map[string]*schema.Schema{}}
	}
	kinds := c.known[path].kinds
	if one, ok := kinds[kind.Kind]; ok {
		return one, nil
	}
	text, err := document.Schema("application/json")
	if err != nil {
		return nil, fmt.Errorf("reading the schemas at %s: %w", path, err)
	}
	var read schema.Document
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("reading the schemas at %s: %w", path, err)
	}
	kinds[kind.Kind] = read.Kind(kind)
	return kinds[kind.Kind], nil
}
