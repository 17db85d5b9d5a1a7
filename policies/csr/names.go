package csr

import (
	"cmp"
	"encoding/asn1"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// Arcs of Puppet's OIDs: what a node says of itself, and what gives it rights.
const (
	puppetArc        = "1.3.6.1.4.1.34380.1.1."
	puppetAuthorized = "1.3.6.1.4.1.34380.1.3."
)

// puppetNames are by the last number of puppetArc, from 1 on.
var puppetNames = []string{
	"pp_uuid", "pp_instance_id", "pp_image_name", "pp_preshared_key", "pp_cost_center", "pp_product", "pp_project",
	"pp_application", "pp_service", "pp_employee", "pp_created_by", "pp_environment", "pp_role", "pp_software_version",
	"pp_department", "pp_cluster", "pp_provisioner", "pp_region", "pp_datacenter", "pp_zone", "pp_network",
	"pp_securitypolicy", "pp_cloudplatform", "pp_apptier", "pp_hostname", "pp_owner",
}

// otherNames are what Puppet, OpenSSL and RFC 5280 call other OIDs.
var otherNames = map[string]string{
	puppetAuthorized + "1":   "pp_authorization",
	puppetAuthorized + "2":   "pp_auth_token",
	puppetAuthorized + "39":  "pp_cli_auth",
	"1.2.840.113549.1.9.7":   "challengePassword",
	"1.2.840.113549.1.9.2":   "unstructuredName",
	"1.2.840.113549.1.9.1":   "emailAddress",
	"1.3.6.1.4.1.311.2.1.14": "msExtReq",
	oidExtensionRequest:      "extensionRequest",
	oidSubjectAltName:        "subjectAltName",
	oidKeyUsage:              "keyUsage",
	oidExtendedKeyUsage:      "extendedKeyUsage",
	oidBasicConstraints:      "basicConstraints",
	"2.5.29.14":              "subjectKeyIdentifier",
	"2.5.29.35":              "authorityKeyIdentifier",
	"2.5.4.3":                "CN", "2.5.4.5": "serialNumber", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST",
	"2.5.4.9": "street", "2.5.4.10": "O", "2.5.4.11": "OU",
}

// names are all of them, by OID.
var names = func() map[string]string {
	all := maps.Clone(otherNames)
	for i, name := range puppetNames {
		all[puppetArc+strconv.Itoa(i+1)] = name
	}
	return all
}()

var oidTable = func() map[string]string {
	byName := make(map[string]string, len(names))
	for oid, name := range names {
		byName[name] = oid
	}
	return byName
}()

// identify is an OID as text, and its name, or the OID again where it has none.
func identify(id asn1.ObjectIdentifier) (oid, name string, err error) {
	if len(id) > MaxOIDParts {
		return "", "", fmt.Errorf("an OID has %d parts; at most %d are read", len(id), MaxOIDParts)
	}
	oid = id.String()
	return oid, cmp.Or(names[oid], oid), nil
}

// OID finds the OID of a name that this package gives.
func OID(name string) (asn1.ObjectIdentifier, bool) {
	oid, ok := oidTable[name]
	if !ok {
		return nil, false
	}
	var numbers asn1.ObjectIdentifier
	for part := range strings.SplitSeq(oid, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, true
}

// OIDsByName are those of the names that OID knows.
func OIDsByName() map[string]string { return maps.Clone(oidTable) }
