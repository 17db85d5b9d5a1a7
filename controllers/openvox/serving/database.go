package serving

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/configfiles"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

const reasonCredentialsNotFound = "CredentialsNotFound"

// The keys of the Secret with the credentials of PostgreSQL.
const (
	usernameKey = "username"
	passwordKey = "password"
)

// DatabaseReconciler has Databases run.
type DatabaseReconciler struct {
	client  client.Client
	secrets secrets
	applier *object.Applier
	events  events.EventRecorder
	admit   builtin.Admitter
	fsGroup *int64
	// outdated is why certificates are issued again.
	outdated Outdated
	// externalOnly disables Databases; the status reports it.
	externalOnly bool
}

type databaseReport = object.Report[v1alpha1.DatabaseStatus]

func (r *DatabaseReconciler) reporter() object.Reporter[*v1alpha1.Database, v1alpha1.DatabaseStatus] {
	return object.Reporter[*v1alpha1.Database, v1alpha1.DatabaseStatus]{
		Client: r.client, Manager: databasesManager, Action: "Run", Events: r.events,
		Status:     func(d *v1alpha1.Database) *v1alpha1.DatabaseStatus { return &d.Status },
		Conditions: func(s *v1alpha1.DatabaseStatus) []metav1.Condition { return s.Conditions },
		News: map[string]object.News{v1alpha1.ConditionReady: object.Reasoned(func(reason string) bool {
			return !slices.Contains([]string{
				reasonRunning, reasonRollingOut, reasonScaledToZero, reasonWaitingForCertificate, reasonWaitingForAuthority, reasonCredentialsNotFound,
			}, reason)
		})},
	}
}

// Reconcile has one Database run.
func (r *DatabaseReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return r.reporter().Reconcile(ctx, request, &v1alpha1.Database{}, databasePausing.Step(r.carryOut))
}

func (r *DatabaseReconciler) carryOut(ctx context.Context, db *v1alpha1.Database) (databaseReport, error) {
	if !db.DeletionTimestamp.IsZero() {
		return databaseReport{}, nil
	}
	facts, err := r.gather(ctx, db)
	if err == nil {
		err = r.apply(ctx, facts)
	}
	o, err := obstacleOf(err)
	if err != nil {
		return databaseReport{}, err // and it is tried again
	}
	rollout, err := r.observe(ctx, db)
	if err != nil {
		return databaseReport{}, err
	}
	report := databaseReport{Status: databaseStatus(db, rollout, o)}
	if o != nil {
		report.Again = o.wait
	}
	return report, nil
}

// apply writes the objects of a Database, and deletes those that it no longer needs. The
// Deployment of openvox-operator is deleted first: the same Service routes to it, and it accepts
// any client with a certificate.
func (r *DatabaseReconciler) apply(ctx context.Context, f databaseFacts) error {
	ours, former := object.ControlledBy(f.db), &appsv1.Deployment{}
	if err := r.applier.Remove(ctx, ours, client.ObjectKeyFromObject(f.db), former); err != nil {
		return fmt.Errorf("deleting Deployment %s: %w", f.db.Name, err)
	}
	wanted, unwanted := f.objects()
	return applyAll(ctx, r.applier, ours, wanted, unwanted)
}

