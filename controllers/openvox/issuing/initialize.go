package issuing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/cadir"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

const (
	// setupRetry is how long a setup Job that goes is waited for, or one that left
	// Secrets empty.
	setupRetry = 10 * time.Second
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

// InitializeReconciler sets up in-cluster CAs. It never calls a CA.
type InitializeReconciler struct {
	client  client.Client
	secrets secrets
	applier *object.Applier
	events  events.EventRecorder
	admit   builtin.Admitter // about the Certificate of a CA's server
	fsGroup *int64
	// externalOnly sets nothing up, and says so.
	externalOnly bool
	now          func() time.Time
}

// progress is how far a CA has come.
type progress struct {
	initialized     bool
	reason, message string
	wait            time.Duration
}

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
	next.Status.CASecretName, next.Status.ServiceName = layout.CASecret(ca), serviceName(ca.Name)
	conditionsOf(next).Set(v1alpha1.ConditionInitialized, p.initialized, p.reason, p.message)
	next.Status.Phase = phaseOf(next)
	return authorityReport{Status: &next.Status, Again: p.wait}, nil
}

// refusalOf returns the reason of an error that an immediate retry cannot fix, and "" for any
// other error.
func refusalOf(err error) (string, error) {
	var foreign *object.Foreign
	switch {
	case errors.As(err, &foreign):
		return reasonNotOwned, err
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err) && !object.Passes(err):
		return reasonNotWritten, err
	}
	return "", err
}

// keep has an object of a CA as it is wanted.
func (r *InitializeReconciler) keep(ctx context.Context, ca *v1alpha1.CertificateAuthority, want client.Object) error {
	empty, err := r.client.Scheme().New(want.GetObjectKind().GroupVersionKind())
	if err != nil {
		return err
	}
	have := empty.(client.Object)
	if _, err := r.applier.Apply(ctx, ours(ca), want, have); err != nil {
		return err
	}
	if len(want.GetOwnerReferences()) > 0 || !metav1.IsControlledBy(have, ca) {
		return nil
	}
	// The object was created by openvox-operator, and would be deleted together with the
	// CertificateAuthority. Applying removes no field that another manager has set.
	before := have.DeepCopyObject().(client.Object)
	have.SetOwnerReferences(slices.DeleteFunc(have.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == ca.UID }))
	if err := r.client.Patch(ctx, have, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(initializeManager)); err != nil {
		return fmt.Errorf("letting go of %s: %w", object.Describe(r.client, have), err)
	}
	return nil
}

// phaseOf is where the two facts, initialized and ready, leave a CA.
func phaseOf(ca *v1alpha1.CertificateAuthority) v1alpha1.CertificateAuthorityPhase {
	ready := meta.IsStatusConditionTrue(ca.Status.Conditions, v1alpha1.ConditionCAReady)
	initialized := meta.FindStatusCondition(ca.Status.Conditions, v1alpha1.ConditionInitialized)
	policies := meta.FindStatusCondition(ca.Status.Conditions, v1alpha1.ConditionPoliciesRendered)
	signing := meta.FindStatusCondition(ca.Status.Conditions, v1alpha1.ConditionOperatorSigningReady)
	switch {
	case policies != nil && (policies.Reason == reasonNotOwned || policies.Reason == reasonNotWritten):
		return v1alpha1.CertificateAuthorityError
	case ca.Spec.External != nil && ready:
		return v1alpha1.CertificateAuthorityExternal
	case ca.Spec.External != nil:
		return v1alpha1.CertificateAuthorityError
	case initialized == nil || slices.Contains([]string{reasonWaitingForConfig, reasonWaitingForCA, reasonWaitingForServer}, initialized.Reason):
		return v1alpha1.CertificateAuthorityPending
	case isFault(initialized.Reason):
		return v1alpha1.CertificateAuthorityError
	case initialized.Status == metav1.ConditionTrue && signing != nil && signing.Reason == reasonNoSigner:
		return v1alpha1.CertificateAuthorityError
	case initialized.Status == metav1.ConditionTrue && ready:
		return v1alpha1.CertificateAuthorityReady
	case initialized.Status == metav1.ConditionTrue && hasAnswered(ca):
		return v1alpha1.CertificateAuthorityError
	}
	return v1alpha1.CertificateAuthorityInitializing
}

