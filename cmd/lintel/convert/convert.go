// Package convert implements `lintel convert`: policies of other engines as Rego.
package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/kyverno"
)

// NewCommand returns the command.
func NewCommand() *cobra.Command {
	return usage.NewGroup(&cobra.Command{
		Use:   "convert",
		Short: "Convert policies of other engines to Rego",
		Long:  `Convert policies of other engines to Rego.`,
	}, newKyvernoCommand())
}

type options struct {
	output  string
	format  string
	kyverno string
	source  string
	expires time.Duration
}

func newKyvernoCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "kyverno <path>… -o <folder>",
		Short: "Convert policies of Kyverno to Rego",
		Long: `Convert policies of Kyverno (ClusterPolicy and Policy) to Rego, and its tests and
PolicyExceptions to those of Lintel. A policy is converted as a whole or not at all: each
construct without an equivalent is reported with its file, line and field.

ValidatingPolicies and PolicyExceptions of policies.kyverno.io stay as they are, because
Lintel evaluates them. They are copied, or reported if they need the cluster, a registry
or another service during a review.

Exit codes:
  0  everything is converted, and nothing differs from Kyverno
  1  a policy or an exception is not converted, or differs from Kyverno
  2  the usage is wrong, or a file cannot be read`,
		Example: `  # Convert a folder, and check the result
  lintel convert kyverno kyverno-policies/ -o policies/
  lintel policy lint -p policies/`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.output == "":
				return usage.Errorf(cmd, "--output-dir is missing: name the folder for the Rego")
			case o.format != "text" && o.format != "json":
				return usage.Errorf(cmd, "--report %s is not text or json", o.format)
			}
			return run(cmd, args, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output-dir", "o", "", "`folder` for the Rego; created if it is missing")
	flags.StringVar(&o.format, "report", "text", "`format` of the report: text or json")
	flags.StringVar(&o.kyverno, "kyverno", "", "`path` of the kyverno command: evaluate each policy and its Rego with the objects in the policy's folder and variations of them")
	flags.StringVar(&o.source, "source", "kyverno", "`name` of the PolicySource that will hold the policies, for PolicyExceptions")
	flags.DurationVar(&o.expires, "exceptions-expire-in", 30*24*time.Hour, "`duration` until converted PolicyExceptions end")
	usage.CompleteFlag(cmd, "report", "text", "json")
	return cmd
}

// Report is the output of --report json. Its lists are never null.
type Report struct {
	Converted []kyverno.Policy `json:"converted"`
	Refused   []kyverno.Policy `json:"refused"`
	// Exceptions and Suites are PolicyExceptions and tests, with the parts that are not converted.
	Exceptions []kyverno.Exception `json:"exceptions"`
	Suites     []kyverno.Suite     `json:"suites"`
	// Comparisons are those with Kyverno, if --kyverno names it.
	Comparisons []Comparison `json:"comparisons"`
}

func run(cmd *cobra.Command, paths []string, o options) error {
	inputs, err := read(paths)
	if err != nil {
		return err
	}
	results, err := kyverno.Convert(inputs, kyverno.ExceptionSettings{Source: o.source, Expires: time.Now().Add(o.expires).UTC().Truncate(time.Second)}, os.ReadFile)
	if err != nil {
		return err
	}
	if len(results.Policies) == 0 {
		return fmt.Errorf("there are no policies of Kyverno in %s", strings.Join(paths, ", "))
	}
	library, err := kyverno.Library()
	if err != nil {
		return err
	}
	out, files, err := collect(results, library)
	if err != nil {
		return err
	}
	if err := write(o.output, files); err != nil {
		return err
	}
	if o.kyverno != "" {
		c := &comparer{o.kyverno, library}
		for _, policy := range out.Converted {
			one := c.compare(cmd.Context(), policy)
			out.Comparisons = append(out.Comparisons, one)
			fmt.Fprintf(cmd.ErrOrStderr(), "compared %s: %s, %d different\n", policy.Name, report.Counted(one.Objects, "object"), len(one.Differences))
		}
	}
	if o.format == "json" {
		err = report.WriteJSON(cmd.OutOrStdout(), out)
	} else {
		err = report.Write(cmd.OutOrStdout(), text(out))
	}
	if err == nil && !out.complete() {
		return report.Denied
	}
	return err
}

// complete reports whether everything is converted, and nothing differs from Kyverno.
func (r Report) complete() bool {
	return len(r.Refused) == 0 &&
		!slices.ContainsFunc(r.Exceptions, func(e kyverno.Exception) bool { return len(e.Refusals) > 0 }) &&
		!slices.ContainsFunc(r.Comparisons, func(c Comparison) bool { return c.Error != "" || len(c.Differences) > 0 })
}

