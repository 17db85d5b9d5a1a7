package layout

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// CertificatesIn are the Certificates of a namespace, with the names that Pools and Databases
// add to them. They are the cache's own where a reader has one: for reading only.
func CertificatesIn(ctx context.Context, reader client.Reader, namespace string) ([]v1alpha1.Certificate, error) {
	var list v1alpha1.CertificateList
	if err := reader.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Certificates of %s: %w", namespace, err)
	}
	hosts, err := InjectedNames(ctx, reader, namespace)
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		InjectNames(&list.Items[i], hosts)
	}
	return list.Items, nil
}

// InjectedNames are the names that Certificates are for because of Pools and Databases, by
// Certificate.
func InjectedNames(ctx context.Context, reader client.Reader, namespace string) (map[string][]string, error) {
	var pools v1alpha1.PoolList
	if err := reader.List(ctx, &pools, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Pools of %s: %w", namespace, err)
	}
	hosts := map[string]string{} // by Pool
	for i := range pools.Items {
		if p := &pools.Items[i]; p.Spec.Route != nil && p.Spec.Route.Enabled && p.Spec.Route.InjectDNSAltName && p.DeletionTimestamp.IsZero() && rules.OlderHost(p, pools.Items) == "" {
			hosts[p.Name] = p.Spec.Route.Hostname
		}
	}
	found, err := databaseHosts(ctx, reader, namespace)
	if err != nil || len(hosts) == 0 {
		return found, err
	}
	servers, err := ServersIn(ctx, reader, namespace)
	if err != nil {
		return nil, err
	}
	for i := range servers {
		certificate := servers[i].Spec.CertificateRef
		for _, pool := range servers[i].Spec.PoolRefs {
			if host := hosts[pool]; host != "" && !IsOperators(certificate) {
				found[certificate] = WithNames(found[certificate], []string{host})
			}
		}
	}
	for _, names := range found {
		slices.Sort(names)
	}
	return found, nil
}

// databaseHosts are the names that servers know Databases by, by Certificate.
func databaseHosts(ctx context.Context, reader client.Reader, namespace string) (map[string][]string, error) {
	var databases v1alpha1.DatabaseList
	if err := reader.List(ctx, &databases, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Databases of %s: %w", namespace, err)
	}
	// A Certificate that administers a CA is never reissued for a Database.
	var authorities v1alpha1.CertificateAuthorityList
	if err := reader.List(ctx, &authorities, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the CertificateAuthorities of %s: %w", namespace, err)
	}
	administers := map[string]bool{}
	for i := range authorities.Items {
		ca := &authorities.Items[i]
		administers[rules.ServerCertificate(ca)] = true
	}
	found := map[string][]string{}
	for i := range databases.Items {
		if db := &databases.Items[i]; db.DeletionTimestamp.IsZero() && !administers[db.Spec.CertificateRef] && !IsOperators(db.Spec.CertificateRef) {
			found[db.Spec.CertificateRef] = WithNames(found[db.Spec.CertificateRef], []string{DatabaseHost(db)})
		}
	}
	return found, nil
}

// Outdated is how a stored certificate differs from what its Certificate wants, with the names that
// Pools, Databases and the CA's Service add, so that it is issued again: "" if it does not.
func Outdated(ctx context.Context, reader client.Reader, ca *v1alpha1.CertificateAuthority, certificate *v1alpha1.Certificate, stored *x509.Certificate) (string, error) {
	hosts, err := InjectedNames(ctx, reader, certificate.Namespace)
	if err != nil {
		return "", err
	}
	wanted := certificate.DeepCopy()
	InjectNames(wanted, hosts)
	if rules.ServerCertificate(ca) == certificate.Name {
		wanted.Spec.DNSAltNames = WithNames(wanted.Spec.DNSAltNames, []string{ServiceHost(ca)})
	}
	return Difference(stored, wanted.Spec), nil
}

// InjectNames adds the names of Pools and Databases to a Certificate.
func InjectNames(certificate *v1alpha1.Certificate, hosts map[string][]string) {
	if more := hosts[certificate.Name]; len(more) > 0 {
		certificate.Spec.DNSAltNames = WithNames(certificate.Spec.DNSAltNames, more)
	}
}

// WithNames adds names that are missing.
func WithNames(have, more []string) []string {
	have = slices.Clone(have)
	for _, name := range more {
		if !slices.Contains(have, name) {
			have = append(have, name)
		}
	}
	return have
}
