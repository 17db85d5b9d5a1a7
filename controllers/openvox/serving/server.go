package serving

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/configfiles"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/pausing"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// The reasons of a Server's condition Ready; others are those of its Deployment and Pods.
const (
	reasonRunning               = "Running"
	reasonRollingOut            = "RollingOut"
	reasonScaledToZero          = "ScaledToZero"
	reasonWaitingForConfig      = "WaitingForConfig"
	reasonWaitingForCertificate = "WaitingForCertificate"
	reasonWaitingForAuthority   = "WaitingForCertificateAuthority"
	reasonConfigNotReady        = "ConfigNotReady"
	reasonCertificateMismatch   = "CertificateMismatch"
	reasonCodeNotAllowed        = "CodeNotAllowed"
	reasonSecretNotFound        = "SecretNotFound"
	reasonClaimNotFound         = "ClaimNotFound"
	// reasonWaitingForPool: a Pool of spec.poolRefs does not exist yet. The Server waits for a few
	// seconds, so that its Pods are not replaced again when the Pool is created.
	reasonWaitingForPool = "WaitingForPool"
	reasonBootstrapped   = "CertificateMounted"
)

// ServerReconciler has Servers run.
type ServerReconciler struct {
	client  client.Client
	secrets secrets
	applier *object.Applier
	events  events.EventRecorder
	admit   builtin.Admitter
	fsGroup *int64
	// outdated is why certificates are issued again.
	outdated Outdated
	// externalOnly disables Servers; the status reports it.
	externalOnly bool
	now          func() time.Time
}

// applyAll writes the desired objects, and deletes the others, of which only the name matters.
func applyAll(ctx context.Context, applier *object.Applier, ours object.Ours, wanted, unwanted []client.Object) error {
	for _, each := range wanted {
		if _, err := applier.Apply(ctx, ours, each, nil); err != nil {
			return err
		}
	}
	for _, each := range unwanted {
		if err := applier.Remove(ctx, ours, client.ObjectKeyFromObject(each), each); err != nil {
			return fmt.Errorf("deleting %s %s: %w", each.GetObjectKind().GroupVersionKind().Kind, each.GetName(), err)
		}
	}
	return nil
}

type serverReport = object.Report[v1alpha1.ServerStatus]

func (r *ServerReconciler) reporter() object.Reporter[*v1alpha1.Server, v1alpha1.ServerStatus] {
	return object.Reporter[*v1alpha1.Server, v1alpha1.ServerStatus]{
		Client: r.client, Manager: serversManager, Action: "Run", Events: r.events,
		Status:     func(s *v1alpha1.Server) *v1alpha1.ServerStatus { return &s.Status },
		Conditions: func(s *v1alpha1.ServerStatus) []metav1.Condition { return s.Conditions },
		News: map[string]object.News{v1alpha1.ConditionReady: object.Reasoned(func(reason string) bool {
			return !slices.Contains([]string{
				reasonRunning, reasonRollingOut, reasonScaledToZero, reasonWaitingForCertificate, reasonWaitingForAuthority, reasonWaitingForConfig, reasonWaitingForPool, reasonSecretNotFound, reasonClaimNotFound,
			}, reason)
		})},
	}
}

// Reconcile has one Server run.
func (r *ServerReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return r.reporter().Reconcile(ctx, request, &v1alpha1.Server{}, serverPausing.Step(r.carryOut))
}

