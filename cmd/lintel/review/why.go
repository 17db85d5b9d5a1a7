package review

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/cluster"
	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/kinds"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

// whyOptions are the flags of why.
type whyOptions struct {
	options
	connection cluster.Options
	live       bool
	objects    []string // of the cluster
}

// NewWhyCommand is `lintel why`.
func NewWhyCommand() *cobra.Command {
	var o whyOptions
	cmd := &cobra.Command{
		Use:   "why (-p <policies> | --live) (-f <manifests> | <kind>/<name>)",
		Short: "Explain which policies match an object, which do not, and their findings",
		Long: `Explain, for each object and policy, whether the policy matches, and if not, on
which condition; and for those that match, their findings and the locations.

With --live the policies are those that the cluster enforces now, with the objects
and Namespaces that they read; otherwise those of 'lintel check'.

Exit codes:
  0  nothing is denied
  1  something is denied
  2  the usage or an input is wrong, or a policy could not be asked and nothing is
     denied`,
		Example: `  # Why is this manifest denied, or not?
  lintel why -p policies/ -f pod.yaml

  # Why may alice not run a shell in this Pod?
  lintel why -p policies/ -f exec.yaml --subresource exec --as alice

  # By the policies that the cluster enforces now
  lintel why --live -f pod.yaml

  # Would a Pod that runs already be admitted again?
  lintel why --live pod/web -n shop`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.objects = args
			if err := o.complete(cmd); err != nil {
				return err
			}
			return why(cmd, o)
		},
	}
	flags := cmd.Flags()
	o.addFlags(cmd, &o.connection, "text", "json")
	flags.BoolVar(&o.live, "live", false, "evaluate the policies that the cluster enforces now")
	o.connection.AddFlags(cmd)
	cmd.ValidArgsFunction = func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		if !strings.Contains(typed, "/") {
			directive |= cobra.ShellCompDirectiveNoSpace // the name comes next
		}
		return o.connection.CompleteReference(typed, o.namespace), directive
	}
	return cmd
}

// complete checks the flags.
func (o *whyOptions) complete(cmd *cobra.Command) error {
	for _, name := range []string{"policies", "name", "cluster"} {
		if o.live && cmd.Flags().Changed(name) {
			return usage.Errorf(cmd, "--live takes policies and objects from the cluster: leave out --%s", name)
		}
	}
	for _, name := range cluster.Flags() {
		if !o.live && cmd.Flags().Changed(name) {
			return usage.Errorf(cmd, "--%s is about a cluster: give --live, too", name)
		}
	}
	if len(o.objects) > 0 && !o.live {
		return usage.Errorf(cmd, "%q is an object of a cluster: give --live, or a manifest with -f", o.objects[0])
	}
	if !o.live && len(o.policies) == 0 && len(o.manifests) == 0 {
		return usage.Errorf(cmd, "no policies: give a folder, a .rego file or a PolicySource with -p")
	}
	offline := o.options
	if len(o.objects) > 0 {
		offline.manifests = append(offline.manifests, "the cluster's")
	}
	err := offline.complete(cmd)
	o.request = offline.request
	if len(o.objects) == 0 {
		o.manifests = offline.manifests
	}
	return err
}

func why(cmd *cobra.Command, o whyOptions) error {
	objects, err := readObjects(cmd, &o.options)
	if err != nil {
		return err
	}
	if !o.live && len(o.policies) == 0 && o.cluster == "" && !slices.ContainsFunc(objects, isSigningRequest) {
		if note := unexplained(objects); note != "" {
			return usage.Errorf(cmd, "no policies: give a folder, a .rego file or a PolicySource with -p; %s", note)
		}
		return usage.Errorf(cmd, "no policies: give a folder, a .rego file or a PolicySource with -p")
	}
	var c *checker
	if o.live {
		c, err = newLiveChecker(cmd.Context(), o, objects, cmd.InOrStdin())
	} else {
		c, err = newOfflineChecker(o.options, objects, cmd.InOrStdin(), compileToExplain)
	}
	if err != nil {
		return err
	}
	if !c.hasPolicies() && !slices.ContainsFunc(objects, isSigningRequest) && !o.live {
		return errNoPolicies
	}
	if note := unexplained(c.objects); note != "" {
		c.notes = append(c.notes, note)
	}
	return c.report(cmd, c.explain, map[string]writer{"text": writeWhyText, "json": writeWhyJSON})
}

