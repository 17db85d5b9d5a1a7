package zopp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// UseTLS makes the double serve https from its next Start on, with a new certificate,
// which it returns in PEM: it is its own CA.
func (d *Double) UseTLS() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: "zopp"},
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	d.certificate = &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	d.roots = x509.NewCertPool()
	d.roots.AppendCertsFromPEM(text)
	return text, nil
}
