package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/external/rules"
	"github.com/lintel-policy/lintel/policies/source/origin"
)

// defaultMaxBytes is the default of spec.maxBytes of a DataSource.
const defaultMaxBytes = 1 << 20

// remote is the origin of an object, exactly one of git, oci and https. It shares no memory that
// changes with the object.
type remote struct {
	name     string
	uid      types.UID
	interval time.Duration
	git      *v1alpha1.GitOrigin
	oci      *v1alpha1.OCIOrigin
	https    *v1alpha1.HTTPSOrigin
	// data is nil for policies.
	data *origin.DataRules
}

// remoteOf returns the origin of a PolicySource or a DataSource.
func remoteOf(object client.Object) remote {
	switch object := object.DeepCopyObject().(type) {
	case *v1alpha1.PolicySource:
		return remote{name: object.Name, uid: object.UID, interval: object.Spec.Interval.Duration, git: object.Spec.Git, oci: object.Spec.OCI}
	case *v1alpha1.DataSource:
		return remote{
			name: object.Name, uid: object.UID, interval: object.Spec.Interval.Duration,
			git: object.Spec.Git, oci: object.Spec.OCI, https: object.Spec.HTTPS, data: dataRules(object.Spec),
		}
	default:
		panic(fmt.Sprintf("%T has no origin", object))
	}
}

// dataRules are the rules for the data of a DataSource, with the defaults of the API.
func dataRules(spec v1alpha1.DataSourceSpec) *origin.DataRules {
	found := &origin.DataRules{File: spec.File, Rules: rules.Rules{MaxBytes: cmp.Or(spec.MaxBytes, defaultMaxBytes), MinEntries: 1}}
	if spec.MinEntries != nil {
		found.MinEntries = int(*spec.MinEntries)
	}
	if spec.Schema != nil {
		found.Schema = spec.Schema.Raw
	}
	return found
}

// identity is equal for origins that give the same answers.
func (r remote) identity() string {
	text, err := json.Marshal([]any{r.git, r.oci, r.https, r.data})
	if err != nil {
		panic("an API type always has JSON: " + err.Error())
	}
	return string(text)
}
