package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ownPolicies is the path of what a command takes that is about the policies of one
// source: by -p, as all commands take policies, or as an argument.
type ownPolicies struct {
	path  string
	given []string
}

func (p *ownPolicies) addFlag(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&p.given, "policies", "p", nil, "`path` of a folder or .rego file of policies; it may also be given without -p")
}

// args is the cobra.Command.Args of the command. Of two paths neither is taken: half of
// the policies would be enforced without a word.
func (p *ownPolicies) args(cmd *cobra.Command, args []string) error {
	paths := slices.Concat(p.given, args)
	if len(paths) == 0 {
		return usageError(cmd, "no policies: give a folder or a .rego file with -p")
	}
	for _, other := range paths[1:] {
		if other != paths[0] {
			return usageError(cmd, "%s and %s are two sources: give one, or run this once for each", paths[0], other)
		}
	}
	if p.path = paths[0]; p.path == "" {
		return usageError(cmd, "-p is empty: give a folder or a .rego file")
	}
	return nil
}

// readOwnPolicies reads the one source at a path.
func readOwnPolicies(path string) (policySource, error) {
	sources, err := readPolicyPath(path)
	if err != nil {
		return policySource{}, err
	}
	if len(sources) > 1 {
		return policySource{}, fmt.Errorf("%s has %d PolicySources: put the one that is meant into a file of its own", path, len(sources))
	}
	return sources[0], nil
}
