package origin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

const (
	// maxManifest bounds a manifest, and the payload of a signature.
	maxManifest = 4 << 20
	// DockerConfigKey is the entry of a Secret of the type kubernetes.io/dockerconfigjson.
	DockerConfigKey = ".dockerconfigjson"
)

// artifacts is a repository of a registry.
type artifacts struct {
	*remote.Repository
	request Request
	budget  *budget
}

// fetchOCI asks a registry what a tag stands for, and for the artifact where it is not
// known.
func fetchOCI(ctx context.Context, request Request) (*Answer, error) {
	origin := request.OCI
	if pinned := origin.Ref.Digest; pinned != "" && request.Known == pinned {
		return &Answer{Revision: pinned}, nil // content never changes under its digest
	}
	from, err := openArtifacts(request)
	if err != nil {
		return nil, err
	}
	tag := cmp.Or(origin.Ref.Tag, "latest")
	found, err := from.Resolve(ctx, cmp.Or(origin.Ref.Digest, tag))
	if err != nil {
		return nil, from.describe(err)
	}
	answer := &Answer{Revision: tag + "@" + found.Digest.String()}
	if origin.Ref.Digest != "" {
		answer.Revision = origin.Ref.Digest
	}
	if answer.Revision == request.Known {
		return answer, nil
	}
	manifest, err := from.manifest(ctx, found)
	if err != nil {
		return nil, err
	}
	if origin.Verify != nil {
		if answer.Signature, err = from.verifyCosign(ctx, found.Digest); err != nil {
			return nil, err
		}
	}
	if answer.Files, err = from.files(ctx, manifest); err != nil {
		return nil, err
	}
	return answer, nil
}

func openArtifacts(request Request) (*artifacts, error) {
	name, ok := strings.CutPrefix(request.OCI.URL, "oci://")
	if !ok {
		return nil, refuse(ReasonFetchFailed, "spec.oci.url must be oci://registry/repository")
	}
	repository, err := remote.NewRepository(name)
	if err != nil || repository.Reference.Reference != "" {
		return nil, refuse(ReasonFetchFailed, "spec.oci.url must be oci://registry/repository, with the tag or digest in spec.oci.ref")
	}
	from := &artifacts{repository, request, &budget{left: request.Limits.TransferBytes, progress: request.progress}}
	client, err := httpClient(request.Credentials, from.budget)
	if err != nil {
		return nil, err
	}
	credential, err := registryCredentials(request.Credentials)
	if err != nil {
		return nil, err
	}
	repository.Client = &auth.Client{Client: client, Credential: credential}
	repository.PlainHTTP = request.OCI.Insecure
	return from, nil
}

// registryCredentials are those of a docker configuration.
func registryCredentials(secret map[string][]byte) (auth.CredentialFunc, error) {
	config := secret[DockerConfigKey]
	if len(config) == 0 {
		if len(secret) > 0 && len(secret[authorityKey]) == 0 {
			return nil, refuse(ReasonCredentialsInvalid, "the Secret has neither %s nor ca.crt: create it with kubectl create secret docker-registry", DockerConfigKey)
		}
		return nil, nil
	}
	store, err := credentials.NewMemoryStoreFromDockerConfig(config)
	if err != nil {
		return nil, refuse(ReasonCredentialsInvalid, "%s in the Secret cannot be read: create it with kubectl create secret docker-registry", DockerConfigKey)
	}
	return credentials.Credential(store), nil
}

// manifest reads a manifest of this digest.
func (a *artifacts) manifest(ctx context.Context, found ocispec.Descriptor) (*ocispec.Manifest, error) {
	if found.MediaType == ocispec.MediaTypeImageIndex || strings.HasSuffix(found.MediaType, "manifest.list.v2+json") {
		return nil, refuse(ReasonContentRefused, "%s is an index of several artifacts: name the digest of one of them in spec.oci.ref", found.Digest)
	}
	text, err := a.read(ctx, found)
	if err != nil {
		return nil, err
	}
	manifest := &ocispec.Manifest{}
	if err := json.Unmarshal(text, manifest); err != nil {
		return nil, refuse(ReasonFetchFailed, "the manifest %s cannot be read: %v", found.Digest, err)
	}
	return manifest, nil
}

// read reads a small object and checks its digest.
func (a *artifacts) read(ctx context.Context, wanted ocispec.Descriptor) ([]byte, error) {
	if wanted.Size > maxManifest {
		return nil, refuse(ReasonTooLarge, "%s has %d bytes, more than %d", wanted.Digest, wanted.Size, maxManifest)
	}
	text, err := content.FetchAll(ctx, a, wanted)
	if err != nil {
		return nil, a.describe(err)
	}
	return text, nil
}

// files are the policy files of all layers.
func (a *artifacts) files(ctx context.Context, manifest *ocispec.Manifest) (map[string]string, error) {
	out := newBundle(a.request.OCI.Path, a.request.Limits, a.request.selects)
	for _, layer := range manifest.Layers {
		if !isTarball(layer.MediaType) {
			continue
		}
		if err := a.layer(ctx, layer, out); err != nil {
			return nil, err
		}
	}
	if out.tarballs == 0 {
		return nil, refuse(ReasonContentRefused, "the artifact has no layer that is a gzipped tarball, such as %s: push an OPA bundle, or a tarball of the folder", ocispec.MediaTypeImageLayerGzip)
	}
	if path := out.folder; path != "" && !out.hasFolder {
		return nil, refuse(ReasonNotFound, "the artifact has no folder %s: correct the path", path)
	}
	return out.collected.files, nil
}

func (a *artifacts) layer(ctx context.Context, layer ocispec.Descriptor, out *bundle) error {
	if layer.Size > a.request.Limits.TransferBytes {
		return a.tooLarge()
	}
	reader, err := a.Fetch(ctx, layer)
	if err != nil {
		return a.describe(err)
	}
	defer reader.Close()
	checked := content.NewVerifyReader(reader, layer)
	if err := out.add(checked); err != nil {
		return a.describe(err)
	}
	if err := checked.Verify(); err != nil {
		return refuse(ReasonContentRefused, "layer %s holds something else than its digest says: push the artifact again", layer.Digest)
	}
	return nil
}

// isTarball goes by the end, for tools have many names for the same.
func isTarball(mediaType string) bool {
	for _, ending := range []string{"tar+gzip", "tar.gzip", "/gzip", "/x-gzip"} {
		if strings.HasSuffix(mediaType, ending) {
			return true
		}
	}
	return false
}

func (a *artifacts) tooLarge() error {
	return refuse(ReasonTooLarge, "%s sends more than %d bytes: keep policies in an artifact of their own", a.request.OCI.URL, a.request.Limits.TransferBytes)
}

// describe gives an error of a library its reason.
func (a *artifacts) describe(err error) error {
	var answered *errcode.ErrorResponse
	ref := a.request.OCI.Ref
	what := a.request.OCI.URL + " " + cmp.Or(ref.Digest, ref.Tag, "latest")
	switch {
	case errors.As(err, &answered) && (answered.StatusCode == http.StatusUnauthorized || answered.StatusCode == http.StatusForbidden),
		errors.Is(err, auth.ErrBasicCredentialNotFound):
		return refuse(ReasonAuthenticationFailed, "the registry refuses the credentials for %s: correct the Secret that secretRef names", a.request.OCI.URL)
	case errors.Is(err, errdef.ErrNotFound):
		return refuse(ReasonNotFound, "there is no artifact %s: push it, or correct spec.oci", what)
	}
	return describe(err, a.request, a.budget)
}

var _ content.Fetcher = (*artifacts)(nil)
