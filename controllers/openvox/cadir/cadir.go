// Package cadir makes and keeps the folder of a Puppet CA while no server runs on it: the
// files that "puppetserver ca setup", "import" and "generate --ca-client" leave, without
// the Ruby that they need. A Puppet server that finds them takes them as they are.
package cadir

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/util/keyutil"

	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
	"github.com/lintel-policy/lintel/policies/csr"
)

// The files of a CA that others read, too.
const (
	CertificateFile = "ca_crt.pem"
	KeyFile         = "ca_key.pem"
	CRLFile         = "ca_crl.pem"
	InfraCRLFile    = "infra_crl.pem"
)

const (
	serialFile    = "serial"
	inventoryFile = "inventory.txt"

	// KeyMode is of private keys: what a Puppet server gives its CA's, and tries to give it
	// where it finds another. FileMode is of all else, which another user of the group may
	// have to write.
	KeyMode, FileMode = 0o640, 0o660
	folderMode        = fs.ModeSetgid | 0o770
	// skew is how long before now certificates begin, as a Puppet CA's do: agents' clocks
	// may be behind.
	skew = 24 * time.Hour
)

// Folder is that of a CA.
type Folder struct {
	Path string
	// KeyBits is the size of RSA keys.
	KeyBits int
	Now     func() time.Time
}

// Pair is a certificate with its key, in PEM.
type Pair struct{ Certificate, Key []byte }

// Exists says whether there is a CA.
func (f Folder) Exists() (bool, error) {
	info, err := os.Stat(f.path(CertificateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Size() > 0, err
}

// Create makes a CA of a common name below a root of its own. Both are valid for ttl.
func (f Folder) Create(name string, ttl time.Duration) error {
	suffix := make([]byte, 7)
	_, _ = rand.Read(suffix)
	root, err := f.newAuthority(fmt.Sprintf("Puppet Root CA: %x", suffix), 1, nil, ttl)
	if err != nil {
		return err
	}
	ca, err := f.newAuthority(name, 2, root, ttl)
	if err != nil {
		return err
	}
	if err := f.Write("root_key.pem", KeyMode, encodeKey(root.key)); err != nil {
		return err
	}
	return f.keep(files{key: encodeKey(ca.key), public: ca.key.Public(), bundle: slices.Concat(ca.pem(), root.pem()), crls: slices.Concat(ca.crl, root.crl), serial: 1})
}

// files are what a CA is made of.
type files struct {
	key          []byte
	public       crypto.PublicKey
	bundle, crls []byte
	inventory    []byte
	serial       int64 // the next one
}

// keep writes a CA. The certificate comes last, for by it there is a CA.
func (f Folder) keep(ca files) error {
	der, err := x509.MarshalPKIXPublicKey(ca.public)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name    string
		mode    fs.FileMode
		content []byte
	}{
		{KeyFile, KeyMode, ca.key},
		{"ca_pub.pem", FileMode, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})},
		{CRLFile, FileMode, ca.crls},
		{InfraCRLFile, FileMode, ca.crls},
		{"infra_serials", FileMode, nil},
		{"infra_inventory.txt", FileMode, nil},
		{inventoryFile, FileMode, ca.inventory},
		{serialFile, FileMode, []byte(FormatSerial(ca.serial))},
		{CertificateFile, FileMode, ca.bundle},
	} {
		if err := f.Write(file.name, file.mode, file.content); err != nil {
			return err
		}
	}
	return nil
}

// Issue makes a pair that administers the CA, in place of one of the same certname. Names
// are DNS names and addresses. It is valid for ttl, as all that a Puppet CA signs, whenever
// the CA itself ends.
func (f Folder) Issue(certname string, names []string, ttl time.Duration) (Pair, error) {
	if !isCertname(certname) {
		return Pair{}, fmt.Errorf("%q is not a certname: lower-case letters, digits, and . _ - within", certname)
	}
	ca, err := f.read()
	if err != nil {
		return Pair{}, err
	}
	serial, err := f.serial()
	if err != nil {
		return Pair{}, err
	}
	key, err := f.newKey()
	if err != nil {
		return Pair{}, err
	}
	template, err := f.leaf(certname, names, serial, ttl)
	if err != nil {
		return Pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.certificate, key.Public(), ca.key)
	if err != nil {
		return Pair{}, fmt.Errorf("signing %s: %w", certname, err)
	}
	pair := Pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), encodeKey(key)}
	// A serial that is not used does no harm; one that is used twice does.
	if err := f.Write(serialFile, FileMode, []byte(FormatSerial(serial+1))); err != nil {
		return Pair{}, err
	}
	if err := f.note(template, certname); err != nil {
		return Pair{}, err
	}
	if err := os.Remove(f.path("requests/" + certname + ".pem")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Pair{}, err
	}
	return pair, f.Write("signed/"+certname+".pem", FileMode, pair.Certificate)
}

// leaf is a certificate as a Puppet CA signs them, with the extension by which it
// administers the CA.
func (f Folder) leaf(certname string, names []string, serial int64, ttl time.Duration) (*x509.Certificate, error) {
	subject, err := commonName(certname)
	if err != nil {
		return nil, err
	}
	oid, _ := csr.OID("pp_cli_auth")
	value, err := asn1.MarshalWithParams("true", "utf8")
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), RawSubject: subject, BasicConstraintsValid: true,
		NotBefore: f.Now().Add(-skew), NotAfter: f.Now().Add(ttl),
		KeyUsage:        x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		ExtraExtensions: []pkix.Extension{{Id: oid, Value: value}},
		DNSNames:        []string{certname},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else if !slices.Contains(template.DNSNames, name) {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return template, nil
}

