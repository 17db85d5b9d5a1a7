package kinds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
)

// Refusal is why the API server refuses an object, in its words.
type Refusal struct{ message string }

// Error is the message.
func (r *Refusal) Error() string { return r.message }

// Arrive is what the API server makes of an object in JSON that is created, or updated,
// before it calls webhooks: custom resources are pruned and defaulted by their schemas, and objects
// of Kubernetes' kinds by their types. The error is a *Refusal where a field is not known or of the
// wrong type, as with the strict field validation that kubectl asks for, and wraps ErrNotKnown where
// the kind's version is not served. Kinds that are not known stay as they are.
func (k *Kinds) Arrive(object []byte, kind schema.GroupVersionKind, create bool) ([]byte, error) {
	version, err := k.version(kind)
	switch {
	case err != nil:
		return nil, err
	case version == nil && k.embedded == nil:
		return arriveInCluster(object, kind, create)
	case version == nil:
		return arriveBuiltin(object, kind, create)
	}
	read, err := readUnstructured(object)
	if err != nil {
		return nil, err
	}
	unknown, err := version.decode(read)
	if err != nil {
		return nil, cannotBeHandled(kind, err.Error())
	}
	if len(unknown) > 0 {
		for i, path := range unknown {
			unknown[i] = fmt.Sprintf("unknown field %q", path)
		}
		return nil, cannotBeHandled(kind, "strict decoding error: "+strings.Join(unknown, ", "))
	}
	if create {
		wipe(read)
	}
	if create && version.hasStatus {
		delete(read.Object, "status")
	}
	// A policy cannot correct a type, and must not be evaluated for input that it was not written
	// for.
	if wrong := wrongTypes(version.validate(context.Background(), read)); len(wrong) > 0 {
		return nil, invalid(kind, read, wrong)
	}
	return json.Marshal(read.Object)
}

// DecodePatched is what the API server does with an object after the patches of a webhook: it decodes
// the object, and a wrong type is an internal error for any failure policy. The error is a
// *Refusal. Custom resources may have any fields here.
func (k *Kinds) DecodePatched(object []byte, kind schema.GroupVersionKind) error {
	if version, err := k.version(kind); version != nil || err != nil || !builtinScheme.Recognizes(kind) {
		return err
	}
	if _, _, err := lenient.Decode(object, nil, nil); err != nil {
		return &Refusal{apierrors.NewInternalError(err).Error()}
	}
	return nil
}

// Validate is what the API server checks of a custom resource that is created, after the
// mutating webhooks and before the validating ones: a *Refusal, or nil. Other kinds are
// not checked.
func (k *Kinds) Validate(ctx context.Context, object []byte, kind schema.GroupVersionKind) error {
	version, err := k.version(kind)
	if version == nil || err != nil {
		return err
	}
	read, err := readUnstructured(object)
	if err != nil {
		return err
	}
	name := read.GetName()
	if name == "" && read.GetGenerateName() != "" {
		read.SetName(read.GetGenerateName() + "00000") // as long as what the API server makes
	}
	problems := version.validate(ctx, read)
	read.SetName(name)
	if len(problems) == 0 {
		return nil
	}
	return invalid(kind, read, problems)
}

func invalid(kind schema.GroupVersionKind, object *unstructured.Unstructured, problems field.ErrorList) error {
	return &Refusal{apierrors.NewInvalid(kind.GroupKind(), object.GetName(), problems).Error()}
}

func wrongTypes(problems field.ErrorList) field.ErrorList {
	return problems.Filter(func(err error) bool {
		problem, ok := errors.AsType[*field.Error](err)
		return !ok || problem.Type != field.ErrorTypeTypeInvalid
	})
}

func cannotBeHandled(kind schema.GroupVersionKind, why string) error {
	return &Refusal{fmt.Sprintf("%s in version %q cannot be handled as a %s: %s", kind.Kind, kind.Version, kind.Kind, why)}
}

// readUnstructured reads numbers as the API server does.
func readUnstructured(object []byte) (*unstructured.Unstructured, error) {
	read := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(object, &read.Object); err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	return read, nil
}

// builtinScheme has the Go types of Kubernetes' own kinds.
var builtinScheme = func() *runtime.Scheme {
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(types); err != nil {
			panic("the types of Kubernetes have no two of one kind: " + err.Error())
		}
	}
	return types
}()

var strict = serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, builtinScheme, builtinScheme, serializer.SerializerOptions{Strict: true})

var lenient = serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, builtinScheme, builtinScheme, serializer.SerializerOptions{})

// arriveBuiltin reads an object into the type of its kind, where there is one, and sets its defaults.
// Fields get the form that the type gives them: quantities are shortened, and fields that are null
// or empty are absent unless the type always has them.
func arriveBuiltin(object []byte, kind schema.GroupVersionKind, create bool) ([]byte, error) {
	if !builtinScheme.Recognizes(kind) {
		return object, nil
	}
	read, _, err := strict.Decode(object, nil, nil)
	if err != nil {
		return object, cannotBeHandled(kind, err.Error())
	}
	return complete(read, create)
}

// complete is an object of a kind of Kubernetes in JSON, with its defaults.
func complete(read runtime.Object, create bool) ([]byte, error) {
	setDefaults(read)
	if create {
		if pod, isPod := read.(*corev1.Pod); isPod {
			defaultAccount(pod)
		}
		if metadata, err := meta.Accessor(read); err == nil { // kinds such as PodExecOptions have none
			wipe(metadata)
		}
	}
	text, err := json.Marshal(read)
	if err != nil {
		return nil, fmt.Errorf("writing the object: %w", err)
	}
	return text, nil
}

// Stored is an object in JSON as the API server reads it from its store: with its defaults, and
// without fields that its kind does not have. The error is a *Refusal if the object cannot be
// stored. Kinds that are not known stay as they are.
func (k *Kinds) Stored(object []byte, kind schema.GroupVersionKind) ([]byte, error) {
	version, err := k.version(kind)
	if err != nil {
		return nil, err
	}
	if version == nil {
		return k.storedBuiltin(object, kind)
	}
	read, err := readUnstructured(object)
	if err != nil {
		return nil, err
	}
	if _, err := version.decode(read); err != nil {
		return nil, cannotBeHandled(kind, err.Error())
	}
	return json.Marshal(read.Object)
}

func (k *Kinds) storedBuiltin(object []byte, kind schema.GroupVersionKind) ([]byte, error) {
	switch {
	case !builtinScheme.Recognizes(kind):
		return object, nil
	case k.embedded == nil:
		return arriveInCluster(object, kind, false)
	}
	read, _, err := lenient.Decode(object, nil, nil)
	if err != nil {
		return nil, cannotBeHandled(kind, err.Error())
	}
	return complete(read, false)
}

// arriveInCluster sets defaults of objects all of whose fields are known. The cluster may have
// another version than the kinds in this program: any other object stays as it is.
func arriveInCluster(object []byte, kind schema.GroupVersionKind, create bool) ([]byte, error) {
	completed, err := arriveBuiltin(object, kind, create)
	if _, isRefusal := errors.AsType[*Refusal](err); isRefusal {
		return object, nil
	}
	return completed, err
}
