// Package audit is `lintel audit`: it evaluates policies for objects that exist already, in a
// cluster or in files, and compares the results with those of earlier runs.
//
// Invariant: an object that was not evaluated is never reported as compliant. The report lists
// the kinds, files, policies and rules that were not evaluated, and why.
package audit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/cluster"
	"github.com/lintel-policy/lintel/cmd/lintel/dump"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/external"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

// options are the flags of audit.
type options struct {
	policies   []string
	names      []string // of the policies, in their order
	external   sources.External
	files      []string
	namespace  string
	excluded   []string
	complete   bool
	qps        float32
	limit      int
	baseline   string
	format     report.Format
	connection cluster.Options
}

// NewCommand is `lintel audit`.
func NewCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "audit [-p <policies>] [-f <dump>]",
		Short: "Report which existing objects violate policies",
		Long: `Report which existing objects violate policies, as if each object were created now.
Objects are evaluated as they are stored: patches and defaults of policies are not
applied.

Without -f, the objects are those of the cluster of the kubeconfig, in which
nothing needs to be installed. Without -p, the policies are those that the cluster
enforces now. With -f, the objects are those of files: manifests, lists as
'kubectl get -o yaml' writes them, and backups of Velero.

Without -p, the PolicyExceptions of the cluster are in force; with -p, those in its
YAML. A violation that an exception exempts is reported as skipped, and does not
count as a violation.

Rules that depend on a request, such as its user or a field of the old object,
cannot be evaluated for existing objects. The report lists them as not auditable.

Exit codes:
  0  no object violates a policy; with --baseline: no violation is new
  1  an object violates a policy; with --baseline: a violation is new
  2  the usage or an input is wrong, or a kind, a file or a policy could not be
     audited and nothing else is found`,
		Example: `  # Which objects of the cluster violate the policies that it enforces?
  lintel audit

  # Which would violate new policies? Nothing needs to be installed
  lintel audit -p policies/

  # Audit a dump, or a backup of Velero
  kubectl get deployments,pods,namespaces -A -o yaml > dump.yaml
  lintel audit -p policies/ -f dump.yaml
  lintel audit -p policies/ -f backup.tar.gz

  # Fail on new violations only
  lintel audit -p policies/ -o json > baseline.json
  lintel audit -p policies/ --baseline baseline.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage.Errorf(cmd, "unexpected argument %q: give files with -f and policies with -p", args[0])
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complain(cmd); err != nil {
				return err
			}
			return run(cmd, o)
		},
	}
	o.addFlags(cmd)
	cmd.AddCommand(newDiffCommand())
	return cmd
}

func (o *options) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.policies, "policies", "p", nil, "`path` of a folder or .rego file of policies, or of YAML with PolicySources and PolicyExceptions; may be repeated. The policies that the cluster enforces if not given")
	flags.StringArrayVar(&o.names, "name", nil, "`name` of the source in messages, as the PolicySource will have it; the folder's or file's own if not given. May be repeated, once for each -p, in their order")
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "`path` of a file or folder of objects in YAML or JSON or of a backup of Velero, or - for standard input; may be repeated. The objects of the cluster if not given")
	flags.StringVarP(&o.namespace, "namespace", "n", "default", "`namespace` of objects in files that name none")
	flags.StringSliceVar(&o.excluded, "excluded-namespaces", registration.DefaultExcludedNamespaces(), "`namespaces` whose objects are not evaluated, in addition to the one that Lintel runs in: those that the manager excludes")
	flags.BoolVar(&o.complete, "complete", false, "the files contain all objects of the kinds that policies require, so that a kind without objects in the files has none in the cluster")
	flags.Float32Var(&o.qps, "qps", 10, "maximum `number` of requests to the cluster in a second; a request reads up to 500 objects")
	flags.IntVar(&o.limit, "limit", 20, "maximum `number` of results per policy in text and JUnit; 0 is for all")
	flags.StringVar(&o.baseline, "baseline", "", "`path` of a report of an earlier run with -o json, whose violations do not count")
	o.external.AddFlag(cmd)
	o.format.AddFlag(cmd, "text", "json", "junit", "sarif", "openreports")
	o.connection.AddFlags(cmd)
	usage.CompleteFiles(cmd, "policies", "rego", "yaml", "yml", "json")
	usage.CompleteFiles(cmd, "filename", "yaml", "yml", "json", "gz", "tgz", "tar")
	usage.CompleteFiles(cmd, "baseline", "json")
	usage.CompleteFlagBy(cmd, "name", func(typed string) []string { return o.connection.CompleteSources(typed) })
	for _, name := range []string{"namespace", "excluded-namespaces"} {
		usage.CompleteFlagBy(cmd, name, func(typed string) []string { return o.connection.CompleteNamespaces(typed) })
	}
}

// complain checks the flags.
func (o *options) complain(cmd *cobra.Command) error {
	for _, name := range []string{"namespace", "complete"} {
		if len(o.files) == 0 && cmd.Flags().Changed(name) {
			return usage.Errorf(cmd, "--%s is about objects in files: give them with -f", name)
		}
	}
	for _, name := range []string{"kubeconfig", "context", "qps"} {
		if len(o.files) > 0 && cmd.Flags().Changed(name) {
			return usage.Errorf(cmd, "--%s is about a cluster, and the objects are in files: leave out one of --%s and -f", name, name)
		}
	}
	switch {
	case slices.Contains(o.names, ""):
		return usage.Errorf(cmd, "--name is empty: leave it out for the folder's own")
	case len(o.names) > 0 && len(o.policies) == 0:
		return usage.Errorf(cmd, "--name names the sources of -p: give these, too")
	case len(o.files) > 0 && len(o.policies) == 0:
		return usage.Errorf(cmd, "no policies: objects in files need policies with -p")
	case o.namespace == "":
		return usage.Errorf(cmd, "--namespace is empty: leave it out for \"default\"")
	case o.qps <= 0:
		return usage.Errorf(cmd, "--qps is %v: give a number greater than 0", o.qps)
	case o.limit < 0:
		return usage.Errorf(cmd, "--limit is %d: give 0 for all results, or a positive number", o.limit)
	case cmd.Flags().Changed("baseline") && o.baseline == "":
		return usage.Errorf(cmd, "--baseline is empty: give a file, or leave it out")
	}
	return o.format.Check(cmd)
}

// run returns the reason why there is no report, or a report.Exit.
func run(cmd *cobra.Command, o options) error {
	var baseline *Report
	if o.baseline != "" {
		var err error
		if baseline, err = readReport(o.baseline); err != nil {
			return err
		}
	}
	read, err := sources.Read(o.policies, o.names)
	if err != nil {
		return err
	}
	sets, err := sources.CompileAll(read)
	if err != nil {
		return err
	}
	exceptions, err := sources.ReadExceptions(o.policies)
	if err != nil {
		return err
	}
	rules := policies{sets: sets}
	for _, one := range exceptions {
		rules.exceptions = append(rules.exceptions, one.Exception)
	}
	p := report.NewProgress(cmd.ErrOrStderr())
	audited, notes, err := o.audit(cmd, rules, p)
	if err != nil {
		return err
	}
	snapshot := audited.auditor.Snapshot()
	notes = slices.Concat(sources.Notes(read, sets, snapshot), sources.ExceptionNotes(exceptions, sets, snapshot, time.Now()), notes)
	for _, note := range notes {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", report.Printable(note))
	}
	found := audited.report()
	if baseline != nil {
		found.markNew(baseline)
	}
	w := writer{report: found, limit: o.limit, sources: map[string]sources.Source{}}
	for _, s := range read {
		w.sources[s.Name] = s
	}
	if err := w.write(cmd.OutOrStdout(), o.format.Name()); err != nil {
		return err
	}
	return found.exit()
}

// policies are what decides about the objects.
type policies struct {
	sets       []*engine.PolicySet
	exceptions []*exception.Exception
	external   external.Set
}

// snapshot returns the policies for the kinds of a cluster.
func (p policies) snapshot(resources *admission.Resources) *engine.Snapshot {
	return engine.NewSnapshotWithExceptions(resources, p.exceptions, p.sets...).WithExternal(p.external)
}

// audit evaluates the policies for the objects.
func (o *options) audit(cmd *cobra.Command, rules policies, p *report.Progress) (found *pass, notes []string, err error) {
	excluded := append(slices.Clone(o.excluded), o.connection.SystemNamespace)
	if len(o.files) > 0 {
		files, err := dump.Open(o.files, cmd.InOrStdin())
		if err != nil {
			return nil, nil, err
		}
		if rules.external, err = o.external.Read(rules.sets); err != nil {
			return nil, nil, errors.Join(err, files.Close())
		}
		found, err := auditDump(cmd.Context(), files, rules, excluded, *o, p)
		return found, nil, errors.Join(err, files.Close())
	}
	o.connection.QPS = o.qps
	live, err := cluster.Connect(o.connection)
	if err != nil {
		return nil, nil, err
	}
	if len(o.policies) == 0 {
		if rules.sets, notes, err = live.EnforcedSets(cmd.Context()); err != nil {
			return nil, nil, fmt.Errorf("%w; to audit a cluster without Lintel, give policies with -p", err)
		}
		if len(rules.sets) == 0 {
			return nil, nil, errors.New("the cluster enforces no policies: give some with -p")
		}
		var unread []string
		rules.exceptions, unread = live.Exceptions(cmd.Context())
		notes = append(notes, unread...)
	}
	var unread []string
	if rules.external, unread, err = live.External(cmd.Context(), rules.sets, o.external); err != nil {
		return nil, nil, err
	}
	notes = append(notes, unread...)
	found, more, err := auditCluster(cmd.Context(), live, rules, excluded, p)
	return found, append(notes, more...), err
}

// exit is the exit code of a report: nil if no object violates a policy.
func (r *Report) exit() error {
	violations := r.Summary.Violations
	if r.Summary.New != nil {
		violations = *r.Summary.New
	}
	switch {
	case violations > 0:
		return report.Denied
	case !r.isComplete():
		return report.Error
	}
	return nil
}

// places returns the file and line of the rule of a result, as a user can open it.
func (w *writer) place(result Result) report.Place {
	file, line := w.sources[result.Result.Source].Place(result.Result.Location)
	return report.Place{File: cmp.Or(file, ""), Line: line}
}
