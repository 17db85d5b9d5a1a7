package authority

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
)

const (
	// setupJobRetry is how long a setup Job that goes is waited for, or one that left
	// Secrets empty.
	setupJobRetry = 10 * time.Second
	// conflictRetry is the delay before retrying when another owner holds an object.
	conflictRetry = 30 * time.Second
	// namingTime is how long a new CA waits for a Server that names the certificate of the CA's
	// server. After that, a Certificate is created.
	namingTime = 5 * time.Second

	reasonInitialized      = "CAInitialized"
	reasonWaitingForConfig = "WaitingForConfig"
	reasonWaitingForCA     = "WaitingForIntermediateCA"
	reasonWaitingForServer = "WaitingForServerCertificate"
	reasonExternalOnly     = "ExternalOnly"
	reasonServerDenied     = "ServerCertificateNotAdmitted"
	reasonSettingUp        = "SettingUp"
	reasonSetupFailed      = "SetupFailed"
	reasonNotOwned         = "NotOwned"
	reasonNotWritten       = "NotWritten"
	reasonNoSigner         = "NoSigningCertificate"
)

// Reconcile takes one CA a step further.
func (r *InitializeReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return authorityReporter(r.client, r.events, initializeManager, "Initialize").Reconcile(ctx, request, &v1alpha1.CertificateAuthority{}, authorityPausing.Step(r.carryOut))
}

func (r *InitializeReconciler) carryOut(ctx context.Context, ca *v1alpha1.CertificateAuthority) (authorityReport, error) {
	if !ca.DeletionTimestamp.IsZero() || ca.Spec.External != nil {
		return authorityReport{}, nil
	}
	next := ca.DeepCopy()
	p, err := progress{reason: reasonExternalOnly, message: "the manager sets up no CAs in the cluster (--openvox-external-only); name one that runs elsewhere in spec.external"}, error(nil)
	if !r.externalOnly {
		p, err = r.step(ctx, next)
	}
	if reason, refused := refusalOf(err); reason != "" {
		p = progress{reason: reason, message: refused.Error(), wait: conflictRetry}
	} else if err != nil {
		return authorityReport{}, err
	}
	next.Status.CASecretName, next.Status.ServiceName = layout.CASecret(ca), layout.ServiceName(ca.Name)
	ConditionsOf(next).Set(v1alpha1.ConditionInitialized, p.initialized, p.reason, p.message)
	next.Status.Phase = phaseOf(next)
	return authorityReport{Status: &next.Status, Again: p.wait}, nil
}

// step makes the objects that are wanted, and says how far the CA is.
func (r *InitializeReconciler) step(ctx context.Context, ca *v1alpha1.CertificateAuthority) (progress, error) {
	s := inClusterCA{ca: ca, fsGroup: r.fsGroup}
	stored, err := r.stored(ctx, ca)
	if err != nil {
		return progress{}, err
	}
	s.exists = len(stored[layout.CAFile]) > 0 || len(stored[caPrivateKey]) > 0
	if err := r.nameServer(ctx, ca); err != nil {
		return progress{}, err
	}
	// Manifests that are applied together come one after the other, the Server often last.
	if young := namingTime - r.now().Sub(ca.CreationTimestamp.Time); 0 < young && young <= namingTime && !namesServer(ca) {
		return progress{reason: reasonWaitingForServer, message: "nothing names the certificate of the CA's server yet; one is made in a moment", wait: young}, nil
	}
	if err := r.makeServer(ctx, s); err != nil {
		return progress{}, err
	}
	certificates, err := layout.CertificatesIn(ctx, r.client, ca.Namespace)
	if err != nil {
		return progress{}, err
	}
	s.certificate = serverCertificate(ca, certificates)
	s.server = serverSpec(ca, s.certificate)
	if s.served, err = r.served(ctx, ca, s.certificate, stored); err != nil {
		return progress{}, err
	}
	if taken, err := r.claimTaken(ctx, s); err != nil || taken != "" {
		return progress{reason: reasonWaitingForConfig, message: taken, wait: RetryPending}, err
	}
	if err := r.lasting(ctx, s); err != nil {
		return progress{}, err
	}
	if lostCRL(ca, stored) {
		return progress{initialized: true, reason: reasonInitialized, message: fmt.Sprintf("the CA is set up; Secret %s has lost its CRL, which is read from the CA again", layout.CRLSecret(ca.Name)), wait: RetryPending}, nil
	}
	complete := len(stored[layout.CAFile]) > 0 && len(stored[caPrivateKey]) > 0 && len(stored[layout.CRLFile]) > 0
	if complete && (s.served || s.certificate != nil && stored.hasPairFor(s.server)) {
		signer, err := r.judgeSigner(ctx, ca, stored)
		if err != nil {
			return progress{}, err
		}
		// An administrator has emptied the Secret to request a rescue, and stopped the server.
		s.rescue = s.served && signer == "" && len(stored[layout.CertificateFile]) == 0
		if !s.rescue {
			return r.initialized(ctx, s, stored)
		}
	}
	return r.startSetup(ctx, s)
}

