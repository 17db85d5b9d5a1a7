package zopp

import (
	"context"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// Principal is an identity with keys: a person, or a service.
type Principal struct {
	ID, Name string

	signing    ed25519.PrivateKey
	unwrapping *ecdh.PrivateKey
}

// NewPrincipal has keys, and is unknown to any server.
func NewPrincipal(name string) (*Principal, error) {
	_, signing, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	unwrapping, err := ecdh.X25519().GenerateKey(rand.Reader)
	return &Principal{Name: name, signing: signing, unwrapping: unwrapping}, err
}

// written is a principal in a file.
type written struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	Private       string `json:"private_key"`
	Public        string `json:"public_key"`
	X25519Private string `json:"x25519_private_key"`
	X25519Public  string `json:"x25519_public_key"`
}

// file is what zopp's command line keeps.
type file struct {
	Principals []written `json:"principals"`
	Current    string    `json:"current_principal,omitempty"`
}

func (p *Principal) written() written {
	return written{
		p.ID, p.Name,
		hex.EncodeToString(p.signing.Seed()),
		hex.EncodeToString(p.signing.Public().(ed25519.PublicKey)),
		hex.EncodeToString(p.unwrapping.Bytes()),
		hex.EncodeToString(p.unwrapping.PublicKey().Bytes()),
	}
}

// Credentials is a file as zopp's command line writes it, with this principal alone.
func (p *Principal) Credentials() []byte {
	text, _ := json.Marshal(file{Principals: []written{p.written()}, Current: p.Name}) // strings alone
	return text
}

// Variables are the environment variables for it.
func (p *Principal) Variables() map[string]string {
	w := p.written()
	return map[string]string{
		"ZOPP_PRINCIPAL_ID": w.ID, "ZOPP_PRINCIPAL_NAME": w.Name,
		"ZOPP_PRIVATE_KEY": w.Private, "ZOPP_PUBLIC_KEY": w.Public,
		"ZOPP_X25519_PRIVATE_KEY": w.X25519Private, "ZOPP_X25519_PUBLIC_KEY": w.X25519Public,
	}
}

// readPrincipal reads the current one of a file.
func readPrincipal(path string) (*Principal, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all file
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s is no file of principals", path)
	}
	for _, w := range all.Principals {
		if all.Current == "" || w.Name == all.Current {
			return w.principal()
		}
	}
	return nil, fmt.Errorf("%s has no current principal", path)
}

func (w written) principal() (*Principal, error) {
	seed, err := hex.DecodeString(w.Private)
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("principal %s has no private key", w.Name)
	}
	secret, err := hex.DecodeString(w.X25519Private)
	if err != nil {
		return nil, fmt.Errorf("principal %s has no X25519 key", w.Name)
	}
	unwrapping, err := ecdh.X25519().NewPrivateKey(secret)
	return &Principal{w.ID, w.Name, ed25519.NewKeyFromSeed(seed), unwrapping}, err
}

// Sign is the metadata of a request that the principal sends at a time.
func (p *Principal) Sign(method string, request proto.Message, at time.Time) (metadata.MD, error) {
	hash, err := hashOf(method, request)
	if err != nil {
		return nil, err
	}
	return metadata.Pairs(
		"principal-id", p.ID,
		"timestamp", strconv.FormatInt(at.Unix(), 10),
		"request-hash", hex.EncodeToString(hash),
		"signature", hex.EncodeToString(ed25519.Sign(p.signing, signedText(method, hash, at.Unix()))),
	), nil
}

func (p *Principal) signed(ctx context.Context, method string, request proto.Message) (context.Context, error) {
	headers, err := p.Sign(method, request, time.Now())
	return metadata.NewOutgoingContext(ctx, headers), err
}