// collect divides the results, and returns the files to write.
func collect(results kyverno.Results, library map[string]string) (Report, map[string]string, error) {
	out := Report{Converted: []kyverno.Policy{}, Refused: []kyverno.Policy{}, Exceptions: results.Exceptions, Suites: results.Suites, Comparisons: []Comparison{}}
	files := maps.Clone(library)
	for _, policy := range results.Policies {
		if !policy.Converted() {
			out.Refused = append(out.Refused, policy)
			continue
		}
		out.Converted = append(out.Converted, policy)
		for name, text := range policy.Files {
			if earlier, ok := files[name]; ok && earlier != text {
				return out, nil, fmt.Errorf("%s:%d: another policy is named %s, too: convert them into different folders", policy.File, policy.Line, policy.Name)
			}
			files[name] = text
		}
	}
	maps.Copy(files, results.Tests)
	for _, exception := range results.Exceptions {
		var b strings.Builder
		for _, object := range exception.Objects {
			text, err := yaml.Marshal(object)
			if err != nil {
				return out, nil, err
			}
			b.WriteString("---\n" + strings.Replace(string(text), "status: {}\n", "", 1))
		}
		if b.Len() > 0 {
			files[exception.Path()] = b.String()
		}
	}
	return out, files, nil
}

// read reads the YAML files of files and folders.
func read(paths []string) (out []kyverno.Input, err error) {
	for _, path := range paths {
		err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !manifests.IsManifest(file) && file != path {
				return err
			}
			content, err := os.ReadFile(file)
			out = append(out, kyverno.Input{File: file, Text: content})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// write writes files below a folder.
func write(folder string, files map[string]string) error {
	for name, text := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// text is the report for people.
func text(out Report) string {
	var b strings.Builder
	for _, policy := range out.Converted {
		if policy.Unchanged {
			fmt.Fprintf(&b, "unchanged  %s (%s)\n", policy.Name, policy.Kind)
			continue
		}
		fmt.Fprintf(&b, "converted  %s (%s)\n", policy.Name, report.Counted(len(policy.Rules), "rule"))
		for _, note := range policy.Notes {
			fmt.Fprintf(&b, "  note  %s\n", report.Printable(note.String()))
		}
	}
	constructs := map[string]int{}
	for _, policy := range out.Refused {
		fmt.Fprintf(&b, "refused    %s\n", policy.Name)
		seen := map[string]bool{}
		for _, one := range policy.Refusals {
			fmt.Fprintf(&b, "  %s\n", report.Printable(one.String()))
			if !seen[one.Construct] {
				constructs[one.Construct]++
			}
			seen[one.Construct] = true
		}
	}
	if len(constructs) > 0 {
		b.WriteString("\nnot converted, by construct:\n")
	}
	names := make([]string, 0, len(constructs))
	for name := range constructs {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(constructs[b]-constructs[a], strings.Compare(a, b)) })
	for _, name := range names {
		fmt.Fprintf(&b, "  %4d  %s\n", constructs[name], name)
	}
	b.WriteString(exceptionText(out))
	b.WriteString(comparisonText(out.Comparisons))
	fmt.Fprintf(&b, "\n%s: %d converted, %d not converted\n", report.CountedAs(len(out.Converted)+len(out.Refused), "policy", "policies"), len(out.Converted), len(out.Refused))
	return b.String()
}

// exceptionText is the part of the report about exceptions and tests.
func exceptionText(out Report) string {
	var b strings.Builder
	for _, one := range out.Exceptions {
		fmt.Fprintf(&b, "exception  %s (%s)\n", one.Name, report.Counted(len(one.Objects), "PolicyException"))
		for _, refusal := range one.Refusals {
			fmt.Fprintf(&b, "  %s\n", report.Printable(refusal.String()))
		}
	}
	cases, refused := 0, 0
	for _, one := range out.Suites {
		cases += one.Cases
		refused += len(one.Refusals)
	}
	if len(out.Suites) > 0 {
		fmt.Fprintf(&b, "\n%s: %s, %s not converted\n", report.Counted(len(out.Suites), "test file"), report.Counted(cases, "test"), report.Counted(refused, "result"))
	}
	return b.String()
}

// comparisonText is the part of the report about the comparison.
func comparisonText(comparisons []Comparison) string {
	if len(comparisons) == 0 {
		return ""
	}
	var b strings.Builder
	equal, objects := 0, 0
	for _, one := range comparisons {
		objects += one.Objects
		switch {
		case one.NotCompared != "" && one.Error == "":
			fmt.Fprintf(&b, "not compared  %s: %s\n", one.Policy, one.NotCompared)
		case one.Error != "":
			fmt.Fprintf(&b, "not compared  %s: %s\n", one.Policy, report.Printable(one.Error))
		case len(one.Differences) > 0:
			first := one.Differences[0]
			object, err := json.Marshal(first.Object)
			if err != nil {
				object = nil
			}
			fmt.Fprintf(&b, "different     %s (%d of %d objects), %s, rule %s: kyverno %q, lintel %q: %s\n", one.Policy, len(one.Differences), one.Objects, first.Request, first.Rule, first.Kyverno, report.Printable(first.Lintel), report.Printable(string(object)))
		default:
			equal++
		}
	}
	return fmt.Sprintf("\ncompared with Kyverno: %s, %d equal, %s\n%s", report.CountedAs(len(comparisons), "policy", "policies"), equal, report.Counted(objects, "object"), b.String())
}
