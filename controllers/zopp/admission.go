package zopp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/zopp"
)

// admitter evaluates the zopp rules for the webhook and for the controllers.
type admitter struct {
	settings   settings
	rules      *engine.Snapshot
	mapping    rules.Mapping
	objects    client.Reader
	namespaces builtin.NamespaceGetter
}

// requested lists the annotations by which a Secret requests a sync. It excludes those that the
// controllers write.
var requested = []string{
	v1alpha1.SyncAnnotation, v1alpha1.WorkspaceAnnotation, v1alpha1.ProjectAnnotation, v1alpha1.EnvironmentAnnotation,
	v1alpha1.SourcesAnnotation, v1alpha1.KeysAnnotation, v1alpha1.CleanupAnnotation,
}

// writtenAnnotation marks a Secret that `zopp sync k8s` has written.
const writtenAnnotation = v1alpha1.GroupName + "/synced-by"

// secretConditions skip Secrets that request nothing, and updates that do not change the
// request. They match a Secret that names an environment without its sync annotation, so that
// the user gets a warning, unless the zopp command line wrote the Secret or the update ends its
// sync. Each field is guarded, because an error in a condition denies the request.
var secretConditions = []admissionregistrationv1.MatchCondition{
	{
		Name: "asks-for-a-sync",
		Expression: `object != null && has(object.metadata.annotations) && (
"` + v1alpha1.SyncAnnotation + `" in object.metadata.annotations ||
['` + strings.Join([]string{v1alpha1.WorkspaceAnnotation, v1alpha1.ProjectAnnotation, v1alpha1.EnvironmentAnnotation}, "', '") + `'].exists(a, a in object.metadata.annotations) &&
!("` + writtenAnnotation + `" in object.metadata.annotations) &&
!(oldObject != null && has(oldObject.metadata.annotations) && "` + v1alpha1.SyncAnnotation + `" in oldObject.metadata.annotations))`,
	},
	{
		Name: "asks-for-another",
		Expression: `request.operation != "UPDATE" || object == null || oldObject == null ||
!has(object.metadata.annotations) || !has(oldObject.metadata.annotations) ||
(has(object.immutable) && object.immutable) != (has(oldObject.immutable) && oldObject.immutable) ||
['` + strings.Join(requested, "', '") + `'].exists(a,
  (a in object.metadata.annotations) != (a in oldObject.metadata.annotations) ||
  (a in object.metadata.annotations && object.metadata.annotations[a] != oldObject.metadata.annotations[a]))`,
	},
}

// changedSpec skips updates of ZoppSecretSyncs that do not change the spec.
var changedSpec = admissionregistrationv1.MatchCondition{
	Name:       "changed",
	Expression: `request.operation != "UPDATE" || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec`,
}

// products returns the webhook entries for Secrets and ZoppSecretSyncs. They exist even where
// the system is off, so that entries are never added or removed at run time; they
// then match no resources. Where only ZoppSecretSyncs are off, a user who applies one gets a warning.
func (a *admitter) products(on bool) []builtin.Product {
	within := builtin.InNamespaces(a.settings.namespaces, builtin.OfTheirs)
	secrets := builtin.BuiltIn{
		Product:  builtin.Product{Name: "zopp-secret", Entry: "secrets.zopp.dev", MatchConditions: slices.Concat(within, secretConditions)},
		Snapshot: a.rules, Facts: a.reviewedSecret, Namespaces: a.namespaces,
	}
	syncs := builtin.BuiltIn{
		Product:  builtin.Product{Name: "zopp-secretsync", Entry: "zoppsecretsyncs.zopp.dev", MatchConditions: append(slices.Clip(within), changedSpec)},
		Snapshot: a.rules, Facts: a.reviewedSync, Namespaces: a.namespaces,
	}
	if on {
		secrets.Rules = builtin.CalledForObjects("", "v1", "secrets")
		syncs.Rules = builtin.CalledForObjects(v1alpha1.GroupName, v1alpha1.SchemeGroupVersion.Version, "zoppsecretsyncs")
	}
	return []builtin.Product{secrets.Validating(), syncs.Validating()}
}

