package serving

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/configfiles"
	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

const (
	defaultAutoRenewalTTL = 90 * 24 * time.Hour
	// retryPending and conflictRetry are the delays before retrying when another owner holds an
	// object: for Configs and for workloads.
	retryPending  = 10 * time.Second
	conflictRetry = 30 * time.Second

	reasonRendered          = "ConfigMapsCreated"
	reasonAuthorityNotFound = "AuthorityNotFound"
	reasonReferenceNotFound = "ReferenceNotFound"
	reasonNotAdmitted       = "NotAdmitted"
	reasonCommandReplaced   = "AutosignCommandReplaced"
	reasonNotRendered       = "NotRendered"
	reasonNotOwned          = "NotOwned"
	reasonNotWritten        = "NotWritten"
	reasonExternalOnly      = "ExternalOnly"
)

// ConfigReconciler renders Configs into the files of their servers.
type ConfigReconciler struct {
	client  client.Client
	applier *object.Applier
	events  events.EventRecorder
	admit   builtin.Admitter

	classifiers classifiers
}

// verdict is the result of reconciling a Config.
type verdict struct {
	phase           v1alpha1.ConfigPhase
	reason, message string
	wait            time.Duration
}

// Error is the message.
func (v *verdict) Error() string { return v.message }

type configReport = object.Report[v1alpha1.ConfigStatus]

func (r *ConfigReconciler) reporter() object.Reporter[*v1alpha1.Config, v1alpha1.ConfigStatus] {
	return object.Reporter[*v1alpha1.Config, v1alpha1.ConfigStatus]{
		Client: r.client, Manager: configsManager, Action: "Render", Events: r.events,
		Status:     func(c *v1alpha1.Config) *v1alpha1.ConfigStatus { return &c.Status },
		Conditions: func(s *v1alpha1.ConfigStatus) []metav1.Condition { return s.Conditions },
		News: map[string]object.News{v1alpha1.ConditionConfigReady: object.Reasoned(func(reason string) bool {
			return !slices.Contains([]string{reasonRendered, reasonAuthorityNotFound, reasonReferenceNotFound, reasonClassifierNotRendered}, reason)
		})},
	}
}

// Reconcile renders one Config.
func (r *ConfigReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return r.reporter().Reconcile(ctx, request, &v1alpha1.Config{}, configPausing.Step(r.carryOut))
}

func (r *ConfigReconciler) carryOut(ctx context.Context, config *v1alpha1.Config) (configReport, error) {
	if !config.DeletionTimestamp.IsZero() {
		return configReport{}, nil
	}
	hash, err := r.render(ctx, config)
	v := &verdict{phase: v1alpha1.ConfigRunning, reason: reasonRendered, message: "the files are in ConfigMap " + configMapName(config.Name)}
	var foreign *object.Foreign
	switch {
	case err == nil || errors.As(err, &v):
		err = nil
	case errors.As(err, &foreign):
		v, err = &verdict{phase: v1alpha1.ConfigError, reason: reasonNotOwned, message: foreign.Error(), wait: retryPending}, nil
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err): // and it is tried again
		v = &verdict{phase: v1alpha1.ConfigError, reason: reasonNotWritten, message: err.Error()}
	default: // as is what passes, and says nothing of the Config
		return configReport{}, err
	}
	next := config.Status.DeepCopy()
	next.Phase, next.ObservedGeneration = v.phase, config.Generation
	if hash != "" {
		next.FilesHash = hash
	}
	object.Conditions{List: &next.Conditions, Generation: config.Generation}.Set(v1alpha1.ConditionConfigReady, v.phase == v1alpha1.ConfigRunning, v.reason, v.message)
	return configReport{Status: next, Again: v.wait}, err
}

// render writes the files of a Config, and returns their hash. If an input is missing, or an
// object may not be written, it returns a *verdict, and the existing files stay.
func (r *ConfigReconciler) render(ctx context.Context, config *v1alpha1.Config) (hash string, err error) {
	used, replaced, err := r.admitted(ctx, config)
	if err != nil {
		return "", err
	}
	in, err := r.gather(ctx, used)
	if err != nil {
		return "", err
	}
	classifier, classifierFile, err := r.classifierOf(ctx, config)
	if err != nil {
		return "", err
	}
	in.Classifier = classifier
	files, err := configfiles.Render(in)
	if err != nil {
		return "", &verdict{phase: v1alpha1.ConfigError, reason: reasonNotRendered, message: err.Error()}
	}
	hash = configfiles.Hash(files)
	if err := r.apply(ctx, config, files, classifierFile); err != nil || replaced == nil {
		return hash, err
	}
	return hash, replaced
}

