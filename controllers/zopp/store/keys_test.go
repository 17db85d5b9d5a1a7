package store

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"

	"github.com/lintel-policy/lintel/controllers/zopp/store/wire"
)

func fromHex(t testing.TB, text string) []byte {
	t.Helper()
	all, err := hex.DecodeString(text)
	require.NoError(t, err)
	return all
}

// The known principal has an Ed25519 seed of 0x55 and an X25519 key of 0x11.
var known = entry{
	id:         field{"id", "018f0000-0000-7000-8000-000000000002"},
	name:       field{"name", "k8s-operator"},
	private:    field{"private_key", strings.Repeat("55", 32)},
	public:     field{"public_key", "c6822637c7d310ec57627be00ba259d253749f4aaf644470cffbe53a35f73242"},
	unwrapping: field{"x25519_private_key", strings.Repeat("11", 32)},
	wrapping:   field{"x25519_public_key", "7b4e909bbe7ffe44c465a220037d608ee35897d31ef972f07f74892cb0f73f13"},
}

func knownPrincipal(t testing.TB) *Principal {
	t.Helper()
	p, err := known.principal()
	require.NoError(t, err)
	return p
}

var production = Environment{"acme", "backend", "production"}

func knownWorkspace(t testing.TB) *wire.WorkspaceKeys {
	return &wire.WorkspaceKeys{
		WorkspaceId:  "018f0000-0000-7000-8000-000000000001",
		EphemeralPub: fromHex(t, "0faa684ed28867b97f4a6a2dee5df8ce974e76b7018e3f22a1c4cf2678570f20"),
		KekWrapped:   fromHex(t, "13f4f126057babd1f98986ea8e742e8de4a773b93c209d7817b63fb22eeb9969aea4f4172b91ebbf3039f7e573b60f5f"),
		KekNonce:     bytes.Repeat([]byte{0xa1}, 24),
	}
}

func knownEnvironment(t testing.TB) *wire.Environment {
	return &wire.Environment{
		DekWrapped: fromHex(t, "d51e618c299d97dd6f0b58e6ea8d159e3696b17d0c5524abafd31c481ef7929d901491dd84bb2874c026997f6ed81a93"),
		DekNonce:   bytes.Repeat([]byte{0xa2}, 24),
	}
}

func knownSecret(t testing.TB) *wire.Secret {
	return &wire.Secret{
		Key:        "DATABASE_URL",
		Nonce:      bytes.Repeat([]byte{0xa3}, 24),
		Ciphertext: fromHex(t, "6398e446656019e5bd2de313b2a91afa371dc8a139862bd6656a261129"),
	}
}

// TestKnownKeys: a value, from a principal's key on.
func TestKnownKeys(t *testing.T) {
	workspace, err := knownPrincipal(t).unwrapWorkspace(knownWorkspace(t))
	require.NoError(t, err)
	require.Equal(t, bytes.Repeat([]byte{0x33}, 32), workspace)
	environment, err := unwrapEnvironment(workspace, production, knownEnvironment(t))
	require.NoError(t, err)
	require.Equal(t, bytes.Repeat([]byte{0x44}, 32), environment)
	value, err := decrypt(environment, production, knownSecret(t))
	require.NoError(t, err)
	require.Equal(t, "postgres://db", string(value))
}

// TestAKnownSignature: of one request at one time.
func TestAKnownSignature(t *testing.T) {
	ctx, err := knownPrincipal(t).sign(t.Context(), "/zopp.ZoppService/GetWorkspaceKeys",
		&wire.GetWorkspaceKeysRequest{WorkspaceName: "acme"}, time.Unix(1700000000, 999))
	require.NoError(t, err)
	headers, _ := metadata.FromOutgoingContext(ctx)
	require.Equal(t, metadata.MD{
		"principal-id": {"018f0000-0000-7000-8000-000000000002"},
		"timestamp":    {"1700000000"},
		"request-hash": {"11b73c9785649425ceafcc00c258eb30c043d43288671a084543fb6db14836fe"},
		"signature":    {"fcbcf15466bcbd9515608217b3405a0f360992bedcd75f548747657cade55f4d6714e9f5223dc01a1de44b3aeb2947783e637b5bc5a20dee4f9ec9c68c38cc02"},
	}, headers)
}

