package cluster

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

// completionTimeout bounds a request to the cluster while the user waits for the shell.
const completionTimeout = time.Second

// maxCompletions is how many names are read of a kind.
const maxCompletions = 500

// forCompletion connects to the cluster as the flags have it, quietly and with little time.
func (o Options) forCompletion() (*Cluster, error) {
	klog.SetLogger(logr.Discard())
	o.timeout = completionTimeout
	return Connect(o)
}

// CompleteContexts are the contexts of the kubeconfig.
func (o Options) CompleteContexts(string) []string {
	config, err := o.rules().Load()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}

// CompleteNamespaces are the namespaces of the cluster: none where it does not say them in
// time.
func (o Options) CompleteNamespaces(string) []string {
	return o.completeNames(corev1.SchemeGroupVersion.WithKind("Namespace"))
}

// CompleteSources are the names of the PolicySources of the cluster: none where it does not
// say them in time.
func (o Options) CompleteSources(string) []string {
	return o.completeNames(v1alpha1.SchemeGroupVersion.WithKind("PolicySource"))
}

func (o Options) completeNames(kind schema.GroupVersionKind) []string {
	return o.CompleteNamesIn("", kind)
}

// CompleteNamesIn are the names of the objects of a kind in a namespace: none where the cluster
// does not say them in time.
func (o Options) CompleteNamesIn(namespace string, kind schema.GroupVersionKind) []string {
	c, err := o.forCompletion()
	if err != nil {
		return nil
	}
	return c.names(kind, namespace)
}

// CompleteReference completes `pod/web`: before the slash resources, each with a slash, and
// after it the names of objects in the namespace.
func (o Options) CompleteReference(typed, namespace string) []string {
	c, err := o.forCompletion()
	if err != nil {
		return nil
	}
	kind, _, named := strings.Cut(typed, "/")
	if !named {
		return c.resourceNames()
	}
	resource, err := c.resource(kind)
	if err != nil {
		return nil
	}
	if !resource.Namespaced {
		namespace = ""
	}
	names := c.names(kindOf(resource), namespace)
	for i := range names {
		names[i] = kind + "/" + names[i]
	}
	return names
}

// resourceNames are those of all resources: with the group, where another has the name.
func (c *Cluster) resourceNames() []string {
	groups := map[string][]string{}
	for _, resource := range c.Resources {
		if !slices.Contains(groups[resource.Name], resource.Group) {
			groups[resource.Name] = append(groups[resource.Name], resource.Group)
		}
	}
	var names []string
	for name, in := range groups {
		for _, group := range in {
			if len(in) > 1 && group != "" {
				names = append(names, name+"."+group+"/")
			} else {
				names = append(names, name+"/")
			}
		}
	}
	slices.Sort(names)
	return names
}

// names are those of the objects of a kind: in all namespaces if namespace is empty.
func (c *Cluster) names(kind schema.GroupVersionKind, namespace string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind + "List"})
	if err := c.reader.List(ctx, list, client.InNamespace(namespace), client.Limit(maxCompletions)); err != nil {
		return nil
	}
	var names []string
	for _, object := range list.Items {
		names = append(names, object.Name)
	}
	return names
}
