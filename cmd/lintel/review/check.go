// Package review evaluates policies for objects: `lintel check` reports the verdict of
// admission, and `lintel why` the conditions that lead to it.
//
// Invariant: it decides with the engine that the webhook decides with, so a message here is
// the message there.
package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/cluster"
	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/rules/orloj"
	"github.com/lintel-policy/lintel/policies/rules/zopp"
)

// defaultNamespace is where kubectl puts what names no namespace.
const defaultNamespace = "default"

// options are the flags of check, and those that why shares with it.
type options struct {
	policies  []string
	names     []string // of the policies, in their order
	partial   bool
	manifests []string
	request   requestFlags
	namespace string
	cluster   string
	external  sources.External
	format    report.Format
	mapping   orloj.Mapping
	zopp      zopp.Mapping
	// notes are about the objects of -f.
	notes []string
}

// NewCheckCommand is `lintel check`.
func NewCheckCommand() *cobra.Command {
	var o options
	var mapping, zoppMapping string
	cmd := &cobra.Command{
		Use:   "check -p <policies> -f <manifests>",
		Short: "Show the verdict of admission for objects, and the reasons",
		Long: `Show the verdict of admission for objects, and the reasons: for each object the
denials, the warnings and the patch. No cluster is needed. The built-in rules for
the kinds of Lintel's systems are always evaluated, and need no -p.

Each object is created, unless the flags describe another request: its user, the
object before an update, a subresource such as exec, options. The request of an
AdmissionReview is evaluated as it is.

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

  # Objects of a system, by the rules that ship with Lintel
  lintel check -f agents/ -f namespaces.yaml

  # Would alice's update be admitted?
  lintel check -p policies/ -f new.yaml --old old.yaml --as alice --as-group developers

  # Would this request, which an API server sent, be admitted?
  lintel check -p policies/ -f admissionreview.json

  # By policies that read other objects of the cluster
  kubectl get namespaces,ingresses -A -o yaml > cluster/objects.yaml
  lintel check -p policies/ -f ingress.yaml --cluster cluster/`,
		Args:              usage.NoArguments("give manifests with -f and policies with -p"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(cmd); err != nil {
				return err
			}
			var err error
			if o.mapping, err = orloj.ParseMapping(cmp.Or(mapping, string(orloj.Restricted))); err != nil {
				return fmt.Errorf("--orloj-namespace-mapping: %w", err)
			}
			if o.zopp, err = zopp.ParseMapping(cmp.Or(zoppMapping, string(zopp.Restricted))); err != nil {
				return fmt.Errorf("--zopp-namespace-mapping: %w", err)
			}
			return check(cmd, o)
		},
	}
	o.addFlags(cmd, &cluster.Options{}, "text", "json", "sarif", "junit")
	cmd.Flags().StringVar(&mapping, "orloj-namespace-mapping", string(orloj.Restricted), "`mode` of the cluster: Restricted or Open")
	usage.CompleteFlag(cmd, "orloj-namespace-mapping", string(orloj.Restricted), string(orloj.Open))
	cmd.Flags().StringVar(&zoppMapping, "zopp-namespace-mapping", string(zopp.Restricted), "`mode` of the cluster: Restricted or Open")
	usage.CompleteFlag(cmd, "zopp-namespace-mapping", string(zopp.Restricted), string(zopp.Open))
	return cmd
}

