package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules/orloj"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

// defaultNamespace is where kubectl puts what names no namespace.
const defaultNamespace = "default"

// checkOptions are the flags of check.
type checkOptions struct {
	policies  []string
	names     []string // of the policies, in their order
	manifests []string
	operation string
	namespace string
	cluster   string
	output    string
	mapping   string
}

func newCheckCommand() *cobra.Command {
	var options checkOptions
	cmd := &cobra.Command{
		Use:   "check -p <policies> -f <manifests>",
		Short: "Say what admission would do to objects, and why",
		Long: `Say what admission would do to objects, and why: for each object the denials,
the warnings and the patch. No cluster is asked. The rules that ship with Lintel
for the kinds of Orloj are always asked, and need no -p.

Exit codes:
  0  nothing is denied
  1  something is denied
  2  the usage or an input is wrong, a cluster would refuse a policy by its text, or
     a policy could not be asked (undecided) and nothing is denied`,
		Example: `  # Would this manifest be admitted?
  lintel check -p policies/ -f deployment.yaml

  # In the very words of the cluster, where the PolicySource is named team
  lintel check -p policies/ --name team -f deployment.yaml

  # The rendered chart, by the policies of a PolicySource
  helm template web ./chart | lintel check -p policysource.yaml -f - --namespace shop

  # Objects of Orloj, by the rules that ship with Lintel
  lintel check -f agents/ -f namespaces.yaml

  # By policies that read other objects of the cluster
  kubectl get namespaces,ingresses -A -o yaml > cluster/objects.yaml
  lintel check -p policies/ -f ingress.yaml --cluster cluster/`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError(cmd, "%q stands alone: give manifests with -f and policies with -p", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.complete(cmd); err != nil {
				return err
			}
			return check(cmd.Context(), options, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	options.addPolicyFlags(cmd.Flags())
	cmd.Flags().StringVar(&options.mapping, "orloj-namespace-mapping", string(orloj.Restricted), "`mode` of the cluster: Restricted or Open")
	return cmd
}

// addPolicyFlags adds the flags that say what is asked about what.
func (o *checkOptions) addPolicyFlags(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&o.policies, "policies", "p", nil, "`path` of a folder or .rego file of policies, or of YAML with PolicySources; may be repeated")
	flags.StringArrayVar(&o.names, "name", nil, "`name` of the source in messages, as the PolicySource will have it; the folder's or file's own if not given. May be repeated, once for each -p, in their order")
	flags.StringArrayVarP(&o.manifests, "filename", "f", nil, "`path` of a file or folder of objects in YAML or JSON, or - for standard input; may be repeated")
	flags.StringVar(&o.operation, "operation", "CREATE", "`operation` on the objects: "+strings.Join(operations, ", "))
	flags.StringVarP(&o.namespace, "namespace", "n", defaultNamespace, "`namespace` of objects that name none")
	flags.StringVar(&o.cluster, "cluster", "", "`folder` of objects in YAML or JSON that policies find in the cluster")
	flags.StringVarP(&o.output, "output", "o", "text", "`format` of the report: text or json")
}

// complete checks the flags.
func (o *checkOptions) complete(cmd *cobra.Command) error {
	o.operation = strings.ToUpper(o.operation)
	switch {
	case slices.Contains(o.names, ""):
		return usageError(cmd, "--name is empty: leave it out for the folder's own")
	case len(o.manifests) == 0:
		return usageError(cmd, "no manifests: give a file, a folder or - with -f")
	case o.operation == "CONNECT":
		return usageError(cmd, "--operation CONNECT is about a request such as exec, which no manifest holds: use %s", strings.Join(operations, ", "))
	case !slices.Contains(operations, o.operation):
		return usageError(cmd, "--operation %s is not one of %s", o.operation, strings.Join(operations, ", "))
	case o.namespace == "":
		return usageError(cmd, "--namespace is empty: leave it out for %q", defaultNamespace)
	case cmd.Flags().Changed("cluster") && o.cluster == "":
		return usageError(cmd, "--cluster is empty: give a folder, or leave it out")
	case o.output != "text" && o.output != "json":
		return usageError(cmd, "--output %s is not text or json", o.output)
	}
	return nil
}

// check reads everything, decides, and reports: errDenied or errUndecided are the
// verdict, any other error says why there is none.
func check(ctx context.Context, options checkOptions, stdin io.Reader, stdout, stderr io.Writer) error {
	objects, err := readManifests(options.manifests, stdin)
	if err != nil {
		return err
	}
	if len(options.policies) == 0 && !slices.ContainsFunc(objects, isBuiltIn) {
		return errors.New("no policies: give a folder, a .rego file or a PolicySource with -p")
	}
	sources, err := readPolicies(options.policies, options.names)
	if err != nil {
		return err
	}
	sets, err := compileAll(sources)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return fmt.Errorf("there are no objects in %s", strings.Join(options.manifests, ", "))
	}
	c, err := newChecker(options, sets, objects)
	if err != nil {
		return err
	}
	notes, err := c.notes(sources, sets, objects)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(stderr, "note: %s\n", note)
	}
	outcomes, err := c.checkAll(ctx, objects)
	if err != nil {
		return err
	}
	write := writeText
	if options.output == "json" {
		write = writeJSON
	}
	if err := write(stdout, outcomes); err != nil {
		return err
	}
	switch {
	case summarise(outcomes).Denied > 0:
		return errDenied
	case countUndecided(outcomes) > 0:
		return errUndecided
	}
	return nil
}

