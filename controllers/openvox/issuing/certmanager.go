package issuing

import (
	"context"
	"fmt"
	"time"

	"github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/object"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

// certManagerInterval is the interval at which Lintel checks whether cert-manager is installed.
const certManagerInterval = 10 * time.Second

// certManager adds the controller of CertificateRequests once the API server serves them, which may
// never happen. It implements manager.Runnable.
type certManager struct {
	manager    manager.Manager
	namespaces []string
	cluster    cluster.Cluster
	mapper     meta.RESTMapper
	signer     signer
	approves   builtin.Admitter
}

// Start implements manager.Runnable. It ends when the controller is added.
func (c *certManager) Start(ctx context.Context) error {
	logger := log.FromContext(ctx).WithName("openvox")
	logged := false
	err := whenServed(ctx, c.mapper, certManagerInterval, func(err error) {
		if !logged {
			logger.Info("waiting for cert-manager to be installed before signing CertificateRequests", "reason", err.Error())
		}
		logged = true
	})
	if err != nil {
		return nil // the manager ends
	}
	if err := c.add(); err != nil {
		return fmt.Errorf("setting up the controller of CertificateRequests: %w", err)
	}
	logger.Info("signing CertificateRequests")
	return nil
}

// whenServed returns when the cluster serves CertificateRequests, or with the error of a
// context that has ended.
func whenServed(ctx context.Context, mapper meta.RESTMapper, interval time.Duration, not func(error)) error {
	return wait.PollUntilContextCancel(ctx, interval, true, func(context.Context) (bool, error) {
		_, err := mapper.RESTMapping(schema.GroupKind{Group: certmanager.GroupName, Kind: cmapi.CertificateRequestKind}, cmapi.SchemeGroupVersion.Version)
		if err != nil {
			not(err)
		}
		return err == nil, nil
	})
}

func (c *certManager) add() error {
	own, err := newCertManagerCluster(c.manager.GetConfig(), c.namespaces)
	if err != nil {
		return err
	}
	signing := attempt.NewRunner[outcome](time.Now)
	reconciler := &CertificateRequestReconciler{
		client: own.GetClient(), live: own.GetAPIReader(), signer: c.signer, events: own.GetEventRecorder("lintel-openvox"),
		attempts: signing, approves: c.approves, now: time.Now,
	}
	for _, runnable := range []manager.Runnable{own, signing} {
		if err := c.manager.Add(runnable); err != nil {
			return err
		}
	}
	return object.Control(c.manager, certManagerManager, workers, reconciler,
		object.Self(own, &cmapi.CertificateRequest{}, object.Updates(concerns)),
		signing.Source(),
		object.Mapped(c.cluster, &v1alpha1.CertificateAuthority{}, func(ctx context.Context, ca *v1alpha1.CertificateAuthority) []reconcile.Request {
			return waitingFor(ctx, own.GetClient(), ca)
		}, object.Updates(becomesAnother)))
}

// newCertManagerCluster has a separate cache for CertificateRequests: a cache with a kind that is
// not served does not start.
func newCertManagerCluster(config *rest.Config, namespaces []string) (cluster.Cluster, error) {
	return object.NewCluster(config, cmapi.AddToScheme, func(o *cluster.Options) {
		o.Cache.DefaultNamespaces = object.Only(namespaces)
		o.Cache.ByObject = map[client.Object]cache.ByObject{&cmapi.CertificateRequest{}: {Transform: oursOnly}}
		o.Client.Cache = &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &cmapi.Certificate{}}}
	})
}

// oursOnly drops the contents of requests to other issuers from the cache, except the issuer.
func oursOnly(object any) (any, error) {
	if request, ok := object.(*cmapi.CertificateRequest); ok {
		request.ManagedFields = nil
		if !isToAuthority(request) {
			request.Labels, request.Annotations, request.OwnerReferences = nil, nil, nil
			request.Spec, request.Status = cmapi.CertificateRequestSpec{IssuerRef: request.Spec.IssuerRef}, cmapi.CertificateRequestStatus{}
		}
	}
	return object, nil
}

// ready maps the objects that requests wait for to the requests.
type ready struct {
	generation          int64
	initialized, answer bool
}

func readiness(ca *v1alpha1.CertificateAuthority) ready {
	return ready{
		ca.Generation,
		meta.IsStatusConditionTrue(ca.Status.Conditions, v1alpha1.ConditionInitialized),
		meta.IsStatusConditionTrue(ca.Status.Conditions, v1alpha1.ConditionCAReady),
	}
}

func becomesAnother(before, after *v1alpha1.CertificateAuthority) bool {
	return readiness(before) != readiness(after)
}

// waitingFor returns the requests to a CA that have no outcome.
func waitingFor(ctx context.Context, reader client.Reader, ca *v1alpha1.CertificateAuthority) []reconcile.Request {
	return object.RequestsFor(ctx, reader, &cmapi.CertificateRequestList{}, func(o *cmapi.CertificateRequest) bool {
		return isToAuthority(o) && o.Spec.IssuerRef.Name == ca.Name && !isFinal(o)
	}, client.InNamespace(ca.Namespace))
}
