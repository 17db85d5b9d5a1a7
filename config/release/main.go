// Command release makes Lintel's images from static programs on an empty base, without
// a container engine, and pushes them with their SBOMs and signatures.
//
// What it makes depends on the commit, the version and the Go version alone: two runs,
// in folders and on machines of any kind, make the same bytes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"
)

// programs are those that have an image.
var programs = []program{
	{Image: "lintel-manager", Path: "./cmd/manager", Description: "Lintel's webhooks and controllers"},
	{Image: "lintel", Path: "./cmd/lintel", Description: "Lintel's command line"},
	{Image: "openvox-autosign", Path: "./cmd/openvox-autosign", Description: "The autosign hook of a Puppet CA, which answers as Lintel's webhook does"},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "release",
		Short:         "Make Lintel's images, and push them",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(newImageCommand(), newPushCommand(), newChartCommand())
	return cmd
}

func newImageCommand() *cobra.Command {
	m := maker{}
	var platforms []string
	var only string
	cmd := &cobra.Command{
		Use:   "image FOLDER",
		Short: "Make the images as an OCI layout in a folder",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := m.prepare(cmd.Context(), platforms, cmd.ErrOrStderr()); err != nil {
				return err
			}
			wanted := slices.DeleteFunc(slices.Clone(programs), func(p program) bool { return only != "" && p.Image != only })
			if len(wanted) == 0 {
				return fmt.Errorf("there is no image %q", only)
			}
			all, err := m.all(cmd.Context(), wanted)
			if err != nil {
				return err
			}
			return writeLayout(args[0], all, m.Version)
		},
	}
	addFlags(cmd, &m, &platforms)
	cmd.Flags().StringVar(&only, "only", "", "make this `image` alone")
	return cmd
}

func newPushCommand() *cobra.Command {
	return newRegistryCommand("push", "Make the images and the chart, and push them with SBOMs and signatures",
		`Make the images and push them to REGISTRY/NAME:VERSION, with SBOMs as referrers, and
the chart to REGISTRY/charts/lintel; with --key, with signatures as "cosign verify --key"
reads them.

Credentials are those of "docker login" or "podman login".`,
		func(ctx context.Context, m *maker, push pusher, registry string) ([]string, error) {
			all, err := m.all(ctx, programs)
			if err != nil {
				return nil, err
			}
			var references []string
			for _, image := range all {
				reference, err := push.push(ctx, registry, m.Version, image)
				if err != nil {
					return nil, err
				}
				references = append(references, reference)
			}
			chart, err := push.pushChart(ctx, registry, m)
			return append(references, chart), err
		})
}

func newChartCommand() *cobra.Command {
	return newRegistryCommand("chart", "Push the chart alone, for images that are there",
		`Push the chart to REGISTRY/charts/lintel, for images that are there.`,
		func(ctx context.Context, m *maker, push pusher, registry string) ([]string, error) {
			chart, err := push.pushChart(ctx, registry, m)
			return []string{chart}, err
		})
}

// newRegistryCommand is a command that pushes a version and prints the references of
// what it has pushed.
func newRegistryCommand(use, short, long string, push func(context.Context, *maker, pusher, string) ([]string, error)) *cobra.Command {
	m := maker{}
	to := pusher{}
	var platforms []string
	var keyFile string
	var modified bool
	cmd := &cobra.Command{
		Use: use + " REGISTRY", Short: short, Long: long,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if m.Version == "" {
				return errors.New("which version is it? Say --version v1.2.3")
			}
			if keyFile != "" {
				key, err := readKey(keyFile, os.Getenv("COSIGN_PASSWORD"))
				if err != nil {
					return err
				}
				to.Key = key
			}
			if err := m.prepare(cmd.Context(), platforms, cmd.ErrOrStderr()); err != nil {
				return err
			}
			if m.modified && !modified {
				return errors.New("there are changes that are not committed: what is released must be a commit")
			}
			references, err := push(cmd.Context(), &m, to, args[0])
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), strings.Join(references, "\n"))
			return nil
		},
	}
	addFlags(cmd, &m, &platforms)
	cmd.Flags().StringVar(&keyFile, "key", "", "sign with this private `file` in PEM, of cosign or PKCS #8; COSIGN_PASSWORD opens cosign's")
	cmd.Flags().BoolVar(&to.Insecure, "insecure", false, "speak HTTP with the registry")
	cmd.Flags().BoolVar(&modified, "allow-modified", false, "for tests: push what is not committed, too")
	return cmd
}

func addFlags(cmd *cobra.Command, m *maker, platforms *[]string) {
	cmd.Flags().StringVar(&m.Folder, "source", "../..", "the checkout, a `folder`")
	cmd.Flags().StringVar(&m.Version, "version", "", "the version, as v1.2.3; without it, of the commit")
	cmd.Flags().StringSliceVar(platforms, "platform", []string{"linux/amd64", "linux/arm64"}, "what the images are for")
}

// made is the image of a program, for all its platforms.
type made struct {
	program
	index v1.ImageIndex
	// sboms describe the images in the index, by platform.
	sboms []v1.Image
}
