package library

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/library"
)

// NewSearchCommand is `lintel policy search`.
func NewSearchCommand() *cobra.Command {
	var from location
	var format report.Format
	cmd := &cobra.Command{
		Use:   "search [word...]",
		Short: "Find policies in a library",
		Long: `Find policies in a library: those that contain each of the words in their name,
title, description, severity, bundles or references. Without words, the command
lists all policies.

Exit codes:
  0  policies are found
  1  no policy contains the words
  2  the usage is wrong, or the library cannot be read`,
		Example: `  # Policies about host paths
  lintel policy search host path --library config/library

  # The policies of a bundle
  lintel policy search nsa-hardening`,
		RunE: func(cmd *cobra.Command, words []string) error {
			if err := format.Check(cmd); err != nil {
				return err
			}
			l, err := from.open(cmd.Context())
			if err != nil {
				return err
			}
			found := l.Search(words...)
			if format.Is("json") {
				err = report.WriteJSON(cmd.OutOrStdout(), append([]library.Policy{}, found...))
			} else {
				err = writePolicies(cmd.OutOrStdout(), found)
			}
			if err == nil && len(found) == 0 {
				return report.Denied
			}
			return err
		},
	}
	from.addFlags(cmd)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	format.AddFlag(cmd, "text", "json")
	return cmd
}

// writePolicies writes a table of policies.
func writePolicies(w io.Writer, policies []library.Policy) error {
	if len(policies) == 0 {
		return report.Write(w, "no policy contains these words\n")
	}
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "POLICY\tSEVERITY\tTITLE")
	for _, p := range policies {
		fmt.Fprintf(table, "%s\t%s\t%s\n", report.Printable(p.Name), p.Severity, report.Printable(p.Title))
	}
	table.Flush()
	return report.Write(w, b.String())
}

// NewShowCommand is `lintel policy show`.
func NewShowCommand() *cobra.Command {
	var from location
	var format report.Format
	cmd := &cobra.Command{
		Use:   "show <policy or bundle>",
		Short: "Show a policy or a bundle of a library",
		Long: `Show a policy of a library with its rationale, remedy, parameters and examples, or
the policies of a bundle. Without a name, the command lists the bundles.

Exit codes:
  0  the policy or bundle is shown
  2  the usage is wrong, the library cannot be read, or it does not have the name`,
		Example: `  # Why does this policy exist, and which objects does it deny?
  lintel policy show privileged_containers --library config/library`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := format.Check(cmd); err != nil {
				return err
			}
			l, err := from.open(cmd.Context())
			if err != nil {
				return err
			}
			return show(l, names, format, cmd.OutOrStdout())
		},
	}
	from.addFlags(cmd)
	cmd.ValidArgsFunction = from.complete
	format.AddFlag(cmd, "text", "json")
	return cmd
}

func show(l *library.Library, names []string, format report.Format, w io.Writer) error {
	if len(names) == 0 {
		if format.Is("json") {
			return report.WriteJSON(w, l.Bundles)
		}
		return writeBundles(w, l.Bundles)
	}
	if bundle, ok := l.Bundle(names[0]); ok {
		if format.Is("json") {
			return report.WriteJSON(w, bundle)
		}
		return writeBundleDetails(w, l, bundle)
	}
	policy, ok := l.Policy(names[0])
	switch {
	case !ok:
		return unknown(l, &library.UnknownError{Name: names[0]})
	case format.Is("json"):
		return report.WriteJSON(w, policy)
	}
	return report.Write(w, policyText(l, policy))
}

// unknown names the policy or bundle that was likely meant.
func unknown(l *library.Library, err *library.UnknownError) error {
	return fmt.Errorf("%w%s", err, usage.DidYouMean("", admission.Nearest(err.Name, l.Names())))
}

func writeBundles(w io.Writer, bundles []library.Bundle) error {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "BUNDLE\tPOLICIES\tTITLE")
	for _, bundle := range bundles {
		fmt.Fprintf(table, "%s\t%d\t%s\n", report.Printable(bundle.Name), len(bundle.Policies), report.Printable(bundle.Title))
	}
	table.Flush()
	return report.Write(w, b.String())
}

func writeBundleDetails(w io.Writer, l *library.Library, bundle library.Bundle) error {
	if err := report.Write(w, printableLines(bundle.Title+"\n\n"+bundle.Description+"\n\n")); err != nil {
		return err
	}
	var policies []library.Policy
	for _, name := range bundle.Policies {
		policy, _ := l.Policy(name)
		policies = append(policies, policy)
	}
	return writePolicies(w, policies)
}

// policyText describes a policy.
func policyText(l *library.Library, p library.Policy) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n\n", p.Title, p.Description)
	fmt.Fprintf(&b, "Name:      %s\nSeverity:  %s\nBundles:   %s\nRationale: %s\nRemedy:    %s\n", p.Name, p.Severity, strings.Join(p.Bundles, ", "), p.Rationale, p.Remedy)
	for i, name := range slices.Sorted(maps.Keys(p.Parameters)) {
		if i == 0 {
			b.WriteString("Parameters:\n")
		}
		fmt.Fprintf(&b, "  %s: %s\n", name, p.Parameters[name])
	}
	b.WriteString("References:\n")
	for _, reference := range p.References {
		fmt.Fprintf(&b, "  %s: %s\n", reference.Description, reference.URL)
	}
	for _, example := range []struct{ title, file string }{{"Denied:", "bad.yaml"}, {"Admitted:", "good.yaml"}} {
		if text := l.File(p, example.file); text != "" {
			fmt.Fprintf(&b, "\n%s\n", example.title)
			for line := range strings.Lines(text) {
				b.WriteString("  " + line)
			}
		}
	}
	return printableLines(b.String())
}

// printableLines makes control characters visible, but keeps the lines.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = report.Printable(line)
	}
	return strings.Join(lines, "\n")
}
