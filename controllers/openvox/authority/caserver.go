package authority

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// firstNamed returns the Certificate of the oldest Server, or "" if there are no Servers.
func firstNamed(servers []v1alpha1.Server) string {
	if len(servers) == 0 {
		return ""
	}
	return slices.MinFunc(servers, func(a, b v1alpha1.Server) int {
		if rules.Older(&a, &b) {
			return -1
		}
		return 1
	}).Spec.CertificateRef
}

// ServerCertificateOf returns the name of the Certificate of a CA's own server. If openvox-
// operator has overwritten the status, the name is missing there and is read from the Servers.
// Otherwise the server's certificate would be treated as a foreign one, and revoked for the
// rights that it grants.
func ServerCertificateOf(ctx context.Context, reader client.Reader, ca *v1alpha1.CertificateAuthority) (string, error) {
	if ca.Spec.External != nil || namesServer(ca) {
		return rules.ServerCertificate(ca), nil
	}
	servers, err := serversOf(ctx, reader, ca)
	return cmp.Or(firstNamed(servers), rules.ServerCertificate(ca)), err
}

// serversOf are the Servers that run a CA.
func serversOf(ctx context.Context, reader client.Reader, ca *v1alpha1.CertificateAuthority) ([]v1alpha1.Server, error) {
	var servers v1alpha1.ServerList
	if err := reader.List(ctx, &servers, client.InNamespace(ca.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the Servers of %s: %w", ca.Namespace, err)
	}
	configs, err := layout.ConfigsIn(ctx, reader, ca.Namespace)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(servers.Items, func(s v1alpha1.Server) bool {
		return !s.Spec.CA || !s.DeletionTimestamp.IsZero() || !slices.ContainsFunc(configs, func(c v1alpha1.Config) bool {
			return c.Name == s.Spec.ConfigRef && c.Spec.AuthorityRef == ca.Name
		})
	}), nil
}

// namesServer says whether the Certificate of a CA's server is named.
func namesServer(ca *v1alpha1.CertificateAuthority) bool {
	return ca.Spec.ServerCertificateRef != "" || ca.Status.ServerCertificateName != ""
}
