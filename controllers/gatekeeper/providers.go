package gatekeeper

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// unservedProvider returns the problem of a Provider whose DataSource does not exist: the zero
// problem if it exists. A Provider in the source stays there when its DataSource is deleted:
// otherwise, its templates would no longer be enforced. Until the data is back, the failure policy
// applies to their constraints.
func (r *Reconciler) unservedProvider(ctx context.Context, provider unstructured.Unstructured, present map[string]string) (problem, error) {
	exists, err := r.options.HasDataSource(ctx, provider.GetName())
	if err != nil || exists {
		return problem{}, err
	}
	_, kept := fileTexts(present)[id(provider)]
	return problem{object: provider, kept: kept, message: fmt.Sprintf("the cluster has no DataSource %s: a Provider is served from the DataSource with its name, whose keys are fetched in advance. "+
		"Lintel calls no server during a review, so a Provider whose keys cannot be listed is not supported", provider.GetName())}, nil
}
