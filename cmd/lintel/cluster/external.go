package cluster

import (
	"context"
	"fmt"
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	"github.com/lintel-policy/lintel/controllers/policy"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/external"
)

// External is the data of the DataSources that policies name: that of --external, and that of the
// cluster for all others. Notes are about DataSources that cannot be read.
func (c *Cluster) External(ctx context.Context, sets []*engine.PolicySet, given sources.External) (data external.Set, notes []string, err error) {
	if data, err = given.Read(sets); err != nil {
		return nil, nil, err
	}
	data = maps.Clone(data)
	for _, name := range sources.ExternalNames(sets) {
		if data[name] != nil {
			continue
		}
		var source v1alpha1.DataSource
		err := c.reader.Get(ctx, client.ObjectKey{Name: name}, &source)
		if err == nil && source.Status.Digest == "" {
			err = fmt.Errorf("it has no data yet")
		}
		var found *external.Data
		if err == nil {
			found, err = policy.LoadData(ctx, c.reader, c.systemNamespace, &source)
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("policies that read DataSource %s are not evaluated: %v", name, err))
			continue
		}
		data[name] = found
	}
	return data, notes, nil
}
