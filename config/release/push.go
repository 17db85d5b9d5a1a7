package main

import (
	"context"
	"crypto"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// pusher pushes images.
type pusher struct {
	// Key signs pushed artifacts, unless it is nil.
	Key crypto.Signer
	// Insecure speaks HTTP.
	Insecure bool
}

// push gives the reference of the image by digest. The tag comes last: who finds it
// finds what belongs to it.
func (p pusher) push(ctx context.Context, registry, version string, image made) (string, error) {
	tag, err := name.NewTag(registry+"/"+image.Image+":"+version, p.names()...)
	if err != nil {
		return "", fmt.Errorf("%q is no registry to push to: %w", registry, err)
	}
	client := clientOptions(ctx)
	digest, err := image.index.Digest()
	if err != nil {
		return "", err
	}
	repository := tag.Context()
	if err := remote.WriteIndex(repository.Digest(digest.String()), image.index, client...); err != nil {
		return "", fmt.Errorf("pushing %s: %w", tag, err)
	}
	for _, sbom := range image.sboms {
		digest, err := sbom.Digest()
		if err != nil {
			return "", err
		}
		if err := remote.Write(repository.Digest(digest.String()), sbom, client...); err != nil {
			return "", fmt.Errorf("pushing the SBOM of %s: %w", tag, err)
		}
	}
	if err := p.pushSignature(ctx, repository, digest); err != nil {
		return "", err
	}
	if err := remote.Tag(tag, image.index, client...); err != nil {
		return "", fmt.Errorf("tagging %s: %w", tag, err)
	}
	return repository.Digest(digest.String()).Name(), nil
}

// pushSignature signs the artifact with a digest, if there is a key.
func (p pusher) pushSignature(ctx context.Context, repository name.Repository, digest v1.Hash) error {
	if p.Key == nil {
		return nil
	}
	signature, err := sign(p.Key, repository.Name(), digest)
	if err != nil {
		return fmt.Errorf("signing %s: %w", repository, err)
	}
	if err := remote.Write(repository.Tag(digest.Algorithm+"-"+digest.Hex+".sig"), signature, clientOptions(ctx)...); err != nil {
		return fmt.Errorf("pushing the signature of %s: %w", repository, err)
	}
	return nil
}

func (p pusher) names() []name.Option {
	if p.Insecure {
		return []name.Option{name.Insecure}
	}
	return nil
}

func clientOptions(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
}