// unexplained says of which objects rules that ship with Lintel are asked: "" where of none.
func unexplained(objects []manifests.Object) string {
	var titles []string
	for _, o := range objects {
		if hasRules(o) {
			titles = append(titles, o.Title())
		}
	}
	const shown = 3
	if more := len(titles) - shown; more > 0 {
		titles = append(titles[:shown], fmt.Sprintf("%d more", more))
	}
	if len(titles) == 0 {
		return ""
	}
	return "built-in rules also apply to " + strings.Join(titles, ", ") + ", and are not explained; `lintel check` evaluates them"
}

// compileToExplain compiles the sources as a cluster does, and then to be explained.
func compileToExplain(read []sources.Source) ([]*engine.PolicySet, error) {
	sets, err := sources.CompileAll(read)
	if err != nil {
		return nil, err
	}
	return explainable(sets)
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

// newLiveChecker reads from the cluster the policies and data for the evaluation, and the
// objects that are in it.
func newLiveChecker(ctx context.Context, o whyOptions, objects []manifests.Object, stdin io.Reader) (*checker, error) {
	live, err := cluster.Connect(o.connection)
	if err != nil {
		return nil, err
	}
	for _, reference := range o.objects {
		object, err := live.Object(ctx, reference, o.namespace)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	sets, notes, err := live.EnforcedSets(ctx)
	if err != nil {
		return nil, err
	}
	if sets, err = explainable(sets); err != nil {
		return nil, err
	}
	c := &checker{options: o.options, objects: objects, namespaces: map[string]engine.Namespace{}}
	definitions, unread := live.Definitions(ctx, objects)
	c.resources = &manifests.Table{Resources: admission.NewResources(live.Resources), Kinds: kinds.NewOfCluster(definitions...), Serves: "the cluster"}
	var exceptionNotes []string
	c.exceptions, exceptionNotes = live.Exceptions(ctx)
	var externalNotes []string
	if c.external, externalNotes, err = live.External(ctx, sets, o.external); err != nil {
		return nil, err
	}
	c.setPolicies(sets)
	required, unasked := live.Required(ctx, sets)
	c.cluster, c.notes = required, slices.Concat(o.notes, notes, unread, exceptionNotes, externalNotes, unasked)
	c.setNamespaces()
	if err := c.readOld(stdin); err != nil {
		return nil, err
	}
	excluded := append(registration.DefaultExcludedNamespaces(), o.connection.SystemNamespace)
	for _, object := range objects {
		if slices.Contains(excluded, object.Namespace) {
			c.notes = append(c.notes, fmt.Sprintf("user policies are never evaluated in namespace %s, which the webhook configurations exclude", object.Namespace))
		}
		if _, known := c.namespaces[object.Namespace]; known {
			continue
		}
		text, err := live.Namespace(ctx, object.Namespace)
		if err != nil {
			return nil, err
		}
		if c.namespaces[object.Namespace], err = engine.ReadNamespace(text); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// explain decides as check does, and collects an explanation from every policy.
func (c *checker) explain(ctx context.Context, a arrival) (outcome, error) {
	options := c.optionsFor(a)
	mutating := append(c.snapshot.ExplainMutationByServer(ctx, a.review, options), c.snapshot.ExplainMutation(ctx, a.review, options)...)
	out, err := decide(ctx, c.snapshot, a.object, a.review, options, c.decoder(), c.validator(ctx, a))
	out.as, out.request, out.policies = a.as, a.request, mutating
	if isSigningRequest(a.object) && a.question.Subresource == "" {
		out.cannotSay(signingUndecided)
	}
	if err != nil || !out.validated { // otherwise the API server calls no further webhook
		return out, err
	}
	validating := c.snapshot.Explain(ctx, out.validatedReview(), options)
	out.policies = tidied(append(mutating, validating...))
	return out, nil
}

// tidied omits entry points that do not match where another entry point of the policy does, and
// lists a condition that holds for all entry points once.
func tidied(policies []engine.Explanation) []engine.Explanation {
	answers := bestAnswers(policies)
	said := map[string]bool{}
	return slices.DeleteFunc(policies, func(one engine.Explanation) bool {
		if one.Answer != engine.AnswerNotMatched {
			return false
		}
		key := keyOf(one)
		again := said[key]
		said[key] = true
		return again || answers[key] != engine.AnswerNotMatched
	})
}

// bestAnswers are the most that became of each policy, by its keyOf.
func bestAnswers(policies []engine.Explanation) map[string]engine.Answer {
	best := map[string]engine.Answer{}
	for _, one := range policies {
		if before, ok := best[keyOf(one)]; !ok || before == engine.AnswerNotMatched || one.Answer == engine.AnswerAsked {
			best[keyOf(one)] = one.Answer
		}
	}
	return best
}

func keyOf(one engine.Explanation) string { return one.Policy.Source + "/" + one.Policy.Package }