// TestForeignBytesAreNoKeys: of no length, and not where they belong elsewhere. None of
// these may end the process.
func TestForeignBytesAreNoKeys(t *testing.T) {
	zero := make([]byte, 32)
	for name, c := range map[string]struct {
		change func(*wire.WorkspaceKeys, *wire.Environment, *wire.Secret)
		err    string
	}{
		"no ephemeral key":        {func(w *wire.WorkspaceKeys, _ *wire.Environment, _ *wire.Secret) { w.EphemeralPub = nil }, "its ephemeral key has 0 bytes, and must have 32"},
		"a long ephemeral key":    {func(w *wire.WorkspaceKeys, _ *wire.Environment, _ *wire.Secret) { w.EphemeralPub = make([]byte, 33) }, "its ephemeral key has 33 bytes, and must have 32"},
		"an ephemeral key of 0":   {func(w *wire.WorkspaceKeys, _ *wire.Environment, _ *wire.Secret) { w.EphemeralPub = zero }, "its ephemeral key gives no secret"},
		"another ephemeral key":   {func(w *wire.WorkspaceKeys, _ *wire.Environment, _ *wire.Secret) { w.EphemeralPub[0] ^= 1 }, "it is damaged, or encrypted by another key or for another place"},
		"a short workspace nonce": {func(w *wire.WorkspaceKeys, _ *wire.Environment, _ *wire.Secret) { w.KekNonce = w.KekNonce[:12] }, "its nonce has 12 bytes, and must have 24"},
		"a short workspace key":   {func(w *wire.WorkspaceKeys, _ *wire.Environment, _ *wire.Secret) { w.KekWrapped = w.KekWrapped[:47] }, "it has 47 bytes, and must have 48"},
		"another workspace":       {func(w *wire.WorkspaceKeys, _ *wire.Environment, _ *wire.Secret) { w.WorkspaceId = "other" }, "it is damaged, or encrypted by another key or for another place"},
		"no environment nonce":    {func(_ *wire.WorkspaceKeys, e *wire.Environment, _ *wire.Secret) { e.DekNonce = nil }, "its nonce has 0 bytes, and must have 24"},
		"a long environment key":  {func(_ *wire.WorkspaceKeys, e *wire.Environment, _ *wire.Secret) { e.DekWrapped = make([]byte, 64) }, "it has 64 bytes, and must have 48"},
		"no environment key":      {func(_ *wire.WorkspaceKeys, e *wire.Environment, _ *wire.Secret) { e.DekWrapped = nil }, "it has 0 bytes, and must have 48"},
		"a long value nonce":      {func(_ *wire.WorkspaceKeys, _ *wire.Environment, s *wire.Secret) { s.Nonce = make([]byte, 25) }, "its nonce has 25 bytes, and must have 24"},
		"a value without a tag":   {func(_ *wire.WorkspaceKeys, _ *wire.Environment, s *wire.Secret) { s.Ciphertext = s.Ciphertext[:15] }, "it has 15 bytes, and must have 16 at least"},
		"a damaged value":         {func(_ *wire.WorkspaceKeys, _ *wire.Environment, s *wire.Secret) { s.Ciphertext[3] ^= 1 }, "it is damaged, or encrypted by another key or for another place"},
		"the value of another":    {func(_ *wire.WorkspaceKeys, _ *wire.Environment, s *wire.Secret) { s.Key = "OTHER" }, "it is damaged, or encrypted by another key or for another place"},
	} {
		t.Run(name, func(t *testing.T) {
			workspace, environment, secret := knownWorkspace(t), knownEnvironment(t), knownSecret(t)
			c.change(workspace, environment, secret)
			_, err := unwrapAll(knownPrincipal(t), workspace, environment, secret)
			require.EqualError(t, err, c.err)
		})
	}
}

func unwrapAll(p *Principal, w *wire.WorkspaceKeys, e *wire.Environment, s *wire.Secret) ([]byte, error) {
	workspace, err := p.unwrapWorkspace(w)
	if err != nil {
		return nil, err
	}
	environment, err := unwrapEnvironment(workspace, production, e)
	if err != nil {
		return nil, err
	}
	return decrypt(environment, production, s)
}

// FuzzKeys checks that only the known ciphertext decrypts to a value.
func FuzzKeys(f *testing.F) {
	w, e, s := knownWorkspace(f), knownEnvironment(f), knownSecret(f)
	f.Add(w.EphemeralPub, w.KekWrapped, w.KekNonce, e.DekWrapped, e.DekNonce, s.Nonce, s.Ciphertext)
	f.Add([]byte{}, []byte{}, []byte{}, []byte{}, []byte{}, []byte{}, []byte{})
	f.Add(make([]byte, 32), make([]byte, 48), make([]byte, 24), make([]byte, 48), make([]byte, 24), make([]byte, 24), make([]byte, 16))
	p := knownPrincipal(f)
	f.Fuzz(func(t *testing.T, ephemeral, kek, kekNonce, dek, dekNonce, nonce, ciphertext []byte) {
		value, err := unwrapAll(p,
			&wire.WorkspaceKeys{WorkspaceId: w.WorkspaceId, EphemeralPub: ephemeral, KekWrapped: kek, KekNonce: kekNonce},
			&wire.Environment{DekWrapped: dek, DekNonce: dekNonce},
			&wire.Secret{Key: s.Key, Nonce: nonce, Ciphertext: ciphertext})
		if err == nil && string(value) != "postgres://db" {
			t.Fatal("a value of nobody's")
		}
	})
}
