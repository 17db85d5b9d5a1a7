package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/jsonpath"
)

// patience is how long tests wait for a condition.
const patience = 2 * time.Minute

// reader reads and watches the cluster's objects in this process. Starting kubectl for each
// poll takes longer than the changes that tests wait for. Tests whose subject is the output
// of kubectl run kubectl.
type reader struct {
	objects dynamic.Interface
	mapper  meta.ResettableRESTMapper
	// names knows short names, too.
	names meta.RESTMapper

	mu sync.Mutex
	// resources are those that were found by their names.
	resources map[string]schema.GroupVersionResource
}

var api *reader

func newReader(config *rest.Config) (*reader, error) {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(found)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	return &reader{
		objects: objects, mapper: mapper, names: restmapper.NewShortcutExpander(mapper, cached, nil), resources: map[string]schema.GroupVersionResource{},
	}, nil
}

// administrator is how the tests call the API server: as an administrator, without a limit
// of their own.
func administrator() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

// resource resolves a resource as kubectl does: oci, agents or agents.orloj.dev.
func (r *reader) resource(name string) (schema.GroupVersionResource, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found, ok := r.resources[name]; ok {
		return found, nil
	}
	found, err := r.discover(name)
	if meta.IsNoMatchError(err) {
		r.mapper.Reset() // the kind may have been installed since
		found, err = r.discover(name)
	}
	if err == nil {
		r.resources[name] = found
	}
	return found, err
}

func (r *reader) discover(name string) (schema.GroupVersionResource, error) {
	versioned, grouped := schema.ParseResourceArg(strings.ToLower(name))
	if versioned != nil {
		if found, err := r.names.ResourceFor(*versioned); err == nil {
			return found, nil
		}
	}
	return r.names.ResourceFor(grouped.WithVersion(""))
}

// of is the client of a resource in a namespace, or in all. As with kubectl's -n, the
// namespace is ignored for cluster-scoped resources.
func (r *reader) of(resource schema.GroupVersionResource, namespace string) (dynamic.ResourceInterface, error) {
	kind, err := r.mapper.KindFor(resource)
	if err != nil {
		return nil, err
	}
	mapping, err := r.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if namespace == "" || mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return r.objects.Resource(resource), nil
	}
	return r.objects.Resource(resource).Namespace(namespace), nil
}

// named is the client for an object that is written as resource/name.
func (r *reader) named(namespace, object string) (dynamic.ResourceInterface, string, error) {
	kind, name, found := strings.Cut(object, "/")
	if !found {
		return nil, "", fmt.Errorf("%q is not resource/name", object)
	}
	resource, err := r.resource(kind)
	if err != nil {
		return nil, "", err
	}
	client, err := r.of(resource, namespace)
	return client, name, err
}

// await watches an object, written as resource/name, until a condition holds. The condition
// gets nil for a missing object.
func (r *reader) await(ctx context.Context, namespace, object string, good func(*unstructured.Unstructured) bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, name, err := r.named(namespace, object)
	if err != nil {
		return err
	}
	for err = errUnseen; err != nil; {
		err = follow(ctx, client, name, good)
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
	return nil
}

// errUnseen is returned when the API server closes a watch before the condition holds.
var errUnseen = errors.New("the condition does not hold")

// follow is one watch of await.
func follow(ctx context.Context, client dynamic.ResourceInterface, name string, good func(*unstructured.Unstructured) bool) error {
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
	list, err := client.List(ctx, options)
	if err != nil {
		return pause(ctx, err)
	}
	var now *unstructured.Unstructured
	if len(list.Items) > 0 {
		now = &list.Items[0]
	}
	if good(now) {
		return nil
	}
	options.ResourceVersion = list.GetResourceVersion()
	events, err := client.Watch(ctx, options)
	if err != nil {
		return pause(ctx, err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		switch event.Type {
		case watch.Added, watch.Modified:
			now = event.Object.(*unstructured.Unstructured)
		case watch.Deleted:
			now = nil
		default:
			return pause(ctx, apierrors.FromObject(event.Object))
		}
		if good(now) {
			return nil
		}
	}
	return errUnseen
}

// pause waits a moment before the next attempt, and returns the error.
func pause(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
	case <-time.After(100 * time.Millisecond):
	}
	return err
}

// waitFor waits until an object, written as resource/name, exists and the condition holds.
func waitFor[T any](t *testing.T, namespace, object, what string, good func(*T) bool) *T {
	t.Helper()
	var last *T
	err := api.await(t.Context(), namespace, object, func(u *unstructured.Unstructured) bool {
		if last = nil; u == nil {
			return false
		}
		last = new(T)
		convert(t, u, last)
		return good(last)
	})
	require.NoError(t, err, "waiting for %s: %s is %s", what, object, asJSON(last))
	return last
}

// waitGone waits until an object, written as resource/name, is deleted.
func waitGone(t *testing.T, namespace, object string) {
	t.Helper()
	err := api.await(t.Context(), namespace, object, func(u *unstructured.Unstructured) bool { return u == nil })
	require.NoError(t, err, "waiting for %s to go", object)
}

// read is an object that is written as resource/name.
func read[T any](t *testing.T, namespace, object string) *T {
	t.Helper()
	client, name, err := api.named(namespace, object)
	require.NoError(t, err)
	u, err := client.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err, object)
	typed := new(T)
	convert(t, u, typed)
	return typed
}

func convert(t *testing.T, u *unstructured.Unstructured, typed any) {
	t.Helper()
	text, err := u.MarshalJSON()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, typed), "%s", text)
}

