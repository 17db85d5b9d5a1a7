package openvox

import (
	"fmt"
	"strconv"
	"time"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

const (
	managedByLabel   = "app.kubernetes.io/managed-by"
	managedBy        = "openvox-operator"
	nameLabel        = "app.kubernetes.io/name"
	caLabel          = "openvox.voxpupuli.org/certificateauthority"
	configLabel      = "openvox.voxpupuli.org/config"
	certificateLabel = "openvox.voxpupuli.org/certificate"
	// finalizer has certificates revoked before their objects go.
	finalizer = "openvox.voxpupuli.org/certificate-cleanup"

	caKey      = "ca_crt.pem"
	crlKey     = "ca_crl.pem"
	policyKey  = "signing-policies.yaml"
	certPEMKey = "cert.pem"
	keyPEMKey  = "key.pem"

	// The controllers, which own the fields that each of them writes.
	authoritiesManager  = "lintel-openvox-authorities"
	certificatesManager = "lintel-openvox-certificates"
	configsManager      = "lintel-openvox-configs"
	initializeManager   = "lintel-openvox-internal"
	poolsManager        = "lintel-openvox-pools"
	serversManager      = "lintel-openvox-servers"
	policiesManager     = "lintel-openvox-policies"
	requestsManager     = "lintel-openvox-requests"
	certManagerManager  = "lintel-openvox-certificaterequests"
	classifiersManager  = "lintel-openvox-classifiers"
	reportsManager      = "lintel-openvox-reports"
	databasesManager    = "lintel-openvox-databases"

	// foreignPolicyKey is where the program of another operator finds policies, and of ours
	// it must not find any: it checks far less.
	foreignPolicyKey = "autosign-policy.yaml"
)

func autosignSecret(ca string) string         { return ca + "-autosign-policy" }
func crlSecret(ca string) string              { return ca + "-ca-crl" }
func tlsSecret(certificate string) string     { return certificate + "-tls" }
func pendingSecret(certificate string) string { return certificate + "-tls-pending" }

func labelsOf(ca string) map[string]string {
	return map[string]string{nameLabel: "openvox", managedByLabel: managedBy, caLabel: ca}
}

// units of a Duration, in seconds.
var units = map[byte]int64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'y': 365 * 86400}

// duration is how long a Duration is: fallback where it is empty.
func duration(text v1alpha1.Duration, fallback time.Duration) (time.Duration, error) {
	if text == "" {
		return fallback, nil
	}
	number, unit := string(text), int64(1)
	if seconds, ok := units[number[len(number)-1]]; ok {
		number, unit = number[:len(number)-1], seconds
	}
	value, err := strconv.ParseInt(number, 10, 64)
	if err != nil || value < 0 {
		return 0, fmt.Errorf("%q is no duration such as 90d", text)
	}
	const longest = int64(1<<63-1) / int64(time.Second)
	if value > longest/unit {
		return 0, fmt.Errorf("%q is longer than can be counted", text)
	}
	return time.Duration(value*unit) * time.Second, nil
}
