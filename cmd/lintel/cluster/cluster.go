// Package cluster reads a cluster as Lintel in it does. It writes nothing.
package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/controllers/policy"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/source"
)

// Options are the flags of commands that ask a cluster.
type Options struct {
	// SystemNamespace is the one that Lintel runs in.
	SystemNamespace string
	// QPS bounds the requests in a second: 0 is for what a person waits for.
	QPS float32

	kubeconfig string
	context    string
	timeout    time.Duration // of a request; none where it is 0
}

// Flags are the names of the flags.
func Flags() []string { return []string{"kubeconfig", "context", "system-namespace"} }

// AddFlags adds the flags.
func (o *Options) AddFlags(cmd *cobra.Command) {
	o.AddConnectionFlags(cmd)
	cmd.Flags().StringVar(&o.SystemNamespace, "system-namespace", "lintel-system", "`namespace` that Lintel runs in")
	usage.CompleteFlagBy(cmd, "system-namespace", func(typed string) []string { return o.CompleteNamespaces(typed) })
}

// AddConnectionFlags adds the flags that choose the cluster, for commands that do not read
// policies.
func (o *Options) AddConnectionFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "`path` of the kubeconfig; as kubectl finds it if empty")
	cmd.Flags().StringVar(&o.context, "context", "", "`name` of the kubeconfig's context; its current one if empty")
	usage.CompleteFlagBy(cmd, "context", func(typed string) []string { return o.CompleteContexts(typed) })
}

// rules say where the kubeconfig is.
func (o Options) rules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	return rules
}

func (o Options) loader() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(o.rules(), &clientcmd.ConfigOverrides{CurrentContext: o.context})
}

// Namespace is the namespace of the kubeconfig's context.
func (o Options) Namespace() (string, error) {
	namespace, _, err := o.loader().Namespace()
	if err != nil {
		return "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return namespace, nil
}

// Config is how the cluster is reached, as the user of the kubeconfig.
func (o Options) Config() (*rest.Config, error) {
	config, err := o.loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 50, 100 // a person waits
	if o.QPS > 0 {
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(o.QPS, max(1, int(o.QPS))) // of all clients
	}
	config.Timeout = o.timeout
	return config, nil
}

// Cluster is one that can be asked.
type Cluster struct {
	// Resources are those that it serves, in every version, the preferred one of each group
	// first.
	Resources []admission.ServedResource

	// Undiscovered are the groups whose kinds could not be read, with the reason.
	Undiscovered map[schema.GroupVersion]error

	reader          client.Reader
	lister          rest.Interface
	systemNamespace string
	short           map[string]string // names of resources, by their short names
	stored          map[schema.GroupResource]bool
}

// Connect reads which kinds the cluster serves.
func Connect(options Options) (*Cluster, error) {
	config, err := options.Config()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	reader, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("asking the cluster: %w", err)
	}
	asked, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("asking the cluster: %w", err)
	}
	resources, err := policy.ReadResources(asked)
	if err != nil {
		return nil, err
	}
	lister, err := newLister(config)
	if err != nil {
		return nil, fmt.Errorf("asking the cluster: %w", err)
	}
	c := &Cluster{Resources: resources, reader: reader, lister: lister, systemNamespace: options.SystemNamespace}
	return c, c.describe(asked)
}

// describe reads the short names by which kubectl knows resources, which resources are stored,
// and which groups cannot be read.
func (c *Cluster) describe(asked discovery.ServerResourcesInterface) error {
	c.short, c.stored = map[string]string{}, map[schema.GroupResource]bool{}
	_, lists, err := asked.ServerGroupsAndResources()
	undiscovered, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partial {
		return fmt.Errorf("asking the cluster for its kinds: %w", err)
	}
	c.Undiscovered = undiscovered
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			for _, name := range resource.ShortNames {
				c.short[name] = cmp.Or(c.short[name], resource.Name)
			}
			if slices.Contains(resource.Verbs, "list") && slices.Contains(resource.Verbs, "create") {
				c.stored[schema.GroupResource{Group: version.Group, Resource: resource.Name}] = true
			}
		}
	}
	return nil
}

