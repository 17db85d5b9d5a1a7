package installation

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// PolicySource is a PolicySource in JSON with the given files inline.
func PolicySource(name string, files map[string]string, spec map[string]any) string {
	merged := map[string]any{"inline": map[string]any{"files": files}}
	for key, value := range spec {
		merged[key] = value
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "policy.lintel.dev/v1alpha1", "kind": "PolicySource",
		"metadata": map[string]any{"name": name}, "spec": merged,
	})
	if err != nil {
		panic("strings always have JSON: " + err.Error())
	}
	return string(text)
}

// ReadFolder reads all files of a folder, by path relative to it.
func ReadFolder(folder string) (map[string]string, error) {
	files := map[string]string{}
	return files, filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		files[filepath.ToSlash(relative)] = string(text)
		return err
	})
}

// ApplySource applies a PolicySource and waits until every replica serves it.
func (c *Cluster) ApplySource(ctx context.Context, name string, files map[string]string, spec map[string]any) error {
	for attempt := 1; ; attempt++ {
		_, err := c.must(ctx, PolicySource(name, files, spec), "apply", "--server-side", "-f", "-")
		switch {
		case err == nil:
			return c.WaitSource(ctx, name)
		case attempt == applyAttempts || !strings.Contains(err.Error(), busyMachine):
			return err
		}
	}
}

// A busy machine may refuse a source that it has no time to compile, applyAttempts times.
const (
	busyMachine   = "the machine is busy; try again"
	applyAttempts = 60
)

// WaitSource waits until a PolicySource is Ready at its present generation.
func (c *Cluster) WaitSource(ctx context.Context, name string) error {
	generation, err := c.must(ctx, "", "get", "policysource", name, "-o", "jsonpath={.metadata.generation}")
	if err != nil {
		return err
	}
	_, err = c.must(ctx, "", "wait", "policysource/"+name, "--timeout=60s",
		fmt.Sprintf(`--for=jsonpath={.status.conditions[?(@.type=="Ready")].observedGeneration}=%s`, generation))
	if err != nil {
		return err
	}
	if _, err = c.must(ctx, "", "wait", "policysource/"+name, "--timeout=60s", "--for=condition=Ready"); err != nil {
		conditions, _ := c.must(ctx, "", "get", "policysource", name, "-o", "jsonpath={.status.conditions}")
		return fmt.Errorf("%w; its conditions are %s", err, conditions)
	}
	return nil
}
