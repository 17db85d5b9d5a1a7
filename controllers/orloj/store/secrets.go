package store

import (
	"context"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"
)

// keyState is the result of the last check of the key.
type keyState struct{ problem *Problem }

// CheckKey compares the key with the stored value written last. A wrong key, or a missing key
// with encrypted values, is a *Problem; from then on no Secret is written.
func (s *Store) CheckKey(ctx context.Context) error {
	err := s.inTransaction(ctx, "secrets", s.checkKey)
	if err != nil {
		return err
	}
	if state := s.keys.Load(); state.problem != nil {
		return state.problem
	}
	return nil
}

func (s *Store) checkKey(ctx context.Context, tx pgx.Tx) error {
	var value string
	err := tx.QueryRow(ctx, `SELECT v.value FROM secrets, jsonb_each_text(CASE jsonb_typeof(payload->'spec'->'data') WHEN 'object' THEN payload->'spec'->'data' ELSE '{}' END) AS v
		WHERE starts_with(v.value, $1) ORDER BY updated_at DESC LIMIT 1`, encryptedPrefix).Scan(&value)
	if err != nil && err != pgx.ErrNoRows {
		return err
	}
	s.keys.Store(&keyState{s.keyProblem(value)})
	return nil
}

func (s *Store) keyProblem(value string) *Problem {
	switch {
	case value == "" && s.cipher == nil && s.required:
		return &Problem{Reason: ReasonKeyMissing, Message: "encryption is required, and there is no key: set --orloj-secret-encryption-key"}
	case value == "":
		return nil
	case s.cipher == nil:
		return keyMissing()
	}
	if _, err := s.cipher.decrypt(value); err != nil {
		return keyWrong("the Secrets in the store are")
	}
	return nil
}

func keyMissing() *Problem {
	return &Problem{Reason: ReasonKeyMissing, Message: "the store has encrypted Secrets, but --orloj-secret-encryption-key is not set: set it to orlojd's key; Lintel does not add plain-text Secrets to an encrypted store"}
}

func keyWrong(what string) *Problem {
	return &Problem{Reason: ReasonKeyWrong, Message: what + " encrypted with another key than --orloj-secret-encryption-key, or damaged; set it to orlojd's"}
}

// mayEncrypt returns a problem if values cannot be encrypted like those in the store.
func (s *Store) mayEncrypt(ctx context.Context, tx pgx.Tx, table Table, spec map[string]any) error {
	if !table.encrypted || len(data(spec)) == 0 {
		return nil
	}
	state := s.keys.Load()
	if state == nil {
		if err := s.checkKey(ctx, tx); err != nil {
			return err
		}
		state = s.keys.Load()
	}
	if state.problem != nil {
		return state.problem
	}
	return nil
}

// StoresPlaintext reports that Secrets are stored without encryption.
func (s *Store) StoresPlaintext() bool { return s.cipher == nil }

func data(spec map[string]any) map[string]any {
	values, _ := spec["data"].(map[string]any)
	return values
}

// decryptSpec replaces the encrypted values of a stored Secret with plain text.
func (s *Store) decryptSpec(have *stored) error {
	values := data(have.Spec)
	for name, value := range values {
		text, isText := value.(string)
		switch {
		case !isText:
		case isEncrypted(text) && s.cipher == nil:
			return keyMissing()
		case isEncrypted(text):
			plain, err := s.cipher.decrypt(text)
			if err != nil {
				return keyWrong(fmt.Sprintf("the stored value %s is", name))
			}
			values[name] = plain
		case s.cipher != nil:
			have.plain = true
		}
	}
	return nil
}

func (s *Store) encryptSpec(spec map[string]any) map[string]any {
	if s.cipher == nil || len(data(spec)) == 0 {
		return spec
	}
	sealed := map[string]any{}
	for name, value := range data(spec) {
		if text, isText := value.(string); isText {
			value = s.cipher.encrypt(text)
		}
		sealed[name] = value
	}
	spec = maps.Clone(spec)
	spec["data"] = sealed
	return spec
}
