package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	"golang.org/x/sync/errgroup"

	// The controllers register themselves when imported; others (ACME, Vault, Venafi) do not run.
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

// clusterResourceNamespace is where a ClusterIssuer's Secrets are looked up,
// as in a standard installation.
const clusterResourceNamespace = "cert-manager"

// issuance runs cert-manager's own controllers: issuers, certificates and
// certificate requests.
type issuance struct {
	kubeconfig string
	synced     chan struct{}
}

// Start runs every registered controller until ctx ends.
func (i *issuance) Start(ctx context.Context) error {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:         i.kubeconfig,
		KubernetesAPIQPS:   200,
		KubernetesAPIBurst: 400,
		IssuerOptions: controller.IssuerOptions{
			ClusterResourceNamespace: clusterResourceNamespace,
		},
		CertificateOptions: controller.CertificateOptions{
			CopiedAnnotationPrefixes: []string{"*", "-kubectl.kubernetes.io/"},
			// A failed request is retried after seconds, not after the hour of
			// production, because a test waits for it.
			CertificateRequestMinimumBackoffDuration: 5 * time.Second,
			CertificateRequestMaximumBackoffDuration: time.Minute,
		},
	})
	if err != nil {
		return fmt.Errorf("connecting the certificate controllers: %w", err)
	}

	group, ctx := errgroup.WithContext(ctx)
	for name, construct := range controller.Known() {
		c, err := construct(factory)
		if err != nil {
			return fmt.Errorf("constructing controller %s: %w", name, err)
		}
		group.Go(func() error {
			if err := c.Run(2, ctx); err != nil {
				return fmt.Errorf("running controller %s: %w", name, err)
			}
			return nil
		})
	}

	// The factories know what to watch only once all controllers exist.
	shared, err := factory.Build()
	if err != nil {
		return fmt.Errorf("building the informers: %w", err)
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	shared.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	group.Go(func() error {
		shared.SharedInformerFactory.WaitForCacheSync(ctx.Done())
		shared.KubeSharedInformerFactory.WaitForCacheSync(ctx.Done())
		if ctx.Err() == nil {
			close(i.synced)
		}
		return nil
	})
	return group.Wait()
}

func (i *issuance) ready(*http.Request) error {
	select {
	case <-i.synced:
		return nil
	default:
		return errors.New("the certificate controllers' informers have not synced")
	}
}
