package store

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// Principal is the identity that signs requests: its ID at the server, and its private keys.
type Principal struct {
	// ID is the UUID that the server has given it.
	ID string
	// Name is that of the principal, for people.
	Name string

	signing    ed25519.PrivateKey
	unwrapping *ecdh.PrivateKey
}

// String returns the name and the ID, which are not secret. It prevents printing the keys.
func (p *Principal) String() string { return fmt.Sprintf("%q (%s)", p.Name, p.ID) }

// Format prints the same for every verb.
func (p *Principal) Format(out fmt.State, _ rune) { _, _ = fmt.Fprint(out, p.String()) }

// identity distinguishes principals, including one that was re-created with new keys.
func (p *Principal) identity() string {
	return p.ID + string(p.unwrapping.PublicKey().Bytes())
}

// document is a file of principals as the zopp command line writes it. Other fields are ignored.
type document struct {
	Principals []struct {
		ID            string `json:"id"`
		Name          string `json:"name"`
		Private       string `json:"private_key"`
		Public        string `json:"public_key"`
		X25519Private string `json:"x25519_private_key"`
		X25519Public  string `json:"x25519_public_key"`
	} `json:"principals"`
	Current string `json:"current_principal"`
}

// parse returns the current principal of a file.
func parse(text []byte) (*Principal, error) {
	current, err := find(text)
	if err != nil {
		return nil, err
	}
	return current.principal()
}

// find returns the current principal of a file: the one that current_principal names, or the first.
func find(text []byte) (entry, error) {
	var all document
	if err := json.Unmarshal(text, &all); err != nil {
		return entry{}, unreadable(err)
	}
	if len(all.Principals) == 0 {
		return entry{}, errors.New("there are no principals; `zopp principal create NAME --service -w WORKSPACE` creates one")
	}
	chosen, names := -1, make([]string, len(all.Principals))
	for i, p := range all.Principals {
		names[i] = p.Name
		if chosen < 0 && (all.Current == "" || p.Name == all.Current) {
			chosen = i
		}
	}
	if chosen < 0 {
		return entry{}, fmt.Errorf("current_principal %q is not one of the principals of the file (%s); `zopp principal use NAME` selects one", all.Current, strings.Join(names, ", "))
	}
	p, at := all.Principals[chosen], fmt.Sprintf("principals[%d].", chosen)
	return entry{
		id:         field{at + "id", p.ID},
		name:       field{at + "name", p.Name},
		private:    field{at + "private_key", p.Private},
		public:     field{at + "public_key", p.Public},
		unwrapping: field{at + "x25519_private_key", p.X25519Private},
		wrapping:   field{at + "x25519_public_key", p.X25519Public},
	}, nil
}

// unreadable returns the position of a JSON error. The decoder's own message would reveal parts
// of the file.
func unreadable(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("invalid JSON at byte %d", syntax.Offset)
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Errorf("%s should be a %s", kind.Field, kind.Type)
	}
	return errors.New("not a JSON object of principals")
}

// field is a setting with its location.
type field struct{ name, value string }

// entry is a principal as stored in the file.
type entry struct{ id, name, private, public, unwrapping, wrapping field }

// principal validates the entry, and checks that the public keys match the private ones: the
// server would reject keys of two principals without a reason.
func (e entry) principal() (*Principal, error) {
	id, err := uuid.Parse(e.id.value)
	if err != nil {
		return nil, fmt.Errorf("%s is not a UUID", e.id.name)
	}
	seed, err := e.private.key()
	if err != nil {
		return nil, err
	}
	defer clear(seed)
	secret, err := e.unwrapping.key()
	if err != nil {
		return nil, err
	}
	defer clear(secret)
	signing := ed25519.NewKeyFromSeed(seed)
	unwrapping, err := ecdh.X25519().NewPrivateKey(secret)
	if err != nil {
		return nil, fmt.Errorf("%s is not a valid key: %w", e.unwrapping.name, err)
	}
	if err := e.public.matches(signing.Public().(ed25519.PublicKey), e.private); err != nil {
		return nil, err
	}
	if e.wrapping.value != "" { // files may leave it out
		if err := e.wrapping.matches(unwrapping.PublicKey().Bytes(), e.unwrapping); err != nil {
			return nil, err
		}
	}
	return &Principal{ID: id.String(), Name: e.name.value, signing: signing, unwrapping: unwrapping}, nil
}

// key reads a key of 32 bytes in hex. Its error reveals only the length.
func (f field) key() ([]byte, error) {
	if f.value == "" {
		return nil, fmt.Errorf("%s is missing", f.name)
	}
	if want := hex.EncodedLen(keyBytes); len(f.value) != want {
		return nil, fmt.Errorf("%s has %d characters, and must have %d: %d bytes in hex", f.name, len(f.value), want, keyBytes)
	}
	key, err := hex.DecodeString(f.value)
	if err != nil {
		return nil, fmt.Errorf("%s is not hexadecimal", f.name)
	}
	return key, nil
}

func (f field) matches(public []byte, private field) error {
	written, err := f.key()
	if err != nil {
		return err
	}
	if !bytes.Equal(written, public) {
		return fmt.Errorf("%s is not the public key of %s: they belong to different principals", f.name, private.name)
	}
	return nil
}
