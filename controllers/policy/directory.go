package policy

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/source"
)

// directoryName is the PolicySource that a Directory keeps.
const directoryName = "policy-dir"

// Directory keeps a folder applied as a PolicySource: the same gate, the same
// artifact, the same status as any other. It runs on the leader.
type Directory struct {
	client client.Client
	path   string
	last   string // digest
}

// NewDirectory keeps the folder at a path.
func NewDirectory(c client.Client, path string) *Directory { return &Directory{client: c, path: path} }

// Start implements manager.Runnable.
func (d *Directory) Start(ctx context.Context) error {
	const interval = time.Second
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := d.apply(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "keeping --policy-dir applied", "path", d.path)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (d *Directory) apply(ctx context.Context) error {
	files, err := source.ReadFolder(d.path, definition.IsPolicyFile, source.MaxArtifactBytes)
	if err != nil {
		return err
	}
	digest := definition.Source{Files: files}.Digest()
	if digest == d.last {
		return nil
	}
	content := map[string]any{}
	for name, text := range files {
		content[name] = text
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"inline": map[string]any{"files": content}},
	}}
	object.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("PolicySource"))
	object.SetName(directoryName)
	err = d.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object),
		client.FieldOwner("lintel-policy-dir"), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("applying PolicySource %s: %w", directoryName, err)
	}
	d.last = digest
	return nil
}
