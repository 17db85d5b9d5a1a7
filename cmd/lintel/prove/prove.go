// Package prove is `lintel prove`: whether policies of narrower scopes permit more than those
// of broader ones.
//
// Invariant: a verdict is that of admission, for the same input.
package prove

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	openclawv1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/openclaw/restriction"
	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
	"github.com/lintel-policy/lintel/policies/rules/openclaw"
)

// options are the flags of prove.
type options struct {
	domain      string
	parents     []string
	child       string
	parentScope string
	childScope  string
	bundles     []string
	timeout     time.Duration
	format      report.Format
}

// NewCommand is `lintel prove`.
func NewCommand() *cobra.Command {
	var options options
	cmd := &cobra.Command{
		Use:   "prove --domain <domain> --parent <rego> --child <rego> | -f <manifests>",
		Short: "Say whether a policy permits more than those of broader scopes",
		Long: `Say whether a policy permits more than those of broader scopes: that it does not
on any input, or an input on which it does, as seen by evaluating both sides, or
that this is not known, and why.

A rule is compared by its name: allow and allow_* are grants, max_* and *_limit
are ceilings, retention_* and min_* are floors, allowed_* and trusted_* are sets,
autonomy_level and *classification are words in an order. deny, deny_*, require_*,
log_* and blocked_* add up and are not compared, and any other name is what the
broadest scope says. Denials of the broader policies are left aside: they hold at
run time whether the narrower policy repeats them or not, so that a grant may be
proved on an input that a broader scope denies.
docs/concepts/how-policies-are-compared.md has the whole table and explains the
verdicts; docs/reference/restriction-pairs.md has examples.

For PolicySources (policy.lintel.dev), the report shows whether their admission
policies stay within their scopes, with the reasons for which a cluster would refuse
them: docs/reference/scope-rules.md explains these. Specify all broader sources, too.

Exit codes:
  0  proved: it permits no more, on any input
  1  a counterexample: it permits more on the input that is shown, two policies of
     one scope contradict each other, or a source reaches beyond its scope or has
     a package of another
  2  the usage or an input is wrong, or a policy does not compile
  3  unknown: neither was found out`,
		Example: `  # Is the team's policy valid below the enterprise's?
  lintel prove --domain models --parent enterprise.rego --child team.rego

  # Every policy of some bundles against those of broader scopes
  lintel prove -f enterprise.yaml -f team.yaml

  # Every PolicySource of a folder against those of the scopes above it
  lintel prove -f config/samples/tenants`,
		Args:              usage.NoArguments("give policies with --parent and --child, or bundles with -f"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.complete(cmd); err != nil {
				return err
			}
			return prove(cmd.Context(), options, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.domain, "domain", "", "`domain` of the policies: "+strings.Join(domainNames(), ", "))
	flags.StringArrayVar(&options.parents, "parent", nil, "`path` of a policy of the broader scope; may be repeated")
	flags.StringVar(&options.child, "child", "", "`path` of the policy of the narrower scope")
	flags.StringVar(&options.parentScope, "parent-scope", "enterprise", "`scope` of the parents: enterprise, org, team or user")
	flags.StringVar(&options.childScope, "child-scope", "team", "`scope` of the child: enterprise, org, team or user")
	flags.StringArrayVarP(&options.bundles, "filename", "f", nil, "`path` of a file or folder with PolicyBundles or PolicySources in YAML or JSON, or - for standard input; may be repeated")
	flags.DurationVar(&options.timeout, "timeout", 5*time.Second, "`time` for each policy")
	options.format.AddFlag(cmd, "text", "json")
	usage.CompleteFlag(cmd, "domain", domainNames()...)
	for _, flag := range []string{"parent-scope", "child-scope"} {
		usage.CompleteFlag(cmd, flag, "enterprise", "org", "team", "user")
	}
	for _, flag := range []string{"parent", "child"} {
		usage.CompleteFiles(cmd, flag, "rego")
	}
	usage.CompleteFiles(cmd, "filename", "yaml", "yml", "json")
	return cmd
}

// domainNames are those of all domains.
func domainNames() []string {
	var names []string
	for _, d := range openclaw.AllDomains {
		names = append(names, d.Name)
	}
	return names
}

// complete checks the flags.
func (o *options) complete(cmd *cobra.Command) error {
	if err := o.format.Check(cmd); err != nil {
		return err
	}
	files := o.domain != "" || len(o.parents) > 0 || o.child != "" || cmd.Flags().Changed("parent-scope") || cmd.Flags().Changed("child-scope")
	switch {
	case o.timeout <= 0:
		return usage.Errorf(cmd, "--timeout %s is not a time to work in: give one such as 5s", o.timeout)
	case len(o.bundles) > 0 && files:
		return usage.Errorf(cmd, "-f stands for all policies of bundles: leave out --domain, --parent, --child and their scopes")
	case len(o.bundles) > 0:
		return nil
	case o.domain == "":
		return usage.Errorf(cmd, "no domain: give one with --domain, or bundles with -f")
	case len(o.parents) == 0:
		return usage.Errorf(cmd, "no parent: give the policy of the broader scope with --parent")
	case o.child == "":
		return usage.Errorf(cmd, "no child: give the policy of the narrower scope with --child")
	}
	if _, ok := openclaw.Domain(o.domain); !ok {
		return usage.Errorf(cmd, "--domain %s is unknown: it is one of %s", o.domain, strings.Join(domainNames(), ", "))
	}
	parent, err := sidecar.ParseLevel(o.parentScope)
	if err != nil {
		return usage.Errorf(cmd, "--parent-scope: %v", err)
	}
	child, err := sidecar.ParseLevel(o.childScope)
	if err != nil {
		return usage.Errorf(cmd, "--child-scope: %v", err)
	}
	if child.Rank() < parent.Rank() {
		return usage.Errorf(cmd, "--child-scope %s is broader than --parent-scope %s", child, parent)
	}
	return nil
}

// proof is the verdicts on one policy: one for each decision that is compared.
type proof struct {
	child     *sidecar.Policy
	parents   []*sidecar.Policy
	peers     []*sidecar.Policy // of the same scope, listed before
	verdicts  []restriction.Verdict
	conflicts []restriction.Conflict
	warnings  []string
	elapsed   time.Duration
}

func prove(ctx context.Context, options options, stdin io.Reader, stdout io.Writer) error {
	var proofs []*proof
	var ofSources []sourceProof
	var err error
	if len(options.bundles) > 0 {
		proofs, ofSources, err = manifestProofs(options.bundles, stdin)
	} else {
		proofs, err = fileProof(options)
	}
	if err != nil {
		return err
	}
	for _, p := range proofs {
		if err := p.analyze(ctx, options.timeout); err != nil {
			return err
		}
	}
	if options.format.Is("json") {
		err = writeProofsJSON(stdout, proofs, ofSources, len(options.bundles) > 0)
	} else {
		err = writeProofs(stdout, proofs, ofSources)
	}
	if err != nil {
		return err
	}
	return worst(proofs, ofSources)
}

func (p *proof) analyze(ctx context.Context, timeout time.Duration) error {
	start := time.Now()
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p.verdicts = restriction.AnalyzeEach(bounded, p.child, p.parents)
	p.conflicts = restriction.FindConflicts(bounded, p.child, p.peers, p.parents)
	p.warnings = restriction.Warnings(bounded, p.child, p.parents)
	p.elapsed = time.Since(start)
	if ctx.Err() != nil {
		return fmt.Errorf("comparing %s: %w", p.child.Name, ctx.Err())
	}
	return nil
}

// all are the verdicts that count: that two policies of one scope differ does not where
// both use the rules in others of their own.
func (p *proof) all() []restriction.Verdict {
	all := slices.Clone(p.verdicts)
	for _, conflict := range p.conflicts {
		if !conflict.Helper {
			all = append(all, conflict.Verdict)
		}
	}
	return all
}

// verdict is the worst.
func (p *proof) verdict() restriction.Verdict { return restriction.Worst(p.all()) }

// worst is the exit of all verdicts: a counterexample before an unknown.
func worst(proofs []*proof, ofSources []sourceProof) error {
	var worst error
	for _, s := range ofSources {
		if len(s.violations) > 0 {
			return report.Denied
		}
	}
	for _, p := range proofs {
		switch p.verdict().Outcome {
		case restriction.Counterexample:
			return report.Denied
		case restriction.Unknown:
			worst = report.Unknown
		}
	}
	return worst
}

// fileProof is that of a policy in a file.
func fileProof(options options) ([]*proof, error) {
	domain, _ := openclaw.Domain(options.domain)
	read := func(path, level string) (*sidecar.Policy, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return parsePolicy(sidecar.Source{Level: sidecar.Level(level), Name: path, Domain: domain, Content: string(text)})
	}
	p := &proof{}
	var err error
	for _, path := range options.parents {
		parent, err := read(path, options.parentScope)
		if err != nil {
			return nil, err
		}
		p.parents = append(p.parents, parent)
	}
	p.child, err = read(options.child, options.childScope)
	return []*proof{p}, err
}

// parsePolicy puts each error on a line of its own.
func parsePolicy(source sidecar.Source) (*sidecar.Policy, error) {
	policy, err := sidecar.Parse(source)
	if errs, ok := err.(sidecar.ParseErrors); ok {
		lines := make([]string, len(errs))
		for i, e := range errs {
			lines[i] = e.Error()
		}
		return nil, fmt.Errorf("%s", strings.Join(lines, "\n"))
	}
	return policy, err
}

// manifestProofs are those of all policies of bundles, each against all of its domain
// that are of broader scopes, and those of PolicySources.
func manifestProofs(paths []string, stdin io.Reader) ([]*proof, []sourceProof, error) {
	objects, err := manifests.Read(paths, stdin)
	if err != nil {
		return nil, nil, err
	}
	var policies []*sidecar.Policy
	var read []sources.Source
	for _, o := range objects {
		switch {
		case o.Kind.Kind == "PolicyBundle" && o.Kind.Group == openclawv1.SchemeGroupVersion.Group:
			found, err := bundlePolicies(o)
			if err != nil {
				return nil, nil, err
			}
			policies = append(policies, found...)
		case o.Kind.Kind == "PolicySource" && o.Kind.Group == v1alpha1.GroupName:
			found, err := sources.OfObject(o)
			if err != nil {
				return nil, nil, err
			}
			read = append(read, found)
		}
	}
	if len(policies) == 0 && len(read) == 0 {
		return nil, nil, fmt.Errorf("there are no PolicyBundles of openclaw.enterprise.io with policies, and no PolicySources, in %s", strings.Join(paths, ", "))
	}
	proofs, err := pairs(policies)
	if err != nil {
		return nil, nil, err
	}
	ofSources, err := proveSources(read)
	return proofs, ofSources, err
}

func bundlePolicies(o manifests.Object) ([]*sidecar.Policy, error) {
	text, err := o.JSON()
	if err != nil {
		return nil, err
	}
	var bundle openclaw.Bundle
	if err := json.Unmarshal(text, &bundle); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Origin, err)
	}
	var policies []*sidecar.Policy
	var effort sidecar.Effort
	for i, policy := range bundle.Spec.Policies {
		if err := effort.AddText(openclaw.FullName(&bundle, policy), policy.Content); err != nil {
			return nil, fmt.Errorf("%s: spec.policies[%d].content: %w", o.Origin, i, err)
		}
	}
	for i, policy := range bundle.Spec.Policies {
		level, err := sidecar.ParseLevel(string(policy.Scope))
		if err != nil {
			return nil, fmt.Errorf("%s: spec.policies[%d].scope: %w", o.Origin, i, err)
		}
		domain, ok := openclaw.Domain(policy.Domain)
		if !ok {
			return nil, fmt.Errorf("%s: spec.policies[%d].domain: unknown domain %q", o.Origin, i, policy.Domain)
		}
		parsed, err := parsePolicy(sidecar.Source{Level: level, Name: openclaw.FullName(&bundle, policy), Domain: domain, Content: policy.Content})
		if err != nil {
			return nil, fmt.Errorf("%s: spec.policies[%d].content:\n%w", o.Origin, i, err)
		}
		if err := effort.AddPolicy(parsed); err != nil {
			return nil, fmt.Errorf("%s: spec.policies[%d].content: %w", o.Origin, i, err)
		}
		policies = append(policies, parsed)
	}
	return policies, nil
}

func pairs(policies []*sidecar.Policy) ([]*proof, error) {
	var proofs []*proof
	seen := map[string]bool{}
	for _, child := range policies {
		if key := child.Domain.Name + " " + child.Name; seen[key] {
			return nil, fmt.Errorf("domain %q has two policies %s: give each a name of its own", child.Domain.Name, child.Name)
		} else {
			seen[key] = true
		}
		p := &proof{child: child}
		listed := false
		for _, other := range policies {
			listed = listed || other == child
			switch {
			case other.Domain.Name != child.Domain.Name:
			case other.Level.Rank() < child.Level.Rank():
				p.parents = append(p.parents, other)
			case other.Level == child.Level && !listed:
				p.peers = append(p.peers, other)
			}
		}
		proofs = append(proofs, p)
	}
	return proofs, nil
}
