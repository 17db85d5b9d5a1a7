package binaries

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
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
		also         string
		from         map[string]string // the place that each program is taken from
		says         []string
	}{
		"assets come first": {
			assets: map[string]string{Etcd: says("etcd Version: 3.6.0"), APIServer: says(server)},
			path:   map[string]string{Etcd: says("etcd Version: 3.5.9"), Kubectl: says(client)},
			from:   map[string]string{Etcd: "assets", APIServer: "assets", Kubectl: "path"},
		},
		"Debian's etcd": {
			path: map[string]string{Etcd: says("etcd Version: 3.4.23\nGit SHA: Not provided")},
			from: map[string]string{Etcd: "path"},
			says: []string{"no usable kube-apiserver, kubectl in KUBEBUILDER_ASSETS and PATH"},
		},
		"an API server that is too old": {
			assets: map[string]string{APIServer: says("Kubernetes v1.29.4")},
			path:   map[string]string{APIServer: says(server), Kubectl: says(client)},
			from:   map[string]string{APIServer: "path", Kubectl: "path"},
			says:   []string{"not using kube-apiserver of KUBEBUILDER_ASSETS: ", "version 1.29.4, want 1.30 or newer and older than 1.38"},
		},
		"an API server that is too new": {
			assets: map[string]string{APIServer: says("Kubernetes v1.38.0")},
			says:   []string{"version 1.38.0, want 1.30 or newer and older than 1.38"},
		},
		"an API server older than its scheduler": {
			assets: map[string]string{APIServer: says("Kubernetes v1.35.9")},
			also:   Scheduler,
			says:   []string{"version 1.35.9, want 1.36 or newer and older than 1.38"},
		},
		"etcd that is too old": {
			path: map[string]string{Etcd: says("etcd Version: 3.3.25")},
			says: []string{"not using etcd of PATH: ", "version 3.3.25, want 3.4 or newer and older than 3.7"},
		},
		"kubectl that is too old for the API server": {
			assets: map[string]string{APIServer: says(server)},
			path:   map[string]string{Kubectl: says("Client Version: v1.34.0")},
			from:   map[string]string{APIServer: "assets"},
			says:   []string{"version 1.34.0, want one within a minor version of kube-apiserver 1.36.1"},
		},
		"an API server with its own kubectl": {
			assets: map[string]string{APIServer: says("Kubernetes v1.31.0"), Kubectl: says("Client Version: v1.31.0")},
			from:   map[string]string{APIServer: "assets", Kubectl: "assets"},
		},
		"an API server too old for any kubectl here": {
			assets: map[string]string{APIServer: says("Kubernetes v1.31.0")},
			path:   map[string]string{Kubectl: says(client)},
			says:   []string{"there is no kubectl for it", "version 1.36.3, want one within a minor version of kube-apiserver 1.31.0"},
		},
		"programs of other kinds": {
			assets: map[string]string{Etcd: says("hello")},
			path:   map[string]string{APIServer: "#!/bin/sh\nexit 3\n"},
			says:   []string{`prints no version but "hello`, "running it with --version: exit status 3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folders := map[string]string{"assets": write(t, test.assets), "path": write(t, test.path)}
			r := &resolver{
				Options: Options{Assets: folders["assets"], From: []Way{Assets, Path}},
				wanted:  append([]string{Etcd, APIServer, Kubectl}, strings.Fields(test.also)...), found: Set{}, origins: map[string]string{},
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
