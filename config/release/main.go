// Command release makes Lintel's images from static programs on an empty base, without
// a container engine, and pushes them with their SBOMs and signatures; and archives of the
// command line, with a manifest for krew.
//
// The artifacts depend only on the commit, the version and the Go version: two runs in
// different folders and on different machines build the same bytes.
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

// commandLine is the program that people run, too.
var commandLine = program{Image: "lintel", Path: "./cmd/lintel", Description: "Lintel's command line"}

// allPrograms are those that have an image.
var allPrograms = []program{
	{Image: "lintel-manager", Path: "./cmd/manager", Description: "Lintel's webhooks and controllers"},
	commandLine,
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
	cmd.AddCommand(newImageCommand(), newPushCommand(), newChartCommand(), newLibraryCommand(), newDownloadsCommand(), newOpenVoxCommand())
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
			wanted := slices.DeleteFunc(slices.Clone(allPrograms), func(p program) bool { return only != "" && p.Image != only })
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
	addFlags(cmd, &m, &platforms, "linux/amd64", "linux/arm64")
	cmd.Flags().StringVar(&only, "only", "", "make this `image` alone")
	cmd.Flags().BoolVar(&m.Race, "race", false, "for tests: build with the race detector, for the platform of this machine")
	return cmd
}

func newPushCommand() *cobra.Command {
	return newRegistryCommand("push", "Make the images, the charts and the library of policies, and push them with SBOMs and signatures",
		`Make the images and push them to REGISTRY/NAME:VERSION, with SBOMs as referrers, the
charts to REGISTRY/charts, and the library of policies to REGISTRY/library; with --key,
with signatures as "cosign verify --key" reads them.

Credentials are those of "docker login" or "podman login".`,
		func(ctx context.Context, m *maker, push pusher, registry string) ([]string, error) {
			all, err := m.all(ctx, allPrograms)
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
			charts, err := push.pushCharts(ctx, registry, m)
			if err != nil {
				return nil, err
			}
			policies, err := push.pushLibrary(ctx, registry, m)
			return slices.Concat(references, charts, policies), err
		})
}

func newLibraryCommand() *cobra.Command {
	return newRegistryCommand("library", "Push the library of policies alone",
		`Push the library of policies to REGISTRY/library, and each bundle to
REGISTRY/library/BUNDLE.`,
		func(ctx context.Context, m *maker, push pusher, registry string) ([]string, error) {
			return push.pushLibrary(ctx, registry, m)
		})
}

func newChartCommand() *cobra.Command {
	return newRegistryCommand("chart", "Push the charts alone, for images that are there",
		`Push the charts to REGISTRY/charts, for images that are there.`,
		func(ctx context.Context, m *maker, push pusher, registry string) ([]string, error) {
			return push.pushCharts(ctx, registry, m)
		})
}

// newRegistryCommand is a command that pushes a version and prints the references of the pushed
// artifacts.
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
	addFlags(cmd, &m, &platforms, "linux/amd64", "linux/arm64")
	cmd.Flags().StringVar(&keyFile, "key", "", "sign with this private `file` in PEM, of cosign or PKCS #8; COSIGN_PASSWORD opens cosign's")
	cmd.Flags().BoolVar(&to.Insecure, "insecure", false, "speak HTTP with the registry")
	cmd.Flags().BoolVar(&modified, "allow-modified", false, "for tests: push what is not committed, too")
	return cmd
}

func newDownloadsCommand() *cobra.Command {
	m := maker{}
	var platforms []string
	var url string
	cmd := &cobra.Command{
		Use:   "downloads FOLDER",
		Short: "Make archives of the command line and their krew manifest in a folder",
		Long: `Make an archive of the command line for each platform, sha256sums.txt, and krew.yaml,
the manifest by which krew installs them from --url.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if m.Version == "" || url == "" {
				return errors.New("say which version it is and where it will be, with --version v1.2.3 --url https://…")
			}
			if err := m.prepare(cmd.Context(), platforms, cmd.ErrOrStderr()); err != nil {
				return err
			}
			return m.writeDownloads(cmd.Context(), commandLine, url, args[0])
		},
	}
	addFlags(cmd, &m, &platforms, "linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64")
	cmd.Flags().StringVar(&url, "url", "", "the `URL` of the folder that the archives are downloaded from")
	return cmd
}

// addFlags adds the flags of all commands; made are the default platforms, whose systems are
// supported, unless --platform is set.
func addFlags(cmd *cobra.Command, m *maker, platforms *[]string, made ...string) {
	for _, platform := range made {
		system, _, _ := strings.Cut(platform, "/")
		if !slices.Contains(m.Systems, system) {
			m.Systems = append(m.Systems, system)
		}
	}
	cmd.Flags().StringVar(&m.Folder, "source", "../..", "the checkout, a `folder`")
	cmd.Flags().StringVar(&m.Version, "version", "", "the version, as v1.2.3; without it, of the commit")
	cmd.Flags().StringSliceVar(platforms, "platform", made, "what it is made for")
}

// made is the image of a program, for all its platforms.
type made struct {
	program
	index v1.ImageIndex
	// sboms describe the images in the index, by platform.
	sboms []v1.Image
}
