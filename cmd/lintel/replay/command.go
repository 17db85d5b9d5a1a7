// Package replay is `lintel replay`: it evaluates candidate policies for recorded requests, and
// reports the requests that they would decide differently.
//
// Invariant: a record that was not evaluated is never reported as unchanged. The report lists the
// records that were skipped and the requests that are undecided, and why.
package replay

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/records"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/sources"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	core "github.com/lintel-policy/lintel/policies/replay"
)

// options are the flags of replay.
type options struct {
	against, names, baseline []string
	external                 sources.External
	since, until             string
	records                  []string
	examples, limit          int
	maxDenials, maxWarnings  int64
	maxUndecided             int64
	suite, resume            string
	workers                  int
	format                   report.Format
	job                      job
	part                     core.Part
	partText, result, merge  string
	now                      time.Time
}

// NewCommand is `lintel replay`.
func NewCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "replay --against <policies> <records>...",
		Short: "Report how policies would decide recorded requests",
		Long: `Report how policies would decide recorded requests, and the differences from the
recorded decisions.

The records are those of the manager's --record or of lintel record import: a folder,
an object store such as s3://bucket/folder, a file of uncompressed JSON lines, or - for
these on standard input. Nothing is sent to a cluster.

The candidate replaces the sources of the same names. Findings of other sources
stay as they were recorded. With --baseline, the candidate is compared with other
policies that are evaluated for the same requests, and not with the records.

A request is undecided if a policy reads a value that the record lacks: because it
is masked, or because it was not read at the time.

Exit codes:
  0  no more requests are newly denied or warned about than permitted
  1  more are
  2  the usage or an input is wrong, or more requests are undecided, or records
     unreadable, than --max-undecided, and nothing else is found`,
		Example: `  # What would these policies have done in the last week?
  lintel replay --against policies/ --name team records/

  # What does the change of a branch make different?
  lintel replay --against policies/ --baseline main/policies/ records/

  # What does the last commit make different?
  lintel replay --against HEAD:policies --baseline HEAD~1:policies records/

  # A comment for a pull request
  lintel replay --against policies/ --since 1d -o markdown records/

  # Interrupt and resume
  lintel replay --against policies/ --resume replay.json records/

  # Evaluate in 8 Pods
  lintel replay --against policies/ --job 8 --job-image registry.example/lintel:v1.2.3 \
    's3://audit/lintel?region=eu-central-1' | kubectl apply -f -
  lintel replay --against policies/ --merge lintel-replay-1a2b3c4d 's3://audit/lintel?region=eu-central-1'`,
		Args: func(cmd *cobra.Command, args []string) error {
			o.records = args
			return o.complain(cmd)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.now = time.Now()
			return run(cmd, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (o *options) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&o.against, "against", nil, "`path` of the candidate: a folder or .rego file of policies, YAML with PolicySources and PolicyExceptions, or a folder of a Git revision, REVISION:FOLDER or git+URL?ref=REF&path=FOLDER; may be repeated")
	flags.StringArrayVar(&o.names, "name", nil, "`name` of the source that the candidate replaces; the folder's or file's own if not given. May be repeated, once for each --against, in their order")
	flags.StringArrayVar(&o.baseline, "baseline", nil, "`path` of policies to compare with, in place of the recorded decisions; may be repeated")
	flags.StringVar(&o.since, "since", "7d", "`time` of the first record: a duration before now such as 7d or 12h, or a time such as 2026-11-20T00:00:00Z")
	flags.StringVar(&o.until, "until", "", "`time` after the last record, as for --since; now if not given")
	flags.IntVar(&o.examples, "examples", 3, "maximum `number` of examples for each policy and outcome")
	flags.IntVar(&o.limit, "limit", 10, "maximum `number` of policies, namespaces, users and workloads in text and Markdown; 0 is for all")
	flags.Int64Var(&o.maxDenials, "max-new-denials", 0, "maximum `number` of newly denied requests without exit code 1")
	flags.Int64Var(&o.maxWarnings, "max-new-warnings", -1, "maximum `number` of admitted requests with new warnings without exit code 1; -1 is for any")
	flags.Int64Var(&o.maxUndecided, "max-undecided", 0, "maximum `number` of undecided requests and unreadable records without exit code 2; -1 is for any")
	flags.StringVar(&o.suite, "write-suite", "", "`folder` to write the examples to, as test cases of the candidate with the least input that shows the difference; masked values stay masked")
	flags.StringVar(&o.resume, "resume", "", "`file` with the state of an interrupted run, from which this run continues; it is written while the command runs, and deleted at the end")
	flags.IntVar(&o.workers, "workers", 0, "`number` of requests that are evaluated at the same time; 0 is for the number of processors")
	o.external.AddFlag(cmd)
	o.addJobFlags(flags)
	o.format.AddFlag(cmd, "text", "json", "markdown", "sarif", "junit")
	for _, name := range []string{"against", "baseline"} {
		usage.CompleteFiles(cmd, name, "rego", "yaml", "yml", "json")
	}
	usage.CompleteFiles(cmd, "write-suite")
	usage.CompleteFiles(cmd, "resume", "json")
	usage.CompleteFlag(cmd, "since", "1d", "7d", "30d")
}

// complain checks the flags.
func (o *options) complain(cmd *cobra.Command) error {
	switch {
	case len(o.against) == 0:
		return usage.Errorf(cmd, "no candidate: give policies with --against")
	case len(o.records) == 0:
		return usage.Errorf(cmd, "no records: give the store of the manager's --record")
	case slices.Contains(o.names, ""):
		return usage.Errorf(cmd, "--name is empty: leave it out for the folder's own")
	case o.examples < 0:
		return usage.Errorf(cmd, "--examples is %d: give 0 for none, or a positive number", o.examples)
	case o.limit < 0:
		return usage.Errorf(cmd, "--limit is %d: give 0 for all, or a positive number", o.limit)
	case o.workers < 0:
		return usage.Errorf(cmd, "--workers is %d: give 0 for the number of processors, or a positive number", o.workers)
	case o.maxDenials < 0:
		return usage.Errorf(cmd, "--max-new-denials is %d: give 0 or a positive number", o.maxDenials)
	case o.maxWarnings < -1:
		return usage.Errorf(cmd, "--max-new-warnings is %d: give -1 for any, 0 or a positive number", o.maxWarnings)
	case o.maxUndecided < -1:
		return usage.Errorf(cmd, "--max-undecided is %d: give -1 for any, 0 or a positive number", o.maxUndecided)
	case o.resume != "" && slices.Contains(o.records, "-"):
		return usage.Errorf(cmd, "--resume reads the records again, which standard input cannot: give a file")
	case o.resume != "" && (o.partText != "" || o.merge != "" || o.job.parts > 0):
		return usage.Errorf(cmd, "--resume is for a run of one process: leave --job, --part and --merge out")
	case o.suite != "" && o.examples == 0:
		return usage.Errorf(cmd, "--write-suite writes the examples, and --examples is 0: leave one of them out")
	}
	times := map[string]time.Time{}
	for flag, text := range map[string]string{"since": o.since, "until": o.until} {
		var err error
		if times[flag], err = records.TimeOf(text, time.Now()); err != nil {
			return usage.Errorf(cmd, "--%s: %v", flag, err)
		}
	}
	if o.until != "" && !times["since"].Before(times["until"]) {
		return usage.Errorf(cmd, "--until %s is not after --since %s", o.until, o.since)
	}
	if err := o.checkJob(); err != nil {
		return usage.Errorf(cmd, "%v", err)
	}
	return o.format.Check(cmd)
}