// lostCRL reports whether only the CRL is missing of what the Secrets of a CA have, and the CA
// answers: it publishes the CRL, so that no setup Job has to read it from the volume.
func lostCRL(ca *v1alpha1.CertificateAuthority, stored caData) bool {
	return len(stored[layout.CAFile]) > 0 && len(stored[caPrivateKey]) > 0 && len(stored[layout.CRLFile]) == 0 &&
		meta.IsStatusConditionTrue(ca.Status.Conditions, v1alpha1.ConditionCAReady)
}

// served reports whether the CA's server has a certificate, under any name. The server may be
// running even if this CertificateAuthority has only taken the CA over.
func (r *InitializeReconciler) served(ctx context.Context, ca *v1alpha1.CertificateAuthority, certificate *v1alpha1.Certificate, stored caData) (bool, error) {
	if hasAnswered(ca) || certificate == nil {
		return hasAnswered(ca), nil
	}
	pair, err := r.cached().pair(ctx, ca.Namespace, layout.TLSSecret(certificate.Name), stored[layout.CAFile], stored[layout.CRLFile])
	return pair != nil, err
}

// claimTaken is why the volume of a CA cannot be created yet: "" if it exists, or no Deployment
// waits for a volume of its name, whose Pods would read the CA's keys.
func (r *InitializeReconciler) claimTaken(ctx context.Context, s inClusterCA) (string, error) {
	claim := s.claim()
	exists, err := r.applier.Find(ctx, ours(s.ca), client.ObjectKeyFromObject(claim), &corev1.PersistentVolumeClaim{})
	if err != nil || exists {
		return "", err
	}
	var deployments appsv1.DeploymentList
	if err := r.client.List(ctx, &deployments, client.InNamespace(claim.Namespace)); err != nil {
		return "", fmt.Errorf("listing Deployments: %w", err)
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		if d.Spec.Template.Labels[layout.CAServerLabel] == "true" && d.Spec.Template.Labels[layout.CALabel] == s.ca.Name || ptr.Deref(d.Spec.Replicas, 1) == 0 {
			continue
		}
		if slices.ContainsFunc(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name
		}) {
			return fmt.Sprintf("Deployment %s mounts claim %s, which this CertificateAuthority would create for its keys; name another claim in its Server, or scale the Server to zero", d.Name, claim.Name), nil
		}
	}
	return "", nil
}