// gather collects the inputs of a Database. A missing input is an *obstacle.
func (r *DatabaseReconciler) gather(ctx context.Context, db *v1alpha1.Database) (f databaseFacts, err error) {
	f = databaseFacts{db: db, fsGroup: r.fsGroup}
	if r.externalOnly {
		return f, &obstacle{phase: v1alpha1.ServerError, reason: reasonExternalOnly, message: "the manager runs no databases in the cluster (--openvox-external-only)"}
	}
	verdict, err := r.admit(ctx, db)
	if err != nil {
		return f, err
	}
	if verdict.Denied() {
		return f, &obstacle{phase: v1alpha1.ServerError, reason: reasonNotAdmitted, message: verdict.Message(), wait: conflictRetry}
	}
	if err := r.certificate(ctx, &f); err != nil {
		return f, err
	}
	in := configfiles.DatabaseInput{Postgres: db.Spec.Postgres}
	if in.Username, in.Password, f.postgresCA, err = r.credentials(ctx, db); err != nil {
		return f, err
	}
	if f.configs, in.Allowed, err = r.clients(ctx, db); err != nil {
		return f, err
	}
	if f.files, f.secret, err = configfiles.RenderDatabase(in); err != nil {
		return f, &obstacle{phase: v1alpha1.ServerError, reason: reasonNotRendered, message: err.Error()}
	}
	return f, nil
}

// certificate returns the certificate of a Database, and the CA certificates that verify its
// clients.
func (r *DatabaseReconciler) certificate(ctx context.Context, f *databaseFacts) error {
	certificate, name := &v1alpha1.Certificate{}, f.db.Spec.CertificateRef
	if layout.IsOperators(name) {
		return isOperators(name)
	}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: f.db.Namespace, Name: name}, certificate)
	if apierrors.IsNotFound(err) {
		return waitsForCertificate("spec.certificateRef: there is no Certificate %q", name)
	}
	if err != nil {
		return fmt.Errorf("reading Certificate %s: %w", name, err)
	}
	f.ca = &v1alpha1.CertificateAuthority{}
	err = r.client.Get(ctx, client.ObjectKey{Namespace: f.db.Namespace, Name: certificate.Spec.AuthorityRef}, f.ca)
	if apierrors.IsNotFound(err) {
		return waitsForAuthority("there is no CertificateAuthority %q, which Certificate %s names", certificate.Spec.AuthorityRef, name)
	}
	if err != nil {
		return fmt.Errorf("reading CertificateAuthority %s: %w", certificate.Spec.AuthorityRef, err)
	}
	if rules.ServerCertificate(f.ca) == name {
		return &obstacle{phase: v1alpha1.ServerError, reason: reasonCertificateMismatch, message: fmt.Sprintf(
			"spec.certificateRef: Certificate %s is that of the server of CertificateAuthority %s, and administers it; name another", name, f.ca.Name)}
	}
	read := pairs{r.client, r.secrets, r.outdated}
	pair, bundle, leaf, err := read.of(ctx, certificate, f.ca)
	if err != nil {
		return err
	}
	if host := layout.DatabaseHost(f.db); leaf.VerifyHostname(host) != nil {
		return waitsForCertificate("Certificate %s is not for %s yet, by which servers know the Database; it is issued again", name, host)
	}
	if err := read.awaitIssuance(ctx, f.ca, certificate, leaf); err != nil {
		return err
	}
	crl, err := read.read(ctx, f.db.Namespace, layout.CRLSecret(f.ca.Name))
	if err != nil {
		return err
	}
	if len(crl[layout.CRLFile]) == 0 {
		return waitsForAuthority("the CRL of CertificateAuthority %s has not been read yet; clients are checked by it", f.ca.Name)
	}
	f.pair, f.bundle = pair, bundle
	return nil
}

func waitsForAuthority(message string, args ...any) error {
	return &obstacle{phase: v1alpha1.ServerPending, reason: reasonWaitingForAuthority, message: fmt.Sprintf(message, args...)}
}

// credentials returns the user and password for PostgreSQL, and the CA certificates that verify
// its server.
func (r *DatabaseReconciler) credentials(ctx context.Context, db *v1alpha1.Database) (username, password string, ca []byte, err error) {
	from, name := references{r.secrets, db.Namespace}, db.Spec.Postgres.CredentialsSecretRef
	const field = "spec.postgres.credentialsSecretRef"
	if username, err = from.credential(ctx, field, name, usernameKey); err == nil {
		password, err = from.credential(ctx, field, name, passwordKey)
	}
	if named := db.Spec.Postgres.CASecretRef; err == nil && named != nil {
		ca, err = from.authorities(ctx, "spec.postgres.caSecretRef", named.Name, named.Key)
	}
	if missing := (*unrendered)(nil); errors.As(err, &missing) {
		err = &obstacle{phase: v1alpha1.ServerPending, reason: reasonCredentialsNotFound, message: missing.message}
	}
	return username, password, ca, err
}

