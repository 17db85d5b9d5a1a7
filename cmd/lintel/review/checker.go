package review

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

// checker is the objects and all that they are judged by.
type checker struct {
	options    options
	objects    []manifests.Object
	snapshot   *engine.Snapshot
	resources  *resourceTable
	cluster    *clusterdata.Objects
	namespaces map[string][]byte
	asked      registration.Asked
	// builtIn is nil where none of the objects is concerned.
	builtIn *builtIn
	// notes are about the policies, and about objects of which not all is checked.
	notes []string
}

// newOfflineChecker reads the policies, and adapts the sets that they compile to. The
// Namespaces and kinds of the objects may be among them.
func newOfflineChecker(o options, objects []manifests.Object, adapt func([]*engine.PolicySet) ([]*engine.PolicySet, error)) (*checker, error) {
	read, err := sources.Read(o.policies, o.names)
	if err != nil {
		return nil, err
	}
	sets, err := sources.CompileAll(read)
	if err != nil {
		return nil, err
	}
	if sets, err = adapt(sets); err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("there are no objects in %s", strings.Join(o.manifests, ", "))
	}
	c := &checker{options: o, objects: objects}
	if err := c.readCluster(sets); err != nil {
		return nil, err
	}
	c.notes = sources.Notes(read, sets, c.snapshot)
	if o.operation == "DELETE" { // which looks at no field
		return c, nil
	}
	unchecked, err := c.resources.unchecked(objects)
	if unchecked != "" {
		c.notes = append(c.notes, unchecked)
	}
	return c, err
}

// asCompiled leaves the sets as they are.
func asCompiled(sets []*engine.PolicySet) ([]*engine.PolicySet, error) { return sets, nil }

// readCluster reads --cluster, and takes it and the objects for the cluster.
func (c *checker) readCluster(sets []*engine.PolicySet) error {
	var existing []manifests.Object
	var err error
	if c.options.cluster != "" {
		if existing, err = manifests.ReadPath(c.options.cluster); err != nil {
			return err
		}
	}
	if c.resources, err = newResourceTable(slices.Concat(existing, c.objects)); err != nil {
		return err
	}
	c.setPolicies(sets)
	if c.options.cluster != "" {
		if c.cluster, err = clusterData(existing, c.resources); err != nil {
			return err
		}
	}
	c.setNamespaces()
	c.namespaces, err = namespaces(existing, c.objects)
	return err
}

// setPolicies makes the sets those that are asked, about the kinds of the table.
func (c *checker) setPolicies(sets []*engine.PolicySet) {
	c.snapshot = engine.NewSnapshot(c.resources.Resources, sets...)
	c.asked = registration.NewAsked(c.snapshot.Policies(), c.resources.Resources)
}

// setNamespaces puts the objects into the namespaces that the API server would.
func (c *checker) setNamespaces() {
	for i := range c.objects {
		resource, _ := c.resources.lookup(c.objects[i].Kind)
		c.objects[i].SetNamespace(resource.Namespaced, c.options.namespace)
	}
}

// askAll asks about each object that somebody is asked about.
func askAll(ctx context.Context, arrivals []arrival, ask func(context.Context, arrival) (outcome, error)) ([]outcome, error) {
	var outcomes []outcome
	for _, a := range arrivals {
		out := a.outcome
		if !a.isDecided() {
			var err error
			if out, err = ask(ctx, a); err != nil {
				return nil, err
			}
		}
		outcomes = append(outcomes, out)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("checking %s: %w", a.object.Origin, ctx.Err())
		}
	}
	return outcomes, nil
}

// optionsFor are what an evaluation about the object may read.
func (c *checker) optionsFor(a arrival) engine.Options {
	return engine.Options{Namespace: c.namespaces[a.object.Namespace], Cluster: c.cluster, Offline: true}
}
