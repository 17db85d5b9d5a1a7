package webhooks

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/webhooks/registration"
)

// TrustedByConfigurations asks both webhook configurations: a certificate is trusted
// when the CA bundle of every entry vouches for it. A configuration that does not
// exist has nobody call, and so no objection; an entry without a bundle is one that
// the injector has not reached yet.
func TrustedByConfigurations(reader client.Reader) Trust {
	return func(ctx context.Context, chain []*x509.Certificate) (bool, error) {
		key := client.ObjectKey{Name: registration.ConfigurationName}
		var validating admissionregistrationv1.ValidatingWebhookConfiguration
		if err := reader.Get(ctx, key, &validating); client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("reading the validating webhook configuration: %w", err)
		}
		var mutating admissionregistrationv1.MutatingWebhookConfiguration
		if err := reader.Get(ctx, key, &mutating); client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("reading the mutating webhook configuration: %w", err)
		}
		var bundles [][]byte
		for _, webhook := range validating.Webhooks {
			bundles = append(bundles, webhook.ClientConfig.CABundle)
		}
		for _, webhook := range mutating.Webhooks {
			bundles = append(bundles, webhook.ClientConfig.CABundle)
		}
		return !slices.ContainsFunc(bundles, func(bundle []byte) bool { return !vouches(bundle, chain) }), nil
	}
}

// vouches checks the chain alone: names do not change with a renewal.
func vouches(bundle []byte, chain []*x509.Certificate) bool {
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return false
	}
	for _, certificate := range chain[1:] {
		intermediates.AddCert(certificate)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err == nil
}
