package cluster

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/source"
)

// TestMain makes the test binary the process that compiles sources.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == source.CompileArgument {
		os.Exit(source.CompileChild(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

const systemNamespace = "lintel-system"

// makeRevision returns the digest of a revision that consists of one module, and the
// ConfigMap that stores it.
func makeRevision(t *testing.T, module string) (string, *corev1.ConfigMap) {
	files := map[string]string{"policy.rego": module}
	digest := definition.Source{Files: files}.Digest()
	chunks, err := source.Pack(files)
	require.NoError(t, err)
	require.Len(t, chunks, 1)
	return digest, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:        fmt.Sprintf("lintel-team-%s-0", definition.ShortRevision(digest)),
			Namespace:   systemNamespace,
			Annotations: map[string]string{"lintel.dev/chunks": "1"},
		},
		BinaryData: map[string][]byte{"artifact": chunks[0]},
	}
}

// TestSetsOfASourceThatChanges: between the list of the sources and the read of an
// artifact, a source can get a new revision or be deleted. Neither is an error.
func TestSetsOfASourceThatChanges(t *testing.T) {
	oldDigest, _ := makeRevision(t, "package old\nimport rego.v1\ndeny contains \"old\"")
	newDigest, stored := makeRevision(t, "package new\nimport rego.v1\ndeny contains \"new\"")
	for name, c := range map[string]struct {
		change func(ctx context.Context, c client.WithWatch, object *v1alpha1.PolicySource) error
		live   []string // revisions
		notes  []string
		err    string
	}{
		"new revision": {
			change: func(ctx context.Context, c client.WithWatch, object *v1alpha1.PolicySource) error {
				object.Status.Digest, object.Status.Revision = newDigest, "new"
				return c.Update(ctx, object)
			},
			live: []string{"new"},
		},
		"deleted": {change: func(ctx context.Context, c client.WithWatch, object *v1alpha1.PolicySource) error {
			return c.Delete(ctx, object)
		}},
		"being deleted": {change: func(ctx context.Context, c client.WithWatch, object *v1alpha1.PolicySource) error {
			object.Finalizers = []string{"example.com/wait"}
			if err := c.Update(ctx, object); err != nil {
				return err
			}
			return c.Delete(ctx, object)
		}},
		"no live revision any longer": {
			change: func(ctx context.Context, c client.WithWatch, object *v1alpha1.PolicySource) error {
				object.Status.Digest = ""
				return c.Update(ctx, object)
			},
			notes: []string{"nothing of PolicySource team is live: see 'lintel policy status'"},
		},
		"artifact missing": {
			change: func(context.Context, client.WithWatch, *v1alpha1.PolicySource) error { return nil },
			err:    "if Lintel runs in another namespace, give it with --system-namespace",
		},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			require.NoError(t, v1alpha1.AddToScheme(scheme))
			require.NoError(t, corev1.AddToScheme(scheme))
			object := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Name: "team"}}
			object.Status.Digest, object.Status.Revision = oldDigest, "old"
			changed := false
			reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(object, stored.DeepCopy()).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, cluster client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
					if !changed {
						changed = true
						var source v1alpha1.PolicySource
						if err := cluster.Get(ctx, client.ObjectKey{Name: "team"}, &source); err != nil {
							return err
						}
						if err := c.change(ctx, cluster, &source); err != nil {
							return err
						}
					}
					return cluster.Get(ctx, key, into, options...)
				},
			}).Build()

			sets, notes, err := (&Cluster{reader: reader, systemNamespace: systemNamespace}).Sets(t.Context())
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			var live []string
			for _, set := range sets {
				live = append(live, set.Revision())
			}
			require.Equal(t, c.live, live)
			require.Equal(t, c.notes, notes)
		})
	}
}
