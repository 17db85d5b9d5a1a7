package policy

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/cmd/lintel/cluster"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/source/schema"
	"github.com/lintel-policy/lintel/policies/suite"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

type lintOptions struct {
	policies sources.One
	scope    string
	name     string
	partial  bool
	format   report.Format
}

func newLintCommand() *cobra.Command {
	var options lintOptions
	cmd := &cobra.Command{
		Use:   "lint -p <policies>",
		Short: "Evaluate a folder of policies like the gate of a cluster",
		Long: `Evaluate a folder of policies like the gate of a cluster before a revision goes
live, but without a cluster: the policies must compile, their METADATA and references
must be valid, their tests must pass, and they must stay within their scope.

References are checked against the kinds of Kubernetes and of the
CustomResourceDefinitions in the folder; other kinds are not checked.

Exit codes:
  0  a cluster would accept the policies; there may be warnings
  1  a cluster would refuse the policies
  2  the usage is wrong, or the policies cannot be read`,
		Example: `  # In the CI of a repository of policies
  lintel policy lint -p policies/

  # As the PolicySource of a team, below those of the other manifests
  lintel policy lint -p policies/ --scope cluster/policysources.yaml --name payments`,
		Args: options.policies.Args,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.format.Check(cmd); err != nil {
				return err
			}
			return lint(cmd.Context(), options, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	options.policies.AddFlag(cmd)
	flags.StringVar(&options.scope, "scope", "", "`path` of YAML with the PolicySource that holds the folder, for its scope and parameters, and those of other scopes")
	flags.StringVar(&options.name, "name", "", "`name` of the PolicySource, where --scope has several; else of the source in messages")
	sources.AddPartialFlag(flags, &options.partial)
	options.format.AddFlag(cmd, "text", "json")
	usage.CompleteFiles(cmd, "scope", "yaml", "yml", "json")
	usage.CompleteFlagBy(cmd, "name", cluster.Options{}.CompleteSources)
	return cmd
}

// LintReport is the output of -o json. Its lists are never null.
type LintReport struct {
	Accepted bool                      `json:"accepted"`
	Reason   string                    `json:"reason,omitempty"`
	Errors   []definition.CompileError `json:"errors"`
	Warnings []definition.CompileError `json:"warnings"`
	// LeftOut are the files that a cluster would leave out of a partial source.
	LeftOut  []definition.CompileError `json:"leftOut"`
	Policies int                       `json:"policies"`
	Rules    int                       `json:"rules"`
	Tests    suite.Totals              `json:"tests"`
}

func lint(ctx context.Context, options lintOptions, stdout io.Writer) error {
	candidate, err := options.policies.Read()
	if err != nil {
		return err
	}
	write := writeLintText
	if options.format.Is("json") {
		write = func(w io.Writer, found LintReport) error { return report.WriteJSON(w, found) }
	}
	return lintSource(ctx, candidate, options, stdout, write)
}

// lintSource writes the findings of the gate. The verdict is report.Denied where a cluster
// would refuse the source.
func lintSource(ctx context.Context, candidate sources.Source, options lintOptions, w io.Writer, write func(io.Writer, LintReport) error) error {
	definitions, resources, err := sources.Definitions(candidate.Files)
	if err != nil {
		return err
	}
	live := engine.NewLive(resources)
	if err := putInScope(&candidate, options, live); err != nil {
		return err
	}
	candidate.Partial = candidate.Partial || options.partial
	found, set, err := runGate(ctx, candidate, live, definitions)
	if err != nil {
		return err
	}
	if set != nil && options.scope != "" {
		if err := found.addExceptions(options.scope, set, live); err != nil {
			return err
		}
	}
	if err := write(w, found); err != nil {
		return err
	}
	if !found.Accepted {
		return report.Denied
	}
	return nil
}

// runGate runs the gate, with files instead of a cluster.
func runGate(ctx context.Context, candidate sources.Source, live *engine.Live, definitions []*schema.Definition) (LintReport, *engine.PolicySet, error) {
	out := LintReport{Errors: []definition.CompileError{}, Warnings: []definition.CompileError{}, LeftOut: []definition.CompileError{}}
	compiler, err := sources.NewCompiler(definitions, func(message string) {
		out.Warnings = append(out.Warnings, definition.CompileError{Message: message})
	})
	if err != nil {
		return out, nil, err
	}
	tester, err := sources.NewTester()
	if err != nil {
		return out, nil, err
	}
	gate := source.Gate{
		Compile: compiler.Compile,
		Test: func(ctx context.Context, candidate definition.Source) (suite.Results, error) {
			results, err := tester.Test(ctx, candidate, suite.Options{})
			out.Tests = results.Totals
			return results, err
		},
		Registrable: func(policies []engine.PolicyInfo, resources *admission.Resources) error {
			_, _, err := registration.Configurations(policies, resources, nil, registration.Settings{})
			return err
		},
	}
	verdict, err := gate.Evaluate(ctx, candidate.Source, live)
	if err != nil {
		return out, nil, err
	}
	out.Accepted, out.Reason = verdict.Set != nil, verdict.Reason
	out.Warnings = append(out.Warnings, candidate.InFolder(verdict.Warnings)...)
	for _, file := range verdict.LeftOut {
		out.LeftOut = append(out.LeftOut, candidate.InFolder(definition.CompileErrorList{file.CompileError})...)
	}
	if verdict.Set == nil {
		out.Errors = candidate.InFolder(verdict.Errors)
		if len(out.Errors) == 0 || verdict.Reason == source.ReasonNoPolicies {
			out.Errors = append([]definition.CompileError{{Message: verdict.Message}}, out.Errors...)
		}
		return out, nil, nil
	}
	out.Policies, out.Rules = verdict.Set.Policies(), verdict.Set.Rules()
	if out.Tests.Cases == 0 {
		out.Warnings = append(out.Warnings, definition.CompileError{Message: "there are no tests: write rules named test_ into files named _test.rego"})
	}
	found, err := source.Lint(verdict.Set)
	out.Warnings = append(out.Warnings, candidate.InFolder(found)...)
	return out, verdict.Set, err
}

// reasonExceptions is the reason of a source with PolicyExceptions that would have no effect.
const reasonExceptions = "InvalidExceptions"

// addExceptions reports the PolicyExceptions of a path that are about the source and would have
// no effect.
func (l *LintReport) addExceptions(path string, set *engine.PolicySet, live *engine.Live) error {
	exceptions, err := sources.ExceptionsAt(path)
	if err != nil {
		return err
	}
	snapshot := live.With(set)
	for _, one := range exceptions {
		if one.Source != set.Name() {
			continue
		}
		for _, problem := range sources.ExceptionProblems(one, []*engine.PolicySet{set}, snapshot, time.Now()) {
			l.Errors = append(l.Errors, definition.CompileError{Message: fmt.Sprintf("PolicyException %s at %s: %s", one.Name, one.Origin, problem)})
			l.Accepted, l.Reason = false, reasonExceptions
		}
	}
	return nil
}

// putInScope gives the source the settings of its PolicySource, and makes the others live, so
// that it is evaluated together with them. Of those that are not inline, only the scope is
// known.
func putInScope(candidate *sources.Source, options lintOptions, live *engine.Live) error {
	candidate.Name = cmp.Or(options.name, candidate.Name)
	if options.scope == "" {
		return nil
	}
	found, err := sources.PolicySourcesAt(options.scope)
	if err != nil {
		return err
	}
	mine := slices.IndexFunc(found, func(object v1alpha1.PolicySource) bool { return object.Name == options.name })
	if options.name == "" && len(found) == 1 {
		mine = 0
	}
	if mine < 0 {
		return fmt.Errorf("%s has %d PolicySources: say with --name which of them is to hold the folder", options.scope, len(found))
	}
	candidate.Source = source.FromPolicySource(&found[mine], candidate.Files, "")
	for i := range slices.Delete(found, mine, mine+1) {
		var files map[string]string
		if found[i].Spec.Inline != nil {
			files = found[i].Spec.Inline.Files
		}
		set, err := sources.CompileWithinLimits(source.FromPolicySource(&found[i], files, ""))
		if err != nil {
			return fmt.Errorf("PolicySource %s in %s: %w", found[i].Name, options.scope, err)
		}
		live.Put(set)
	}
	return nil
}

// writeProblems writes the errors and warnings of a report.
func writeProblems(w io.Writer, found LintReport) error {
	var b strings.Builder
	for _, err := range found.Errors {
		fmt.Fprintf(&b, "error: %s\n", report.Printable(err.Error()))
	}
	for _, file := range found.LeftOut {
		fmt.Fprintf(&b, "left out: %s\n", report.Printable(file.Error()))
	}
	for _, warning := range found.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", report.Printable(warning.Error()))
	}
	return report.Write(w, b.String())
}

func writeLintText(w io.Writer, found LintReport) error {
	if err := writeProblems(w, found); err != nil {
		return err
	}
	verdict := "accepted"
	switch {
	case !found.Accepted:
		verdict = "refused, " + found.Reason
	case len(found.LeftOut) > 0:
		verdict = "accepted without " + report.Counted(len(found.LeftOut), "file")
	}
	return report.Write(w, fmt.Sprintf("%s: %s, %s, %s (%d failed), %s, %s\n", verdict, report.CountedAs(found.Policies, "policy", "policies"),
		report.Counted(found.Rules, "rule"), report.Counted(found.Tests.Cases, "test case"), found.Tests.Failed,
		report.Counted(len(found.Errors), "error"), report.Counted(len(found.Warnings), "warning")))
}
