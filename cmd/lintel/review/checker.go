package review

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/external"
	"github.com/lintel-policy/lintel/policies/request"
	"github.com/lintel-policy/lintel/policies/rules/openclaw"
	"github.com/lintel-policy/lintel/policies/rules/orloj"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

// checker is the objects, and the policies and data for their evaluation.
type checker struct {
	options    options
	objects    []manifests.Object
	snapshot   *engine.Snapshot
	exceptions []*exception.Exception
	external   external.Set
	resources  *manifests.Table
	titles     map[string]string // of the policies, by source and package
	cluster    *clusterdata.Objects
	namespaces map[string]engine.Namespace
	asked      registration.Asked
	arrivals   []arrival
	// sources are those of the policies, by name; none where a cluster has them.
	sources map[string]sources.Source
	// systems are the compiled rules of systems by name, compiled at first use.
	systems map[string]*engine.Snapshot
	// orlojOwners are the owners of Orloj's rows, read at first use.
	orlojOwners map[string]orloj.Reference
	// old are the objects of --old, by identity.
	old map[string]manifests.Object
	// existing are the objects of --cluster, and atHand those that facts are found in, by kind.
	existing []manifests.Object
	atHand   map[schema.GroupKind]any
	// bundles reads PolicyBundles; nil until one is asked about.
	bundles *openclaw.Parser
	// notes are about the policies, and about objects of which not all is checked.
	notes []string
}

// newOfflineChecker reads and compiles the policies. The Namespaces and kinds of the objects
// may be among them.
func newOfflineChecker(o options, objects []manifests.Object, stdin io.Reader, compile func([]sources.Source) ([]*engine.PolicySet, error)) (*checker, error) {
	read, err := sources.Read(o.policies, o.names)
	if err != nil {
		return nil, err
	}
	for i := range read {
		read[i].Partial = read[i].Partial || o.partial
	}
	sets, err := compile(read)
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("there are no objects in %s", strings.Join(o.manifests, ", "))
	}
	exceptions, err := sources.ReadExceptions(o.policies)
	if err != nil {
		return nil, err
	}
	c := &checker{options: o, objects: objects, sources: map[string]sources.Source{}}
	for _, one := range exceptions {
		c.exceptions = append(c.exceptions, one.Exception)
	}
	if c.external, err = o.external.Read(sets); err != nil {
		return nil, err
	}
	for _, s := range read {
		c.sources[s.Name] = s
	}
	own := len(sets)
	if sets, err = c.readCluster(sets); err != nil {
		return nil, err
	}
	if err := c.readOld(stdin); err != nil {
		return nil, err
	}
	c.notes = slices.Concat(c.notes, sources.Notes(read, sets[:own], c.snapshot), sources.ExceptionNotes(exceptions, sets, c.snapshot, time.Now()), o.notes)
	if o.request.operation == "DELETE" || o.request.operation == request.DeleteCollection { // which look at no field
		return c, nil
	}
	unchecked, err := c.resources.Unchecked(withoutReviews(objects))
	if unchecked != "" {
		c.notes = append(c.notes, unchecked)
	}
	return c, err
}

// readCluster reads --cluster, and takes it and the objects for the cluster. It returns the sets
// with the policies that the API server of the cluster enforces itself.
func (c *checker) readCluster(sets []*engine.PolicySet) ([]*engine.PolicySet, error) {
	var existing []manifests.Object
	var err error
	if c.options.cluster != "" {
		if existing, err = manifests.ReadPath(c.options.cluster); err != nil {
			return nil, err
		}
	}
	c.existing = existing
	if c.resources, err = manifests.NewTable(slices.Concat(existing, withoutReviews(c.objects))); err != nil {
		return nil, err
	}
	ofServer, err := c.admissionPolicies()
	if err != nil {
		return nil, err
	}
	sets = append(sets, ofServer...)
	c.setPolicies(sets)
	if c.options.cluster != "" {
		if c.cluster, err = clusterData(existing, c.resources); err != nil {
			return nil, err
		}
	}
	c.setNamespaces()
	c.namespaces, err = namespaces(existing, withoutReviews(c.objects))
	return sets, err
}

// admissionPolicies are the policies among the objects of --cluster that the API server enforces
// itself, to be explained if the command explains.
func (c *checker) admissionPolicies() ([]*engine.PolicySet, error) {
	var texts [][]byte
	for _, o := range c.existing {
		text, err := o.JSON()
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	set, notes, err := sources.AdmissionPolicies(texts)
	if set == nil || err != nil {
		return nil, err
	}
	c.notes = append(c.notes, notes...)
	return explainable([]*engine.PolicySet{set})
}

// setPolicies makes the sets those that are asked, about the kinds of the table.
func (c *checker) setPolicies(sets []*engine.PolicySet) {
	c.snapshot = engine.NewSnapshotWithExceptions(c.resources.Resources, c.exceptions, sets...).WithExternal(c.external)
	c.titles = map[string]string{}
	for _, policy := range c.snapshot.Policies() {
		c.titles[policy.Source+"/"+policy.Package] = policy.Title
	}
	c.asked = registration.NewAsked(c.snapshot.Policies(), c.snapshot.Scopes(), c.resources.Resources)
}

// setNamespaces puts the objects into the namespaces that the API server would.
func (c *checker) setNamespaces() {
	for i := range c.objects {
		if c.objects[i].Request == nil {
			c.setNamespace(&c.objects[i])
		}
	}
}

func (c *checker) setNamespace(o *manifests.Object) {
	resource, _ := c.resources.Lookup(o.Kind)
	o.SetNamespace(resource.Namespaced, c.options.namespace)
}

// writer writes a report on all objects.
type writer func(io.Writer, []outcome) error

// report evaluates each object that is not decided before, and writes the report in its format.
// The verdict is a report.Exit; any other error is the reason why there is none.
func (c *checker) report(cmd *cobra.Command, ask func(context.Context, arrival) (outcome, error), formats map[string]writer) error {
	// All are read before any is evaluated: a report of half of them would mislead.
	err := c.arriveAll()
	c.notes = append(c.notes, c.userNotes(cmd.Context())...)
	for _, note := range c.notes {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", note)
	}
	if err != nil {
		return err
	}
	var outcomes []outcome
	for _, a := range c.arrivals {
		out := a.outcome
		if !a.isDecided() {
			var err error
			if out, err = ask(cmd.Context(), a); err != nil {
				return err
			}
		}
		outcomes = append(outcomes, out)
		if err := cmd.Context().Err(); err != nil {
			return fmt.Errorf("checking %s: %w", a.object.Origin, err)
		}
	}
	if err := formats[c.options.format.Name()](cmd.OutOrStdout(), outcomes); err != nil {
		return err
	}
	switch sum := summarise(outcomes); {
	case sum.Denied > 0:
		return report.Denied
	case sum.undecided > 0:
		return report.Error
	}
	return nil
}

// optionsFor are what an evaluation about the object may read.
func (c *checker) optionsFor(a arrival) engine.Options {
	return engine.Options{Namespace: c.namespaces[a.object.Namespace], Cluster: c.cluster, Offline: true, Schemas: c.resources.Kinds.Schema}
}

// hasPolicies reports whether any policy is evaluated, apart from built-in rules.
func (c *checker) hasPolicies() bool { return len(c.snapshot.Policies()) > 0 }
