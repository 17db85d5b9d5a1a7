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

// TrustedByConfigurations reads Lintel's webhook configurations, with those of scopes: a certificate is
// trusted when the CA bundle of every entry vouches for it. A configuration that does not exist causes
// no calls, and does not matter; an entry without a bundle is one that the injector has not reached yet.
func TrustedByConfigurations(reader client.Reader) Trust {
	return func(ctx context.Context, chain []*x509.Certificate) (bool, error) {
		var validating admissionregistrationv1.ValidatingWebhookConfigurationList
		if err := reader.List(ctx, &validating); err != nil {
			return false, fmt.Errorf("listing the validating webhook configurations: %w", err)
		}
		var mutating admissionregistrationv1.MutatingWebhookConfigurationList
		if err := reader.List(ctx, &mutating); err != nil {
			return false, fmt.Errorf("listing the mutating webhook configurations: %w", err)
		}
		var bundles [][]byte
		for _, config := range validating.Items {
			for i := range config.Webhooks {
				if registration.IsOurs(&config) {
					bundles = append(bundles, config.Webhooks[i].ClientConfig.CABundle)
				}
			}
		}
		for _, config := range mutating.Items {
			for i := range config.Webhooks {
				if registration.IsOurs(&config) {
					bundles = append(bundles, config.Webhooks[i].ClientConfig.CABundle)
				}
			}
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
