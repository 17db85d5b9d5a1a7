package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: `  lintel version`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), cmd.Root().Version)
			return err
		},
	}
}

// thisVersion is the version of this program.
func thisVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "lintel, built without module support, so that its version is not known"
	}
	return versionText(info)
}

// versionText is the version with the commit and the Go version it was built from.
func versionText(info *debug.BuildInfo) string {
	version := info.Main.Version
	if version == "" {
		version = "(devel)"
	}
	text := "lintel " + version
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	if revision := settings["vcs.revision"]; revision != "" {
		text += ", commit " + revision
		if settings["vcs.modified"] == "true" {
			text += " with changes"
		}
	}
	return text + ", " + info.GoVersion
}