// reviewedSecret collects the rules' input for a Secret under review. A sync that already fills
// the Secret keeps it.
func (a *admitter) reviewedSecret(ctx context.Context, review *admission.Review) (any, error) {
	secret, err := system.Read[metav1.PartialObjectMetadata](review, review.Object)
	if err != nil {
		return nil, err
	}
	facts := rules.SecretFacts(secret.Annotations, a.mapping)
	if review.Operation == "UPDATE" {
		old, err := system.Read[metav1.PartialObjectMetadata](review, review.OldObject)
		if err != nil || rules.Read(old.Annotations).Sync {
			return facts, err
		}
	}
	if rules.Read(secret.Annotations).Sync && secret.Name != "" {
		facts.Claims, err = a.claimsOfSyncs(ctx, client.ObjectKey{Namespace: review.Namespace, Name: secret.Name}, isAnother(nil))
	}
	return facts, err
}

// reviewedSync collects the rules' input for a ZoppSecretSync under review.
func (a *admitter) reviewedSync(ctx context.Context, review *admission.Review) (any, error) {
	sync, err := system.Read[v1alpha1.ZoppSecretSync](review, review.Object)
	if err != nil {
		return nil, err
	}
	sync.Namespace = review.Namespace
	facts, err := a.syncFacts(ctx, sync)
	if err != nil {
		return nil, err
	}
	facts.Off = !a.settings.secretSyncs
	if review.Operation == "UPDATE" {
		old, err := system.Read[v1alpha1.ZoppSecretSync](review, review.OldObject)
		if err != nil {
			return nil, err
		}
		old.Namespace = review.Namespace
		if targetOf(old) == targetOf(sync) {
			return facts, nil
		}
	}
	facts.Claims, err = a.claims(ctx, sync, isAnother(sync), anySecret)
	return facts, err
}

// admit evaluates the rules for a stored object: a Secret or a ZoppSecretSync. If two objects
// fill one Secret, the one that was created later is denied.
func (a *admitter) admit(ctx context.Context, stored builtin.Object) (builtin.Verdict, error) {
	namespace, err := a.namespaces.Namespace(ctx, stored.GetNamespace())
	if err != nil {
		return builtin.Verdict{}, err
	}
	switch o := stored.(type) {
	case *corev1.Secret:
		facts := rules.SecretFacts(o.Annotations, a.mapping)
		if facts.Claims, err = a.claimsOfSyncs(ctx, client.ObjectKeyFromObject(o), isOlderThanSecret(o)); err != nil {
			return builtin.Verdict{}, err
		}
		return builtin.Ask(ctx, a.rules, rules.SecretQuestion(o, facts, namespace))
	case *v1alpha1.ZoppSecretSync:
		facts, err := a.storedSync(ctx, o)
		if err != nil {
			return builtin.Verdict{}, err
		}
		return builtin.Ask(ctx, a.rules, rules.SyncQuestion(o, facts, namespace))
	}
	return builtin.Verdict{}, fmt.Errorf("there are no rules of zopp for %T", stored)
}

func (a *admitter) storedSync(ctx context.Context, sync *v1alpha1.ZoppSecretSync) (rules.Facts, error) {
	facts, err := a.syncFacts(ctx, sync)
	if err != nil {
		return facts, err
	}
	facts.Claims, err = a.claims(ctx, sync, isOlderThanSync(sync), func(secret *metav1.PartialObjectMetadata) bool {
		return !isOlderThanSecret(secret)(sync)
	})
	return facts, err
}

// syncFacts are those of a ZoppSecretSync and of the namespace of its Secret.
func (a *admitter) syncFacts(ctx context.Context, sync *v1alpha1.ZoppSecretSync) (rules.Facts, error) {
	facts := rules.SyncFacts(sync, a.mapping)
	name := sync.SecretNamespace()
	if name == sync.Namespace {
		return facts, nil
	}
	text, err := a.namespaces.Namespace(ctx, name)
	if client.IgnoreNotFound(err) != nil {
		return facts, err
	}
	facts.Target = &rules.Target{Namespace: name, Served: a.serves(name), Exists: err == nil}
	if err == nil {
		facts.Target.Annotations, err = said(text)
	}
	return facts, client.IgnoreNotFound(err)
}

// said are the annotations of a Namespace in JSON.
func said(text []byte) (map[string]string, error) {
	var namespace metav1.PartialObjectMetadata
	if err := json.Unmarshal(text, &namespace); err != nil {
		return nil, fmt.Errorf("reading a Namespace: %w", err)
	}
	return namespace.Annotations, nil
}