// hasAnswered reports whether a CA has ever answered: a server that has not started yet is not a
// fault.
func hasAnswered(ca *v1alpha1.CertificateAuthority) bool {
	return ca.Status.CRL != nil && ca.Status.CRL.Refreshed != nil
}

// step makes the objects that are wanted, and says how far the CA is.
func (r *InitializeReconciler) step(ctx context.Context, ca *v1alpha1.CertificateAuthority) (progress, error) {
	s := setup{ca: ca, fsGroup: r.fsGroup}
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
	certificates, err := CertificatesIn(ctx, r.client, ca.Namespace)
	if err != nil {
		return progress{}, err
	}
	s.certificate = serverCertificate(ca, certificates)
	s.server = serverSpec(ca, s.certificate)
	if s.served, err = r.served(ctx, ca, s.certificate, stored); err != nil {
		return progress{}, err
	}
	if taken, err := r.claimTaken(ctx, s); err != nil || taken != "" {
		return progress{reason: reasonWaitingForConfig, message: taken, wait: retryPending}, err
	}
	if err := r.lasting(ctx, s); err != nil {
		return progress{}, err
	}
	if lostCRL(ca, stored) {
		return progress{initialized: true, reason: reasonInitialized, message: fmt.Sprintf("the CA is set up; Secret %s has lost its CRL, which is read from the CA again", layout.CRLSecret(ca.Name)), wait: retryPending}, nil
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
	return r.setUp(ctx, s)
}

// lostCRL reports whether only the CRL is missing of what the Secrets of a CA have, and the CA
// answers: it publishes the CRL, so that no setup Job has to read it from the volume.
func lostCRL(ca *v1alpha1.CertificateAuthority, stored caData) bool {
	return len(stored[layout.CAFile]) > 0 && len(stored[caPrivateKey]) > 0 && len(stored[layout.CRLFile]) == 0 &&
		meta.IsStatusConditionTrue(ca.Status.Conditions, v1alpha1.ConditionCAReady)
}

// cached reads our own Secrets without asking the API server: each change of a Certificate
// has its CA looked at.
func (r *InitializeReconciler) cached() secrets { return secrets{client: r.client, live: r.client} }

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
func (r *InitializeReconciler) claimTaken(ctx context.Context, s setup) (string, error) {
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
func (r *InitializeReconciler) lasting(ctx context.Context, s setup) error {
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

// setUp has the setup Job run.
func (r *InitializeReconciler) setUp(ctx context.Context, s setup) (progress, error) {
	configs, err := layout.ConfigsIn(ctx, r.client, s.ca.Namespace)
	if err != nil {
		return progress{}, err
	}
	naming := slices.DeleteFunc(configs, func(c v1alpha1.Config) bool {
		return c.Spec.AuthorityRef != s.ca.Name || !c.DeletionTimestamp.IsZero()
	})
	if len(naming) == 0 {
		return progress{reason: reasonWaitingForConfig, message: "no Config names this CertificateAuthority in spec.authorityRef; the setup Job needs its image"}, nil
	}
	// Use the oldest Config, so that later ones change nothing.
	s.image = slices.MinFunc(naming, func(a, b v1alpha1.Config) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	}).Spec.Image
	if unmet, err := r.unmet(ctx, &s); err != nil || unmet.reason != "" {
		if err == nil { // nor does a Job go on that was permitted before
			err = r.remove(ctx, s, &batchv1.Job{})
		}
		return unmet, err
	}
	if err := r.keep(ctx, s.ca, s.roleBinding()); err != nil {
		return progress{}, err
	}
	return r.runJob(ctx, s)
}

// unmet is what the setup Job waits for: its reason is empty where that is nothing.
func (r *InitializeReconciler) unmet(ctx context.Context, s *setup) (progress, error) {
	if !s.served {
		if p, err := r.judgeServer(ctx, *s); err != nil || p.reason != "" {
			return p, err
		}
	}
	if s.imports() {
		return r.judgeImport(ctx, s)
	}
	return progress{}, nil
}

// judgeImport says whether the setup Job may import the CA of spec.intermediateCA, and from which
// serial on it issues.
func (r *InitializeReconciler) judgeImport(ctx context.Context, s *setup) (progress, error) {
	imported, lacks, err := r.secrets.intermediate(ctx, s.ca)
	if err != nil {
		return progress{}, err
	}
	if lacks != "" {
		return progress{reason: reasonWaitingForCA, message: "spec.intermediateCA: " + lacks, wait: retryPending}, nil
	}
	next, err := imported.Check(r.now())
	if refused, ok := errors.AsType[*cadir.ImportError](err); ok {
		return progress{reason: refused.Reason, message: fmt.Sprintf("spec.intermediateCA: Secret %s: %v", s.ca.Spec.IntermediateCA.SecretName, err)}, nil
	}
	if err != nil {
		return progress{}, err
	}
	s.nextSerial = strings.TrimSpace(cadir.FormatSerial(next))
	for _, key := range intermediateOptional {
		if content := map[string][]byte{cadir.ImportSerial: imported.Serial, cadir.ImportInventory: imported.Inventory}[key]; len(content) > 0 {
			s.optional = append(s.optional, key)
		}
	}
	return progress{}, nil
}

// judgeServer says whether the setup Job may make a pair for the Certificate of the CA's
// server, whose names become names of files.
func (r *InitializeReconciler) judgeServer(ctx context.Context, s setup) (progress, error) {
	name := rules.ServerCertificate(s.ca)
	if s.certificate == nil {
		return progress{reason: reasonWaitingForServer, message: fmt.Sprintf("there is no Certificate %s of this CertificateAuthority, which is its server's", name)}, nil
	}
	verdict, err := r.admit(ctx, s.certificate)
	if err != nil {
		return progress{}, fmt.Errorf("asking whether Certificate %s is admitted: %w", name, err)
	}
	if verdict.Denied() {
		return progress{reason: reasonServerDenied, message: fmt.Sprintf("Certificate %s of the CA's server is not admitted: %s", name, verdict.Message()), wait: conflictRetry}, nil
	}
	return progress{}, nil
}

func (r *InitializeReconciler) runJob(ctx context.Context, s setup) (progress, error) {
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(s.ca.Namespace), client.MatchingLabels{layout.CALabel: s.ca.Name, layout.CAServerLabel: "true"}); err != nil {
		return progress{}, fmt.Errorf("listing the Pods of the CA's server: %w", err)
	}
	s.node = serverNode(pods.Items)
	want, have := s.job(), &batchv1.Job{}
	running := progress{reason: reasonSettingUp, message: "Job " + want.Name + " sets the CA up"}
	exists, err := r.applier.Find(ctx, ours(s.ca), client.ObjectKeyFromObject(want), have)
	if err != nil {
		return progress{}, err
	}
	if !exists {
		running.message += startOf(want, layout.CAClaim(s.ca.Name))
		return running, r.keep(ctx, s.ca, want)
	}
	if !have.DeletionTimestamp.IsZero() {
		running.wait = setupRetry
		return running, nil
	}
	ended, failed := jobEnd(have)
	switch {
	// Its Pod uses the settings of an earlier revision, and is immutable.
	case have.Annotations[setupHash] != want.Annotations[setupHash],
		s.imports() && have.Annotations[setupImport] != want.Annotations[setupImport]:
		running.wait = time.Second
	// The server, and the volume with it, is on another node now.
	case ended.IsZero() && failed == "" && have.Annotations[setupNode] != s.node && ptr.Deref(have.Status.Ready, 0) == 0:
		running.wait = time.Second
	case failed != "":
		return progress{reason: reasonSetupFailed, message: fmt.Sprintf("Job %s has failed: %s. See kubectl logs job/%s, and delete the Job to have it run again", want.Name, failed, want.Name)}, nil
	// The Secrets may be in the cache a moment later; then they were emptied since.
	case !ended.IsZero() && r.now().Sub(ended) > setupRetry:
		running.wait = setupRetry
	case !ended.IsZero():
		running.wait = time.Second
		return running, nil
	default:
		running.message += startOf(have, layout.CAClaim(s.ca.Name))
		return running, nil
	}
	return running, r.remove(ctx, s, have)
}

// startOf says where to look as long as a Job has not started: admission may refuse its Pod, no
// node may have room for it, and its volume or image may not be there.
func startOf(job *batchv1.Job, claim string) string {
	switch {
	case job.Status.Active == 0:
		return fmt.Sprintf(", once it has a Pod; where that lasts, kubectl describe job %s says why", job.Name)
	case ptr.Deref(job.Status.Ready, 0) == 0:
		return fmt.Sprintf(", once its Pod runs; where that lasts, kubectl describe pod -l job-name=%s says why, and of its volume kubectl describe pvc %s", job.Name, claim)
	}
	return ""
}

// jobEnd is when a Job has succeeded, or why it has failed.
func jobEnd(job *batchv1.Job) (succeeded time.Time, failed string) {
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete:
			return condition.LastTransitionTime.Time, ""
		case batchv1.JobFailed:
			return time.Time{}, condition.Reason + ": " + condition.Message
		}
	}
	return time.Time{}, ""
}

