package store

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeys(t *testing.T) {
	raw, err := hex.DecodeString(keyHex)
	require.NoError(t, err)
	for _, key := range []string{keyHex, " " + keyHex + "\n", base64.StdEncoding.EncodeToString(raw), base64.RawStdEncoding.EncodeToString(raw)} {
		c, err := NewCipher(key)
		require.NoError(t, err, key)
		plain, err := c.decrypt(c.encrypt("aGVsbG8="))
		require.NoError(t, err)
		require.Equal(t, "aGVsbG8=", plain)
	}
	c, err := NewCipher("  ")
	require.NoError(t, err)
	require.Nil(t, c)
	for _, key := range []string{"short", keyHex[2:], base64.StdEncoding.EncodeToString(raw[1:])} {
		_, err := NewCipher(key)
		require.ErrorContains(t, err, "is not 32 bytes in hex (64 characters) or base64")
	}
	// A value that a running orlojd wrote with the key of its test: nonce, text, tag.
	c, err = NewCipher(keyHex)
	require.NoError(t, err)
	for _, damaged := range []string{"enc:", "enc:!", "enc:AAAA", strings.TrimSuffix(c.encrypt("x"), "=")[:20]} {
		_, err := c.decrypt(damaged)
		require.ErrorIs(t, err, errUndecryptable, damaged)
	}
}

func TestValuesAreEncrypted(t *testing.T) {
	s, _ := fresh(t, keyHex)
	first := upsert(t, s, "Secret", secret("u1", map[string]any{"token": "aGVsbG8="}))
	stored := query(t, s, "SELECT payload->'spec'->'data'->>'token' FROM secrets")
	require.True(t, strings.HasPrefix(stored, "enc:"), stored)
	sealed, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(stored, "enc:"))
	require.NoError(t, err)
	require.Len(t, sealed, 12+len("aGVsbG8=")+16, "nonce, text, tag")
	plain, err := s.cipher.decrypt(stored)
	require.NoError(t, err)
	require.Equal(t, "aGVsbG8=", plain, "the text in base64, and not its bytes")

	again := upsert(t, s, "Secret", secret("u1", map[string]any{"token": "aGVsbG8="}))
	require.False(t, again.Written(), "a random nonce is no change")
	require.Equal(t, first.Hash, again.Hash)
	require.True(t, upsert(t, s, "Secret", secret("u1", map[string]any{"token": "b3RoZXI="})).Updated)
	require.Equal(t, "2", query(t, s, "SELECT payload->'metadata'->>'generation' FROM secrets"))
}

// Defect O17: with a key that is missing or wrong, values are stored in plain text, or
// every write fails for ever without a reason.
func TestAMissingOrWrongKeyWritesNothing(t *testing.T) {
	s, dsn := fresh(t, keyHex)
	upsert(t, s, "Secret", secret("u1", map[string]any{"token": "aGVsbG8="}))
	before := query(t, s, "SELECT payload::text FROM secrets")
	for key, reason := range map[string]string{"": ReasonKeyMissing, otherKey: ReasonKeyWrong} {
		other := open(t, dsn, key)
		var found *Problem
		require.ErrorAs(t, other.CheckKey(t.Context()), &found)
		require.Equal(t, reason, found.Reason)
		require.Contains(t, found.Message, "--orloj-secret-encryption-key")
		for _, row := range []*Row{
			secret("u1", map[string]any{"token": "aGVsbG8="}), secret("u1", map[string]any{"token": "bmV3"}),
			{Namespace: "team-b", Name: "new", SourceNamespace: "team-b", Owner: "u2", Spec: map[string]any{"data": map[string]any{"k": "djE="}}},
		} {
			// Whether the key was checked before, or not.
			for _, store := range []*Store{other, open(t, dsn, key)} {
				p := writeProblem(t, store, "Secret", row)
				require.Equal(t, reason, p.Reason)
				require.True(t, p.Permanent())
			}
		}
		require.False(t, upsert(t, other, "Agent", agent("u"+key)).Adopted, "others are written")
	}
	require.Equal(t, before, query(t, s, "SELECT payload::text FROM secrets"))
	require.Equal(t, "1", query(t, s, "SELECT count(*)::text FROM secrets"))
}

// TestNothingIsDowngradedBetweenTwoChecks: the store was plain when it was looked at last.
func TestNothingIsDowngradedBetweenTwoChecks(t *testing.T) {
	plain, dsn := fresh(t, "")
	upsert(t, plain, "Secret", secret("u1", map[string]any{"token": "aGVsbG8="}))
	upsert(t, open(t, dsn, keyHex), "Secret", secret("u1", map[string]any{"token": "aGVsbG8="}))
	require.Equal(t, ReasonKeyMissing, writeProblem(t, plain, "Secret", secret("u1", map[string]any{"token": "bmV3"})).Reason)
	require.True(t, isEncrypted(query(t, plain, "SELECT payload->'spec'->'data'->>'token' FROM secrets")))
}

func TestARotatedKey(t *testing.T) {
	s, dsn := fresh(t, keyHex)
	upsert(t, s, "Secret", secret("u1", map[string]any{"token": "aGVsbG8="}))
	// orlojd encrypts all Secrets again.
	next := open(t, dsn, otherKey)
	run(t, s, "UPDATE secrets SET payload = jsonb_set(payload, '{spec,data,token}', to_jsonb($1::text)), updated_at = NOW()", next.cipher.encrypt("aGVsbG8="))
	require.Equal(t, ReasonKeyWrong, writeProblem(t, s, "Secret", secret("u1", map[string]any{"token": "bmV3"})).Reason)
	require.Error(t, s.CheckKey(t.Context()))
	require.NoError(t, next.CheckKey(t.Context()))
	require.False(t, upsert(t, next, "Secret", secret("u1", map[string]any{"token": "aGVsbG8="})).Written())
}

func TestPlainValuesAreEncryptedOnceThereIsAKey(t *testing.T) {
	plain, dsn := fresh(t, "")
	require.True(t, plain.StoresPlaintext())
	upsert(t, plain, "Secret", secret("u1", map[string]any{"token": "aGVsbG8="}))
	require.Equal(t, "aGVsbG8=", query(t, plain, "SELECT payload->'spec'->'data'->>'token' FROM secrets"))
	s := open(t, dsn, keyHex)
	require.NoError(t, s.CheckKey(t.Context()))
	require.True(t, upsert(t, s, "Secret", secret("u1", map[string]any{"token": "aGVsbG8="})).Updated)
	require.True(t, isEncrypted(query(t, s, "SELECT payload->'spec'->'data'->>'token' FROM secrets")))
	require.Equal(t, "1", query(t, s, "SELECT payload->'metadata'->>'generation' FROM secrets"), "the spec is the same")
}

func TestEncryptionCanBeRequired(t *testing.T) {
	_, dsn := fresh(t, "")
	s, err := New(t.Context(), Options{DSN: dsn, RequireEncryption: true})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	require.Equal(t, ReasonKeyMissing, writeProblem(t, s, "Secret", secret("u1", map[string]any{"k": "dg=="})).Reason)
	require.True(t, upsert(t, s, "Secret", secret("u1", nil)).Created, "there is nothing to encrypt")
}
