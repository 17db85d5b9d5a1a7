package openvox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/configfiles"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

const (
	defaultAutoRenewalTTL = 90 * 24 * time.Hour

	reasonRendered          = "ConfigMapsCreated"
	reasonAuthorityNotFound = "AuthorityNotFound"
	reasonReferenceNotFound = "ReferenceNotFound"
	reasonNotAdmitted       = "NotAdmitted"
	reasonNotRendered       = "NotRendered"
	reasonNotWritten        = "NotWritten"
)

// ConfigReconciler renders Configs into the files of their servers.
type ConfigReconciler struct {
	client client.Client
	apply  applier
	events events.EventRecorder
	admit  builtin.Admitter
}

// verdict is what has become of a Config.
type verdict struct {
	phase           v1alpha1.ConfigPhase
	reason, message string
	wait            time.Duration
}

// Error is the message.
func (v *verdict) Error() string { return v.message }

// Reconcile renders one Config.
func (r *ConfigReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	config := &v1alpha1.Config{}
	if err := r.client.Get(ctx, request.NamespacedName, config); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !config.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	err := r.render(ctx, config)
	v := &verdict{phase: v1alpha1.ConfigRunning, reason: reasonRendered, message: "the files are in ConfigMap " + configMapName(config.Name) + notCarriedOut(config)}
	var other *conflict
	switch {
	case err == nil || errors.As(err, &v):
		err = nil
	case errors.As(err, &other):
		v, err = &verdict{phase: v1alpha1.ConfigError, reason: reasonNotOwned, message: other.Error(), wait: retryPending}, nil
	default: // and it is tried again
		v = &verdict{phase: v1alpha1.ConfigError, reason: reasonNotWritten, message: err.Error()}
	}
	if statusErr := r.tell(ctx, config, v); err == nil {
		err = statusErr
	}
	return reconcile.Result{RequeueAfter: v.wait}, err
}

// notCarriedOut says what of a Config has no effect: "" where all has.
func notCarriedOut(config *v1alpha1.Config) string {
	var names []string
	if config.Spec.Code != nil {
		names = append(names, "spec.code")
	}
	if config.Spec.ReadOnlyRootFilesystem {
		names = append(names, "spec.readOnlyRootFilesystem")
	}
	if len(names) == 0 {
		return ""
	}
	return "; not carried out: " + strings.Join(names, ", ") + ", for this version makes no Servers"
}

// render writes the objects of a Config. What it cannot know or may not write is a
// *verdict, and what was written before stays.
func (r *ConfigReconciler) render(ctx context.Context, config *v1alpha1.Config) error {
	said, err := r.admit(ctx, config)
	if err != nil {
		return err
	}
	if said.Denied() {
		return &verdict{phase: v1alpha1.ConfigError, reason: reasonNotAdmitted, message: said.Message()}
	}
	in, err := r.input(ctx, config)
	if err != nil {
		return err
	}
	files, err := configfiles.Render(in)
	if err != nil {
		return &verdict{phase: v1alpha1.ConfigError, reason: reasonNotRendered, message: err.Error()}
	}
	if err := r.apply.keep(ctx, config, configMap(config, files), &corev1.ConfigMap{}); err != nil {
		return err
	}
	return r.apply.keep(ctx, config, serverAccount(config), &corev1.ServiceAccount{})
}

// input gathers what the files are made of.
func (r *ConfigReconciler) input(ctx context.Context, config *v1alpha1.Config) (configfiles.Input, error) {
	in := configfiles.Input{Config: config}
	spec := config.Spec
	for _, reference := range [][2]string{{"databaseRef", spec.DatabaseRef}, {"nodeClassifierRef", spec.NodeClassifierRef}} {
		if reference[1] != "" {
			return in, &verdict{phase: v1alpha1.ConfigPending, reason: reasonReferenceNotFound, message: fmt.Sprintf(
				"spec.%s: there is no %q, for this version does not have the kind; leave the field out", reference[0], reference[1])}
		}
	}
	if spec.AuthorityRef == "" {
		return in, nil
	}
	ca := &v1alpha1.CertificateAuthority{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: spec.AuthorityRef}, ca)
	if apierrors.IsNotFound(err) {
		return in, &verdict{phase: v1alpha1.ConfigPending, reason: reasonAuthorityNotFound, message: fmt.Sprintf("spec.authorityRef: there is no CertificateAuthority %q; nothing is rendered until it is there", spec.AuthorityRef)}
	}
	if err != nil {
		return in, fmt.Errorf("reading CertificateAuthority %s: %w", spec.AuthorityRef, err)
	}
	in.Authority = ca
	if in.CATTL, err = seconds(ca.Spec.TTL, defaultCATTL); err != nil {
		return in, &verdict{phase: v1alpha1.ConfigError, reason: reasonNotRendered, message: "spec.ttl of the CertificateAuthority: " + err.Error()}
	}
	if in.RenewalTTL, err = seconds(ca.Spec.AutoRenewalCertTTL, defaultAutoRenewalTTL); err != nil {
		return in, &verdict{phase: v1alpha1.ConfigError, reason: reasonNotRendered, message: "spec.autoRenewalCertTTL of the CertificateAuthority: " + err.Error()}
	}
	return in, nil
}

func seconds(text v1alpha1.Duration, fallback time.Duration) (int64, error) {
	d, err := duration(text, fallback)
	return int64(d / time.Second), err
}

func configMapName(config string) string { return config + "-config" }

// configMap has the files.
func configMap(config *v1alpha1.Config, files map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{TypeMeta: kindOf(corev1.SchemeGroupVersion, "ConfigMap"), ObjectMeta: configMeta(config, configMapName(config.Name)), Data: files}
}

// serverAccount is of servers, which have no business with the API server.
func serverAccount(config *v1alpha1.Config) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta: kindOf(corev1.SchemeGroupVersion, "ServiceAccount"), ObjectMeta: configMeta(config, config.Name+"-server"),
		AutomountServiceAccountToken: new(false),
	}
}

func configMeta(config *v1alpha1.Config, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: config.Namespace, Name: name,
		Labels:          map[string]string{nameLabel: "openvox", managedByLabel: managedBy, configLabel: config.Name},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(config, v1alpha1.SchemeGroupVersion.WithKind("Config"))},
	}
}

// tell writes the status where it changes, and sends an Event where a reason begins.
func (r *ConfigReconciler) tell(ctx context.Context, config *v1alpha1.Config, v *verdict) error {
	before := config.DeepCopy()
	config.Status.Phase, config.Status.ObservedGeneration = v.phase, config.Generation
	setCondition(&config.Status.Conditions, v1alpha1.ConditionConfigReady, v.phase == v1alpha1.ConfigRunning, v.reason, v.message, config.Generation)
	if equality.Semantic.DeepEqual(before.Status, config.Status) {
		return nil
	}
	if err := r.client.Status().Patch(ctx, config, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("writing the status of Config %s: %w", config.Name, err))
	}
	if was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionConfigReady); was == nil || was.Reason != v.reason {
		kind := corev1.EventTypeNormal
		if v.phase == v1alpha1.ConfigError {
			kind = corev1.EventTypeWarning
		}
		r.events.Eventf(config, nil, kind, v.reason, "Render", "%s", v.message)
	}
	return nil
}