func (r *ServerReconciler) carryOut(ctx context.Context, server *v1alpha1.Server) (serverReport, error) {
	if !server.DeletionTimestamp.IsZero() {
		return serverReport{}, nil
	}
	facts, err := r.gather(ctx, server)
	if err == nil {
		err = r.apply(ctx, facts)
	}
	o, err := obstacleOf(err)
	if err == nil && o != nil {
		err = r.stopForbidden(ctx, server, o)
	}
	if err != nil {
		return serverReport{}, err // and it is tried again
	}
	if o == nil {
		o = facts.lacking
	}
	seen, err := r.observe(ctx, server)
	if err != nil {
		return serverReport{}, err
	}
	report := serverReport{Status: serverStatus(server, seen, o)}
	missing, err := r.missingPools(ctx, server)
	if err != nil {
		return serverReport{}, err
	}
	if ready := meta.FindStatusCondition(report.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Status == metav1.ConditionTrue && len(missing) > 0 {
		ready.Message += fmt.Sprintf("; spec.poolRefs: Pool %s does not exist, so clients cannot reach these servers by it", strings.Join(missing, ", "))
	}
	if o != nil {
		report.Again = o.wait
	}
	return report, nil
}

// missingPools returns the missing Pools of a Server, whose Pods run without them.
func (r *ServerReconciler) missingPools(ctx context.Context, server *v1alpha1.Server) (names []string, err error) {
	for _, name := range server.Spec.PoolRefs {
		err := r.client.Get(ctx, client.ObjectKey{Namespace: server.Namespace, Name: name}, &v1alpha1.Pool{})
		if apierrors.IsNotFound(err) {
			names = append(names, name)
		} else if err != nil {
			return nil, fmt.Errorf("reading Pool %s: %w", name, err)
		}
	}
	return names, nil
}

// poolPatience is how long a Server waits for the Pools that it has begun to name.
const poolPatience = 10 * time.Second

// awaitPools waits for Pools that are applied together with a Server, and after it: one whose host
// name the certificate gets would replace the Pods again.
func (r *ServerReconciler) awaitPools(ctx context.Context, server *v1alpha1.Server) error {
	age := r.now().Sub(lastWritten(server))
	if age < 0 || age >= poolPatience { // the clock of the API server may be ahead
		return nil
	}
	missing, err := r.missingPools(ctx, server)
	if err != nil || len(missing) == 0 {
		return err
	}
	d, err := r.deploymentOf(ctx, server)
	if err != nil {
		return err
	}
	labelled := func(pool string) bool { return d != nil && d.Spec.Template.Labels[poolLabelPrefix+pool] != "" }
	if missing = slices.DeleteFunc(missing, labelled); len(missing) == 0 {
		return nil
	}
	return &obstacle{phase: v1alpha1.ServerPending, reason: reasonWaitingForPool, wait: poolPatience - age, message: fmt.Sprintf(
		"spec.poolRefs: there is no Pool %s; the servers are started or changed without it after %s", strings.Join(missing, ", "), poolPatience)}
}

// lastWritten is when a client last wrote an object, apart from its status.
func lastWritten(o metav1.Object) time.Time {
	last := o.GetCreationTimestamp().Time
	for _, entry := range o.GetManagedFields() {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}

// gather collects the inputs of a Server. A missing input is an *obstacle.
func (r *ServerReconciler) gather(ctx context.Context, server *v1alpha1.Server) (f serverFacts, err error) {
	f = serverFacts{server: server, fsGroup: r.fsGroup}
	if r.externalOnly {
		return f, &obstacle{phase: v1alpha1.ServerError, reason: reasonExternalOnly, message: "the manager runs no servers in the cluster (--openvox-external-only)"}
	}
	verdict, err := r.admit(ctx, server)
	if err != nil {
		return f, err
	}
	if verdict.Denied() {
		return f, &obstacle{phase: v1alpha1.ServerError, reason: reasonNotAdmitted, message: verdict.Message(), wait: conflictRetry}
	}
	if f.config, f.files, err = r.configOf(ctx, server); err != nil {
		return f, err
	}
	if f.ca, err = r.authorityOf(ctx, f.config); err != nil {
		return f, err
	}
	if name := f.config.Spec.NodeClassifierRef; name != "" {
		f.classifier = &v1alpha1.NodeClassifier{}
		if err := r.client.Get(ctx, client.ObjectKey{Namespace: server.Namespace, Name: name}, f.classifier); err != nil {
			return f, fmt.Errorf("reading NodeClassifier %s: %w", name, err) // of which the Config knew
		}
	}
	if f.pair, f.bundle, err = r.pairOf(ctx, server, f.ca); err != nil {
		return f, err
	}
	if err := r.claimsAllowed(ctx, f); err != nil {
		return f, err
	}
	if err := r.awaitPools(ctx, server); err != nil {
		return f, err
	}
	if err := r.findSecrets(ctx, &f); err != nil {
		return f, err
	}
	if server.Spec.CA {
		policies, err := r.pairs().secret(ctx, server.Namespace, layout.AutosignSecret(f.ca.Name))
		if err != nil {
			return f, err
		}
		f.policies = policies.UID
	} else if crl, err := r.pairs().read(ctx, server.Namespace, layout.CRLSecret(f.ca.Name)); err != nil {
		return f, err
	} else if len(crl[layout.CRLFile]) == 0 {
		return f, &obstacle{phase: v1alpha1.ServerPending, reason: reasonWaitingForAuthority, message: fmt.Sprintf("the CRL of CertificateAuthority %s has not been read yet; servers check their clients by it", f.ca.Name)}
	}
	if scaling := server.Spec.Autoscaling; scaling != nil && scaling.Enabled {
		// The cache may lack the last change of the autoscaler, which must not be reverted.
		deployment := &appsv1.Deployment{}
		err := r.secrets.live.Get(ctx, client.ObjectKeyFromObject(server), deployment)
		if client.IgnoreNotFound(err) != nil {
			return f, fmt.Errorf("reading Deployment %s: %w", server.Name, err)
		}
		f.running = deployment.Spec.Replicas
	}
	return f, nil
}

// configOf is the Config of a Server with its files, once they are those of its spec.
func (r *ServerReconciler) configOf(ctx context.Context, server *v1alpha1.Server) (*v1alpha1.Config, map[string]string, error) {
	config, name := &v1alpha1.Config{}, server.Spec.ConfigRef
	err := r.client.Get(ctx, client.ObjectKey{Namespace: server.Namespace, Name: name}, config)
	if apierrors.IsNotFound(err) {
		return nil, nil, &obstacle{phase: v1alpha1.ServerPending, reason: reasonWaitingForConfig, message: fmt.Sprintf("spec.configRef: there is no Config %q", name)}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading Config %s: %w", name, err)
	}
	files := &corev1.ConfigMap{}
	err = r.client.Get(ctx, client.ObjectKey{Namespace: server.Namespace, Name: configMapName(name)}, files)
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, fmt.Errorf("reading ConfigMap %s: %w", configMapName(name), err)
	}
	ready := meta.FindStatusCondition(config.Status.Conditions, v1alpha1.ConditionConfigReady)
	// One of the objects may be missing from the cache.
	current := config.Status.ObservedGeneration == config.Generation && configfiles.Hash(files.Data) == config.Status.FilesHash && metav1.IsControlledBy(files, config)
	switch {
	case ready != nil && ready.Status != metav1.ConditionTrue && ready.Reason != reasonCommandReplaced && ready.ObservedGeneration == config.Generation:
		return nil, nil, &obstacle{phase: v1alpha1.ServerPending, reason: reasonConfigNotReady, message: fmt.Sprintf("Config %s: %s", name, ready.Message)}
	case !current, server.Spec.CA && files.Data[configfiles.CAAuthFile] == "" && !pausing.IsPaused(config):
		return nil, nil, &obstacle{phase: v1alpha1.ServerPending, reason: reasonWaitingForConfig, message: fmt.Sprintf("the files of Config %s are not rendered yet", name)}
	}
	return config, files.Data, nil
}

// authorityOf is the CertificateAuthority of a Config, once there can be servers.
func (r *ServerReconciler) authorityOf(ctx context.Context, config *v1alpha1.Config) (*v1alpha1.CertificateAuthority, error) {
	ca, name := &v1alpha1.CertificateAuthority{}, config.Spec.AuthorityRef
	if name == "" {
		return nil, waitsForAuthority("Config %s names no CertificateAuthority in spec.authorityRef, and servers have their certificates from one", config.Name)
	}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: name}, ca)
	if apierrors.IsNotFound(err) {
		return nil, waitsForAuthority("there is no CertificateAuthority %q, which Config %s names", name, config.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading CertificateAuthority %s: %w", name, err)
	}
	if initialized := meta.FindStatusCondition(ca.Status.Conditions, v1alpha1.ConditionInitialized); ca.Spec.External == nil && !meta.IsStatusConditionTrue(ca.Status.Conditions, v1alpha1.ConditionInitialized) {
		return nil, waitsForAuthority("CertificateAuthority %s is not set up yet: %s", name, ptr.Deref(initialized, metav1.Condition{Message: "it was not looked at yet"}).Message)
	}
	return ca, nil
}