// Stores reports whether objects of a resource can be created and listed.
func (c *Cluster) Stores(resource admission.ServedResource) bool {
	return c.stored[schema.GroupResource{Group: resource.Group, Resource: resource.Name}]
}

// Sources are the PolicySources, sorted by name.
func (c *Cluster) Sources(ctx context.Context) ([]v1alpha1.PolicySource, error) {
	var list v1alpha1.PolicySourceList
	if err := c.reader.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("reading the PolicySources: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.PolicySource) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// Exceptions lists the PolicyExceptions. A note explains why they, or one of them, cannot be read.
func (c *Cluster) Exceptions(ctx context.Context) (found []*exception.Exception, notes []string) {
	var list v1alpha1.PolicyExceptionList
	if err := c.reader.List(ctx, &list); err != nil {
		return nil, []string{fmt.Sprintf("PolicyExceptions are not considered: %v", err)}
	}
	for i := range list.Items {
		one, err := source.FromPolicyException(&list.Items[i])
		if err != nil {
			notes = append(notes, fmt.Sprintf("PolicyException %s has no effect: %v", list.Items[i].Name, err))
			continue
		}
		found = append(found, one)
	}
	return found, notes
}

// Sets compiles the live revisions; notes are about sources without one.
func (c *Cluster) Sets(ctx context.Context) (sets []*engine.PolicySet, notes []string, err error) {
	found, err := c.Sources(ctx)
	if err != nil {
		return nil, nil, err
	}
	for i := range found {
		object, files, err := c.live(ctx, &found[i])
		if apierrors.IsNotFound(err) {
			return nil, nil, fmt.Errorf("%w; if Lintel runs in another namespace, give it with --system-namespace", err)
		}
		if err != nil {
			return nil, nil, err
		}
		if object == nil {
			continue
		}
		if files == nil {
			notes = append(notes, fmt.Sprintf("nothing of PolicySource %s is live: see 'lintel policy status'", object.Name))
			continue
		}
		set, err := sources.CompileWithinLimits(source.FromPolicySource(object, files, object.Status.Revision))
		if err != nil {
			return nil, nil, fmt.Errorf("compiling PolicySource %s: %w", object.Name, err)
		}
		sets = append(sets, set)
	}
	return sets, notes, nil
}

// live reads the artifact of a source's live revision; the files are nil if no revision
// is live. Lintel removes artifacts when the revision changes and when the source is
// deleted, which can happen after object was read. Therefore, if the artifact is missing,
// live reads the source again. It returns the source as last read, nil if it was deleted,
// and reports a missing artifact only if its revision is still live.
func (c *Cluster) live(ctx context.Context, object *v1alpha1.PolicySource) (*v1alpha1.PolicySource, map[string]string, error) {
	for object.Status.Digest != "" {
		files, err := policy.LoadArtifact(ctx, c.reader, c.systemNamespace, object.Name, object.Status.Digest)
		if !apierrors.IsNotFound(err) {
			return object, files, err
		}
		var now v1alpha1.PolicySource
		failure := c.reader.Get(ctx, client.ObjectKeyFromObject(object), &now)
		switch {
		case apierrors.IsNotFound(failure) || failure == nil && now.DeletionTimestamp != nil:
			return nil, nil, nil
		case failure != nil:
			return nil, nil, fmt.Errorf("reading PolicySource %s: %w", object.Name, failure)
		case now.Status.Digest == object.Status.Digest:
			return nil, nil, err
		}
		object = &now
	}
	return object, nil, nil
}

// Required are the objects that sets require, with the fields that they read. A kind that
// cannot be read is left out, and noted.
func (c *Cluster) Required(ctx context.Context, sets []*engine.PolicySet) (*clusterdata.Objects, []string) {
	data, notes := clusterdata.Empty(), []string{}
	table := admission.NewResources(c.Resources)
	projection := clusterdata.Projection{}
	for _, set := range sets {
		projection = projection.Union(set.Projection())
	}
	byText := func(a, b admission.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) }
	for _, kind := range slices.SortedFunc(maps.Keys(projection), byText) {
		resource, served := table.ByKind(kind.Group, kind.Kind)
		if !served {
			continue
		}
		change := clusterdata.Change{Kind: kind, Fields: projection[kind], Objects: map[clusterdata.Key]*clusterdata.DecodedObject{}}
		err := c.Stream(ctx, resource, func() { clear(change.Objects) }, func(raw []byte) error {
			object, err := clusterdata.NewProjectedObject(raw, change.Fields)
			if err == nil {
				change.Objects[object.Key()] = object
			}
			return err
		})
		if err != nil {
			notes = append(notes, fmt.Sprintf("policies that require %s are not asked: %v", kind, err))
			continue
		}
		data = data.With(change)
	}
	return data, notes
}

func kindOf(resource admission.ServedResource) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: resource.Group, Version: resource.Version, Kind: resource.Kind}
}

