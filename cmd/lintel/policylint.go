package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	kjson "sigs.k8s.io/json"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/config/crd"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/manifest"
	"github.com/lintel-policy/lintel/policies/source"
	"github.com/lintel-policy/lintel/policies/source/schema"
	"github.com/lintel-policy/lintel/policies/suite"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

// errRefused is said already.
var errRefused = errors.New("the gate refuses the policies")

type policyLintOptions struct {
	policies ownPolicies
	scope    string
	name     string
	output   string
}

func newPolicyLintCommand() *cobra.Command {
	var options policyLintOptions
	cmd := &cobra.Command{
		Use:   "lint -p <policies>",
		Short: "Judge a folder of policies as the gate of a cluster does",
		Long: `Judge a folder of policies as the gate of a cluster does before a revision goes
live, without a cluster: it must compile, its METADATA and its references must be
right, its own tests must pass, and it must keep within its scope.

References are checked against the kinds of Kubernetes and of the
CustomResourceDefinitions in the folder; other kinds are not checked.

Exit codes:
  0  a cluster would take it; there may be warnings
  1  a cluster would refuse it
  2  the usage is wrong, or the policies cannot be read`,
		Example: `  # In the CI of a repository of policies
  lintel policy lint -p policies/

  # As the PolicySource of a team, below those of the other manifests
  lintel policy lint -p policies/ --scope cluster/policysources.yaml --name payments`,
		Args: options.policies.args,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if options.output != "text" && options.output != "json" {
				return usageError(cmd, "--output %s is not text or json", options.output)
			}
			return policyLint(cmd.Context(), options.policies.path, options, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	options.policies.addFlag(flags)
	flags.StringVar(&options.scope, "scope", "", "`path` of YAML with the PolicySource that holds the folder, for its scope and parameters, and those of other scopes")
	flags.StringVar(&options.name, "name", "", "`name` of the PolicySource, where --scope has several; else of the source in messages")
	flags.StringVarP(&options.output, "output", "o", "text", "`format` of the report: text or json")
	return cmd
}

// lintReport is the output of -o json. Its lists are never null.
type lintReport struct {
	Accepted bool                  `json:"accepted"`
	Reason   string                `json:"reason,omitempty"`
	Errors   []engine.CompileError `json:"errors"`
	Warnings []engine.CompileError `json:"warnings"`
	Policies int                   `json:"policies"`
	Rules    int                   `json:"rules"`
	Tests    suite.Totals          `json:"tests"`
}

func policyLint(ctx context.Context, path string, options policyLintOptions, stdout io.Writer) error {
	judged, err := readOwnPolicies(path)
	if err != nil {
		return err
	}
	definitions, resources, err := readDefinitions(judged.Files)
	if err != nil {
		return err
	}
	live := engine.NewLive(resources)
	if err := judged.place(options, live); err != nil {
		return err
	}
	report, err := judge(ctx, judged, live, definitions)
	if err != nil {
		return err
	}
	if options.output == "json" {
		err = writeIndented(stdout, report)
	} else {
		err = writeLintText(stdout, report)
	}
	if err == nil && !report.Accepted {
		return errRefused
	}
	return err
}

// judge asks the gate, with what it asks of a cluster replaced by files.
func judge(ctx context.Context, judged policySource, live *engine.Live, definitions []*schema.Definition) (lintReport, error) {
	report := lintReport{Errors: []engine.CompileError{}, Warnings: []engine.CompileError{}}
	program, err := thisProgram()
	if err != nil {
		return report, err
	}
	compiler, err := gateCompiler(definitions, func(message string) {
		report.Warnings = append(report.Warnings, engine.CompileError{Message: message})
	})
	if err != nil {
		return report, err
	}
	tester := source.NewTester(program, testsTimeout)
	gate := source.Gate{
		Compile: compiler.Compile,
		Test: func(ctx context.Context, candidate engine.Source) (suite.Results, error) {
			results, err := tester.Test(ctx, candidate, suite.Options{})
			report.Tests = results.Totals
			return results, err
		},
		Registrable: func(policies []engine.PolicyInfo, resources *admission.Resources) error {
			_, _, err := registration.Configurations(policies, resources, nil, registration.Settings{})
			return err
		},
	}
	verdict, err := gate.Judge(ctx, judged.Source, live)
	if err != nil {
		return report, err
	}
	report.Accepted, report.Reason = verdict.Set != nil, verdict.Reason
	report.Warnings = append(report.Warnings, judged.inFolder(verdict.Warnings)...)
	if verdict.Set == nil {
		report.Errors = judged.inFolder(verdict.Errors)
		if len(report.Errors) == 0 || verdict.Reason == source.ReasonNoPolicies {
			report.Errors = append([]engine.CompileError{{Message: verdict.Message}}, report.Errors...)
		}
		return report, nil
	}
	report.Policies, report.Rules = verdict.Set.Policies(), verdict.Set.Rules()
	if report.Tests.Cases == 0 {
		report.Warnings = append(report.Warnings, engine.CompileError{Message: "there are no tests: write rules named test_ into files named _test.rego"})
	}
	found, err := source.Lint(verdict.Set)
	report.Warnings = append(report.Warnings, judged.inFolder(found)...)
	return report, err
}

// inFolder names the files as the user can open them.
func (s policySource) inFolder(errs engine.CompileErrors) []engine.CompileError {
	out := slices.Clone([]engine.CompileError(errs))
	for i := range out {
		if out[i].File != "" {
			out[i].File = filepath.Join(s.folder, filepath.FromSlash(out[i].File))
		}
	}
	return out
}

// readDefinitions are the CustomResourceDefinitions among the files, and before those of
// the same kind Lintel's own.
func readDefinitions(files map[string]string) ([]*schema.Definition, *admission.Resources, error) {
	definitions, err := ownDefinitions()
	if err != nil {
		return nil, nil, err
	}
	var defined []admission.Resource
	for _, name := range sortedNames(files) {
		if !isManifest(name) || !strings.Contains(files[name], "CustomResourceDefinition") {
			continue
		}
		documents, err := manifest.Read(name, []byte(files[name]))
		if err != nil {
			return nil, nil, err
		}
		for _, document := range documents {
			definition, err := schema.ReadDefinition(document.JSON)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", document, err)
			}
			if definition != nil {
				definitions = slices.DeleteFunc(definitions, definition.IsOfKind)
				definitions, defined = append(definitions, definition), append(defined, definition.Resources()...)
			}
		}
	}
	return definitions, admission.BuiltinResourcesWith(defined...), nil
}

// ownDefinitions are those of Lintel's kinds.
func ownDefinitions() ([]*schema.Definition, error) {
	names, err := fs.Glob(crd.Files, "*/*.yaml")
	if err != nil {
		return nil, err
	}
	var definitions []*schema.Definition
	for _, name := range names {
		text, err := crd.Files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		definition, err := schema.ReadDefinition(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		definitions = append(definitions, definition)
	}
	return definitions, nil
}

// place gives the source the settings of its PolicySource, and makes the others live,
// so that it is judged beside them. Of those that are not inline, only the scope is
// known.
func (s *policySource) place(options policyLintOptions, live *engine.Live) error {
	s.Name = cmp.Or(options.name, s.Name)
	if options.scope == "" {
		return nil
	}
	objects, err := readManifestPath(options.scope)
	if err != nil {
		return err
	}
	var sources []v1alpha1.PolicySource
	for _, o := range objects {
		if o.kind.Kind != "PolicySource" || o.kind.Group != v1alpha1.GroupName {
			continue
		}
		text, err := o.json()
		if err != nil {
			return err
		}
		var read v1alpha1.PolicySource
		strict, err := kjson.UnmarshalStrict(text, &read)
		if err = errors.Join(append(strict, err)...); err != nil {
			return fmt.Errorf("%s: reading the PolicySource: %w", o.origin, err)
		}
		sources = append(sources, read)
	}
	mine := slices.IndexFunc(sources, func(object v1alpha1.PolicySource) bool { return object.Name == options.name })
	if options.name == "" && len(sources) == 1 {
		mine = 0
	}
	if mine < 0 {
		return fmt.Errorf("%s has %d PolicySources: say with --name which of them is to hold the folder", options.scope, len(sources))
	}
	for i := range sources {
		if i == mine {
			s.Source = source.FromPolicySource(&sources[i], s.Files, "")
			continue
		}
		var files map[string]string
		if sources[i].Spec.Inline != nil {
			files = sources[i].Spec.Inline.Files
		}
		set, err := compileWithinLimits(source.FromPolicySource(&sources[i], files, ""))
		if err != nil {
			return fmt.Errorf("PolicySource %s in %s: %w", sources[i].Name, options.scope, err)
		}
		live.Put(set)
	}
	return nil
}

// writeProblemsOf writes the errors and warnings of a report.
func writeProblemsOf(w io.Writer, report lintReport) error {
	for _, err := range report.Errors {
		if _, err := fmt.Fprintf(w, "error: %s\n", printable(err.Error())); err != nil {
			return err
		}
	}
	for _, warning := range report.Warnings {
		if _, err := fmt.Fprintf(w, "warning: %s\n", printable(warning.Error())); err != nil {
			return err
		}
	}
	return nil
}

func writeLintText(w io.Writer, report lintReport) error {
	var b strings.Builder
	if err := writeProblemsOf(&b, report); err != nil {
		return err
	}
	verdict := "accepted"
	if !report.Accepted {
		verdict = "refused, " + report.Reason
	}
	fmt.Fprintf(&b, "%s: %d %s, %s, %s (%d failed), %s, %s\n", verdict, report.Policies, plural(report.Policies, "policy", "policies"),
		counted(report.Rules, "rule"), counted(report.Tests.Cases, "test case"), report.Tests.Failed,
		counted(len(report.Errors), "error"), counted(len(report.Warnings), "warning"))
	_, err := io.WriteString(w, b.String())
	return err
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
