package openvox

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/controllers/openvox/cadir"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// serialReserve is how many certificates a CA may issue after a backup before one that is restored
// from it could use a serial again.
const serialReserve = 1 << 16

func newBackupCommand(o options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup <file>",
		Short: "Write a backup of a CA in the cluster",
		Long: fmt.Sprintf(`Write a backup of a CA in the cluster: an archive (tar.gz) with the CA's certificate, key
and CRL, the certificates that it has issued, and the next serial. To restore the CA, import
these files (spec.intermediateCA).

The next serial is %d above the highest known serial, so that a restored CA does not reuse
the serials of certificates that were issued after the backup.

THE ARCHIVE CONTAINS THE CA'S KEY. The command reads it from Secret <ca>-ca-key.

Exit codes:
  0  the backup is complete
  2  the usage is wrong, or something could not be read; no file is written`, serialReserve),
		Example: `  lintel openvox ca backup production-ca.tar.gz -n puppet`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage.Errorf(cmd, "give the name of one file")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := open(cmd.Context(), o)
			if err != nil {
				return err
			}
			defer s.close()
			count, err := s.backup(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return report.Write(cmd.OutOrStdout(), fmt.Sprintf("%s has CertificateAuthority %s/%s with %s. It has the CA's key: store it as such\n",
				args[0], s.ca.Namespace, s.ca.Name, report.Counted(count, "certificate")))
		},
	}
	o.addFlags(cmd)
	return cmd
}

// backup writes an archive to a file that must not exist. It is removed if it is not complete.
func (s *session) backup(ctx context.Context, name string) (count int, err error) {
	content, err := s.gather(ctx)
	if err != nil {
		return 0, err
	}
	const mode = 0o600
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return 0, err
	}
	err = errors.Join(content.write(file), file.Close())
	if err != nil {
		return 0, errors.Join(fmt.Errorf("writing %s: %w", name, err), os.Remove(name))
	}
	return len(content.issued), nil
}

// contents are those of a backup.
type contents struct {
	certificates, key, crls []byte
	serial                  *big.Int
	issued                  []*x509.Certificate
}

func (s *session) gather(ctx context.Context) (c contents, err error) {
	if s.ca.Spec.External != nil {
		return c, fmt.Errorf("the CertificateAuthority %s is an external CA; back it up where it runs", s.ca.Name)
	}
	if c.certificates = s.bundle; len(puppet.ParseBundle(s.bundle)) == 0 {
		return c, fmt.Errorf("the Secret %s holds no certificate in PEM", layout.CASecret(s.ca))
	}
	if c.key, err = s.value(ctx, s.ca.Name+"-ca-key", "ca_key.pem"); err != nil {
		return c, fmt.Errorf("the CA's key: %w", err)
	}
	statuses, err := s.admin.CertificateStatuses(ctx)
	if err != nil {
		return c, err
	}
	if absent := s.absent(statuses); len(absent) > 0 {
		return c, errors.New(strings.Join(absent, "\n"))
	}
	highest := new(big.Int)
	for _, status := range statuses {
		if status.State == puppet.StateRequested {
			continue
		}
		certificate, err := s.admin.Certificate(ctx, status.Name)
		if err != nil {
			return c, err
		}
		if fingerprint(certificate.Raw) != status.Fingerprint || !layout.IssuedBy(certificate, s.bundle) {
			return c, fmt.Errorf("two answers of the CA about %q differ, or the certificate is of another CA", status.Name)
		}
		if name := certificate.Subject.CommonName; name != status.Name || !isCertname(name) {
			return c, fmt.Errorf("the CA lists a certificate of %q as %q", name, status.Name)
		}
		c.issued = append(c.issued, certificate)
		if certificate.SerialNumber.Cmp(highest) > 0 {
			highest = certificate.SerialNumber
		}
	}
	// After the certificates: one that is revoked meanwhile is on it.
	text, _, err := s.admin.CRL(ctx, puppet.Version{})
	if err != nil {
		return c, err
	}
	lists, err := puppet.ParseCRLs(text)
	if err == nil {
		err = lists.SignedBy(s.bundle)
	}
	if err != nil {
		return c, fmt.Errorf("reading the CRL: %w", err)
	}
	c.crls = text
	own := puppet.ParseBundle(s.bundle)[0]
	for _, list := range lists {
		if list.CheckSignatureFrom(own) != nil {
			continue // of a CA above
		}
		for _, entry := range list.RevokedCertificateEntries {
			if entry.SerialNumber.Cmp(highest) > 0 {
				highest = entry.SerialNumber
			}
		}
	}
	c.serial = new(big.Int).Add(highest, big.NewInt(serialReserve+1))
	imported := cadir.Authority{Certificates: c.certificates, Key: c.key, CRLs: c.crls, Serial: c.serialFile(), Inventory: c.inventory()}
	if _, err := imported.Check(time.Now()); err != nil {
		return c, fmt.Errorf("the backup could not be restored: %w", err)
	}
	return c, nil
}

func (c contents) serialFile() []byte { return fmt.Appendf(nil, "%04X\n", c.serial) }

// inventory is a list of the certificates as Puppet servers write it.
func (c contents) inventory() []byte {
	var text []byte
	const layout = "2006-01-02T15:04:05UTC"
	for _, one := range c.issued {
		text = fmt.Appendf(text, "0x%04x %s %s /CN=%s\n", one.SerialNumber, one.NotBefore.UTC().Format(layout), one.NotAfter.UTC().Format(layout), one.Subject.CommonName)
	}
	return text
}

func (c contents) write(w io.Writer) error {
	compressed := gzip.NewWriter(w)
	archive := tar.NewWriter(compressed)
	add := func(name string, content []byte) error {
		const mode = 0o600
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content)), ModTime: time.Now().Truncate(time.Second)}); err != nil {
			return err
		}
		_, err := archive.Write(content)
		return err
	}
	for _, file := range []struct {
		name    string
		content []byte
	}{
		{cadir.ImportCertificates, c.certificates}, {cadir.ImportKey, c.key}, {cadir.ImportCRLs, c.crls},
		{cadir.ImportSerial, c.serialFile()}, {cadir.ImportInventory, c.inventory()},
	} {
		if err := add(file.name, file.content); err != nil {
			return err
		}
	}
	for _, one := range c.issued {
		if err := add("signed/"+one.Subject.CommonName+".pem", []byte(encodeCertificate(one))); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}
