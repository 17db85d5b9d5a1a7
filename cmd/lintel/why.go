package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/kinds"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

// whyOptions are the flags of why.
type whyOptions struct {
	checkOptions
	clusterOptions
	live    bool
	objects []string // of the cluster
}

func newWhyCommand() *cobra.Command {
	var options whyOptions
	cmd := &cobra.Command{
		Use:   "why (-p <policies> | --live) (-f <manifests> | <kind>/<name>)",
		Short: "Explain which policies match an object, which do not, and what they say",
		Long: `Explain, for each object and policy, whether the policy matches, and if not, on
which condition; and for those that match, what they say and where that stands.

With --live the policies are those that the cluster enforces now, with the objects
and Namespaces they read; else as 'lintel check' has it.

Exit codes:
  0  nothing is denied
  1  something is denied
  2  the usage or an input is wrong, or a policy could not be asked and nothing is
     denied`,
		Example: `  # Why is this manifest denied, or not?
  lintel why -p policies/ -f pod.yaml

  # By the policies that the cluster enforces now
  lintel why --live -f pod.yaml

  # Would a Pod that runs already be admitted again?
  lintel why --live pod/web -n shop`,
		RunE: func(cmd *cobra.Command, args []string) error {
			options.objects = args
			if err := options.complete(cmd); err != nil {
				return err
			}
			return why(cmd.Context(), options, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	options.addPolicyFlags(flags)
	flags.BoolVar(&options.live, "live", false, "ask the policies that the cluster enforces now")
	options.clusterOptions.addFlags(flags)
	return cmd
}

// complete checks the flags.
func (o *whyOptions) complete(cmd *cobra.Command) error {
	for _, name := range []string{"policies", "name", "cluster"} {
		if o.live && cmd.Flags().Changed(name) {
			return usageError(cmd, "--live takes policies and objects from the cluster: leave out --%s", name)
		}
	}
	for _, name := range []string{"kubeconfig", "context", "system-namespace"} {
		if !o.live && cmd.Flags().Changed(name) {
			return usageError(cmd, "--%s is about a cluster: give --live, too", name)
		}
	}
	if len(o.objects) > 0 && !o.live {
		return usageError(cmd, "%q is an object of a cluster: give --live, or a manifest with -f", o.objects[0])
	}
	if !o.live && len(o.policies) == 0 {
		return usageError(cmd, "no policies: give a folder, a .rego file or a PolicySource with -p")
	}
	rest := o.checkOptions
	if len(o.objects) > 0 {
		rest.manifests = append(rest.manifests, "the cluster's")
	}
	err := rest.complete(cmd)
	o.operation = rest.operation
	return err
}

// explained is what became of one object.
type explained struct {
	outcome
	policies []engine.Explanation
}

func why(ctx context.Context, options whyOptions, stdin io.Reader, stdout, stderr io.Writer) error {
	objects, err := readManifests(options.manifests, stdin)
	if err != nil {
		return err
	}
	c, objects, notes, err := newExplainer(ctx, options, objects)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(stderr, "note: %s\n", note)
	}
	arrivals, err := c.arriveAll(objects)
	if err != nil {
		return err
	}
	var all []explained
	for _, a := range arrivals {
		one, err := c.explain(ctx, a)
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	write := writeWhyText
	if options.output == "json" {
		write = writeWhyJSON
	}
	if err := write(stdout, all); err != nil {
		return err
	}
	outcomes := outcomesOf(all)
	switch {
	case summarise(outcomes).Denied > 0:
		return errDenied
	case countUndecided(outcomes) > 0:
		return errUndecided
	}
	return nil
}

func outcomesOf(all []explained) []outcome {
	outcomes := make([]outcome, len(all))
	for i, one := range all {
		outcomes[i] = one.outcome
	}
	return outcomes
}

// newExplainer reads what the objects are judged by, and the objects themselves where
// they are in the cluster.
func newExplainer(ctx context.Context, options whyOptions, objects []object) (*checker, []object, []string, error) {
	if options.live {
		return newLiveChecker(ctx, options, objects)
	}
	sources, err := readPolicies(options.policies, options.names)
	if err != nil {
		return nil, nil, nil, err
	}
	sets, err := compileAll(sources)
	if err != nil {
		return nil, nil, nil, err
	}
	if sets, err = explainable(sets); err != nil {
		return nil, nil, nil, err
	}
	if len(objects) == 0 {
		return nil, nil, nil, fmt.Errorf("there are no objects in %s", strings.Join(options.manifests, ", "))
	}
	c, err := newChecker(options.checkOptions, sets, objects)
	if err != nil {
		return nil, nil, nil, err
	}
	notes, err := c.notes(sources, sets, objects)
	return c, objects, notes, err
}

// explainable compiles the sets once more, so that their evaluations tell which conditions
// of a rule held.
func explainable(sets []*engine.PolicySet) ([]*engine.PolicySet, error) {
	out := make([]*engine.PolicySet, len(sets))
	for i, set := range sets {
		var err error
		if out[i], err = source.CompileToExplain(set.Source()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func newLiveChecker(ctx context.Context, options whyOptions, objects []object) (*checker, []object, []string, error) {
	cluster, err := connectCluster(options.clusterOptions)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, reference := range options.objects {
		o, err := cluster.object(ctx, reference, options.checkOptions.namespace)
		if err != nil {
			return nil, nil, nil, err
		}
		objects = append(objects, o)
	}
	sets, notes, err := cluster.sets(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if sets, err = explainable(sets); err != nil {
		return nil, nil, nil, err
	}
	table := engine.NewResources(cluster.resources)
	c := &checker{options: options.checkOptions, snapshot: engine.NewSnapshot(table, sets...), namespaces: map[string][]byte{}}
	c.asked = registration.NewAsked(c.snapshot.Policies(), table)
	definitions, more := cluster.definitions(ctx, table, objects)
	notes = append(notes, more...)
	c.resources = &resourceTable{table, kinds.NewOfCluster(definitions...), "the cluster"}
	c.cluster, more = cluster.required(ctx, sets)
	notes = append(notes, more...)
	for i := range objects {
		o := &objects[i]
		resource, _ := c.resources.lookup(o.kind)
		o.place(resource, options.checkOptions.namespace)
		if slices.Contains(append(registration.DefaultExcludedNamespaces(), options.systemNamespace), o.namespace) {
			notes = append(notes, fmt.Sprintf("namespace %s is one of those that the API server never asks user policies about", o.namespace))
		}
		if _, known := c.namespaces[o.namespace]; known {
			continue
		}
		if c.namespaces[o.namespace], err = cluster.namespace(ctx, o.namespace); err != nil {
			return nil, nil, nil, err
		}
	}
	return c, objects, notes, nil
}

// explain decides as check does, and asks every policy on the way why.
func (c *checker) explain(ctx context.Context, a arrival) (explained, error) {
	first, ok := a.outcome()
	one := explained{outcome: first}
	if !ok {
		return one, nil
	}
	o, review := a.object, a.review
	options := engine.Options{Namespace: c.namespaces[o.namespace], Cluster: c.cluster, Offline: true}
	var err error
	if one.policies, err = c.snapshot.ExplainMutation(ctx, review, options); err != nil {
		return one, fmt.Errorf("%s: %w", o.origin, err)
	}
	review = one.mutate(ctx, c.snapshot, review, options)
	if one.review = review; len(one.denials) == 0 {
		err = one.refuse(c.validated(ctx, a))
	}
	if err != nil {
		return one, err
	}
	if len(one.denials) > 0 {
		return one, nil // the API server asks nobody else
	}
	one.add(c.snapshot.Validate(ctx, review, options))
	validated, err := c.snapshot.Explain(ctx, review, options)
	if err != nil {
		return one, fmt.Errorf("%s: %w", o.origin, err)
	}
	one.policies = append(one.policies, validated...)
	one.tidy()
	return one, nil
}

// tidy leaves out what a policy is not asked where it is asked something else, and says
// once what holds for all that it could be asked.
func (e *explained) tidy() {
	asked := map[string]bool{}
	key := func(one engine.Explanation) string { return one.Policy.Source + "/" + one.Policy.Package }
	for _, one := range e.policies {
		if one.Answer != engine.AnswerNotMatched {
			asked[key(one)] = true
		}
	}
	said := map[string]bool{}
	e.policies = slices.DeleteFunc(e.policies, func(one engine.Explanation) bool {
		if one.Answer != engine.AnswerNotMatched {
			return false
		}
		again := said[key(one)]
		said[key(one)] = true
		return again || asked[key(one)]
	})
}
