package library

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/library"
)

// NewAddCommand is `lintel policy add`.
func NewAddCommand() *cobra.Command {
	var from location
	var folder string
	var overwrite bool
	cmd := &cobra.Command{
		Use:   "add <policy or bundle>... -o <folder>",
		Short: "Copy policies of a library into a folder",
		Long: `Copy policies of a library, or those of a bundle, into a folder of policies, with
their tests and with the packages that they import. If a file exists with another
content, the command writes nothing, unless --overwrite is set.

Exit codes:
  0  the policies are in the folder
  2  the usage is wrong, the library cannot be read, or a file differs`,
		Example: `  # A bundle of the library of this release
  lintel policy add pod-security-baseline -o policies/

  # Two policies of a checkout, without a network
  lintel policy add host_ports sysctls -o policies/ --library config/library`,
		Args: func(cmd *cobra.Command, names []string) error {
			if len(names) == 0 {
				return usage.Errorf(cmd, "no policies: specify names of policies or bundles; 'lintel policy search' lists them")
			}
			if folder == "" {
				return usage.Errorf(cmd, "no folder: specify one with -o")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, names []string) error {
			l, err := from.open(cmd.Context())
			if err != nil {
				return err
			}
			selected, err := l.Select(names...)
			if unknownName, ok := errors.AsType[*library.UnknownError](err); ok {
				return unknown(l, unknownName)
			}
			if err != nil {
				return err
			}
			if err := install(folder, selected.Files, overwrite); err != nil {
				return err
			}
			return writeAdded(cmd.OutOrStdout(), l, selected, folder)
		},
	}
	from.addFlags(cmd)
	cmd.ValidArgsFunction = from.complete
	cmd.Flags().StringVarP(&folder, "output", "o", "", "the `folder` of policies, which is created if missing")
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "replace files that differ")
	usage.CompleteFiles(cmd, "output")
	return cmd
}

// install writes files below a folder. Before it writes, it checks that no existing file
// differs, unless they may be overwritten.
func install(folder string, files map[string]string, overwrite bool) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("creating the folder: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("opening the folder: %w", err)
	}
	defer root.Close()
	var differing, missing []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		existing, err := root.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, name)
		case err != nil:
			return fmt.Errorf("reading %s: %w", path.Join(folder, name), err)
		case !bytes.Equal(existing, []byte(files[name])):
			differing = append(differing, name)
		}
	}
	if len(differing) > 0 && !overwrite {
		return fmt.Errorf("%s in %s differ from the library, so nothing is written: replace them with --overwrite, or specify another folder", strings.Join(differing, ", "), folder)
	}
	for _, name := range append(missing, differing...) {
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return fmt.Errorf("creating the folder of %s: %w", name, err)
		}
		if err := root.WriteFile(name, []byte(files[name]), 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", path.Join(folder, name), err)
		}
	}
	return nil
}

// writeAdded reports the policies, and the parameters that a user can set.
func writeAdded(w io.Writer, l *library.Library, selected library.Selection, folder string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s\n", report.CountedAs(len(selected.Policies), "policy", "policies"), report.Printable(folder))
	for _, name := range selected.Policies {
		policy, _ := l.Policy(name)
		fmt.Fprintf(&b, "  %s\n", report.Printable(name))
		for _, parameter := range slices.Sorted(maps.Keys(policy.Parameters)) {
			fmt.Fprintf(&b, "    spec.parameters.%s: %s\n", report.Printable(parameter), report.Printable(policy.Parameters[parameter]))
		}
	}
	return report.Write(w, b.String())
}
