package zopp

import (
	"crypto/ecdh"
	"crypto/rand"
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/lintel-policy/lintel/controllers/zopp/store"
)

// seal encrypts as zopp's command line does, with what names the place of the text.
func seal(key, text []byte, place string) (nonce, ciphertext []byte, err error) {
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, nil, err
	}
	nonce = random(chacha20poly1305.NonceSizeX)
	return nonce, aead.Seal(nil, nonce, text, []byte(place)), nil
}

// wrap encrypts the key of a workspace for the owner of a public key.
func wrap(to *ecdh.PublicKey, workspaceID string, key []byte) (wrapped, error) {
	ephemeral, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return wrapped{}, err
	}
	shared, err := ephemeral.ECDH(to)
	if err != nil {
		return wrapped{}, err
	}
	nonce, sealed, err := seal(shared, key, "workspace:"+workspaceID)
	return wrapped{ephemeral.PublicKey().Bytes(), sealed, nonce}, err
}

func placeOf(e store.Environment) string {
	return fmt.Sprintf("%s:%s:%s", e.Workspace, e.Project, e.Name)
}

func random(bytes int) []byte {
	all := make([]byte, bytes)
	_, _ = rand.Read(all) // never fails
	return all
}