// get takes the arguments of kubectl get and returns the same output: JSON, the result of a
// JSONPath or, by default, names. It returns the error and false for a missing object.
func get(t *testing.T, words ...string) (output string, ok bool) {
	t.Helper()
	output, err := api.get(t.Context(), words)
	if err != nil {
		return err.Error(), false
	}
	return output, true
}

// mustGet is get for objects that exist.
func mustGet(t *testing.T, words ...string) string {
	t.Helper()
	output, ok := get(t, words...)
	require.True(t, ok, "get %s: %s", strings.Join(words, " "), output)
	return output
}

// query is the parsed arguments of get.
type query struct {
	resources, names  []string
	namespace, output string
	list              metav1.ListOptions
	ignoreNotFound    bool
}

func parse(words []string) (q query, err error) {
	q.namespace = "default"
	var objects []string
	for i := 0; i < len(words); i++ {
		word, value, inline := strings.Cut(words[i], "=")
		if !strings.HasPrefix(word, "-") {
			objects = append(objects, words[i])
			continue
		}
		if !inline && slices.Contains([]string{"-n", "-o", "-l"}, word) && i+1 < len(words) {
			i++
			value = words[i]
		}
		switch word {
		case "-n":
			q.namespace = value
		case "-A":
			q.namespace = ""
		case "-o":
			q.output = value
		case "-l":
			q.list.LabelSelector = value
		case "--field-selector":
			q.list.FieldSelector = value
		case "--ignore-not-found":
			q.ignoreNotFound = true
		default:
			return q, fmt.Errorf("%s is not known here: use kubectl", words[i])
		}
	}
	if len(objects) == 0 {
		return q, errors.New("no resource")
	}
	if !strings.Contains(objects[0], "/") {
		q.resources, q.names = strings.Split(objects[0], ","), objects[1:]
		return q, nil
	}
	for _, object := range objects {
		resource, name, _ := strings.Cut(object, "/")
		q.resources, q.names = append(q.resources, resource), append(q.names, name)
	}
	if len(objects) > 1 {
		return q, errors.New("one object at a time")
	}
	return q, nil
}

func (r *reader) get(ctx context.Context, words []string) (string, error) {
	q, err := parse(words)
	if err != nil {
		return "", err
	}
	var items []unstructured.Unstructured
	for _, name := range q.resources {
		resource, err := r.resource(name)
		if err != nil {
			return "", err
		}
		found, err := r.items(ctx, resource, q)
		if err != nil {
			return "", err
		}
		items = append(items, found...)
	}
	if len(q.names) == 1 {
		if len(items) == 0 {
			return "", nil
		}
		return q.print(items, items[0].Object)
	}
	list := []any{}
	for _, item := range items {
		list = append(list, item.Object)
	}
	return q.print(items, map[string]any{"apiVersion": "v1", "kind": "List", "items": list})
}

func (r *reader) items(ctx context.Context, resource schema.GroupVersionResource, q query) (items []unstructured.Unstructured, err error) {
	client, err := r.of(resource, q.namespace)
	if err != nil {
		return nil, err
	}
	if len(q.names) == 0 {
		list, err := client.List(ctx, q.list)
		if err != nil {
			return nil, err
		}
		return list.Items, nil
	}
	for _, name := range q.names {
		item, err := client.Get(ctx, name, metav1.GetOptions{})
		if q.ignoreNotFound && apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		items = append(items, *item)
	}
	return items, nil
}

func (q query) print(items []unstructured.Unstructured, whole map[string]any) (string, error) {
	var text bytes.Buffer
	template, isPath := strings.CutPrefix(q.output, "jsonpath=")
	switch {
	case isPath:
		return evaluate(whole, template)
	case q.output == "json":
		if err := json.NewEncoder(&text).Encode(whole); err != nil {
			return "", err
		}
	case q.output == "name" || q.output == "":
		for _, item := range items {
			kind := item.GroupVersionKind()
			fmt.Fprintf(&text, "%s/%s\n", strings.ToLower(strings.TrimSuffix(kind.Kind+"."+kind.Group, ".")), item.GetName())
		}
	default:
		return "", fmt.Errorf("-o %s is not known here: use kubectl", q.output)
	}
	return text.String(), nil
}

// evaluate returns the result of a JSONPath template for an object.
func evaluate(object map[string]any, template string) (string, error) {
	compiled := jsonpath.New("get").AllowMissingKeys(true)
	if err := compiled.Parse(template); err != nil {
		return "", err
	}
	var text bytes.Buffer
	err := compiled.Execute(&text, object)
	return text.String(), err
}

// isPermitted is kubectl auth can-i --as for a resource or resource/subresource.
func isPermitted(t *testing.T, account, namespace, verb, what string) bool {
	t.Helper()
	name, subresource, _ := strings.Cut(what, "/")
	resource, err := api.resource(name)
	require.NoError(t, err)
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: account, ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: verb, Group: resource.Group, Resource: resource.Resource, Subresource: subresource,
	}}}
	if parts := strings.Split(account, ":"); len(parts) == 4 {
		review.Spec.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + parts[2], "system:authenticated"}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(review)
	require.NoError(t, err)
	content["apiVersion"], content["kind"] = "authorization.k8s.io/v1", "SubjectAccessReview"
	answer, err := api.objects.Resource(authorizationv1.SchemeGroupVersion.WithResource("subjectaccessreviews")).
		Create(t.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	require.NoError(t, err)
	allowed, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
	require.NoError(t, err)
	return allowed
}
