package store

import (
	"crypto/ecdh"
	"errors"
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
)

// keyBytes is the length of all keys: those of people, workspaces and environments.
const keyBytes = 32

// errUnopened has no detail: a cipher gives none.
var errUnopened = errors.New("it is damaged, or encrypted by another key or for another place")

// open decrypts by XChaCha20-Poly1305. The place is the additional authenticated data: it names
// the location of the text.
func open(key, nonce, sealed []byte, place string) ([]byte, error) {
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, err
	}
	if len(nonce) != chacha20poly1305.NonceSizeX {
		return nil, fmt.Errorf("its nonce has %d bytes, and must have %d", len(nonce), chacha20poly1305.NonceSizeX)
	}
	if len(sealed) < chacha20poly1305.Overhead {
		return nil, fmt.Errorf("it has %d bytes, and must have %d at least", len(sealed), chacha20poly1305.Overhead)
	}
	text, err := aead.Open(nil, nonce, sealed, []byte(place))
	if err != nil {
		return nil, errUnopened
	}
	return text, nil
}

// openKey decrypts a key, which has one length.
func openKey(key, nonce, sealed []byte, place string) ([]byte, error) {
	if want := keyBytes + chacha20poly1305.Overhead; len(sealed) != want {
		return nil, fmt.Errorf("it has %d bytes, and must have %d", len(sealed), want)
	}
	return open(key, nonce, sealed, place)
}

// unwrapWorkspace unwraps the key of a workspace that is wrapped for a principal: the shared
// secret of its private key and the ephemeral key is the wrapping key, without a derivation.
func (p *Principal) unwrapWorkspace(keys *wire.WorkspaceKeys) ([]byte, error) {
	ephemeral, err := ecdh.X25519().NewPublicKey(keys.GetEphemeralPub())
	if err != nil {
		return nil, fmt.Errorf("its ephemeral key has %d bytes, and must have %d", len(keys.GetEphemeralPub()), keyBytes)
	}
	shared, err := p.unwrapping.ECDH(ephemeral)
	if err != nil {
		return nil, errors.New("its ephemeral key gives no secret")
	}
	defer clear(shared)
	return openKey(shared, keys.GetKekNonce(), keys.GetKekWrapped(), "workspace:"+keys.GetWorkspaceId())
}

// unwrapEnvironment unwraps the key of an environment by that of its workspace. The names are
// those of the request.
func unwrapEnvironment(workspaceKey []byte, e Environment, sealed *wire.Environment) ([]byte, error) {
	return openKey(workspaceKey, sealed.GetDekNonce(), sealed.GetDekWrapped(), "environment:"+e.place())
}

// decrypt decrypts a value by the key of its environment.
func decrypt(key []byte, e Environment, secret *wire.Secret) ([]byte, error) {
	return open(key, secret.GetNonce(), secret.GetCiphertext(), "secret:"+e.place()+":"+secret.GetKey())
}

// place returns the name of the environment in additional authenticated data.
func (e Environment) place() string { return e.Workspace + ":" + e.Project + ":" + e.Name }
