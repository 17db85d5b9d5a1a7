package csr

import (
	"encoding/asn1"
	"errors"
	"fmt"
	"net"
	"strings"
)

// sanTypes are the names of RFC 5280 for those types that Request has no list for.
var sanTypes = map[int]string{0: "otherName", 3: "x400Address", 4: "directoryName", 5: "ediPartyName", 8: "registeredID"}

func (r *Request) readSANs(der []byte) error {
	if err := atMost(MaxSANBytes, len(der), "bytes"); err != nil {
		return err
	}
	var names []asn1.RawValue
	if err := unmarshalExact(der, &names, "its value"); err != nil {
		return err
	}
	if err := atMost(MaxSANs, len(names), "names"); err != nil {
		return err
	}
	for _, name := range names {
		if name.Class != asn1.ClassContextSpecific {
			return errors.New("a name is of no type that there is")
		}
		if constructed := name.Tag == 0 || name.Tag == 3 || name.Tag == 4 || name.Tag == 5; name.IsCompound != constructed {
			return fmt.Errorf("a name of type %d is not encoded in DER", name.Tag)
		}
		switch name.Tag {
		case 1, 2, 6:
			text, err := ascii(name.Bytes)
			if err != nil {
				return err
			}
			switch name.Tag {
			case 1:
				r.Emails = append(r.Emails, text)
			case 2:
				r.DNSNames = append(r.DNSNames, text)
			case 6:
				r.URIs = append(r.URIs, text)
			}
		case 7:
			if len(name.Bytes) != net.IPv4len && len(name.Bytes) != net.IPv6len {
				return fmt.Errorf("an IP address has %d bytes", len(name.Bytes))
			}
			r.IPAddresses = append(r.IPAddresses, net.IP(name.Bytes).String())
		default:
			kind, known := sanTypes[name.Tag]
			if !known {
				return fmt.Errorf("a name is of type %d, which there is not", name.Tag)
			}
			r.OtherSANs = append(r.OtherSANs, OtherSAN{Type: kind, Value: name.FullBytes})
		}
	}
	return nil
}

// ascii is the text of an IA5String, which international names are encoded for.
func ascii(value []byte) (string, error) {
	for _, c := range value {
		if c < 0x20 || c > 0x7e {
			return "", fmt.Errorf("the name %q has characters outside printable ASCII", value)
		}
	}
	return string(value), nil
}

func (r *Request) readBasicConstraints(der []byte) error {
	var constraints struct {
		IsCA    bool `asn1:"optional"`
		PathLen int  `asn1:"optional,default:-1"`
	}
	if err := unmarshalExact(der, &constraints, "its value"); err != nil {
		return err
	}
	r.IsCA = r.IsCA || constraints.IsCA
	return nil
}

// keyUsages are by their bit.
var keyUsages = []string{
	"digital signature", "content commitment", "key encipherment", "data encipherment", "key agreement",
	"cert sign", "crl sign", "encipher only", "decipher only",
}

func (r *Request) readKeyUsage(der []byte) error {
	var bits asn1.BitString
	if err := unmarshalExact(der, &bits, "its value"); err != nil {
		return err
	}
	for i := range bits.BitLength {
		switch {
		case bits.At(i) == 0:
		case i >= len(keyUsages):
			return fmt.Errorf("bit %d means nothing", i)
		default:
			r.Usages = append(r.Usages, keyUsages[i])
		}
	}
	return nil
}

// extendedKeyUsages are by the last number of 1.3.6.1.5.5.7.3.
var extendedKeyUsages = map[string]string{
	"1": "server auth", "2": "client auth", "3": "code signing", "4": "email protection", "8": "timestamping", "9": "ocsp signing",
}

func (r *Request) readExtendedKeyUsage(der []byte) error {
	var oids []asn1.ObjectIdentifier
	if err := unmarshalExact(der, &oids, "its value"); err != nil {
		return err
	}
	if err := atMost(MaxItems, len(oids), "usages"); err != nil {
		return err
	}
	for _, oid := range oids {
		usage, _, err := identify(oid)
		if err != nil {
			return err
		}
		if last, ok := strings.CutPrefix(usage, "1.3.6.1.5.5.7.3."); ok && extendedKeyUsages[last] != "" {
			usage = extendedKeyUsages[last]
		}
		r.Usages = append(r.Usages, usage)
	}
	return nil
}
