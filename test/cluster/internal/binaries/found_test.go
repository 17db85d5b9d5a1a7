package binaries

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/version"
)

// says is a program that prints its version.
func says(text string) string { return "#!/bin/sh\necho '" + text + "'\n" }

// resolved resolves without building anything.
func resolved(t *testing.T, opts Options, wanted ...string) (Set, string, error) {
	t.Helper()
	var said bytes.Buffer
	opts.Progress, opts.Cache = NewProgress(&said, time.Hour), t.TempDir()
	found, err := Resolve(t.Context(), opts, wanted...)
	return found, said.String(), err
}

func TestAssetsAndPathGiveSupportedPrograms(t *testing.T) {
	server, client := "Kubernetes v1.36.1", "Client Version: v1.36.0\nKustomize Version: v5.7.1"
	for name, test := range map[string]struct {
		assets, path map[string]string
		from         map[string]string // the place that each program is taken from
		says         []string
	}{
		"assets come first": {
			map[string]string{Etcd: says("etcd Version: 3.6.0"), APIServer: says(server)},
			map[string]string{Etcd: says("etcd Version: 3.5.9"), Kubectl: says(client)},
			map[string]string{Etcd: "assets", APIServer: "assets", Kubectl: "path"},
			nil,
		},
		"Debian's etcd": {
			nil,
			map[string]string{Etcd: says("etcd Version: 3.4.23\nGit SHA: Not provided")},
			map[string]string{Etcd: "path"},
			[]string{"no usable kube-apiserver, kubectl in KUBEBUILDER_ASSETS and PATH"},
		},
		"an API server that is too old": {
			map[string]string{APIServer: says("Kubernetes v1.29.4")},
			map[string]string{APIServer: says(server), Kubectl: says(client)},
			map[string]string{APIServer: "path", Kubectl: "path"},
			[]string{"not using kube-apiserver of KUBEBUILDER_ASSETS: ", "version 1.29.4, want 1.30 or newer and older than 1.38"},
		},
		"an API server that is too new": {
			map[string]string{APIServer: says("Kubernetes v1.38.0")}, nil, nil,
			[]string{"version 1.38.0, want 1.30 or newer and older than 1.38"},
		},
		"etcd that is too old": {
			nil, map[string]string{Etcd: says("etcd Version: 3.3.25")}, nil,
			[]string{"not using etcd of PATH: ", "version 3.3.25, want 3.4 or newer and older than 3.7"},
		},
		"kubectl that is too old for the API server": {
			map[string]string{APIServer: says(server)}, map[string]string{Kubectl: says("Client Version: v1.34.0")},
			map[string]string{APIServer: "assets"},
			[]string{"version 1.34.0, want one within a minor version of kube-apiserver 1.36.1"},
		},
		"an API server with its own kubectl": {
			map[string]string{APIServer: says("Kubernetes v1.31.0"), Kubectl: says("Client Version: v1.31.0")}, nil,
			map[string]string{APIServer: "assets", Kubectl: "assets"}, nil,
		},
		"an API server too old for any kubectl here": {
			map[string]string{APIServer: says("Kubernetes v1.31.0")}, map[string]string{Kubectl: says(client)}, nil,
			[]string{"there is no kubectl for it", "version 1.36.3, want one within a minor version of kube-apiserver 1.31.0"},
		},
		"what is no such program": {
			map[string]string{Etcd: says("hello")}, map[string]string{APIServer: "#!/bin/sh\nexit 3\n"}, nil,
			[]string{`prints no version but "hello`, "running it with --version: exit status 3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folders := map[string]string{"assets": write(t, test.assets), "path": write(t, test.path)}
			r := &resolver{
				Options: Options{Assets: folders["assets"], From: []Way{Assets, Path}},
				wanted:  []string{Etcd, APIServer, Kubectl, Scheduler}, found: Set{}, origins: map[string]string{},
			}
			var said bytes.Buffer
			r.Progress = NewProgress(&said, time.Hour)
			places, err := r.places()
			require.NoError(t, err)
			places[1] = place{"PATH", func(name string) (string, bool) {
				path := filepath.Join(folders["path"], name)
				return path, executable(path)
			}}
			require.NoError(t, r.find(t.Context(), places))

			want := Set{}
			for name, place := range test.from {
				want[name] = filepath.Join(folders[place], name)
			}
			require.Equal(t, want, r.found, said.String())
			for _, text := range test.says {
				require.Contains(t, said.String(), text)
			}
		})
	}
}

func TestPathIsSearched(t *testing.T) {
	dir := write(t, map[string]string{Kubectl: says("Client Version: v1.36.0")})
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	found, said, err := resolved(t, Options{From: []Way{Path}}, Kubectl)
	require.NoError(t, err)
	require.Equal(t, Set{Kubectl: filepath.Join(dir, Kubectl)}, found)
	require.Contains(t, said, "using kubectl: "+found[Kubectl]+", version 1.36.0")
}

func TestAssetsAreAFolderOfPrograms(t *testing.T) {
	_, _, err := resolved(t, Options{Assets: filepath.Join(t.TempDir(), "nothing")}, Etcd)
	require.ErrorContains(t, err, "KUBEBUILDER_ASSETS")

	dir := write(t, map[string]string{Etcd: says("etcd Version: 3.6.0"), Scheduler: says("Kubernetes v1.36.3")})
	require.NoError(t, os.Chmod(filepath.Join(dir, Etcd), 0o644))
	_, _, err = resolved(t, Options{Assets: dir, From: []Way{Assets}}, Etcd, Scheduler)
	require.EqualError(t, err, "no way to get etcd, kube-scheduler: tried [assets]",
		"etcd cannot be executed, and kube-scheduler never comes from there")
}

func TestSupportedVersionsIncludeOurs(t *testing.T) {
	require.NoError(t, supported[APIServer].check(own))
	releases, err := readReleases("")
	require.NoError(t, err)
	require.NoError(t, supported[Etcd].check(version.MustParseGeneric(releases[Etcd].Version)))
}
