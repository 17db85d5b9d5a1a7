package csr

import (
	"encoding/asn1"
	"errors"
	"fmt"
	"strings"
)

const (
	oidExtensionRequest = "1.2.840.113549.1.9.14"
	oidSubjectAltName   = "2.5.29.17"
	oidKeyUsage         = "2.5.29.15"
	oidBasicConstraints = "2.5.29.19"
	oidExtendedKeyUsage = "2.5.29.37"
)

// readSubject keeps every name, with its order; crypto/x509 keeps the last of a kind.
func (r *Request) readSubject(der []byte) error {
	var rdns, names []asn1.RawValue
	if err := unmarshalExact(der, &rdns, "it"); err != nil {
		return err
	}
	for _, rdn := range rdns {
		members, err := setMembers(rdn)
		if err != nil {
			return err
		}
		names = append(names, members...)
	}
	if err := atMost(MaxItems, len(names), "names"); err != nil {
		return err
	}
	for _, raw := range names {
		var attribute rawAttribute
		if err := unmarshalExact(raw.FullBytes, &attribute, "a name"); err != nil {
			return err
		}
		oid, name, err := identify(attribute.ID)
		if err != nil {
			return err
		}
		var content any
		if _, err := asn1.Unmarshal(attribute.Value.FullBytes, &content); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		value, ok := content.(string)
		if !ok {
			return fmt.Errorf("%s is not a text", name)
		}
		if err := clean(value); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
		r.Subject.Names = append(r.Subject.Names, Name{OID: oid, Name: name, Value: value})
		if oid == "2.5.4.3" {
			r.Subject.CommonName = value
		}
	}
	return nil
}

// rawAttribute is an attribute of a subject, which has one value, or of a request, which has
// a SET of them.
type rawAttribute struct {
	ID    asn1.ObjectIdentifier
	Value asn1.RawValue
}

// setMembers returns the members in their order. DER sorts them, but some clients do not,
// crypto/x509 among them.
func setMembers(set asn1.RawValue) (members []asn1.RawValue, err error) {
	_, err = asn1.UnmarshalWithParams(set.FullBytes, &members, "set")
	return members, err
}

type rawExtension struct {
	ID       asn1.ObjectIdentifier
	Critical bool `asn1:"optional"`
	Value    []byte
}

func (r *Request) readAttributes(all []asn1.RawValue) error {
	if err := atMost(MaxItems, len(all), "attributes"); err != nil {
		return err
	}
	for _, raw := range all {
		var attribute rawAttribute
		if err := unmarshalExact(raw.FullBytes, &attribute, "an attribute"); err != nil {
			return err
		}
		values, err := setMembers(attribute.Value)
		if err != nil {
			return fmt.Errorf("an attribute: %w", err)
		}
		oid, name, err := identify(attribute.ID)
		if err != nil {
			return fmt.Errorf("an attribute: %w", err)
		}
		read := Attribute{OID: oid, Name: name}
		if oid == oidExtensionRequest {
			if err := r.readExtensions(values); err != nil {
				return err
			}
		} else if len(values) == 1 {
			read.Value = textIn(values[0].FullBytes)
		}
		r.Attributes = append(r.Attributes, read)
	}
	return nil
}

func (r *Request) readExtensions(values []asn1.RawValue) error {
	if len(values) != 1 {
		return fmt.Errorf("its extensionRequest has %d values, not one", len(values))
	}
	var extensions []rawExtension
	if err := unmarshalExact(values[0].FullBytes, &extensions, "its extensionRequest"); err != nil {
		return err
	}
	if err := atMost(MaxItems, len(r.Extensions)+len(extensions), "extensions"); err != nil {
		return fmt.Errorf("its extensionRequest: %w", err)
	}
	for _, e := range extensions {
		oid, name, err := identify(e.ID)
		if err != nil {
			return fmt.Errorf("an extension: %w", err)
		}
		read := Extension{OID: oid, Name: name, Critical: e.Critical, DER: e.Value}
		switch oid {
		case oidSubjectAltName:
			err = r.readSANs(e.Value)
		case oidKeyUsage:
			err = r.readKeyUsage(e.Value)
		case oidExtendedKeyUsage:
			err = r.readExtendedKeyUsage(e.Value)
		case oidBasicConstraints:
			err = r.readBasicConstraints(e.Value)
		default:
			read.Value = textIn(e.Value)
		}
		if err != nil {
			return fmt.Errorf("its extension %s: %w", read.Name, err)
		}
		r.Extensions = append(r.Extensions, read)
	}
	return nil
}

// textIn is the text of DER that holds one string and nothing else.
func textIn(der []byte) *string {
	var raw asn1.RawValue
	if rest, err := asn1.Unmarshal(der, &raw); err != nil || len(rest) > 0 || raw.Class != asn1.ClassUniversal {
		return nil
	}
	switch raw.Tag {
	case asn1.TagUTF8String, asn1.TagPrintableString, asn1.TagIA5String, asn1.TagBMPString, asn1.TagT61String:
	default:
		return nil
	}
	var value any
	if _, err := asn1.Unmarshal(der, &value); err != nil {
		return nil
	}
	text, ok := value.(string)
	if !ok || clean(text) != nil {
		return nil
	}
	return &text
}

// clean refuses what programs in C take for the end of a text.
func clean(text string) error {
	if strings.ContainsRune(text, 0) {
		return errors.New("holds a NUL byte")
	}
	return nil
}
