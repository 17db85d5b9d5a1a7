// Program node has the parts that a cluster with real nodes needs in addition to Kubernetes'
// own programs: the first process of the node's namespaces, a registry, and a way to make an
// image of a program without a container engine.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{Use: "node", SilenceUsage: true, SilenceErrors: true}
	var address, dir string
	registry := &cobra.Command{
		Use:   "registry",
		Short: "Serve a registry; its blobs are files, what names them is kept in memory",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return serveRegistry(c.Context(), address, dir) },
	}
	registry.Flags().StringVar(&address, "address", "", "address to listen on")
	registry.Flags().StringVar(&dir, "dir", "", "folder of the blobs")
	root.AddCommand(registry,
		&cobra.Command{
			Use:   "init DIR",
			Short: "Make the namespaces of this process a node that keeps its data in DIR; then reap",
			Args:  cobra.ExactArgs(1),
			RunE:  func(_ *cobra.Command, args []string) error { return becomeNode(args[0], os.Stdout) },
		},
		&cobra.Command{
			Use:   "images FOLDER NAME=PROGRAM…",
			Short: "Write images, each of one static program, as an OCI layout",
			Args:  cobra.MinimumNArgs(2),
			RunE:  func(_ *cobra.Command, args []string) error { return writeImages(args[0], args[1:]) },
		},
		&cobra.Command{
			Use:   "push FOLDER NAME",
			Short: "Push the one image of an OCI layout to a registry",
			Args:  cobra.ExactArgs(2),
			RunE:  func(c *cobra.Command, args []string) error { return push(c.Context(), args[0], args[1]) },
		})
	return root
}