// addFlags adds the flags for the policies, the objects and the format of the report. The
// cluster of the connection has the names that shells complete.
func (o *options) addFlags(cmd *cobra.Command, connection *cluster.Options, formats ...string) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.policies, "policies", "p", nil, "`path` of a folder or .rego file of policies, or of YAML with PolicySources; may be repeated")
	flags.StringArrayVar(&o.names, "name", nil, "`name` of the source in messages, as the PolicySource will have it; the folder's or file's own if not given. May be repeated, once for each -p, in their order")
	sources.AddPartialFlag(flags, &o.partial)
	flags.StringArrayVarP(&o.manifests, "filename", "f", nil, "`path` of a file or folder of objects or AdmissionReviews in YAML or JSON, or - for standard input; may be repeated")
	flags.StringVarP(&o.namespace, "namespace", "n", defaultNamespace, "`namespace` of objects that name none")
	flags.StringVar(&o.cluster, "cluster", "", "`folder` of objects in YAML or JSON that policies find in the cluster; the ValidatingAdmissionPolicies and MutatingAdmissionPolicies among them are evaluated, too")
	o.external.AddFlag(cmd)
	o.request.add(cmd)
	o.format.AddFlag(cmd, formats...)
	usage.CompleteFiles(cmd, "policies", "rego", "yaml", "yml", "json")
	usage.CompleteFiles(cmd, "filename", "yaml", "yml", "json")
	usage.CompleteFiles(cmd, "cluster")
	usage.CompleteFlagBy(cmd, "name", func(typed string) []string { return connection.CompleteSources(typed) })
	usage.CompleteFlagBy(cmd, "namespace", func(typed string) []string { return connection.CompleteNamespaces(typed) })
}

// complete checks the flags.
func (o *options) complete(cmd *cobra.Command) error {
	o.request.operation = strings.ToUpper(o.request.operation)
	if o.request.old != "" && len(o.manifests) == 0 && o.request.deletes() {
		o.manifests, o.request.onlyOld = []string{o.request.old}, true
	}
	switch {
	case slices.Contains(o.names, ""):
		return usage.Errorf(cmd, "--name is empty: leave it out for the folder's own")
	case len(o.manifests) == 0:
		return usage.Errorf(cmd, "no manifests: give a file, a folder or - with -f")
	case o.namespace == "":
		return usage.Errorf(cmd, "--namespace is empty: leave it out for %q", defaultNamespace)
	case cmd.Flags().Changed("cluster") && o.cluster == "":
		return usage.Errorf(cmd, "--cluster is empty: give a folder, or leave it out")
	}
	if err := o.request.complete(cmd, slices.Contains(o.manifests, "-")); err != nil {
		return err
	}
	return o.format.Check(cmd)
}

// errNoPolicies is the error of a command without policies.
var errNoPolicies = errors.New("no policies: give a folder, a .rego file or a PolicySource with -p")

// check is an error that says why there is no verdict, or a report.Exit with the verdict.
func check(cmd *cobra.Command, o options) error {
	objects, err := readObjects(cmd, &o)
	if err != nil {
		return err
	}
	ruled := func(object manifests.Object) bool {
		return o.request.subresource == "" && (hasRules(object) || isSigningRequest(object))
	}
	isRuled := slices.ContainsFunc(objects, ruled)
	if len(o.policies) == 0 && o.cluster == "" && !isRuled {
		return errNoPolicies
	}
	c, err := newOfflineChecker(o, objects, cmd.InOrStdin(), sources.CompileAll)
	if err != nil {
		return err
	}
	if !c.hasPolicies() && !isRuled {
		return errNoPolicies
	}
	return c.report(cmd, c.decide, map[string]writer{"text": writeText, "json": writeJSON, "sarif": c.writeSARIF, "junit": writeJUnit})
}

// decide evaluates the built-in rules of the object, if any, and then the user's policies on
// the object with the defaults of the former.
func (c *checker) decide(ctx context.Context, a arrival) (outcome, error) {
	var own outcome
	review := a.review
	if system, ok := systemOf(a.object); ok && a.question.Subresource == "" {
		var err error
		if own, err = c.reviewBySystem(ctx, system, a); err != nil {
			return own, err
		}
		review = own.review
	}
	out, err := decide(ctx, c.snapshot, a.object, review, c.optionsFor(a), c.decoder(), c.validator(ctx, a))
	out.as, out.request = a.as, a.request
	if isSigningRequest(a.object) && a.question.Subresource == "" {
		own.cannotSay(signingUndecided)
	}
	out.join(own)
	return out, err
}
