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

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/source"
)

const (
	// sourceLabel marks the ConfigMaps of artifacts with the name of their source.
	sourceLabel      = "lintel.dev/source"
	digestAnnotation = "lintel.dev/digest"
	chunksAnnotation = "lintel.dev/chunks"
	chunkKey         = "artifact"

	// keptArtifacts is the number of artifacts stored per source: the live one, and the one that
	// a replica may still be loading.
	keptArtifacts = 2
)

// artifactName is the name of the n-th ConfigMap of an artifact.
func artifactName(sourceName, digest string, n int) string {
	return fmt.Sprintf("lintel-%s-%s-%d", sourceName, definition.ShortRevision(digest), n)
}

// artifactConfigMaps returns the ConfigMaps of a revision, in order.
func artifactConfigMaps(object *v1alpha1.PolicySource, files map[string]string, namespace string) ([]*corev1.ConfigMap, error) {
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
				Name:      artifactName(object.Name, digest, n),
				Namespace: namespace,
				Labels:    map[string]string{sourceLabel: object.Name},
				Annotations: map[string]string{
					digestAnnotation: digest,
					chunksAnnotation: strconv.Itoa(len(chunks)),
				},
				OwnerReferences: []metav1.OwnerReference{
					*metav1.NewControllerRef(object, v1alpha1.SchemeGroupVersion.WithKind("PolicySource")),
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

// LoadArtifact reads the files of a revision and verifies their digest.
func LoadArtifact(ctx context.Context, c client.Reader, namespace, sourceName, digest string) (map[string]string, error) {
	var chunks [][]byte
	for n, total := 0, 1; n < total; n++ {
		var chunk corev1.ConfigMap
		name := artifactName(sourceName, digest, n)
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &chunk); err != nil {
			return nil, fmt.Errorf("loading the artifact of PolicySource %s: %w", sourceName, err)
		}
		count, err := strconv.Atoi(chunk.Annotations[chunksAnnotation])
		if err != nil || count < 1 {
			return nil, fmt.Errorf("loading the artifact of PolicySource %s: ConfigMap %s: invalid number of chunks in its annotation", sourceName, name)
		}
		total = count
		chunks = append(chunks, chunk.BinaryData[chunkKey])
	}
	files, err := source.Unpack(chunks, digest)
	if err != nil {
		return nil, fmt.Errorf("loading the artifact of PolicySource %s: %w", sourceName, err)
	}
	return files, nil
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
