package installation

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// chartVersion is that of the image that InstallChart makes.
const chartVersion = "v0.0.0-local"

// InstallChart makes the manager's image of this checkout and installs it by the chart, for
// a cluster whose Pods run. It returns when all replicas are ready. Progress goes to the
// writer; values are further ones of the chart, as helm --set takes them.
func InstallChart(ctx context.Context, c *Cluster, progress io.Writer, values ...string) error {
	scratch, err := os.MkdirTemp("", "lintel-image-")
	if err != nil {
		return fmt.Errorf("making the image: %w", err)
	}
	defer os.RemoveAll(scratch)
	images := filepath.Join(scratch, "images")
	if err := goRun(ctx, c, progress, "config/release", ".", "image", images,
		"--only", "lintel-manager", "--platform", "linux/"+runtime.GOARCH, "--version", chartVersion); err != nil {
		return fmt.Errorf("making the image: %w", err)
	}
	if err := c.control(ctx, "image", "import", images); err != nil {
		return err
	}
	install := []string{"helm.sh/helm/v4/cmd/helm", "install", "lintel", filepath.Join(Root(), "config/chart/lintel"),
		"--namespace", Namespace, "--create-namespace", "--wait", "--timeout", "2m",
		"--set", "image.repository=localhost/lintel-manager", "--set", "image.tag=" + chartVersion}
	for _, value := range values {
		install = append(install, "--set", value)
	}
	var said bytes.Buffer // Helm reports each symbolic link of the chart
	if err := goRun(ctx, c, &said, "test/chart", install...); err != nil {
		return fmt.Errorf("installing the chart: %w: %s", err, &said)
	}
	return nil
}

// goRun runs a program of a module of this repository, built as its tests build it.
func goRun(ctx context.Context, c *Cluster, progress io.Writer, module string, args ...string) error {
	command := exec.CommandContext(ctx, "go", append([]string{"run", "-C", filepath.Join(Root(), module)}, args...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	command.Stdout, command.Stderr = io.Discard, progress
	return command.Run()
}
