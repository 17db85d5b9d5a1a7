package policy

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/source"
)

const (
	// sourceLabel marks the ConfigMaps of artifacts with the name of their source.
	sourceLabel = "lintel.dev/source"
	// dataSourceLabel is the same for DataSources.
	dataSourceLabel  = "lintel.dev/data-source"
	digestAnnotation = "lintel.dev/digest"
	chunksAnnotation = "lintel.dev/chunks"
	chunkKey         = "artifact"

	// keptArtifacts is the number of artifacts stored per source: the live one, and the one that
	// a replica may still be loading.
	keptArtifacts = 2
)

// artifactKind is a kind of objects with artifacts. Names of ConfigMaps begin with its prefix, and
// its label contains the name of the object.
type artifactKind struct{ kind, prefix, label string }

var (
	policyArtifacts = artifactKind{"PolicySource", "lintel-", sourceLabel}
	// The dot keeps the names apart from those of any PolicySource.
	dataArtifacts = artifactKind{"DataSource", "lintel.data-", dataSourceLabel}
)

// name is the name of the n-th ConfigMap of an artifact.
func (k artifactKind) name(owner, digest string, n int) string {
	return fmt.Sprintf("%s%s-%s-%d", k.prefix, owner, definition.ShortRevision(digest), n)
}

// labels are those of the artifacts of an object. All have the label of PolicySources, by which the
// cache selects them.
func (k artifactKind) labels(owner string) map[string]string {
	labels := map[string]string{sourceLabel: ""}
	labels[k.label] = owner
	return labels
}

// toOwner maps the ConfigMaps of artifacts to the objects that they belong to.
func (k artifactKind) toOwner(_ context.Context, chunk client.Object) []reconcile.Request {
	if owner := chunk.GetLabels()[k.label]; owner != "" {
		return object.Request("", owner)
	}
	return nil
}

// artifactConfigMaps returns the ConfigMaps of a revision of a PolicySource, in order.
func artifactConfigMaps(object *v1alpha1.PolicySource, files map[string]string, namespace string) ([]*corev1.ConfigMap, error) {
	return policyArtifacts.configMaps(object, files, namespace)
}

// configMaps returns the ConfigMaps of a revision of an object, in order.
func (k artifactKind) configMaps(owner client.Object, files map[string]string, namespace string) ([]*corev1.ConfigMap, error) {
	chunks, err := source.Pack(files)
	if err != nil {
		return nil, err
	}
	digest := definition.Source{Files: files}.Digest()
	immutable := true
	var out []*corev1.ConfigMap
	for n, chunk := range chunks {
		out = append(out, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name:      k.name(owner.GetName(), digest, n),
				Namespace: namespace,
				Labels:    k.labels(owner.GetName()),
				Annotations: map[string]string{
					digestAnnotation: digest,
					chunksAnnotation: strconv.Itoa(len(chunks)),
				},
				OwnerReferences: []metav1.OwnerReference{
					*metav1.NewControllerRef(owner, v1alpha1.SchemeGroupVersion.WithKind(k.kind)),
				},
			},
			Immutable:  &immutable,
			BinaryData: map[string][]byte{chunkKey: chunk},
		})
	}
	return out, nil
}

// storeArtifact creates the missing ConfigMaps of an artifact. An existing ConfigMap with the
// same name and other content belongs to another owner and is not changed.
func storeArtifact(ctx context.Context, c client.Client, wanted []*corev1.ConfigMap) error {
	for _, want := range wanted {
		var have corev1.ConfigMap
		err := c.Get(ctx, client.ObjectKeyFromObject(want), &have)
		if apierrors.IsNotFound(err) {
			err = c.Create(ctx, want, client.FieldOwner(fieldManager))
			if err == nil || apierrors.IsAlreadyExists(err) {
				continue // the cache was behind; the next look compares
			}
		}
		if err != nil {
			return fmt.Errorf("storing artifact ConfigMap %s: %w", want.Name, err)
		}
		if !bytes.Equal(have.BinaryData[chunkKey], want.BinaryData[chunkKey]) {
			return fmt.Errorf("ConfigMap %s/%s holds something else than this artifact; delete it so that it can be stored", want.Namespace, want.Name)
		}
	}
	return nil
}

// LoadArtifact reads the files of a revision of a PolicySource and verifies their digest.
func LoadArtifact(ctx context.Context, c client.Reader, namespace, sourceName, digest string) (map[string]string, error) {
	return policyArtifacts.load(ctx, c, namespace, sourceName, digest)
}

// load reads the files of a revision and verifies their digest.
func (k artifactKind) load(ctx context.Context, c client.Reader, namespace, owner, digest string) (map[string]string, error) {
	var chunks [][]byte
	for n, total := 0, 1; n < total; n++ {
		var chunk corev1.ConfigMap
		name := k.name(owner, digest, n)
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &chunk); err != nil {
			return nil, fmt.Errorf("loading the artifact of %s %s: %w", k.kind, owner, err)
		}
		count, err := strconv.Atoi(chunk.Annotations[chunksAnnotation])
		if err != nil || count < 1 {
			return nil, fmt.Errorf("loading the artifact of %s %s: ConfigMap %s: invalid number of chunks in its annotation", k.kind, owner, name)
		}
		total = count
		chunks = append(chunks, chunk.BinaryData[chunkKey])
	}
	files, err := source.Unpack(chunks, digest)
	if err != nil {
		return nil, fmt.Errorf("loading the artifact of %s %s: %w", k.kind, owner, err)
	}
	return files, nil
}

// prune deletes the artifacts of an object that no replica loads.
func (k artifactKind) prune(ctx context.Context, c client.Client, namespace, owner, live string) error {
	var all corev1.ConfigMapList
	if err := c.List(ctx, &all, client.InNamespace(namespace), client.MatchingLabels{k.label: owner}); err != nil {
		return fmt.Errorf("listing the artifacts of %s %s: %w", k.kind, owner, err)
	}
	for _, old := range surplus(all.Items, live) {
		if err := c.Delete(ctx, &old); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting artifact ConfigMap %s: %w", old.Name, err)
		}
	}
	return nil
}

// surplus returns the ConfigMaps of artifacts that are neither live nor the newest before it.
func surplus(all []corev1.ConfigMap, live string) []corev1.ConfigMap {
	newest := map[string]time.Time{}
	for _, object := range all {
		digest := object.Annotations[digestAnnotation]
		if at := object.CreationTimestamp.Time; newest[digest].Before(at) {
			newest[digest] = at
		}
	}
	delete(newest, live)
	digests := slices.SortedFunc(maps.Keys(newest), func(a, b string) int {
		return cmp.Or(newest[b].Compare(newest[a]), cmp.Compare(a, b))
	})
	return slices.DeleteFunc(slices.Clone(all), func(object corev1.ConfigMap) bool {
		return slices.Index(digests, object.Annotations[digestAnnotation]) < keptArtifacts-1
	})
}
