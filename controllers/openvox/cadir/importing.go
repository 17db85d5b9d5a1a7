package cadir

import (
	"bufio"
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// The keys of a Secret with a CA that is imported. The last two may be missing.
const (
	ImportCertificates = "ca.pem"
	ImportKey          = "key.pem"
	ImportCRLs         = "crl.pem"
	ImportSerial       = "serial"
	ImportInventory    = "inventory.txt"
)

// The reasons of an ImportError.
const (
	ImportInvalid         = "ImportInvalid"         // a file of the imported CA cannot be read; the message names it
	ImportKeyMismatch     = "ImportKeyMismatch"     // the key does not belong to the first certificate
	ImportNotACA          = "ImportNotACA"          // a certificate is not a CA certificate
	ImportExpired         = "ImportExpired"         // a certificate of the imported CA has expired
	ImportChainIncomplete = "ImportChainIncomplete" // a certificate is not signed by the next one, or the last one is not a root
	ImportCRLMismatch     = "ImportCRLMismatch"     // the CRL of a certificate is missing, or belongs to another CA
	ImportSerialRequired  = "ImportSerialRequired"  // the CRL has entries, and both serial and inventory.txt are missing
)

// ImportError is a CA that cannot be imported.
type ImportError struct {
	// Reason is one of the reasons above.
	Reason string
	err    error
}

// Error is why.
func (e *ImportError) Error() string { return e.err.Error() }

// Unwrap is the error itself.
func (e *ImportError) Unwrap() error { return e.err }

func refused(reason, format string, args ...any) error {
	return &ImportError{reason, fmt.Errorf(format, args...)}
}

// Authority is a CA from elsewhere, as a Puppet server has it in its folder. All but Serial and
// Inventory are in PEM.
type Authority struct {
	// Certificates are the CA's own and those above it, each followed by the one that has signed
	// it. Key is the CA's, and CRLs has the CRL of each.
	Certificates, Key, CRLs []byte
	// Serial is the file with the next serial, in hexadecimal, and Inventory lists the
	// certificates that the CA has issued: either may be empty.
	Serial, Inventory []byte
}

// ReadAuthority reads a CA by the keys of a Secret.
func ReadAuthority(read func(key string) []byte) Authority {
	return Authority{read(ImportCertificates), read(ImportKey), read(ImportCRLs), read(ImportSerial), read(ImportInventory)}
}

// Check returns the first serial that the CA has not used, or an *ImportError.
func (a Authority) Check(now time.Time) (next int64, err error) {
	key, err := parseKey(a.Key)
	if err != nil {
		return 0, refused(ImportInvalid, "key.pem: %w", err)
	}
	chain := puppet.ParseBundle(a.Certificates)
	if err := checkChain(chain, key.Public(), now); err != nil {
		return 0, err
	}
	lists, err := puppet.ParseCRLs(a.CRLs)
	if err != nil {
		return 0, refused(ImportInvalid, "crl.pem: reading the CRLs: %w", err)
	}
	for _, certificate := range chain {
		if !slices.ContainsFunc(lists, func(list *x509.RevocationList) bool { return list.CheckSignatureFrom(certificate) == nil }) {
			return 0, refused(ImportCRLMismatch, "crl.pem: there is no CRL of %s", certificate.Subject)
		}
	}
	if err := lists.SignedBy(a.Certificates); err != nil {
		return 0, refused(ImportCRLMismatch, "crl.pem: %w", err)
	}
	return a.nextSerial(chain[0], lists)
}

func checkChain(chain []*x509.Certificate, public crypto.PublicKey, now time.Time) error {
	if len(chain) == 0 {
		return refused(ImportInvalid, "ca.pem: the bundle has no certificate")
	}
	if key, ok := public.(interface{ Equal(crypto.PublicKey) bool }); !ok || !key.Equal(chain[0].PublicKey) {
		return refused(ImportKeyMismatch, "key.pem: the key is not that of the bundle's first certificate, %s: the CA's own comes first", chain[0].Subject)
	}
	for i, certificate := range chain {
		above := chain[min(i+1, len(chain)-1)]
		switch {
		case !certificate.IsCA || !certificate.BasicConstraintsValid:
			return refused(ImportNotACA, "ca.pem: %s is not a CA certificate", certificate.Subject)
		case now.After(certificate.NotAfter):
			return refused(ImportExpired, "ca.pem: the certificate of %s has ended at %s", certificate.Subject, certificate.NotAfter.UTC().Format(time.RFC3339))
		case certificate.CheckSignatureFrom(above) != nil:
			return refused(ImportChainIncomplete, "ca.pem: the certificate of %s is not signed by the next of the bundle, %s: it must lead up to a root", certificate.Subject, above.Subject)
		}
	}
	return nil
}

// nextSerial is above all serials of the CA that are known: two certificates with one serial
// would be revoked together.
func (a Authority) nextSerial(ca *x509.Certificate, lists puppet.CRLs) (int64, error) {
	highest, limit := new(big.Int), big.NewInt(math.MaxInt32)
	know := func(serial *big.Int) {
		if serial.Cmp(highest) > 0 {
			highest = serial
		}
	}
	// Serials of other tools are random and often above the limit, which the counter never reaches.
	knowBelow := func(serial *big.Int) {
		if serial.Cmp(limit) < 0 {
			know(serial)
		}
	}
	if ca.CheckSignatureFrom(ca) == nil {
		knowBelow(ca.SerialNumber) // it has signed itself
	}
	revoked := 0
	for _, list := range lists {
		if list.CheckSignatureFrom(ca) != nil {
			continue
		}
		revoked += len(list.RevokedCertificateEntries)
		for _, entry := range list.RevokedCertificateEntries {
			knowBelow(entry.SerialNumber)
		}
	}
	hasSerial, hasInventory := len(bytes.TrimSpace(a.Serial)) > 0, len(bytes.TrimSpace(a.Inventory)) > 0
	if revoked > 0 && !hasSerial && !hasInventory {
		return 0, refused(ImportSerialRequired, "crl.pem: the CA has revoked %d certificates, so it has issued some: add its file serial (the next serial) or inventory.txt, or new certificates get serials that are in use", revoked)
	}
	if hasSerial {
		next, ok := parseSerial(strings.TrimSpace(string(a.Serial)))
		if !ok || next.Sign() < 1 {
			return 0, refused(ImportInvalid, "serial: Invalid value %.40q: must be a hexadecimal number above 0", a.Serial)
		}
		know(next.Sub(next, big.NewInt(1)))
	}
	if err := readInventory(a.Inventory, know); err != nil {
		return 0, err
	}
	if highest.Cmp(limit) >= 0 {
		return 0, refused(ImportInvalid, "the CA has used serial %x: Puppet counts up from there, and only to 7fffffff", highest)
	}
	return highest.Int64() + 1, nil
}

func parseSerial(text string) (*big.Int, bool) {
	const longest = 40 // 20 bytes, by RFC 5280
	text = strings.TrimPrefix(strings.ToLower(text), "0x")
	if text == "" || len(text) > longest || strings.Trim(text, "0123456789abcdef") != "" {
		return nil, false
	}
	return new(big.Int).SetString(text, 16)
}

// readInventory reads the serials of an inventory: "0x0001 NOT_BEFORE NOT_AFTER /CN=certname" on
// each line, in any order.
func readInventory(text []byte, know func(*big.Int)) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	number := 1
	for ; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		first, rest, _ := strings.Cut(line, " ")
		serial, ok := parseSerial(first)
		if !ok || strings.TrimSpace(rest) == "" {
			return refused(ImportInvalid, "inventory.txt:%d: Invalid value %.80q: must be a serial in hexadecimal, two dates and a subject", number, line)
		}
		know(serial)
	}
	if err := lines.Err(); err != nil {
		return refused(ImportInvalid, "inventory.txt:%d: %w", number, err)
	}
	return nil
}