// checker is all that the objects are judged by.
type checker struct {
	snapshot   *engine.Snapshot
	resources  *resourceTable
	cluster    *clusterdata.Objects
	namespaces map[string][]byte
	builtIn    *builtIn // nil where none of the objects is concerned
	asked      registration.Asked
	options    checkOptions
}

// newChecker places the objects, as their Namespaces and kinds may be among them.
func newChecker(options checkOptions, sets []*engine.PolicySet, objects []object) (*checker, error) {
	c := &checker{options: options}
	var existing []object
	var err error
	if options.cluster != "" {
		if existing, err = readManifestPath(options.cluster); err != nil {
			return nil, err
		}
	}
	if c.resources, err = newResourceTable(slices.Concat(existing, objects)); err != nil {
		return nil, err
	}
	c.snapshot = engine.NewSnapshot(c.resources.Resources, sets...)
	c.asked = registration.NewAsked(c.snapshot.Policies(), c.resources.Resources)
	if options.cluster != "" {
		if c.cluster, err = clusterData(existing, c.resources); err != nil {
			return nil, err
		}
	}
	for i := range objects {
		resource, _ := c.resources.lookup(objects[i].kind)
		objects[i].place(resource, options.namespace)
	}
	c.namespaces, err = namespaces(existing, objects)
	return c, err
}

// notes are about the policies, and about objects of which not all is checked.
func (c *checker) notes(sources []policySource, sets []*engine.PolicySet, objects []object) ([]string, error) {
	notes := notesOn(sources, sets, c.snapshot)
	if c.options.operation == "DELETE" { // which looks at no field
		return notes, nil
	}
	unchecked, err := c.resources.unchecked(objects)
	if unchecked != "" {
		notes = append(notes, unchecked)
	}
	return notes, err
}

func (c *checker) checkAll(ctx context.Context, objects []object) ([]outcome, error) {
	// All are read before any is judged: a report of half of them would mislead.
	arrivals, err := c.arriveAll(objects)
	if err != nil {
		return nil, err
	}
	if c.builtIn, err = newBuiltIn(concerned(arrivals), c.options.mapping); err != nil {
		return nil, err
	}
	var outcomes []outcome
	for _, a := range arrivals {
		out, err := c.decide(ctx, a)
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, out)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("checking %s: %w", a.object.origin, ctx.Err())
		}
	}
	return outcomes, nil
}

// decide asks the built-in rules, where there are some for the object, and the user's
// policies of what those make of it.
func (c *checker) decide(ctx context.Context, a arrival) (outcome, error) {
	first, ok := a.outcome()
	if !ok {
		return first, nil
	}
	o, options := a.object, engine.Options{Namespace: c.namespaces[a.object.namespace], Cluster: c.cluster, Offline: true}
	var own outcome
	review := a.review
	if isBuiltIn(o) {
		var err error
		if own, err = c.builtIn.decide(ctx, o, review, options); err != nil {
			return own, err
		}
		review = own.review
	}
	out, err := decide(ctx, c.snapshot, o, review, options, c.validated(ctx, a))
	out.as = first.as
	out.join(own)
	return out, err
}
