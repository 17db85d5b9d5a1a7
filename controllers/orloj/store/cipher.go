package store

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// encryptedPrefix marks an encrypted value.
const encryptedPrefix = "enc:"

const keyBytes = 32

// Cipher encrypts the values of Secrets by AES-256-GCM, as orlojd does.
type Cipher struct{ aead cipher.AEAD }

// NewCipher reads a key of 32 bytes, in hex or base64. An empty key gives nil: nothing
// is encrypted.
func NewCipher(key string) (*Cipher, error) {
	if key = strings.TrimSpace(key); key == "" {
		return nil, nil
	}
	raw, err := readKey(key)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, fmt.Errorf("setting up AES: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("setting up AES-GCM: %w", err)
	}
	return &Cipher{aead}, nil
}

func readKey(key string) ([]byte, error) {
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawStdEncoding.DecodeString,
	} {
		if raw, err := decode(key); err == nil && len(raw) == keyBytes {
			return raw, nil
		}
	}
	return nil, errors.New("the encryption key is not 32 bytes in hex (64 characters) or base64; `openssl rand -hex 32` makes one")
}

func isEncrypted(value string) bool { return strings.HasPrefix(value, encryptedPrefix) }

func (c *Cipher) encrypt(value string) string {
	nonce := make([]byte, c.aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return encryptedPrefix + base64.StdEncoding.EncodeToString(c.aead.Seal(nonce, nonce, []byte(value), nil))
}

var errUndecryptable = errors.New("the value was encrypted with another key, or is damaged")

// decrypt returns plain-text values unchanged.
func (c *Cipher) decrypt(value string) (string, error) {
	if !isEncrypted(value) {
		return value, nil
	}
	sealed, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(value, encryptedPrefix))
	if err != nil || len(sealed) < c.aead.NonceSize() {
		return "", errUndecryptable
	}
	nonce, text := sealed[:c.aead.NonceSize()], sealed[c.aead.NonceSize():]
	plain, err := c.aead.Open(nil, nonce, text, nil)
	if err != nil {
		return "", errUndecryptable
	}
	return string(plain), nil
}
