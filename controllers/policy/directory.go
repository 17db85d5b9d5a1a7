package policy

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/source"
)

// directoryName is the name of the PolicySource created from a directory.
const directoryName = "policy-dir"

// directory continuously applies a folder as a PolicySource, with the same gate, artifact and
// status as any other. It runs on the leader.
type directory struct {
	client client.Client
	path   string
	last   string // digest
}

// Start implements manager.Runnable.
func (d *directory) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := d.apply(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "keeping --policy-dir applied", "path", d.path)
		}
	}, time.Second)
	return nil
}

func (d *directory) apply(ctx context.Context) error {
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