// admitted is the Config to render. Of a Config that is denied only because of its
// autosignCommand, the rest is rendered: the command would stay in force in the Pods, and the
// SigningPolicies for which it is denied would not be. replaced is the denial then.
func (r *ConfigReconciler) admitted(ctx context.Context, config *v1alpha1.Config) (used *v1alpha1.Config, replaced *verdict, err error) {
	answer, err := r.admit(ctx, config)
	if err != nil || !answer.Denied() {
		return config, nil, err
	}
	denied := &verdict{phase: v1alpha1.ConfigError, reason: reasonNotAdmitted, message: answer.Message()}
	if config.Spec.Puppet.AutosignCommand == "" {
		return nil, nil, denied
	}
	used = config.DeepCopy()
	used.Spec.Puppet.AutosignCommand = ""
	again, err := r.admit(ctx, used)
	if err != nil {
		return nil, nil, err
	}
	if again.Denied() {
		return nil, nil, denied
	}
	denied.reason = reasonCommandReplaced
	denied.message += "; the program is not used, and SigningPolicies decide"
	return used, denied, nil
}

// apply writes the objects of a Config. The classifier's file is created before the file that
// refers to it, and deleted after it.
func (r *ConfigReconciler) apply(ctx context.Context, config *v1alpha1.Config, files map[string]string, classifier []byte) error {
	children, ours, name := []client.Object{configMap(config, files), serverAccount(config)}, object.ControlledBy(config), classifierSecret(config.Name)
	if classifier != nil {
		children = append([]client.Object{renderedSecret(config, name, endpoints.ClassifierKey, classifier)}, children...)
	}
	for _, child := range children {
		if _, err := r.applier.Apply(ctx, ours, child, nil); err != nil {
			return err
		}
	}
	if classifier != nil {
		return nil
	}
	return r.applier.Remove(ctx, ours, client.ObjectKey{Namespace: config.Namespace, Name: name}, &corev1.Secret{})
}

// gather collects the input of the files of a Config.
func (r *ConfigReconciler) gather(ctx context.Context, config *v1alpha1.Config) (configfiles.Input, error) {
	in := configfiles.Input{Config: config}
	spec := config.Spec
	if name := spec.DatabaseRef; name != "" {
		db := &v1alpha1.Database{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: name}, db)
		if apierrors.IsNotFound(err) {
			return in, &verdict{phase: v1alpha1.ConfigPending, reason: reasonReferenceNotFound, message: fmt.Sprintf("spec.databaseRef: there is no Database %q; nothing is rendered until it is there", name)}
		}
		if err != nil {
			return in, fmt.Errorf("reading Database %s: %w", name, err)
		}
		in.DatabaseURL = databaseURL(db)
	}
	processors, err := processorsOf(ctx, r.client, client.ObjectKeyFromObject(config))
	if err != nil {
		return in, err
	}
	in.SendsReports = len(processors) > 0
	if spec.AuthorityRef == "" {
		return in, nil
	}
	ca := &v1alpha1.CertificateAuthority{}
	err = r.client.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: spec.AuthorityRef}, ca)
	if apierrors.IsNotFound(err) {
		return in, &verdict{phase: v1alpha1.ConfigPending, reason: reasonAuthorityNotFound, message: fmt.Sprintf("spec.authorityRef: there is no CertificateAuthority %q; nothing is rendered until it is there", spec.AuthorityRef)}
	}
	if err != nil {
		return in, fmt.Errorf("reading CertificateAuthority %s: %w", spec.AuthorityRef, err)
	}
	in.Authority = ca
	if in.CATTL, err = seconds(ca.Spec.TTL, layout.DefaultCATTL); err != nil {
		return in, &verdict{phase: v1alpha1.ConfigError, reason: reasonNotRendered, message: "spec.ttl of the CertificateAuthority: " + err.Error()}
	}
	if in.RenewalTTL, err = seconds(ca.Spec.AutoRenewalCertTTL, defaultAutoRenewalTTL); err != nil {
		return in, &verdict{phase: v1alpha1.ConfigError, reason: reasonNotRendered, message: "spec.autoRenewalCertTTL of the CertificateAuthority: " + err.Error()}
	}
	return in, nil
}

func seconds(text v1alpha1.Duration, fallback time.Duration) (int64, error) {
	d, err := layout.Duration(text, fallback)
	return int64(d / time.Second), err
}

func configMapName(config string) string     { return config + "-config" }
func serverAccountName(config string) string { return config + "-server" }

// configMap has the files.
func configMap(config *v1alpha1.Config, files map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{TypeMeta: layout.KindOf(corev1.SchemeGroupVersion, "ConfigMap"), ObjectMeta: configMeta(config, configMapName(config.Name)), Data: files}
}

// serverAccount is of servers, which have no business with the API server.
func serverAccount(config *v1alpha1.Config) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta: layout.KindOf(corev1.SchemeGroupVersion, "ServiceAccount"), ObjectMeta: configMeta(config, serverAccountName(config.Name)),
		AutomountServiceAccountToken: new(false),
	}
}

func configMeta(config *v1alpha1.Config, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: config.Namespace, Name: name,
		Labels:          map[string]string{layout.NameLabel: "openvox", layout.ManagedByLabel: layout.ManagedBy, layout.ConfigLabel: config.Name},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(config, v1alpha1.SchemeGroupVersion.WithKind("Config"))},
	}
}