// Import takes a CA over from elsewhere. Its serials go on above all that are known.
func (f Folder) Import(a Authority) error {
	next, err := a.Check(f.Now())
	if err != nil {
		return err
	}
	key, err := parseKey(a.Key)
	if err != nil {
		return err
	}
	unfinished, err := f.Unfinished()
	if err != nil {
		return err
	}
	if unfinished {
		for _, name := range []string{unfinishedFile, serialFile} { // a serial that is higher already stays
			text, err := os.ReadFile(f.path(name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if had, ok := parseSerial(strings.TrimSpace(string(text))); ok && had.IsInt64() && had.Cmp(big.NewInt(math.MaxInt32)) < 0 {
				next = max(next, had.Int64())
			}
		}
	}
	inventory := a.Inventory
	if len(inventory) > 0 && !bytes.HasSuffix(inventory, []byte("\n")) {
		inventory = slices.Concat(inventory, []byte("\n"))
	}
	return f.keep(files{key: a.Key, public: key.Public(), bundle: a.Certificates, crls: a.CRLs, inventory: inventory, serial: next})
}

// unfinishedFile is there while an import by Puppet's own command is unfinished, and has the next
// serial: the files of such a CA may begin at serials that are in use.
const unfinishedFile = "import-unfinished"

// Unfinished reports whether the import of the CA was interrupted: it is imported again.
func (f Folder) Unfinished() (bool, error) {
	_, err := os.Stat(f.path(unfinishedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Finish says that the CA is imported.
func (f Folder) Finish() error {
	err := os.Remove(f.path(unfinishedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// FormatSerial is a serial as Puppet writes it into its file.
func FormatSerial(serial int64) string { return fmt.Sprintf("%04X\n", serial) }
