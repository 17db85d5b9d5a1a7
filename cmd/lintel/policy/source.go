package policy

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/cluster"
	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/definition"
)

// What the API server takes: see PolicySource and InlineOrigin in the API. The bytes
// leave room below etcd's 1.5 MiB for what else is in the object.
const (
	maxInlineFiles = 1024
	maxInlineBytes = 1400 << 10
)

// sourceOptions are the flags of source.
type sourceOptions struct {
	policies      sources.One
	name          string
	failurePolicy string
	partial       bool
}

// NewSourceCommand is `lintel source`.
func NewSourceCommand() *cobra.Command {
	var options sourceOptions
	cmd := &cobra.Command{
		Use:   "source -p <policies>",
		Short: "Write a folder of policies as a PolicySource",
		Long: `Write a folder of policies as a PolicySource with an inline origin, for kubectl
apply --server-side (without that flag, kubectl copies the object into an
annotation, which holds 256 KiB). A folder that a cluster would refuse is refused
here, as by 'lintel policy lint', whose warnings go to standard error.

Exit codes:
  0  the PolicySource is written
  1  a cluster would refuse the policies
  2  the usage is wrong, or the policies cannot be read`,
		Example: `  # Enforce a folder of policies
  lintel source -p policies/ --name team | kubectl apply --server-side -f -`,
		Args: options.policies.Args,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := policySourceYAML(cmd.Context(), options, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	options.policies.AddFlag(cmd)
	cmd.Flags().StringVar(&options.name, "name", "", "`name` of the PolicySource; the folder's or file's if empty")
	cmd.Flags().StringVar(&options.failurePolicy, "failure-policy", string(definition.Fail), "what an error of a policy does to a request: Fail or Ignore")
	cmd.Flags().BoolVar(&options.partial, "partial", false, "set spec.partial, with which a cluster leaves out files that do not compile; they are listed on standard error")
	usage.CompleteFlag(cmd, "failure-policy", string(definition.Fail), string(definition.Ignore))
	usage.CompleteFlagBy(cmd, "name", cluster.Options{}.CompleteSources)
	return cmd
}

// policySourceYAML is the PolicySource in YAML, without the fields that only the API
// server fills in.
func policySourceYAML(ctx context.Context, options sourceOptions, stderr io.Writer) ([]byte, error) {
	if !slices.Contains([]definition.FailurePolicy{definition.Fail, definition.Ignore}, definition.FailurePolicy(options.failurePolicy)) {
		return nil, fmt.Errorf("--failure-policy %q is neither Fail nor Ignore", options.failurePolicy)
	}
	written, err := options.policies.Read()
	if err != nil {
		return nil, err
	}
	if written.Folder == "" {
		return nil, fmt.Errorf("%s is one already: apply it with kubectl apply --server-side -f %s", written.Origin, options.policies.Path)
	}
	written.Name, written.FailurePolicy = cmp.Or(options.name, written.Name), definition.FailurePolicy(options.failurePolicy)
	if err := sources.CheckName(written.Name); err != nil {
		return nil, err
	}
	if err := checkFiles(written.Files); err != nil {
		return nil, fmt.Errorf("%s: %w", written.Origin, err)
	}
	// As a cluster would that has no other source.
	if err := lintSource(ctx, written, lintOptions{partial: options.partial}, stderr, writeProblems); err != nil {
		return nil, err
	}
	return inlineYAML(written.Name, options.failurePolicy, options.partial, written.Files), nil
}

// checkFiles checks what the API server asks of the files of an inline origin.
func checkFiles(files map[string]string) error {
	if len(files) > maxInlineFiles {
		return fmt.Errorf("%d files are more than the %d that a PolicySource holds", len(files), maxInlineFiles)
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !utf8.ValidString(name) || !utf8.ValidString(files[name]) {
			return fmt.Errorf("%s is not UTF-8", name)
		}
		total += len(files[name])
	}
	if total > maxInlineBytes {
		return fmt.Errorf("%d bytes are more than the %d that a PolicySource holds", total, maxInlineBytes)
	}
	return nil
}
