package openvox

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/usage"
)

// certnames is the cobra.Command.Args of commands that take at least one certname.
func certnames(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage.Errorf(cmd, "no certname is specified")
	}
	return validCertnames(cmd, args)
}

func validCertnames(cmd *cobra.Command, args []string) error {
	for _, name := range args {
		switch {
		case name == "ca":
			return usage.Errorf(cmd, "%q is the certificate of the CA itself", name)
		case !isCertname(name):
			return usage.Errorf(cmd, "%q is not a valid certname", name)
		}
	}
	return nil
}

// isCertname says whether a Puppet CA can have a certificate of this name.
func isCertname(name string) bool {
	return name != "" && strings.ToLower(name) == name && !strings.ContainsAny(name, "/\\ *?") && !strings.Contains(name, "..")
}