// serves reports whether the cache covers a namespace.
func (a *admitter) serves(namespace string) bool {
	return len(a.settings.namespaces) == 0 || slices.Contains(a.settings.namespaces, namespace)
}

// claims are the others that fill the Secret of a ZoppSecretSync, and count.
func (a *admitter) claims(ctx context.Context, sync *v1alpha1.ZoppSecretSync, counts func(*v1alpha1.ZoppSecretSync) bool, secretCounts func(*metav1.PartialObjectMetadata) bool) ([]rules.Reference, error) {
	claims, err := a.claimsOfSyncs(ctx, targetOf(sync), counts)
	if err != nil {
		return nil, err
	}
	annotated, err := a.claimOfAnnotation(ctx, targetOf(sync), secretCounts)
	return append(claims, annotated...), err
}

// claimsOfSyncs returns the effective claims of ZoppSecretSyncs on a Secret: the first one of
// each namespace, since the rules only need the namespaces.
func (a *admitter) claimsOfSyncs(ctx context.Context, secret client.ObjectKey, counts func(*v1alpha1.ZoppSecretSync) bool) ([]rules.Reference, error) {
	claims := []rules.Reference{}
	if !a.settings.secretSyncs {
		return claims, nil
	}
	var list v1alpha1.ZoppSecretSyncList
	if err := a.objects.List(ctx, &list, client.MatchingFields{targetIndex: secret.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("looking for what fills Secret %s: %w", secret, err)
	}
	for i := range list.Items {
		sync := &list.Items[i]
		known := slices.ContainsFunc(claims, func(c rules.Reference) bool { return c.Namespace == sync.Namespace })
		if !known && sync.DeletionTimestamp.IsZero() && counts(sync) {
			claims = append(claims, rules.Reference{Kind: "ZoppSecretSync", Namespace: sync.Namespace, Name: sync.Name})
		}
	}
	return claims, nil
}

// claimOfAnnotation returns the claim of the Secret itself, if its annotations request a sync
// and the claim is effective.
func (a *admitter) claimOfAnnotation(ctx context.Context, name client.ObjectKey, counts func(*metav1.PartialObjectMetadata) bool) ([]rules.Reference, error) {
	if !a.serves(name.Namespace) {
		return nil, nil // the rules refuse that by itself
	}
	secret := object.MetadataOf(object.SecretKind)
	err := a.objects.Get(ctx, name, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s: %w", name, err)
	case !rules.Read(secret.Annotations).Sync || !counts(secret):
		return nil, nil
	}
	return []rules.Reference{{Kind: "Secret", Namespace: name.Namespace, Name: name.Name}}, nil
}

func anySecret(*metav1.PartialObjectMetadata) bool { return true }

// isAnother counts all but a ZoppSecretSync itself.
func isAnother(sync *v1alpha1.ZoppSecretSync) func(*v1alpha1.ZoppSecretSync) bool {
	return func(other *v1alpha1.ZoppSecretSync) bool {
		return sync == nil || other.Namespace != sync.Namespace || other.Name != sync.Name
	}
}

// isOlderThanSync matches ZoppSecretSyncs that were created before the given one. Names break
// ties within one second.
func isOlderThanSync(sync *v1alpha1.ZoppSecretSync) func(*v1alpha1.ZoppSecretSync) bool {
	return func(other *v1alpha1.ZoppSecretSync) bool {
		at, its := other.CreationTimestamp, sync.CreationTimestamp
		if !at.Equal(&its) {
			return at.Before(&its)
		}
		return client.ObjectKeyFromObject(other).String() < client.ObjectKeyFromObject(sync).String()
	}
}

// isOlderThanSecret matches ZoppSecretSyncs that were created before a Secret, and the one that
// owns it. Within one second, the Secret's annotations take precedence.
func isOlderThanSecret(secret client.Object) func(*v1alpha1.ZoppSecretSync) bool {
	return func(sync *v1alpha1.ZoppSecretSync) bool {
		at, its := sync.CreationTimestamp, secret.GetCreationTimestamp()
		return isMadeFor(sync)(secret) || at.Before(&its)
	}
}
