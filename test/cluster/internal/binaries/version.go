package binaries

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/test/cluster/internal/process"
	"k8s.io/apimachinery/pkg/util/version"
)

// supportedVersions are the versions that programs built elsewhere may have: the
// minimum, and the first one that is too new.
type supportedVersions struct{ min, below *version.Version }

// supported are tested at their ends as far as they can be had here: Kubernetes as
// docs/how-to/install.md supports it, up to one minor version newer than KubernetesVersion,
// and etcd from the one of Debian 12 on.
var supported = map[string]supportedVersions{
	APIServer: {version.MajorMinor(1, 30), version.MajorMinor(1, own.Minor()+2)},
	Etcd:      {version.MajorMinor(3, 4), version.MajorMinor(3, 7)},
}

// own is the version of the programs that are built and downloaded here.
var own = version.MustParseGeneric(KubernetesVersion)

// check returns why the version is not supported.
func (s supportedVersions) check(v *version.Version) error {
	if v.AtLeast(s.min) && v.LessThan(s.below) {
		return nil
	}
	return fmt.Errorf("version %s, want %s or newer and older than %s", v, s.min, s.below)
}

// checkSkew returns why kubectl does not go with an API server: Kubernetes supports one
// minor version of difference.
func checkSkew(kubectl, server *version.Version) error {
	if kubectl.Major() == server.Major() && kubectl.Minor()+1 >= server.Minor() && kubectl.Minor() <= server.Minor()+1 {
		return nil
	}
	return fmt.Errorf("version %s, want one within a minor version of kube-apiserver %s", kubectl, server)
}

// versionLimit bounds how long a program may take to print its version.
const versionLimit = 10 * time.Second

// versionIn finds the version in what etcd, kube-apiserver and kubectl print.
var versionIn = regexp.MustCompile(`(?m)^(?:Kubernetes|etcd Version:|Client Version:) (v?[0-9]+\.[0-9]+\.[0-9]+)`)

// askVersion returns the version that a program reports.
func askVersion(ctx context.Context, name, path string) (*version.Version, error) {
	args := []string{"--version"}
	if name == Kubectl {
		args = []string{"version", "--client"}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, versionLimit, fmt.Errorf("no answer within %s", versionLimit))
	defer cancel()
	var output strings.Builder
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := process.RunGroup(ctx, cmd); err != nil {
		return nil, fmt.Errorf("running it with %s: %w", strings.Join(args, " "), err)
	}
	match := versionIn.FindStringSubmatch(output.String())
	if match == nil {
		return nil, fmt.Errorf("%s prints no version but %.100q", strings.Join(args, " "), output.String())
	}
	return version.ParseGeneric(match[1])
}
