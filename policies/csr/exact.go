package csr

import (
	"bytes"
	"encoding/asn1"
	"fmt"
)

// unmarshalExact reads DER that holds one value and nothing else; errors call it what.
//
// encoding/asn1 and crypto/x509 ignore elements that follow the known fields of a SEQUENCE,
// and other readers may use them. So the value must encode to the bytes that it was read
// from. A SET OF is read as a RawValue (setMembers), because encoding/asn1 sorts it.
func unmarshalExact[T any](der []byte, into *T, what string) error {
	rest, err := asn1.Unmarshal(der, into)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if len(rest) > 0 {
		return fmt.Errorf("bytes follow %s", what)
	}
	encoded, err := asn1.Marshal(*into)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", what, err)
	}
	return sameEncoding(der, encoded, what)
}

func sameEncoding(der, encoded []byte, what string) error {
	if bytes.Equal(der, encoded) {
		return nil
	}
	return fmt.Errorf("%s has elements that are not part of a certificate request, or is not encoded in DER", what)
}
