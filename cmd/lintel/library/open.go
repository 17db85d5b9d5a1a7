// Package library holds the commands that find and install policies of a library: `lintel policy
// search`, `show` and `add`.
//
// Invariant: a command never overwrites a file that differs, unless the user asks for it, and
// never uses an unsigned library if a key is specified.
package library

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/cmd/internal/version"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/library"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/source/origin"
)

// releasedLibrary is the repository of the library that each release pushes under its version.
const releasedLibrary = "oci://ghcr.io/lintel-policy/lintel/library"

const ociScheme = "oci://"

// location says where the library is.
type location struct {
	path, key, registryConfig string
	insecure                  bool
}

func (o *location) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.path, "library", "", "`path` of a folder with the library, or oci://registry/repository:tag; without it, the library of this release, "+releasedLibrary)
	flags.StringVar(&o.key, "key", "", "`file` with the public key, in PEM, with which an artifact must be signed")
	flags.StringVar(&o.registryConfig, "registry-config", "", "`file` with the credentials of registries, as docker login writes it")
	flags.BoolVar(&o.insecure, "insecure", false, "use plain HTTP for the registry, for tests")
	usage.CompleteFiles(cmd, "library")
	usage.CompleteFiles(cmd, "key", "pub", "pem")
	usage.CompleteFiles(cmd, "registry-config", "json")
}

// complete suggests names of policies and bundles of a library in a folder. It does not fetch.
func (o *location) complete(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if o.path == "" || strings.HasPrefix(o.path, ociScheme) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	l, err := o.open(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, name := range l.Names() {
		if strings.HasPrefix(name, typed) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// open reads the library.
func (o *location) open(ctx context.Context) (*library.Library, error) {
	files, from, err := o.read(ctx)
	if err != nil {
		return nil, err
	}
	l, err := library.Read(files)
	if err != nil {
		return nil, fmt.Errorf("reading the library %s: %w", from, err)
	}
	return l, nil
}

// read returns the files of the library, and its location for messages.
func (o *location) read(ctx context.Context) (files map[string]string, from string, err error) {
	from = o.path
	if from == "" {
		released := version.Release()
		if released == "" {
			return nil, "", errors.New("this build of lintel is not a release, so it has no library of its own: specify --library PATH, such as config/library of a checkout")
		}
		from = releasedLibrary + ":" + released
	}
	if strings.HasPrefix(from, ociScheme) {
		files, err = o.fetch(ctx, from)
		return files, from, err
	}
	if o.key != "" || o.registryConfig != "" || o.insecure {
		return nil, "", fmt.Errorf("--key, --registry-config and --insecure are for libraries in a registry, but %s is a folder", from)
	}
	files, err = source.ReadFolder(from, isLibraryFile, source.MaxArtifactBytes)
	return files, from, err
}

func isLibraryFile(name string) bool {
	return filepath.Ext(name) == ".rego" || filepath.Ext(name) == ".yaml"
}

// fetch fetches the library from a registry, as the manager fetches artifacts of PolicySources.
func (o *location) fetch(ctx context.Context, from string) (map[string]string, error) {
	request := origin.Request{OCI: &v1alpha1.OCIOrigin{Insecure: o.insecure}}
	var err error
	if request.OCI.URL, request.OCI.Ref, err = parseReference(from); err != nil {
		return nil, err
	}
	if o.key != "" {
		key, err := os.ReadFile(o.key)
		if err != nil {
			return nil, fmt.Errorf("reading the public key: %w", err)
		}
		request.OCI.Verify = &v1alpha1.OCIVerification{Provider: "cosign"}
		request.Keys = map[string][]byte{"key.pub": key}
	}
	if o.registryConfig != "" {
		config, err := os.ReadFile(o.registryConfig)
		if err != nil {
			return nil, fmt.Errorf("reading the credentials of registries: %w", err)
		}
		request.Credentials = map[string][]byte{origin.DockerConfigKey: config}
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program itself: %w", err)
	}
	answer, err := origin.NewFetcher(program, 1).Fetch(ctx, request)
	if err != nil {
		return nil, o.explain(from, err)
	}
	return answer.Files, nil
}

// explain replaces remedies that are about a PolicySource.
func (o *location) explain(from string, err error) error {
	refused, ok := errors.AsType[*origin.Error](err)
	if !ok {
		return fmt.Errorf("fetching the library %s: %w", from, err)
	}
	const offline = "specify another one with --library, such as the path of a folder with the library"
	switch refused.Reason {
	case origin.ReasonNotFound:
		return fmt.Errorf("the library %s does not exist in the registry: %s", from, offline)
	case origin.ReasonAuthenticationFailed:
		return fmt.Errorf("the registry refuses the credentials for the library %s: specify a file with credentials with --registry-config", from)
	case origin.ReasonCredentialsInvalid:
		return fmt.Errorf("fetching the library %s: the file of --key or --registry-config is not valid: %w", from, err)
	case origin.ReasonFetchFailed:
		return fmt.Errorf("fetching the library %s: %w; without a network, %s", from, err, offline)
	}
	return fmt.Errorf("fetching the library %s: %w", from, err)
}

// parseReference reads oci://registry/repository, with a tag or a digest.
func parseReference(text string) (url string, ref v1alpha1.OCIRef, err error) {
	repository, digest, pinned := strings.Cut(text, "@")
	if pinned {
		ref.Digest = digest
	}
	if at := strings.LastIndex(repository, ":"); at > strings.LastIndex(repository, "/") {
		repository, ref.Tag = repository[:at], repository[at+1:]
	}
	if strings.Count(strings.TrimPrefix(repository, ociScheme), "/") == 0 || pinned && !strings.HasPrefix(digest, "sha256:") {
		return "", ref, fmt.Errorf("--library: invalid value %q: write oci://registry/repository:tag or oci://registry/repository@sha256:…", text)
	}
	return repository, ref, nil
}
