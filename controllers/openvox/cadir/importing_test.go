package cadir

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

func requireRefused(t *testing.T, err error, reason, message string) {
	t.Helper()
	require.ErrorContains(t, err, message)
	refused, ok := errors.AsType[*ImportError](err)
	require.True(t, ok)
	require.Equal(t, reason, refused.Reason)
}

// selfSigned is a CA that has signed itself with serial 1, as a Puppet server on a machine may have
// one, with entries on its CRL.
func selfSigned(t *testing.T, revoked ...int64) Authority {
	t.Helper()
	return selfSignedAs(t, 1, revoked...)
}

func selfSignedAs(t *testing.T, serial int64, revoked ...int64) Authority {
	t.Helper()
	key, err := newFolder(t).newKey()
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "Puppet CA: vm"}, IsCA: true, BasicConstraintsValid: true,
		NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	list := &x509.RevocationList{Number: big.NewInt(7), ThisUpdate: time.Now(), NextUpdate: time.Now().Add(time.Hour)}
	for _, serial := range revoked {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: big.NewInt(serial), RevocationTime: time.Now()})
	}
	crl, err := x509.CreateRevocationList(rand.Reader, list, certificate, key)
	require.NoError(t, err)
	return Authority{
		Certificates: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), Key: encodeKey(key),
		CRLs: pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: crl}),
	}
}

// TestImportedSerials: a CA issues above all serials that are known from anywhere.
func TestImportedSerials(t *testing.T) {
	const dates = " 2020-01-01T00:00:00UTC 2025-01-01T00:00:00UTC /CN=x\n"
	ca := selfSigned(t, 3, 0x1e)
	for name, c := range map[string]struct {
		serial, inventory string
		next              int64
	}{
		"the file":                     {"0020\n", "", 0x20},
		"the CRL has a higher one":     {"0010", "", 0x1f},
		"an inventory with gaps":       {"", "0x0001" + dates + "0x00ff" + dates + "\n0x0002" + dates, 0x100},
		"duplicates, and no last line": {"", "0x0030" + dates + strings.TrimSpace("0x0030"+dates), 0x31},
		"both, the file is behind":     {"0002", "0x0040" + dates, 0x41},
		"both, the file is ahead":      {"0100", "0x0040" + dates, 0x100},
		"Windows":                      {"0A0\r\n", "0x0040 a b /CN=x\r\n", 0xa0},
	} {
		given := ca
		given.Serial, given.Inventory = []byte(c.serial), []byte(c.inventory)
		next, err := given.Check(time.Now())
		require.NoError(t, err, name)
		require.Equal(t, c.next, next, name)
	}
	_, err := ca.Check(time.Now())
	requireRefused(t, err, ImportSerialRequired, "crl.pem: the CA has revoked 2 certificates, so it has issued some")
	next, err := selfSigned(t).Check(time.Now())
	require.NoError(t, err)
	require.EqualValues(t, 2, next, "its own is 1")

	for name, c := range map[string]struct{ serial, inventory, want string }{
		"no number": {"zz", "", `serial: Invalid value "zz"`},
		"zero":      {"0", "", "serial: Invalid value"},
		"too high":  {"80000001", "", "the CA has used serial 80000000"},
		"endless":   {strings.Repeat("f", 500), "", "serial: Invalid value"},
		"malformed": {"", "0x0001" + dates + "# note\n", `inventory.txt:2: Invalid value "# note"`},
		"cut off":   {"", "0x0001" + dates + "\n0x00", "inventory.txt:3: Invalid value"},
		"a page":    {"", "<html>", "inventory.txt:1: Invalid value"},
		"long line": {"", strings.Repeat("a", 2<<20), "inventory.txt:1: "},
	} {
		given := ca
		given.Serial, given.Inventory = []byte(c.serial), []byte(c.inventory)
		_, err := given.Check(time.Now())
		require.Error(t, err, name)
		requireRefused(t, err, ImportInvalid, c.want)
	}

	var million strings.Builder
	for serial := range 1_000_000 {
		fmt.Fprintf(&million, "0x%04x%s", serial, dates)
	}
	given := ca
	given.Inventory = []byte(million.String())
	next, err = given.Check(time.Now())
	require.NoError(t, err)
	require.EqualValues(t, 1_000_000, next)
}

// TestImportedRandomSerials: openssl and cert-manager choose serials that Puppet never reaches.
func TestImportedRandomSerials(t *testing.T) {
	const limit = 0x7fffffff
	next, err := selfSignedAs(t, limit).Check(time.Now())
	require.NoError(t, err)
	require.EqualValues(t, 1, next)
	next, err = selfSignedAs(t, limit-1).Check(time.Now())
	require.NoError(t, err)
	require.EqualValues(t, limit, next)
	ca := selfSignedAs(t, 0x1122334455667788, 0x20, limit, 0x1122334455667799)
	_, err = ca.Check(time.Now())
	requireRefused(t, err, ImportSerialRequired, "crl.pem: the CA has revoked 3 certificates")
	ca.Serial = []byte("0010")
	next, err = ca.Check(time.Now())
	require.NoError(t, err)
	require.EqualValues(t, 0x21, next)
	ca.Serial = []byte("80000000")
	_, err = ca.Check(time.Now())
	requireRefused(t, err, ImportInvalid, "the CA has used serial 7fffffff")
	ca.Serial, ca.Inventory = nil, []byte("0x7fffffff a b /CN=x")
	_, err = ca.Check(time.Now())
	requireRefused(t, err, ImportInvalid, "the CA has used serial 7fffffff")
}

// TestImportOfAPuppetCA keeps what the server on the machine has: its inventory and CRL.
func TestImportOfAPuppetCA(t *testing.T) {
	ca := selfSigned(t, 0x1e)
	ca.Inventory, ca.Serial = []byte("0x001f 2020-01-01T00:00:00UTC 2025-01-01T00:00:00UTC /CN=agent"), []byte("0020")
	f := newFolder(t)
	require.NoError(t, f.Import(ca))
	require.Equal(t, "0020\n", string(f.file(t, "serial")))
	require.Equal(t, ca.CRLs, f.file(t, CRLFile))
	pair, err := f.Issue("ca.example.com", nil, time.Hour)
	require.NoError(t, err)
	both, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	require.NoError(t, err)
	require.EqualValues(t, 0x20, both.Leaf.SerialNumber.Int64())
	require.NoError(t, both.Leaf.CheckSignatureFrom(puppet.ParseBundle(ca.Certificates)[0]))
	require.Regexp(t, `^0x001f \S+ \S+ /CN=agent\n0x0020 \S+ \S+ /CN=ca.example.com\n$`, string(f.file(t, "inventory.txt")))
}