// lasting keeps what a CA has for as long as it is there.
func (r *InitializeReconciler) lasting(ctx context.Context, s inClusterCA) error {
	claim, had := s.claim(), &corev1.PersistentVolumeClaim{}
	if exists, err := r.applier.Find(ctx, ours(s.ca), client.ObjectKeyFromObject(claim), had); err != nil {
		return err
	} else if exists {
		claim.Spec = corev1.PersistentVolumeClaimSpec{AccessModes: had.Spec.AccessModes, StorageClassName: had.Spec.StorageClassName}
		claim.Spec.Resources.Requests = had.Spec.Resources.Requests
	}
	children := []client.Object{claim}
	for _, secret := range s.secrets() {
		children = append(children, secret)
	}
	for _, child := range append(children, s.service(), s.serviceAccount(), s.role()) {
		if err := r.keep(ctx, s.ca, child); err != nil {
			return err
		}
	}
	return nil
}

// initialized goes on from the three Secrets.
func (r *InitializeReconciler) initialized(ctx context.Context, s inClusterCA, stored caData) (progress, error) {
	if err := r.forbid(ctx, s); err != nil {
		return progress{}, err
	}
	p := progress{initialized: true, reason: reasonInitialized, message: "the CA's certificate, key and CRL are in their Secrets"}
	for _, certificate := range s.signing() {
		reason, err := refusalOf(r.keep(ctx, s.ca, certificate))
		switch {
		case err != nil && reason == "":
			return progress{}, err
		case err != nil: // the other may sign
			ConditionsOf(s.ca).Set(v1alpha1.ConditionOperatorSigningReady, false, reason, "requests are signed only for as long as the other pair counts: "+err.Error())
			p.wait = conflictRetry
		}
	}
	s.ca.Status.NotAfter = notAfter(stored[layout.CAFile])
	return p, nil
}

// judgeSigner says by which pair requests are signed, as connectInternal chooses it.
func (r *InitializeReconciler) judgeSigner(ctx context.Context, ca *v1alpha1.CertificateAuthority, stored caData) (name string, err error) {
	reason, message := reasonNoSigner, fmt.Sprintf("nothing can be signed from here: none of the Secrets %s has a pair that counts. Stop the CA's server and delete Secret %s; the setup Job then makes one",
		strings.Join(signerSecrets(ca.Name), ", "), setupJobName(ca.Name))
	for _, signer := range signerSecrets(ca.Name) {
		pair, err := r.cached().signer(ctx, ca, signer, stored[layout.CAFile], stored[layout.CRLFile])
		if err != nil {
			return "", err
		}
		if pair == nil {
			continue
		}
		name, reason, message = signer, ReasonSigned, "requests are signed with the certificate in Secret "+signer
		if signer == setupJobName(ca.Name) {
			reason, message = "Bootstrap", "requests are signed with the pair that the setup Job has made, until Certificate "+layout.SigningCertificate(ca.Name)+" is signed"
		}
		break
	}
	ca.Status.SigningSecretName = name
	ConditionsOf(ca).Set(v1alpha1.ConditionOperatorSigningReady, reason == ReasonSigned, reason, message)
	return name, nil
}

// nameServer has the Certificate of the CA's server be that of the Server with ca. One stays
// for as long as a Server names it.
func (r *InitializeReconciler) nameServer(ctx context.Context, ca *v1alpha1.CertificateAuthority) error {
	if ca.Spec.ServerCertificateRef != "" {
		ca.Status.ServerCertificateName = ""
		return nil
	}
	naming, err := serversOf(ctx, r.client, ca)
	if err == nil && !slices.ContainsFunc(naming, func(s v1alpha1.Server) bool { return s.Spec.CertificateRef == ca.Status.ServerCertificateName }) {
		ca.Status.ServerCertificateName = cmp.Or(firstNamed(naming), ca.Status.ServerCertificateName)
	}
	return err
}

// makeServer has the Certificate of the CA's server made, unless one is named.
func (r *InitializeReconciler) makeServer(ctx context.Context, s inClusterCA) error {
	if namesServer(s.ca) {
		return nil
	}
	err := r.keep(ctx, s.ca, s.made())
	if foreign := (*object.Foreign)(nil); errors.As(err, &foreign) {
		return fmt.Errorf("%w, or name it in spec.serverCertificateRef", err)
	}
	return err
}