// initialized goes on from the three Secrets.
func (r *InitializeReconciler) initialized(ctx context.Context, s setup, stored caData) (progress, error) {
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
			conditionsOf(s.ca).Set(v1alpha1.ConditionOperatorSigningReady, false, reason, "requests are signed only for as long as the other pair counts: "+err.Error())
			p.wait = conflictRetry
		}
	}
	s.ca.Status.NotAfter = notAfter(stored[layout.CAFile])
	return p, nil
}

// judgeSigner says by which pair requests are signed, as connectInternal chooses it.
func (r *InitializeReconciler) judgeSigner(ctx context.Context, ca *v1alpha1.CertificateAuthority, stored caData) (name string, err error) {
	reason, message := reasonNoSigner, fmt.Sprintf("nothing can be signed from here: none of the Secrets %s has a pair that counts. Stop the CA's server and delete Secret %s; the setup Job then makes one",
		strings.Join(signerSecrets(ca.Name), ", "), setupName(ca.Name))
	for _, signer := range signerSecrets(ca.Name) {
		pair, err := r.cached().signer(ctx, ca, signer, stored[layout.CAFile], stored[layout.CRLFile])
		if err != nil {
			return "", err
		}
		if pair == nil {
			continue
		}
		name, reason, message = signer, reasonSigned, "requests are signed with the certificate in Secret "+signer
		if signer == setupName(ca.Name) {
			reason, message = "Bootstrap", "requests are signed with the pair that the setup Job has made, until Certificate "+layout.SigningCertificate(ca.Name)+" is signed"
		}
		break
	}
	ca.Status.SigningSecretName = name
	conditionsOf(ca).Set(v1alpha1.ConditionOperatorSigningReady, reason == reasonSigned, reason, message)
	return name, nil
}

