package issuing

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

const (
	certificateLabel = "openvox.voxpupuli.org/certificate"
	// finalizer has certificates revoked before their objects go.
	finalizer = "openvox.voxpupuli.org/certificate-cleanup"

	// The controllers, which own the fields that each of them writes.
	certificatesManager = "lintel-openvox-certificates"
	requestsManager     = "lintel-openvox-requests"
	certManagerManager  = "lintel-openvox-certificaterequests"
)

func pendingSecret(certificate string) string { return certificate + "-tls-pending" }

func authorityOf(certificate *v1alpha1.Certificate) client.ObjectKey {
	return client.ObjectKey{Namespace: certificate.Namespace, Name: certificate.Spec.AuthorityRef}
}

// workers is how many objects are looked at at a time; CAs are asked elsewhere.
const workers = 8