// commonName encodes a subject in UTF-8, as OpenSSL does. A Puppet server encodes issuers in the
// same way, regardless of the CA's certificate, so a comparison of bytes would find another CA.
func commonName(name string) ([]byte, error) {
	value := asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(name)}
	return asn1.Marshal(pkix.RDNSequence{{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: value}}})
}

// note adds a certificate to the inventory, as the CA does. The inventory of a large CA may be larger
// than the memory of the setup Job, and is copied without being read into memory.
func (f Folder) note(c *x509.Certificate, certname string) error {
	const layout = "2006-01-02T15:04:05MST"
	had, err := os.Open(f.path(inventoryFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	defer had.Close() // also of nil
	line := fmt.Sprintf("0x%04x %s %s /CN=%s\n", c.SerialNumber, c.NotBefore.UTC().Format(layout), c.NotAfter.UTC().Format(layout), certname)
	return f.replace(inventoryFile, FileMode, func(file *os.File) error {
		if had != nil {
			if _, err := io.Copy(file, had); err != nil {
				return err
			}
		}
		_, err := file.WriteString(line)
		return err
	})
}

// serial is the next one.
func (f Folder) serial() (int64, error) {
	text, err := os.ReadFile(f.path(serialFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("the CA's file %s is not there, and a serial must not be used twice: bring it back, with a hexadecimal number above all of %s", serialFile, inventoryFile)
	}
	if err != nil {
		return 0, err
	}
	serial, err := strconv.ParseInt(strings.TrimSpace(string(text)), 16, 64)
	if err != nil || serial < 1 {
		return 0, fmt.Errorf("the CA's file %s is not a hexadecimal number: %.40q", serialFile, text)
	}
	return serial, nil
}

// signingAuthority is a CA that can sign.
type signingAuthority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	crl         []byte // of a new one
}

func (a *signingAuthority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

func (f Folder) newAuthority(name string, serial int64, above *signingAuthority, ttl time.Duration) (*signingAuthority, error) {
	key, err := f.newKey()
	if err != nil {
		return nil, err
	}
	subject, err := commonName(name)
	if err != nil {
		return nil, err
	}
	made := &signingAuthority{key: key}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), RawSubject: subject, IsCA: true, BasicConstraintsValid: true,
		NotBefore: f.Now().Add(-skew), NotAfter: f.Now().Add(ttl), KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	if above == nil {
		above = &signingAuthority{certificate: template, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, above.certificate, key.Public(), above.key)
	if err != nil {
		return nil, fmt.Errorf("signing %s: %w", name, err)
	}
	if made.certificate, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	list, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number: big.NewInt(0), ThisUpdate: template.NotBefore, NextUpdate: template.NotAfter,
	}, made.certificate, key)
	made.crl = pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: list})
	return made, err
}

// read is the CA that is there.
func (f Folder) read() (*signingAuthority, error) {
	bundle, err := os.ReadFile(f.path(CertificateFile))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(f.path(KeyFile))
	if err != nil {
		return nil, err
	}
	key, err := parseKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", KeyFile, err)
	}
	for _, certificate := range puppet.ParseBundle(bundle) {
		if public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool }); ok && public.Equal(certificate.PublicKey) {
			return &signingAuthority{certificate: certificate, key: key}, nil
		}
	}
	return nil, fmt.Errorf("%s has no certificate of the key in %s", CertificateFile, KeyFile)
}

func (f Folder) newKey() (*rsa.PrivateKey, error) {
	key, err := rsa.GenerateKey(rand.Reader, f.KeyBits)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return key, nil
}

func parseKey(text []byte) (crypto.Signer, error) {
	if bytes.Contains(text, []byte("ENCRYPTED")) {
		return nil, errors.New("the key is encrypted: decrypt it first")
	}
	key, err := keyutil.ParsePrivateKeyPEM(text)
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a %T signs nothing", key)
	}
	return signer, nil
}

func encodeKey(key crypto.Signer) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key.(*rsa.PrivateKey))})
}

// isCertname says whether a text is a certname, which is part of the names of files.
func isCertname(text string) bool {
	const permitted = "abcdefghijklmnopqrstuvwxyz0123456789._-"
	return text != "" && text[0] != '.' && text[0] != '-' && !strings.Contains(text, "..") && strings.Trim(text, permitted) == ""
}

func (f Folder) path(name string) string { return filepath.Join(f.Path, filepath.FromSlash(name)) }

// Write replaces a file atomically: after a crash it has either the old or the new content. name
// is a path with slashes relative to the folder. Missing folders are created. All files belong
// to the group, because the server may run as another user of that group.
func (f Folder) Write(name string, mode fs.FileMode, content []byte) error {
	return f.replace(name, mode, func(file *os.File) error {
		_, err := file.Write(content)
		return err
	})
}

// replace is Write with a function that writes the content.
func (f Folder) replace(name string, mode fs.FileMode, write func(*os.File) error) error {
	path := f.path(name)
	folder := filepath.Dir(path)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		if err := errors.Join(os.MkdirAll(folder, 0o770), os.Chmod(folder, folderMode)); err != nil {
			return err
		}
	}
	file, err := os.CreateTemp(folder, ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	err = errors.Join(write(file), file.Chmod(mode), file.Sync(), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
