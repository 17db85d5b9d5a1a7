// Package version says which version a program is.
package version

import (
	"regexp"
	"runtime/debug"
	"strings"
)

// Of a release, set by the linker: it is built without what Go records of the checkout,
// which would make the same commit two programs in two folders.
var version, commit string

// Of is the version of the program that runs: its name, the version, and the commit and the
// version of Go where they are known.
func Of(program string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return program + ", built without module support, so that its version is not known"
	}
	return text(program, version, commit, info)
}

// text prefers what a release has set.
func text(program, version, commit string, info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	if version == "" {
		version, commit = info.Main.Version, settings["vcs.revision"]
	}
	if version == "" {
		version = "(devel)"
	}
	parts := []string{program + " " + version}
	if commit != "" {
		if settings["vcs.modified"] == "true" {
			commit += " with changes"
		}
		parts = append(parts, "commit "+commit)
	}
	return strings.Join(append(parts, info.GoVersion), ", ")
}

// releasePattern matches a version of a release, unlike one that Go derives from a commit.
var releasePattern = regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`)

// Release is the version of the release that the program belongs to, such as v1.2.3; empty for
// other builds.
func Release() string {
	info, _ := debug.ReadBuildInfo()
	return releaseOf(version, info)
}

func releaseOf(version string, info *debug.BuildInfo) string {
	if version == "" && info != nil {
		version = info.Main.Version
	}
	if !releasePattern.MatchString(version) {
		return ""
	}
	return version
}
