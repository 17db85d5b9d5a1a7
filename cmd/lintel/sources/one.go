package sources

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lintel-policy/lintel/cmd/lintel/usage"
)

// One is what a command takes that is about the policies of one source: by -p, as all
// commands take policies, or as an argument.
type One struct {
	// Path is the specified path, after Args.
	Path  string
	given []string
}

// AddFlag adds -p.
func (o *One) AddFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&o.given, "policies", "p", nil, "`path` of a folder or .rego file of policies; -p may be omitted")
	usage.CompleteFiles(cmd, "policies", "rego", "yaml", "yml", "json")
}

// AddPartialFlag adds --partial.
func AddPartialFlag(flags *pflag.FlagSet, partial *bool) {
	flags.BoolVar(partial, "partial", false, "leave out files that do not compile, and files that depend on them, as a cluster does for a new PolicySource with spec.partial. PolicySources in YAML set it themselves")
}

// Args is the cobra.Command.Args of the command. Two paths are an error: otherwise one of them
// would be ignored silently.
func (o *One) Args(cmd *cobra.Command, args []string) error {
	paths := slices.Concat(o.given, args)
	if len(paths) == 0 {
		return usage.Errorf(cmd, "no policies: give a folder or a .rego file with -p")
	}
	for _, other := range paths[1:] {
		if other != paths[0] {
			return usage.Errorf(cmd, "%s and %s are two sources: give one, or run this once for each", paths[0], other)
		}
	}
	if o.Path = paths[0]; o.Path == "" {
		return usage.Errorf(cmd, "-p is empty: give a folder or a .rego file")
	}
	return nil
}

// Read reads the source.
func (o *One) Read() (Source, error) {
	sources, err := readPath(o.Path)
	if err != nil {
		return Source{}, err
	}
	if len(sources) == 0 {
		return Source{}, fmt.Errorf("%s has no policies: it has PolicyExceptions only", o.Path)
	}
	if len(sources) > 1 {
		return Source{}, fmt.Errorf("%s has %d PolicySources: put the one that is meant into a file of its own", o.Path, len(sources))
	}
	return sources[0], nil
}
