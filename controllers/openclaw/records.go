package openclaw

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

const (
	// recordComponent is the component of a record.
	recordComponent = "record"

	subjectKindAnnotation      = v1.GroupName + "/kind"
	subjectNamespaceAnnotation = v1.GroupName + "/namespace"
	subjectNameAnnotation      = v1.GroupName + "/name"
	subjectUIDAnnotation       = v1.GroupName + "/uid"
	ownsAnnotation             = v1.GroupName + "/owns"
	selectorAnnotation         = v1.GroupName + "/instance-selector"

	bundleKind   = "PolicyBundle"
	instanceKind = "OpenClawInstance"
	// signedKind is the kind of a second record of an instance: its signed policies.
	signedKind = "SignedPolicies"

	// specKey is where the record of an instance has its spec.
	specKey = "spec.json"
)

// recordStore stores the last valid state of objects in ConfigMaps of the manager's own namespace,
// which tenants cannot write. They are deleted together with the object.
type recordStore struct {
	client client.Client
	// live reads past the cache of client.
	live      client.Reader
	namespace string
}

// record is the stored state of an object.
type record struct {
	// data contains the policies of a bundle by file, the spec of an instance, or facts about
	// its signed policies, whose bundle is binary.
	data   map[string]string
	binary map[string][]byte
	// selector is that of the bundle.
	selector *metav1.LabelSelector
	// owns means that existing objects with the names of the object's dependents belong to the
	// object: it has owned them before.
	owns bool
	// uid is that of the object.
	uid types.UID
}

// recordName returns the name of an object's record, which is valid for any object name.
func recordName(kind string, subject types.NamespacedName) string {
	sum := sha256.Sum256([]byte(subject.String()))
	return "openclaw-" + strings.ToLower(kind) + "-" + hex.EncodeToString(sum[:16])
}

func (r recordStore) key(kind string, subject types.NamespacedName) client.ObjectKey {
	return client.ObjectKey{Namespace: r.namespace, Name: recordName(kind, subject)}
}

// read is the record of an object: nil where there is none, or where it is of another
// object that had the name.
func (r recordStore) read(ctx context.Context, kind string, subject client.Object) (*record, error) {
	out, err := r.readName(ctx, r.client, kind, client.ObjectKeyFromObject(subject))
	if err != nil || out == nil || out.uid != subject.GetUID() {
		return nil, err
	}
	return out, nil
}

// readName is the record of the object that has a name, or had it last.
func (r recordStore) readName(ctx context.Context, from client.Reader, kind string, subject types.NamespacedName) (*record, error) {
	stored := &corev1.ConfigMap{}
	err := from.Get(ctx, r.key(kind, subject), stored)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the record of %s %s: %w", kind, subject, err)
	}
	out := &record{
		data: stored.Data, binary: stored.BinaryData,
		owns: stored.Annotations[ownsAnnotation] == "true", uid: types.UID(stored.Annotations[subjectUIDAnnotation]),
	}
	if text := stored.Annotations[selectorAnnotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &out.selector); err != nil {
			return nil, fmt.Errorf("reading the selector in ConfigMap %s: %w", client.ObjectKeyFromObject(stored), err)
		}
	}
	return out, nil
}

// keep writes the record of an object, if it differs.
func (r recordStore) keep(ctx context.Context, kind, manager string, subject client.Object, want record) error {
	key := r.key(kind, client.ObjectKeyFromObject(subject))
	annotations := map[string]string{
		subjectKindAnnotation:      kind,
		subjectNamespaceAnnotation: subject.GetNamespace(),
		subjectNameAnnotation:      subject.GetName(),
		subjectUIDAnnotation:       string(subject.GetUID()),
		ownsAnnotation:             fmt.Sprint(want.owns),
	}
	if want.selector != nil {
		text, err := json.Marshal(want.selector)
		if err != nil {
			return err
		}
		annotations[selectorAnnotation] = string(text)
	}
	stored := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, client.WithFieldOwner(r.client, manager), stored, func() error {
		stored.Labels = map[string]string{managedByLabel: managedBy, componentLabel: recordComponent}
		stored.Annotations, stored.Data, stored.BinaryData = annotations, want.data, want.binary
		return nil
	})
	if err != nil {
		return fmt.Errorf("recording %s %s as good, in ConfigMap %s: %w", kind, subject.GetName(), key, err)
	}
	return nil
}

// remove deletes the record of an object that is gone.
func (r recordStore) remove(ctx context.Context, kind string, subject types.NamespacedName) error {
	stored := &corev1.ConfigMap{}
	err := r.client.Get(ctx, r.key(kind, subject), stored)
	if err == nil {
		err = r.client.Delete(ctx, stored, client.Preconditions{UID: &stored.UID})
	}
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting the record of %s %s: %w", kind, subject, err)
	}
	return nil
}

// subjectOf returns the object of a record: false if it is not a record of the kind.
func (r recordStore) subjectOf(object client.Object, kind string) (types.NamespacedName, bool) {
	about := object.GetAnnotations()
	subject := types.NamespacedName{Namespace: about[subjectNamespaceAnnotation], Name: about[subjectNameAnnotation]}
	return subject, object.GetNamespace() == r.namespace &&
		object.GetLabels()[componentLabel] == recordComponent && about[subjectKindAnnotation] == kind
}
