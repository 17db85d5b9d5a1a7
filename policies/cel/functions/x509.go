package functions

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// certificateFields are the fields of a certificate that x509.decode returns.
var certificateFields = []string{
	"Raw", "RawTBSCertificate", "RawSubjectPublicKeyInfo", "RawSubject", "RawIssuer", "Signature", "PublicKeyAlgorithm",
	"PublicKey", "SerialNumber", "Issuer", "NotBefore", "NotAfter", "KeyUsage", "Extensions", "ExtraExtensions", "ExtKeyUsage",
	"BasicConstraintsValid", "IsCA", "MaxPathLen", "MaxPathLenZero", "AuthorityKeyId", "OCSPServer", "IssuingCertificateURL",
	"DNSNames", "EmailAddresses", "IPAddresses", "PermittedDNSDomainsCritical", "PermittedDNSDomains", "ExcludedDNSDomains",
	"PermittedIPRanges", "ExcludedIPRanges", "PermittedEmailAddresses", "ExcludedEmailAddresses", "PermittedURIDomains",
	"ExcludedURIDomains", "CRLDistributionPoints", "PolicyIdentifiers",
}

// publicKey is an RSA key.
type publicKey struct {
	N string
	E int
}

// certificates declares x509.decode, for certificates and certificate requests with RSA keys.
func certificates() []celgo.EnvOption {
	return unary([]string{"x509.decode"}, "x509_decode_string", types.StringType, types.DynType, func(arg ref.Val) ref.Val {
		text, wrong := stringOf(arg)
		if wrong != nil {
			return wrong
		}
		fields, err := decodeCertificate([]byte(text))
		if err != nil {
			return types.WrapErr(err)
		}
		return valueOf(fields)
	})
}

// decodeCertificate returns the fields of the first PEM block.
func decodeCertificate(text []byte) (map[string]any, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("x509.decode: the text has no PEM block")
	}
	switch block.Type {
	case "CERTIFICATE":
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		serial := certificate.SerialNumber.Int64()
		if certificate.PublicKey, err = rsaKey(certificate.PublicKey); err != nil {
			return nil, err
		}
		all, err := fieldsOf(certificate)
		if err != nil {
			return nil, err
		}
		fields := map[string]any{}
		for _, name := range certificateFields {
			fields[name] = all[name]
		}
		fields["SerialNumber"] = float64(serial)
		return fields, nil
	case "CERTIFICATE REQUEST":
		request, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			return nil, err
		}
		if request.PublicKey, err = rsaKey(request.PublicKey); err != nil {
			return nil, err
		}
		return fieldsOf(request)
	default:
		return nil, errors.New("x509.decode: the PEM block is neither a CERTIFICATE nor a CERTIFICATE REQUEST")
	}
}

func rsaKey(key any) (publicKey, error) {
	of, ok := key.(*rsa.PublicKey)
	if !ok {
		return publicKey{}, errors.New("x509.decode: the key is not an RSA key")
	}
	return publicKey{of.N.String(), of.E}, nil
}

// fieldsOf returns the fields as JSON has them.
func fieldsOf(value any) (fields map[string]any, err error) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	return fields, err
}