// get is the JSON of an object.
func (c *Cluster) get(ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey) ([]byte, error) {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(kind)
	if err := c.reader.Get(ctx, key, found); err != nil {
		return nil, err
	}
	return found.MarshalJSON()
}

// Namespace is the Namespace object in JSON: nil where there is none.
func (c *Cluster) Namespace(ctx context.Context, name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	found, err := c.get(ctx, corev1.SchemeGroupVersion.WithKind("Namespace"), client.ObjectKey{Name: name})
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading namespace %s: %w", name, err)
	}
	return found, nil
}

// Object reads `pod/web` or `deployment.apps/web`.
func (c *Cluster) Object(ctx context.Context, reference, namespace string) (manifests.Object, error) {
	kind, name, ok := strings.Cut(reference, "/")
	if !ok || kind == "" || name == "" {
		return manifests.Object{}, fmt.Errorf("%q names no object: write kind/name, such as pod/web or deployment.apps/web", reference)
	}
	resource, err := c.resource(kind)
	if err != nil {
		return manifests.Object{}, err
	}
	key := client.ObjectKey{Name: name}
	if resource.Namespaced {
		key.Namespace = namespace
	}
	inVersion := func(version string) ([]byte, error) {
		resource.Version = version
		text, err := c.get(ctx, kindOf(resource), key)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", reference, err)
		}
		return text, nil
	}
	text, err := inVersion(resource.Version)
	if err != nil {
		return manifests.Object{}, err
	}
	read, err := manifests.Parse("the cluster", text)
	if err != nil {
		return manifests.Object{}, err
	}
	read[0].InVersion = inVersion
	return read[0], nil
}

// resource finds a resource by its name or kind, with or without its group.
func (c *Cluster) resource(word string) (admission.ServedResource, error) {
	name, group, hasGroup := strings.Cut(strings.ToLower(word), ".")
	name = cmp.Or(c.short[name], name)
	for _, resource := range c.Resources {
		if (resource.Name == name || strings.ToLower(resource.Kind) == name) && (!hasGroup || resource.Group == group) {
			return resource, nil
		}
	}
	suggestion := admission.NewResources(c.Resources).Suggest(group, name)
	return admission.ServedResource{}, fmt.Errorf("the cluster has no kind %q%s: write its kind or resource, and the group after a dot where two groups have it", word, suggestion)
}

// Definitions are those of the custom resources among the manifests. One that cannot be
// read is noted.
func (c *Cluster) Definitions(ctx context.Context, objects []manifests.Object) (found []*apiextensionsv1.CustomResourceDefinition, notes []string) {
	table := admission.NewResources(c.Resources)
	asked := map[string]bool{}
	for _, o := range objects {
		resource, known := table.ByKind(o.Kind.Group, o.Kind.Kind)
		name := resource.Name + "." + resource.Group
		if !known || o.InVersion != nil || asked[name] || !strings.Contains(resource.Group, ".") {
			continue
		}
		asked[name] = true
		definition := &apiextensionsv1.CustomResourceDefinition{}
		err := c.reader.Get(ctx, client.ObjectKey{Name: name}, definition)
		switch {
		case apierrors.IsNotFound(err): // of an API server's own
		case err != nil:
			notes = append(notes, fmt.Sprintf("%s is not checked by its schema: %v", o.Kind.Kind, err))
		default:
			found = append(found, definition)
		}
	}
	return found, notes
}
