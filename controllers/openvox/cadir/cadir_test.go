package cadir

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

func newFolder(t *testing.T) Folder {
	t.Helper()
	return Folder{Path: filepath.Join(t.TempDir(), "ca"), KeyBits: 1024, Now: time.Now}
}

func (f Folder) file(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(f.path(name))
	require.NoError(t, err)
	return content
}

func TestCreate(t *testing.T) {
	f := newFolder(t)
	exists, err := f.Exists()
	require.NoError(t, err)
	require.False(t, exists)
	require.NoError(t, f.Create("Puppet CA: main", time.Hour))
	exists, err = f.Exists()
	require.NoError(t, err)
	require.True(t, exists)

	bundle := f.file(t, CertificateFile)
	chain := puppet.ParseBundle(bundle)
	require.Len(t, chain, 2)
	require.Equal(t, "CN=Puppet CA: main", chain[0].Subject.String())
	require.NoError(t, chain[0].CheckSignatureFrom(chain[1]))
	_, err = Authority{Certificates: bundle, Key: f.file(t, KeyFile), CRLs: f.file(t, CRLFile)}.Check(time.Now())
	require.NoError(t, err, "what it makes it also imports")

	info, err := os.Stat(f.path(KeyFile))
	require.NoError(t, err)
	require.EqualValues(t, 0o640, info.Mode().Perm(), "a Puppet server changes any other")

	pair, err := f.Issue("ca.example.com", []string{"puppet", "10.0.0.1", "ca.example.com"}, 365*24*time.Hour)
	require.NoError(t, err)
	both, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	require.NoError(t, err)
	require.Equal(t, []string{"ca.example.com", "puppet"}, both.Leaf.DNSNames)
	require.Equal(t, "10.0.0.1", both.Leaf.IPAddresses[0].String())
	require.Contains(t, string(chain[0].RawSubject), "\x0c\x0fPuppet CA: main", "UTF-8, as a Puppet server writes the issuer")
	require.Equal(t, chain[0].RawSubject, both.Leaf.RawIssuer)
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(chain[1])
	intermediates.AddCert(chain[0])
	_, err = both.Leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	require.NoError(t, err)
	require.Equal(t, "0002\n", string(f.file(t, "serial")))
	require.Equal(t, pair.Certificate, f.file(t, "signed/ca.example.com.pem"))
	require.Regexp(t, `^0x0001 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dUTC \S+UTC /CN=ca.example.com\n$`, string(f.file(t, "inventory.txt")))
}

// TestSerials: what a server has counted is counted on.
func TestSerials(t *testing.T) {
	f := newFolder(t)
	require.NoError(t, f.Create("Puppet CA: main", time.Hour))
	require.NoError(t, f.Write("serial", FileMode, []byte("00FF")))
	pair, err := f.Issue("a", nil, time.Hour)
	require.NoError(t, err)
	both, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	require.NoError(t, err)
	require.EqualValues(t, 255, both.Leaf.SerialNumber.Int64())
	require.Equal(t, "0100\n", string(f.file(t, "serial")))
	for _, text := range []string{"", "x", "-1", "0"} {
		require.NoError(t, f.Write("serial", FileMode, []byte(text)))
		_, err = f.Issue("a", nil, time.Hour)
		require.ErrorContains(t, err, "not a hexadecimal number")
	}
	require.NoError(t, os.Remove(f.path("serial")))
	_, err = f.Issue("a", nil, time.Hour)
	require.ErrorContains(t, err, "bring it back")
}

// TestCertnamesAreNoPaths: a certname is part of the names of files.
func TestCertnamesAreNoPaths(t *testing.T) {
	f := newFolder(t)
	for _, certname := range []string{"", "../../up", "a/b", ".a", "-x", "a..b", "a b", "$(id)", "A", "a\x00"} {
		_, err := f.Issue(certname, nil, time.Hour)
		require.ErrorContains(t, err, "is not a certname", certname)
	}
}

