package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/policy"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source"
)

// clusterOptions are the flags of commands that ask a cluster.
type clusterOptions struct {
	kubeconfig      string
	context         string
	systemNamespace string
}

func (o *clusterOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "`path` of the kubeconfig; as kubectl finds it if empty")
	flags.StringVar(&o.context, "context", "", "`name` of the kubeconfig's context; its current one if empty")
	flags.StringVar(&o.systemNamespace, "system-namespace", "lintel-system", "`namespace` that Lintel runs in")
}

func (o clusterOptions) connect() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 50, 100 // a person waits
	return config, nil
}

// liveCluster reads a cluster as Lintel sees it.
type liveCluster struct {
	options   clusterOptions
	reader    client.Reader
	dynamic   dynamic.Interface
	resources []admission.Resource
	short     map[string]string // names of resources, by what they are called in short
}

func connectCluster(options clusterOptions) (*liveCluster, error) {
	config, err := options.connect()
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
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("asking the cluster: %w", err)
	}
	resources, err := policy.ReadResources(asked)
	if err != nil {
		return nil, err
	}
	return &liveCluster{options, reader, objects, resources, shortNames(asked)}, nil
}

// sources are the PolicySources, sorted by name.
func (c *liveCluster) sources(ctx context.Context) ([]v1alpha1.PolicySource, error) {
	var list v1alpha1.PolicySourceList
	if err := c.reader.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("reading the PolicySources: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.PolicySource) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// sets compiles what is live; notes are about sources of which nothing is.
func (c *liveCluster) sets(ctx context.Context) (sets []*engine.PolicySet, notes []string, err error) {
	sources, err := c.sources(ctx)
	if err != nil {
		return nil, nil, err
	}
	for i := range sources {
		object := &sources[i]
		if object.Status.Digest == "" {
			notes = append(notes, fmt.Sprintf("nothing of PolicySource %s is live: see 'lintel policy status'", object.Name))
			continue
		}
		files, err := policy.LoadArtifact(ctx, c.reader, c.options.systemNamespace, object.Name, object.Status.Digest)
		if apierrors.IsNotFound(err) {
			return nil, nil, fmt.Errorf("%w; if Lintel runs in another namespace, give it with --system-namespace", err)
		}
		if err != nil {
			return nil, nil, err
		}
		set, err := compileWithinLimits(source.FromPolicySource(object, files, object.Status.Revision))
		if err != nil {
			return nil, nil, fmt.Errorf("compiling PolicySource %s: %w", object.Name, err)
		}
		sets = append(sets, set)
	}
	return sets, notes, nil
}

// required are the objects that sets require. A kind that cannot be read is left out,
// and noted.
func (c *liveCluster) required(ctx context.Context, sets []*engine.PolicySet) (*clusterdata.Objects, []string) {
	data, notes := clusterdata.Empty(), []string{}
	table := admission.NewResources(c.resources)
	for _, set := range sets {
		for _, kind := range set.Requires() {
			resource, served := table.ByKind(kind.Group, kind.Kind)
			if data.Has(kind) || !served {
				continue
			}
			objects, err := c.list(ctx, resource)
			if err != nil {
				notes = append(notes, fmt.Sprintf("policies that require %s are not asked: %v", kind, err))
				continue
			}
			data = data.With(clusterdata.Change{Kind: kind, Objects: objects})
		}
	}
	return data, notes
}

func (c *liveCluster) list(ctx context.Context, resource admission.Resource) (map[clusterdata.Key]*clusterdata.Object, error) {
	objects := map[clusterdata.Key]*clusterdata.Object{}
	next := metav1.ListOptions{Limit: 500}
	for {
		page, err := c.of(resource).List(ctx, next)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			raw, err := json.Marshal(item.Object)
			if err != nil {
				return nil, err
			}
			object, err := clusterdata.NewObject(raw)
			if err != nil {
				return nil, err
			}
			objects[object.Key()] = object
		}
		if next.Continue = page.GetContinue(); next.Continue == "" {
			return objects, nil
		}
	}
}

func (c *liveCluster) of(resource admission.Resource) dynamic.NamespaceableResourceInterface {
	return c.dynamic.Resource(schema.GroupVersionResource{Group: resource.Group, Version: resource.Version, Resource: resource.Name})
}

// namespace is the Namespace object: nil where there is none.
func (c *liveCluster) namespace(ctx context.Context, name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	found, err := c.dynamic.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading namespace %s: %w", name, err)
	}
	return found.MarshalJSON()
}

// object reads `pod/web` or `deployment.apps/web`.
func (c *liveCluster) object(ctx context.Context, reference, namespace string) (object, error) {
	kind, name, ok := strings.Cut(reference, "/")
	if !ok || kind == "" || name == "" {
		return object{}, fmt.Errorf("%q names no object: write kind/name, such as pod/web or deployment.apps/web", reference)
	}
	resource, err := c.resource(kind)
	if err != nil {
		return object{}, err
	}
	inVersion := func(version string) ([]byte, error) {
		resource.Version = version
		var objects dynamic.ResourceInterface = c.of(resource)
		if resource.Namespaced {
			objects = c.of(resource).Namespace(namespace)
		}
		found, err := objects.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", reference, err)
		}
		return found.MarshalJSON()
	}
	text, err := inVersion(resource.Version)
	if err != nil {
		return object{}, err
	}
	read, err := readObjects("the cluster", text)
	if err != nil {
		return object{}, err
	}
	read[0].inVersion = inVersion
	return read[0], nil
}

// definitions are those of the custom resources among the manifests. One that cannot be
// read is noted.
func (c *liveCluster) definitions(ctx context.Context, table *admission.Resources, objects []object) (found []*apiextensionsv1.CustomResourceDefinition, notes []string) {
	asked := map[string]bool{}
	for _, o := range objects {
		resource, known := table.ByKind(o.kind.Group, o.kind.Kind)
		name := resource.Name + "." + resource.Group
		if !known || o.inVersion != nil || asked[name] || !strings.Contains(resource.Group, ".") {
			continue
		}
		asked[name] = true
		definition := &apiextensionsv1.CustomResourceDefinition{}
		err := c.reader.Get(ctx, client.ObjectKey{Name: name}, definition)
		switch {
		case apierrors.IsNotFound(err): // of an API server's own
		case err != nil:
			notes = append(notes, fmt.Sprintf("%s is not checked by its schema: %v", o.kind.Kind, err))
		default:
			found = append(found, definition)
		}
	}
	return found, notes
}

// shortNames are those by which kubectl knows resources, too. They are a convenience:
// where they cannot be read, there are none.
func shortNames(asked discovery.ServerResourcesInterface) map[string]string {
	short := map[string]string{}
	_, lists, _ := asked.ServerGroupsAndResources()
	for _, list := range lists {
		for _, resource := range list.APIResources {
			for _, name := range resource.ShortNames {
				if _, taken := short[name]; !taken {
					short[name] = resource.Name
				}
			}
		}
	}
	return short
}

// resource finds a resource by its name or kind, with or without its group.
func (c *liveCluster) resource(word string) (admission.Resource, error) {
	name, group, hasGroup := strings.Cut(strings.ToLower(word), ".")
	name = cmp.Or(c.short[name], name)
	for _, resource := range c.resources {
		if (resource.Name == name || strings.ToLower(resource.Kind) == name) && (!hasGroup || resource.Group == group) {
			return resource, nil
		}
	}
	suggestion := admission.NewResources(c.resources).Suggest(group, name)
	return admission.Resource{}, fmt.Errorf("the cluster has no kind %q%s: write its kind or resource, and the group after a dot where two groups have it", word, suggestion)
}
