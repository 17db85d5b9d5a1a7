package policy

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

// ReasonDataMissing reports that policies read the data of a DataSource that does not exist or has
// no data yet.
const ReasonDataMissing = "ExternalDataMissing"

// missingData returns why policies cannot read the named DataSources; empty if they can.
func missingData(ctx context.Context, c client.Reader, names []string) (string, error) {
	var missing []string
	for _, name := range names {
		var source v1alpha1.DataSource
		err := c.Get(ctx, client.ObjectKey{Name: name}, &source)
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, fmt.Sprintf("DataSource %s does not exist: create it, or correct custom.external", name))
		case err != nil:
			return "", fmt.Errorf("reading DataSource %s: %w", name, err)
		case source.Status.Digest == "":
			why := ""
			if ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
				why = ": " + ready.Message
			}
			missing = append(missing, fmt.Sprintf("DataSource %s has no data yet%s", name, why))
		}
	}
	return strings.Join(missing, "; "), nil
}

// dataAppeared passes events of DataSources after which policies may read their data, or no longer
// can.
var dataAppeared = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, isData := e.ObjectOld.(*v1alpha1.DataSource)
	now, _ := e.ObjectNew.(*v1alpha1.DataSource)
	return isData && now != nil && (now.Status.Digest == "" || before.Status.Digest == "")
}}