// TestImport: an incomplete CA is rejected before anything is written.
func TestImport(t *testing.T) {
	source := newFolder(t)
	require.NoError(t, source.Create("Company", time.Hour))
	bundle, key, crls := source.file(t, CertificateFile), source.file(t, KeyFile), source.file(t, CRLFile)
	chain := puppet.ParseBundle(bundle)
	encode := func(c *x509.Certificate) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
	}
	_, rest := pem.Decode(crls)
	other := newFolder(t)
	require.NoError(t, other.Create("Other", time.Hour))
	for name, c := range map[string]struct {
		bundle, key, crls []byte
		reason, want      string
	}{
		"no certificate":   {nil, key, crls, ImportInvalid, "no certificate"},
		"key of another":   {bundle, other.file(t, KeyFile), crls, ImportKeyMismatch, "the CA's own comes first"},
		"root first":       {append(encode(chain[1]), encode(chain[0])...), key, crls, ImportKeyMismatch, "the CA's own comes first"},
		"no root":          {encode(chain[0]), key, crls, ImportChainIncomplete, "must lead up to a root"},
		"no CRL of itself": {bundle, key, rest, ImportCRLMismatch, "there is no CRL of CN=Company"},
		"CRL of others":    {bundle, key, append(other.file(t, CRLFile), crls...), ImportCRLMismatch, "signed by none"},
		"no CRL":           {bundle, key, nil, ImportInvalid, "not a CRL"},
		"no key":           {bundle, nil, crls, ImportInvalid, "reading the key"},
		"encrypted key":    {bundle, []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"), crls, ImportInvalid, "decrypt it first"},
		"no CA":            {leafOf(t, key), key, crls, ImportNotACA, "is not a CA certificate"},
	} {
		f := newFolder(t)
		requireRefused(t, f.Import(Authority{Certificates: c.bundle, Key: c.key, CRLs: c.crls}), c.reason, c.want)
		exists, err := f.Exists()
		require.NoError(t, err)
		require.False(t, exists, name)
	}
	late := newFolder(t)
	late.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	requireRefused(t, late.Import(Authority{Certificates: bundle, Key: key, CRLs: crls}), ImportExpired, "has ended")

	f := newFolder(t)
	require.NoError(t, f.Import(Authority{Certificates: bundle, Key: key, CRLs: crls}))
	require.Equal(t, key, f.file(t, KeyFile))
	pair, err := f.Issue("ca.example.com", nil, time.Hour)
	require.NoError(t, err)
	both, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	require.NoError(t, err)
	require.NoError(t, both.Leaf.CheckSignatureFrom(chain[0]))
}

func leafOf(t *testing.T, key []byte) []byte {
	t.Helper()
	signer, err := parseKey(key)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "x"}, NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, signer.Public(), signer)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestBrokenOff: an incomplete CA is ignored and created again.
func TestBrokenOff(t *testing.T) {
	f := newFolder(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	require.NoError(t, f.Write(KeyFile, KeyMode, encodeKey(key)))
	require.NoError(t, f.Write(CertificateFile, FileMode, nil))
	require.NoError(t, f.Create("Puppet CA: main", time.Hour))
	_, err = f.Issue("a", nil, time.Hour)
	require.NoError(t, err)
	require.NoError(t, f.Write(KeyFile, KeyMode, encodeKey(key)))
	_, err = f.Issue("a", nil, time.Hour)
	require.ErrorContains(t, err, "no certificate of the key")
	files, err := filepath.Glob(f.path(".new-*"))
	require.NoError(t, err)
	require.Empty(t, files)
}

// TestLargeInventory: a CA with many certificates needs no more memory to issue another one.
func TestLargeInventory(t *testing.T) {
	f := newFolder(t)
	require.NoError(t, f.Create("Puppet CA: x", time.Hour))
	line := "0x0001 2026-01-01T00:00:00UTC 2031-01-01T00:00:00UTC /CN=node.production.example.com\n"
	inventory := strings.Repeat(line, 200_000)
	require.NoError(t, f.Write(inventoryFile, FileMode, []byte(inventory)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	pair, err := f.Issue("web.example.com", nil, time.Hour)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.NotEmpty(t, pair.Certificate)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(len(inventory)/4), "the inventory of %d bytes is not read into memory", len(inventory))
	stored := f.file(t, inventoryFile)
	require.Len(t, bytes.Split(stored, []byte("\n")), 200_002)
	require.True(t, bytes.HasPrefix(stored, []byte(line)))
	require.Contains(t, string(stored[len(stored)-100:]), " /CN=web.example.com\n")
}
