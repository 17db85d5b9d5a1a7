package binaries

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// prebuilt are the programs that are taken from elsewhere when their versions fit:
// those that KUBEBUILDER_ASSETS customarily holds.
var prebuilt = []string{Etcd, APIServer, Kubectl}

// place is where programs may be that this program did not put there.
type place struct {
	title  string
	lookup func(name string) (string, bool)
}

// candidate is a program in a place.
type candidate struct {
	path    string
	version *version.Version
}

// assetsPlace is the folder KUBEBUILDER_ASSETS names. One that cannot be read is an
// error: silence would build for minutes.
func assetsPlace(dir string) (place, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return place{}, fmt.Errorf("KUBEBUILDER_ASSETS names %s, which is not a folder; correct or unset it", dir)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return place{}, fmt.Errorf("resolving KUBEBUILDER_ASSETS: %w", err)
	}
	return place{"KUBEBUILDER_ASSETS", func(name string) (string, bool) {
		path := filepath.Join(dir, name)
		return path, executable(path)
	}}, nil
}

func pathPlace() place {
	return place{"PATH", func(name string) (string, bool) {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", false
		}
		path, err = filepath.Abs(path)
		return path, err == nil
	}}
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// find adds the wanted programs of the places whose versions are supported, and says why
// others are not used.
func (r *resolver) find(ctx context.Context, places []place) error {
	chosen := map[string]candidate{}
	for _, name := range prebuilt { // kubectl last: it has to go with the API server
		if !slices.Contains(r.missing(), name) {
			continue
		}
		for _, p := range places {
			c, err := r.try(ctx, p, name, chosen)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				r.Progress.Printf("not using %s of %s: %v", name, p.title, err)
				continue
			}
			if c.path != "" {
				chosen[name] = c
				break
			}
		}
	}
	r.dropServerWithoutClient(chosen)
	for name, c := range chosen {
		r.use(name, c.path, fmt.Sprintf("%s, version %s", c.path, c.version))
	}
	var lacking []string
	for _, name := range prebuilt {
		if slices.Contains(r.missing(), name) {
			lacking = append(lacking, name)
		}
	}
	if len(lacking) > 0 && len(places) > 0 {
		r.explain("no usable %s in %s", strings.Join(lacking, ", "), titles(places))
	}
	return nil
}

// try returns the candidate of a place; without a path where it has none.
func (r *resolver) try(ctx context.Context, p place, name string, chosen map[string]candidate) (candidate, error) {
	path, ok := p.lookup(name)
	if !ok {
		return candidate{}, nil
	}
	v, err := askVersion(ctx, name, path)
	if err != nil {
		return candidate{}, fmt.Errorf("%s: %w", path, err)
	}
	if limits, ok := supported[name]; ok {
		if name == APIServer && slices.ContainsFunc(r.wanted, isClientOfItsVersion) {
			limits.min = version.MajorMinor(own.Major(), own.Minor())
		}
		err = limits.check(v)
	} else if slices.Contains(r.wanted, APIServer) {
		server := own
		if c, ok := chosen[APIServer]; ok {
			server = c.version
		}
		err = checkSkew(v, server)
	}
	if err != nil {
		return candidate{}, fmt.Errorf("%s: %w", path, err)
	}
	return candidate{path, v}, nil
}

// isClientOfItsVersion says whether a program, which is always of our own version, must not
// be newer than the API server.
func isClientOfItsVersion(name string) bool {
	return slices.Contains([]string{ControllerManager, Scheduler, Kubelet, KubeProxy}, name)
}

// dropServerWithoutClient drops an API server too far from the kubectl that the next ways
// give, where no other kubectl was found.
func (r *resolver) dropServerWithoutClient(chosen map[string]candidate) {
	server, ok := chosen[APIServer]
	if !ok || !slices.Contains(r.missing(), Kubectl) || chosen[Kubectl].path != "" {
		return
	}
	if err := checkSkew(own, server.version); err != nil {
		r.Progress.Printf("not using %s: there is no kubectl for it but the one of the next ways: %v", server.path, err)
		delete(chosen, APIServer)
	}
}

func titles(places []place) string {
	var all []string
	for _, p := range places {
		all = append(all, p.title)
	}
	return strings.Join(all, " and ")
}