// clients returns the Configs that refer to a Database, and the certnames of their servers
// together with those in its allow list.
func (r *DatabaseReconciler) clients(ctx context.Context, db *v1alpha1.Database) (configs, certnames []string, err error) {
	all, err := layout.ConfigsIn(ctx, r.client, db.Namespace)
	if err != nil {
		return nil, nil, err
	}
	for i := range all {
		if all[i].Spec.DatabaseRef == db.Name {
			configs = append(configs, all[i].Name)
		}
	}
	slices.Sort(configs)
	var servers v1alpha1.ServerList
	if err := r.client.List(ctx, &servers, client.InNamespace(db.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("listing Servers: %w", err)
	}
	var certificates v1alpha1.CertificateList
	if err := r.client.List(ctx, &certificates, client.InNamespace(db.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("listing Certificates: %w", err)
	}
	certnames = slices.Clone(db.Spec.AllowedCertnames)
	for i := range servers.Items {
		spec := servers.Items[i].Spec
		if !slices.Contains(configs, spec.ConfigRef) {
			continue
		}
		for j := range certificates.Items {
			if c := &certificates.Items[j]; c.Name == spec.CertificateRef {
				certnames = append(certnames, c.Spec.Certname)
			}
		}
	}
	return configs, certnames, nil
}

// observe returns the state of the StatefulSet of a Database: nil if Lintel has not created one.
func (r *DatabaseReconciler) observe(ctx context.Context, db *v1alpha1.Database) (*rollout, error) {
	if r.externalOnly {
		return nil, nil
	}
	set := &appsv1.StatefulSet{}
	err := r.client.Get(ctx, client.ObjectKeyFromObject(db), set)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading StatefulSet %s: %w", db.Name, err)
	}
	if err != nil || !metav1.IsControlledBy(set, db) {
		return nil, nil
	}
	trouble, err := troubleAmong(ctx, r.client, db.Namespace, client.MatchingLabels{databaseLabel: db.Name})
	// Until all Pods have the new revision, the updated ones count as current, too.
	updated := set.Status.UpdatedReplicas
	if set.Status.CurrentRevision != set.Status.UpdateRevision {
		updated = min(updated, set.Status.Replicas-set.Status.CurrentReplicas)
	}
	return &rollout{
		of: "StatefulSet " + set.Name, pods: databaseLabel + "=" + set.Name, what: "databases",
		want: ptr.Deref(set.Spec.Replicas, 1), observed: set.Status.ObservedGeneration >= set.Generation,
		all: set.Status.Replicas, updated: updated, ready: set.Status.ReadyReplicas, trouble: trouble,
	}, err
}

// databaseStatus returns the new status of a Database.
func databaseStatus(db *v1alpha1.Database, seen *rollout, o *obstacle) *v1alpha1.DatabaseStatus {
	next := db.Status.DeepCopy()
	next.ObservedGeneration, next.URL, next.Ready, next.Desired = db.Generation, databaseURL(db), 0, ptr.Deref(db.Spec.Replicas, 1)
	if seen != nil {
		next.Ready, next.Desired = seen.ready, seen.want
	}
	var ready bool
	var reason, message string
	next.Phase, ready, reason, message = seen.progress()
	if o != nil {
		ready, reason = false, o.reason
		next.Phase, message = o.among(next.Phase, next.Ready, "databases")
	}
	object.Conditions{List: &next.Conditions, Generation: db.Generation}.Set(v1alpha1.ConditionReady, ready, reason, message)
	return next
}
