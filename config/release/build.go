package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// program is one that gets an image of its own.
type program struct {
	// Image is the last part of its repository, and the name of the file in it.
	Image       string
	Path        string
	Description string
}

// maker makes images of a commit.
type maker struct {
	Folder string
	// Version is a semantic version with a v.
	Version string
	// Systems are the operating systems that artifacts can be built for.
	Systems []string
	// Race builds programs with the race detector, for tests on the platform of this machine.
	Race bool

	platforms []v1.Platform
	commit    string
	// modified reports that the checkout differs from the commit.
	modified bool
	// created is the time of the commit, so that images do not depend on the time of their build.
	created  time.Time
	progress io.Writer
}

// versionPackage is the package that programs have their version from.
const versionPackage = "github.com/lintel-policy/lintel/cmd/internal/version"

// version is what Go takes for one, and a registry for a tag: no build metadata.
var version = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// prepare reads the commit, and checks the request before anything is built.
func (m *maker) prepare(ctx context.Context, platforms []string, progress io.Writer) error {
	m.progress = progress
	for _, text := range platforms {
		platform, err := v1.ParsePlatform(text)
		if err != nil || !slices.Contains(m.Systems, platform.OS) || platform.Architecture == "" {
			return fmt.Errorf("%q is no platform that this is made for: say such as linux/amd64; the systems are %s", text, strings.Join(m.Systems, ", "))
		}
		m.platforms = append(m.platforms, *platform)
	}
	if here := runtime.GOOS + "/" + runtime.GOARCH; m.Race && !slices.Equal(platforms, []string{here}) {
		return fmt.Errorf("--platform: Invalid value %q: with --race, only the platform of this machine, %s, is possible", strings.Join(platforms, ","), here)
	}
	if m.Version != "" && !version.MatchString(m.Version) {
		return fmt.Errorf("the version %q is none: say it as v1.2.3 or v1.2.3-rc.1", m.Version)
	}
	commit, err := m.git(ctx, "log", "-1", "--format=%H %cI")
	if err != nil {
		return err
	}
	hash, date, _ := strings.Cut(commit, " ")
	if m.created, err = time.Parse(time.RFC3339, date); err != nil {
		return err
	}
	m.commit, m.created = hash, m.created.UTC()
	changes, err := m.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	m.modified = changes != ""
	if m.Version == "" {
		m.Version = "v0.0.0-" + m.created.Format("20060102150405") + "-" + m.commit[:12]
		if m.modified {
			m.Version += "-modified"
		}
	}
	return nil
}

func (m *maker) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", m.Folder}, args...)...)
	cmd.Stderr = m.progress
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("reading the commit of %s, which must be a checkout: git %s: %w", m.Folder, args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

func (m *maker) all(ctx context.Context, programs []program) ([]made, error) {
	scratch, err := os.MkdirTemp("", "lintel-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	var all []made
	for _, p := range programs {
		one, err := m.one(ctx, p, scratch)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Image, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// build compiles a program into a file, static and independent of the folder of the build.
func (m *maker) build(ctx context.Context, p program, platform v1.Platform, scratch string) (string, error) {
	file := filepath.Join(scratch, p.Image+"-"+strings.ReplaceAll(platform.String(), "/", "-"))
	fmt.Fprintf(m.progress, "building %s for %s …\n", p.Image, platform)
	flags := fmt.Sprintf("-s -w -buildid= -X %[1]s.version=%[2]s -X %[1]s.commit=%[3]s", versionPackage, m.Version, m.commit)
	args, cgo := []string{"build", "-trimpath", "-buildvcs=false"}, "CGO_ENABLED=0"
	if m.Race {
		// The race detector needs cgo, and an image without a base needs a static program.
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
		flags += ` -linkmode external -extldflags "-static"`
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "-ldflags", flags, "-o", file, p.Path)...)
	cmd.Dir = m.Folder
	// What a user has set for builds of their own must not show.
	cmd.Env = append(os.Environ(), cgo, "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off",
		"GOOS="+platform.OS, "GOARCH="+platform.Architecture, "GOAMD64=v1", "GOARM64=v8.0")
	cmd.Stdout, cmd.Stderr = m.progress, m.progress
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go build %s: %w", p.Path, err)
	}
	return file, nil
}
