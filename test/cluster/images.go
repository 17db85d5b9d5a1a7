package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/lintel-policy/lintel/test/cluster/internal/binaries"
	"github.com/lintel-policy/lintel/test/cluster/internal/process"
	"github.com/spf13/cobra"
)

// makeImages makes the images of the Pods that every cluster has.
func (s *supervisor) makeImages(ctx context.Context) error {
	programs := []string{binaries.Pause, binaries.CoreDNS}
	if s.state.has(binaries.CertManager) {
		programs = append(programs, binaries.CertManager)
	}
	folder := s.dir.path(nodeFolder, "images")
	args := []string{"images", folder}
	for _, name := range programs {
		args = append(args, "localhost/"+name+":1="+s.state.Binaries[name])
	}
	var stderr strings.Builder
	cmd := exec.Command(s.state.Binaries[binaries.Node], args...)
	cmd.Stderr = &stderr
	if err := process.RunGroup(ctx, cmd); err != nil {
		return fmt.Errorf("making images: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	if _, err := importImages(ctx, s.fleet.launcher, s.state.Binaries[binaries.Ctr], folder); err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("deleting what was imported: %w", err)
	}
	return nil
}

// importImages imports images into the container runtime, and returns its output, a line for
// each image.
func importImages(ctx context.Context, launcher *process.Launcher, ctr, path string) (string, error) {
	from, err := openImages(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = from.Close() }()
	var stdout, stderr strings.Builder
	cmd := exec.Command(ctr, "--namespace=k8s.io", "images", "import", "--local", "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = from, &stdout, &stderr
	if err := launcher.RunGroup(ctx, cmd); err != nil {
		return "", fmt.Errorf("importing %s: %w: %s", path, err, strings.TrimSpace(stderr.String()))
	}
	if stdout.Len() == 0 {
		return "", fmt.Errorf("importing %s: it names no image; an OCI layout does by the annotation io.containerd.image.name in its index", path)
	}
	return stdout.String(), nil
}

func imageCommand(f *flags) *cobra.Command {
	c := &cobra.Command{Use: "image", Short: "Work with the images of a cluster with real nodes"}
	c.AddCommand(&cobra.Command{
		Use:   "import FILE|FOLDER",
		Short: "Import images, from a tar file or the folder of an OCI layout",
		Long: "Import images, from a tar file or the folder of an OCI layout. Images of an OCI layout are\n" +
			"named by the annotation io.containerd.image.name in its index.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := f.directory()
			if err != nil {
				return err
			}
			st, err := runningState(dir)
			if err != nil {
				return err
			}
			said, err := importInto(c.Context(), st, args[0])
			if err != nil {
				return err
			}
			_, err = io.WriteString(c.OutOrStdout(), said)
			return err
		},
	})
	return c
}

// importInto imports images into the cluster from a path outside.
func importInto(ctx context.Context, st *state, path string) (string, error) {
	if st.Nodes != realNodes {
		return "", errors.New("this cluster has no node that images can be imported to; run down first, then up --nodes=real")
	}
	namespaces, err := st.Components[binaries.Node].OpenNamespaces()
	if err != nil {
		return "", err
	}
	defer namespaces.Close()
	launcher, err := namespaces.Launcher()
	if err != nil {
		return "", err
	}
	return importImages(ctx, launcher, st.Binaries[binaries.Ctr], path)
}

// openImages reads a tar file, or a folder as if it were one.
func openImages(path string) (io.ReadCloser, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading images: %w", err)
	}
	if !info.IsDir() {
		return os.Open(path)
	}
	in, out := io.Pipe()
	go func() {
		w := tar.NewWriter(out)
		_ = out.CloseWithError(errors.Join(w.AddFS(os.DirFS(path)), w.Close()))
	}()
	return in, nil
}
