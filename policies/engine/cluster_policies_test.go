package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/policyset"
)

var ingresses = admission.GroupVersionKind{Group: "networking.k8s.io", Kind: "Ingress"}

// ingressText is an Ingress of the namespace shop.
func ingressText(name, host string) json.RawMessage {
	return fmt.Appendf(nil, `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":%q,"namespace":"shop"},"spec":{"rules":[{"host":%q}]}}`, name, host)
}

// putIngress is the change by an Ingress that is new.
func putIngress(t testing.TB, name, host string) clusterdata.Change {
	t.Helper()
	object, err := clusterdata.NewObject(ingressText(name, host))
	require.NoError(t, err)
	return clusterdata.Change{Kind: ingresses, Objects: map[clusterdata.Key]*clusterdata.DecodedObject{object.Key(): object}}
}

func TestAKindThatIsNotLoadedIsAnErrorAndNotEmpty(t *testing.T) {
	rego := `# METADATA
# custom:
#   requires: [{group: networking.k8s.io, kind: Ingress}]
package p
deny contains "a" if not data.cluster["Ingress.networking.k8s.io"].shop`
	snapshot := snapshotOf(compileSource(t, definition.Source{Name: "test", Files: map[string]string{
		"policy.rego": rego,
		"other.rego":  "package q\ndeny contains \"b\" if not data.cluster[concat(\"\", [\"Ingress.networking.k8s\", \".io\"])].shop",
	}}))
	decision := snapshot.Validate(context.Background(), makeReview(t, pod), Options{Cluster: clusterdata.Empty()})
	require.Len(t, decision.Denials, 2)
	for _, denial := range decision.Denials {
		require.True(t, denial.Error, denial.Words)
	}
	loaded := clusterdata.Empty().With(clusterdata.Change{Kind: ingresses})
	decision = snapshot.Validate(context.Background(), makeReview(t, pod), Options{Cluster: loaded})
	require.Len(t, decision.Denials, 2)
	require.False(t, decision.Denials[0].Error)
	require.False(t, loaded.With(clusterdata.Change{Kind: ingresses, Drop: true}).Has(ingresses))
}

// hostsUnique denies an Ingress whose host another one has.
const hostsUnique = `# METADATA
# custom:
#   match: {kinds: [{group: networking.k8s.io, kind: Ingress}]}
#   requires: [{group: networking.k8s.io, kind: Ingress}]
package hosts
deny contains msg if {
	some namespace, name
	other := data.cluster["Ingress.networking.k8s.io"][namespace][name]
	[namespace, name] != [input.request.namespace, input.name]
	other.spec.rules[_].host == input.request.object.spec.rules[_].host
	msg := sprintf("taken by %s/%s", [namespace, name])
}`

func TestConcurrentReadersOfOneVersion(t *testing.T) {
	snapshot := snapshotOf(compile(t, hostsUnique))
	data := clusterdata.Empty().With(clusterdata.Change{Kind: ingresses})
	review := makeReview(t, string(ingressText("new", "h7")))
	var readers sync.WaitGroup
	for i := range 50 {
		data = data.With(putIngress(t, fmt.Sprint("i", i), fmt.Sprint("h", i)))
		version := data
		for range 4 {
			readers.Go(func() {
				denied := !snapshot.Validate(context.Background(), review, Options{Cluster: version}).Allowed()
				if denied != (i >= 7) {
					t.Errorf("version %d: denied is %v", i, denied)
				}
			})
		}
	}
	readers.Wait()
}

// BenchmarkClusterDataPolicy evaluates a policy that compares one object with all others.
func BenchmarkClusterDataPolicy(b *testing.B) {
	set, err := policyset.Compile(definition.Source{Name: "test", Files: map[string]string{"policy.rego": hostsUnique}})
	require.NoError(b, err)
	review := makeReview(b, string(ingressText("new", "h7")))
	for _, objects := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprint(objects), func(b *testing.B) {
			var texts []json.RawMessage
			for i := range objects {
				texts = append(texts, ingressText(fmt.Sprint("i", i), fmt.Sprint("h", i)))
			}
			data, err := clusterdata.New(texts)
			require.NoError(b, err)
			for b.Loop() {
				snapshotOf(set).Validate(context.Background(), review, Options{Cluster: data})
			}
		})
	}
}