// forbid takes the permission to fill the Secrets away, once no setup Job runs.
func (r *InitializeReconciler) forbid(ctx context.Context, s setup) error {
	job := &batchv1.Job{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: s.ca.Namespace, Name: setupName(s.ca.Name)}, job)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading Job %s: %w", setupName(s.ca.Name), err)
	}
	if succeeded, failed := jobEnd(job); err == nil && succeeded.IsZero() && failed == "" {
		return nil
	}
	return r.remove(ctx, s, &rbacv1.RoleBinding{})
}

// remove deletes what the setup has of a kind.
func (r *InitializeReconciler) remove(ctx context.Context, s setup, kind client.Object) error {
	return r.applier.Remove(ctx, ours(s.ca), client.ObjectKey{Namespace: s.ca.Namespace, Name: setupName(s.ca.Name)}, kind)
}

// caData is what the Secrets of a CA have, by key.
type caData map[string][]byte

// stored reads the Secrets of a CA, and ignores those with another owner.
func (r *InitializeReconciler) stored(ctx context.Context, ca *v1alpha1.CertificateAuthority) (caData, error) {
	data := caData{}
	for _, name := range keptSecrets(ca.Name) {
		secret, err := r.cached().read(ctx, ca.Namespace, name)
		if err != nil {
			return nil, err
		}
		if secret != nil {
			maps.Copy(data, secret.Data)
		}
	}
	return data, nil
}

// hasPairFor says whether the setup Job's pair is what the CA's server needs.
func (d caData) hasPairFor(server v1alpha1.CertificateSpec) bool {
	pair := layout.StoredPair(d)
	return pair != nil && layout.IssuedBy(pair, d[layout.CAFile]) && differs(pair, server) == ""
}
