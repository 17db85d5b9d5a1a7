package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/policies/rules/openclaw"
	"github.com/lintel-policy/lintel/policies/scope"
)

// proveOptions are the flags of prove.
type proveOptions struct {
	domain      string
	parents     []string
	child       string
	parentScope string
	childScope  string
	bundles     []string
	timeout     time.Duration
	output      string
}

func newProveCommand() *cobra.Command {
	var options proveOptions
	cmd := &cobra.Command{
		Use:   "prove --domain <domain> --parent <rego> --child <rego> | -f <bundles>",
		Short: "Say whether a policy permits more than those of broader scopes",
		Long: `Say whether a policy permits more than those of broader scopes: that it does not
on any input, or an input on which it does, as seen by evaluating both sides, or
that this is not known, and why.

Exit codes:
  0  proved: it permits no more, on any input
  1  a counterexample: it permits more on the input that is shown
  2  the usage or an input is wrong, or a policy does not compile
  3  unknown: neither was found out`,
		Example: `  # May the team's policy stand below the enterprise's?
  lintel prove --domain models --parent enterprise.rego --child team.rego

  # Every policy of some bundles against those of broader scopes
  lintel prove -f enterprise.yaml -f team.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError(cmd, "%q stands alone: give policies with --parent and --child, or bundles with -f", args[0])
			}
			return nil
		},
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
	flags.StringArrayVarP(&options.bundles, "filename", "f", nil, "`path` of a file or folder with PolicyBundles in YAML or JSON, or - for standard input; may be repeated")
	flags.DurationVar(&options.timeout, "timeout", 5*time.Second, "`time` for each policy")
	flags.StringVarP(&options.output, "output", "o", "text", "`format` of the report: text or json")
	return cmd
}

func domainNames() []string {
	var names []string
	for _, d := range openclaw.Domains {
		names = append(names, d.Name)
	}
	return names
}

// complete checks the flags.
func (o *proveOptions) complete(cmd *cobra.Command) error {
	files := o.domain != "" || len(o.parents) > 0 || o.child != "" || cmd.Flags().Changed("parent-scope") || cmd.Flags().Changed("child-scope")
	switch {
	case o.output != "text" && o.output != "json":
		return usageError(cmd, "--output %s is not text or json", o.output)
	case o.timeout <= 0:
		return usageError(cmd, "--timeout %s is not a time to work in: give one such as 5s", o.timeout)
	case len(o.bundles) > 0 && files:
		return usageError(cmd, "-f stands for all policies of bundles: leave out --domain, --parent, --child and their scopes")
	case len(o.bundles) > 0:
		return nil
	case o.domain == "":
		return usageError(cmd, "no domain: give one with --domain, or bundles with -f")
	case len(o.parents) == 0:
		return usageError(cmd, "no parent: give the policy of the broader scope with --parent")
	case o.child == "":
		return usageError(cmd, "no child: give the policy of the narrower scope with --child")
	}
	if _, ok := openclaw.Domain(o.domain); !ok {
		return usageError(cmd, "--domain %s is unknown: it is one of %s", o.domain, strings.Join(domainNames(), ", "))
	}
	parent, err := scope.ParseLevel(o.parentScope)
	if err != nil {
		return usageError(cmd, "--parent-scope: %v", err)
	}
	child, err := scope.ParseLevel(o.childScope)
	if err != nil {
		return usageError(cmd, "--child-scope: %v", err)
	}
	if child.Rank() < parent.Rank() {
		return usageError(cmd, "--child-scope %s is broader than --parent-scope %s", child, parent)
	}
	return nil
}

// proof is the verdict on one policy.
type proof struct {
	child    *scope.Policy
	parents  []*scope.Policy
	verdict  scope.Verdict
	warnings []string
}

func prove(ctx context.Context, options proveOptions, stdin io.Reader, stdout io.Writer) error {
	var proofs []*proof
	var err error
	if len(options.bundles) > 0 {
		proofs, err = bundleProofs(options.bundles, stdin)
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
	if options.output == "json" {
		err = writeProofsJSON(stdout, proofs, len(options.bundles) > 0)
	} else {
		err = writeProofs(stdout, proofs)
	}
	if err != nil {
		return err
	}
	return worst(proofs)
}

func (p *proof) analyze(ctx context.Context, timeout time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p.verdict = scope.Analyze(bounded, p.child, p.parents)
	p.warnings = scope.Warnings(p.child, p.parents)
	if ctx.Err() != nil {
		return fmt.Errorf("comparing %s: %w", p.child.Name, ctx.Err())
	}
	return nil
}

// worst is the exit of all verdicts: a counterexample before an unknown.
func worst(proofs []*proof) error {
	var worst error
	for _, p := range proofs {
		switch p.verdict.Outcome {
		case scope.Counterexample:
			return errDenied
		case scope.Unknown:
			worst = errUnknown
		}
	}
	return worst
}

// fileProof is that of a policy in a file.
func fileProof(options proveOptions) ([]*proof, error) {
	domain, _ := openclaw.Domain(options.domain)
	read := func(path, level string) (*scope.Policy, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return parsePolicy(scope.Source{Level: scope.Level(level), Name: path, Domain: domain, Content: string(text)})
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
func parsePolicy(source scope.Source) (*scope.Policy, error) {
	policy, err := scope.Parse(source)
	if errs, ok := err.(scope.ParseErrors); ok {
		lines := make([]string, len(errs))
		for i, e := range errs {
			lines[i] = e.Error()
		}
		return nil, fmt.Errorf("%s", strings.Join(lines, "\n"))
	}
	return policy, err
}

// bundleProofs are those of all policies of bundles, each against all of its domain
// that are of broader scopes.
func bundleProofs(paths []string, stdin io.Reader) ([]*proof, error) {
	objects, err := readManifests(paths, stdin)
	if err != nil {
		return nil, err
	}
	var policies []*scope.Policy
	for _, o := range objects {
		if o.kind.Kind != "PolicyBundle" || o.kind.Group != "openclaw.enterprise.io" {
			continue
		}
		found, err := bundlePolicies(o)
		if err != nil {
			return nil, err
		}
		policies = append(policies, found...)
	}
	if len(policies) == 0 {
		return nil, fmt.Errorf("there are no PolicyBundles of openclaw.enterprise.io with policies in %s", strings.Join(paths, ", "))
	}
	return pairs(policies)
}

func bundlePolicies(o object) ([]*scope.Policy, error) {
	text, err := o.json()
	if err != nil {
		return nil, err
	}
	var bundle openclaw.Bundle
	if err := json.Unmarshal(text, &bundle); err != nil {
		return nil, fmt.Errorf("%s: %w", o.origin, err)
	}
	var policies []*scope.Policy
	for i, policy := range bundle.Spec.Policies {
		level, err := scope.ParseLevel(string(policy.Scope))
		if err != nil {
			return nil, fmt.Errorf("%s: spec.policies[%d].scope: %w", o.origin, i, err)
		}
		domain, ok := openclaw.Domain(policy.Domain)
		if !ok {
			return nil, fmt.Errorf("%s: spec.policies[%d].domain: unknown domain %q", o.origin, i, policy.Domain)
		}
		parsed, err := parsePolicy(scope.Source{Level: level, Name: openclaw.FullName(&bundle, policy), Domain: domain, Content: policy.Content})
		if err != nil {
			return nil, fmt.Errorf("%s: spec.policies[%d].content:\n%w", o.origin, i, err)
		}
		policies = append(policies, parsed)
	}
	return policies, nil
}

func pairs(policies []*scope.Policy) ([]*proof, error) {
	var proofs []*proof
	seen := map[string]bool{}
	for _, child := range policies {
		if key := child.Domain.Name + " " + child.Name; seen[key] {
			return nil, fmt.Errorf("domain %q has two policies %s: give each a name of its own", child.Domain.Name, child.Name)
		} else {
			seen[key] = true
		}
		p := &proof{child: child}
		for _, other := range policies {
			if other.Domain.Name == child.Domain.Name &&
				other.Level.Rank() < child.Level.Rank() {
				p.parents = append(p.parents, other)
			}
		}
		proofs = append(proofs, p)
	}
	return proofs, nil
}
