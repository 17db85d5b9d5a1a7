package layout

import v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"

// ServiceName is the Service of an in-cluster CA.
func ServiceName(ca string) string { return ca + "-internal" }

// ServiceHost is by what the CA's server is reached in the cluster.
func ServiceHost(ca *v1alpha1.CertificateAuthority) string {
	return ServiceName(ca.Name) + "." + ca.Namespace + ".svc"
}