// pairOf returns the certificate of a Server, and the CA's certificates.
func (r *ServerReconciler) pairOf(ctx context.Context, server *v1alpha1.Server, ca *v1alpha1.CertificateAuthority) (pair map[string][]byte, bundle []byte, err error) {
	certificate, name := &v1alpha1.Certificate{}, server.Spec.CertificateRef
	err = r.client.Get(ctx, client.ObjectKey{Namespace: server.Namespace, Name: name}, certificate)
	switch own := rules.ServerCertificate(ca); {
	case layout.IsOperators(name):
		return nil, nil, isOperators(name)
	case apierrors.IsNotFound(err):
		return nil, nil, waitsForCertificate("spec.certificateRef: there is no Certificate %q", name)
	case err != nil:
		return nil, nil, fmt.Errorf("reading Certificate %s: %w", name, err)
	case certificate.Spec.AuthorityRef != ca.Name:
		return nil, nil, &obstacle{phase: v1alpha1.ServerError, reason: reasonCertificateMismatch, message: fmt.Sprintf(
			"spec.certificateRef: Certificate %s is of CertificateAuthority %s, and that of Config %s is %s", name, certificate.Spec.AuthorityRef, server.Spec.ConfigRef, ca.Name)}
	case server.Spec.CA && ca.Spec.External != nil:
		return nil, nil, &obstacle{phase: v1alpha1.ServerError, reason: reasonCertificateMismatch, message: fmt.Sprintf(
			"spec.ca: CertificateAuthority %s runs elsewhere (spec.external), and has its own server; leave the field out", ca.Name)}
	case !server.Spec.CA && own == name: // code compiled on that server could sign
		return nil, nil, &obstacle{phase: v1alpha1.ServerError, reason: reasonCertificateMismatch, message: fmt.Sprintf(
			"spec.certificateRef: Certificate %s is that of the server of CertificateAuthority %s, and administers it; name another, or set spec.ca", name, ca.Name)}
	case server.Spec.CA && own != name && ca.Spec.ServerCertificateRef != "":
		return nil, nil, &obstacle{phase: v1alpha1.ServerError, reason: reasonCertificateMismatch, message: fmt.Sprintf(
			"spec.certificateRef: the CA's server has Certificate %s, as CertificateAuthority %s says in spec.serverCertificateRef; name that one", own, ca.Name)}
	case server.Spec.CA && own != name: // until the CertificateAuthority has seen this Server
		return nil, nil, waitsForCertificate("Certificate %s becomes that of the server of CertificateAuthority %s, whose status.serverCertificateName says %s now", name, ca.Name, cmp.Or(ca.Status.ServerCertificateName, "none"))
	}
	pair, bundle, leaf, err := r.pairs().of(ctx, certificate, ca)
	if err != nil {
		return nil, nil, err
	}
	if server.Spec.CA { // by which the certificate is issued
		d, err := r.deploymentOf(ctx, server)
		if err != nil || d == nil || d.Status.ReadyReplicas == 0 {
			return pair, bundle, err
		}
	}
	return pair, bundle, r.pairs().awaitIssuance(ctx, ca, certificate, leaf)
}

// isOperators is of a Certificate by which the operator signs, which runs in no Pod.
func isOperators(certificate string) error {
	return &obstacle{phase: v1alpha1.ServerError, reason: reasonCertificateMismatch, message: fmt.Sprintf(
		"spec.certificateRef: Certificate %s is the operator's own, and administers a CA; name another", certificate)}
}

func (r *ServerReconciler) pairs() pairs { return pairs{r.client, r.secrets, r.outdated} }

// apply writes the objects of a Server, and deletes those that it no longer needs.
func (r *ServerReconciler) apply(ctx context.Context, f serverFacts) error {
	wanted, unwanted, err := f.objects()
	if err != nil {
		return &obstacle{phase: v1alpha1.ServerError, reason: reasonConfigNotReady, message: err.Error()}
	}
	return applyAll(ctx, r.applier, object.ControlledBy(f.server), wanted, unwanted)
}
