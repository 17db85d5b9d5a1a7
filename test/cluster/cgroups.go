package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// controlGroups is where the kernel shows them: one tree, or one for each kind.
const controlGroups = "/sys/fs/cgroup"

// makeControlGroupTree makes the group of a node's Pods in every tree there is. The
// kubelet demands that it is there.
func makeControlGroupTree(name string) error {
	if controllers, err := os.ReadFile(filepath.Join(controlGroups, "cgroup.controllers")); err == nil {
		enable := "+" + strings.Join(strings.Fields(string(controllers)), " +")
		if err := os.WriteFile(filepath.Join(controlGroups, "cgroup.subtree_control"), []byte(enable), 0); err != nil {
			return fmt.Errorf("enabling control groups: %w", err)
		}
		return makeControlGroup(filepath.Join(controlGroups, name))
	}
	trees, err := filepath.Glob(filepath.Join(controlGroups, "*", "tasks"))
	if err != nil || len(trees) == 0 {
		return fmt.Errorf("no control groups in %s; mount them there", controlGroups)
	}
	for _, tasks := range trees {
		parent := filepath.Dir(tasks)
		if info, err := os.Lstat(parent); err != nil || !info.IsDir() {
			continue // another name of a tree
		}
		if err := makeControlGroup(filepath.Join(parent, name)); err != nil {
			return err
		}
		// Processors and memory are not inherited, and there is no group without.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			content, err := os.ReadFile(filepath.Join(parent, file))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(parent, name, file), content, 0)
			}
			if err != nil {
				return fmt.Errorf("preparing a control group: %w", err)
			}
		}
	}
	return nil
}

func makeControlGroup(path string) error {
	if err := os.Mkdir(path, 0o755); err != nil {
		return fmt.Errorf("making a control group: %w", err)
	}
	return nil
}

// removeControlGroups removes the group in every tree, with all below; its
// processes have been killed and may need a moment. An empty name means none.
func removeControlGroups(name string) error {
	if name == "" {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), endGrace, errors.New("processes in it do not end"))
	defer cancel()
	return poll(ctx, func() error {
		var left error
		for _, pattern := range []string{name, filepath.Join("*", name)} {
			roots, err := filepath.Glob(filepath.Join(controlGroups, pattern))
			if err != nil {
				return fmt.Errorf("looking for control groups: %w", err)
			}
			for _, root := range roots {
				left = errors.Join(left, removeTree(root))
			}
		}
		return left
	})
}

// removeTree removes folders from the innermost: the files of a control group go
// with it, and cannot be removed.
func removeTree(root string) error {
	var groups []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			groups = append(groups, path)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("listing control groups: %w", err)
	}
	for _, path := range slices.Backward(groups) {
		if err := syscall.Rmdir(path); err != nil && !errors.Is(err, syscall.ENOENT) {
			return fmt.Errorf("removing the control group %s: %w", path, err)
		}
	}
	return nil
}

// sweepCommand is what a supervisor starts, not for users: it waits for the end of
// its input, which is the end of the supervisor, and removes what no process can
// take with it.
func sweepCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "sweep CGROUP",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
				return fmt.Errorf("waiting for the supervisor: %w", err)
			}
			return removeControlGroups(args[0])
		},
	}
}
