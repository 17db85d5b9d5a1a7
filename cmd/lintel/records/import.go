package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/record"
	"github.com/lintel-policy/lintel/policies/record/convert"
	"github.com/lintel-policy/lintel/policies/record/stores"
	"github.com/lintel-policy/lintel/webhooks"
)

func newImportCommand() *cobra.Command {
	var to string
	var mask []string
	cmd := &cobra.Command{
		Use:   "import --to <store> <log>...",
		Short: "Import decision logs of OPA and audit logs of an API server as records",
		Long: `Import logs as records: the decision log of OPA (a decision per line, or an array as
OPA uploads it), and the audit log of an API server whose policy logs writes at level
RequestResponse. Files may be compressed with gzip; - is standard input.

Values are masked before anything is written, as the manager does. Entries that lack
what a replay needs are not imported. The command counts them by reason, and prints
the first of each: updates of an audit log lack the object before the update, and
exec, attach and portforward lack their options.

` + storeHelp,
		Example: `  lintel record import --to records/ decisions.json.gz /var/log/kubernetes/audit.log`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usage.Errorf(cmd, "no log: give files, or - for standard input")
			case to == "":
				return usage.Errorf(cmd, "no store: give a folder or a URL with --to")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			parsed, err := webhooks.ParseRecordMask(mask)
			if err != nil {
				return usage.Errorf(cmd, "--mask: %v", err)
			}
			i := importer{masker: webhooks.NewRecordMasker(parsed)}
			return i.run(cmd, to, args)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "`store` to write the records to: a URL, or a folder, which is created")
	cmd.Flags().StringSliceVar(&mask, "mask", []string{webhooks.MaskEnv}, "`locations` in objects to mask, in addition to the data of Secrets and tokens; env stands for the values of environment variables in Pods and workloads")
	usage.CompleteFiles(cmd, "to")
	return cmd
}

// reason counts entries that were not imported.
type reason struct {
	text, first string
	entries     int64
}

// importer counts entries.
type importer struct {
	masker           *webhooks.RecordMasker
	imported         int64
	skipped, ignored []reason
}

// maxReasons bounds the different reasons.
const maxReasons = 100

func count(reasons []reason, text, where string, entries int64) []reason {
	for i := range reasons {
		if reasons[i].text == text || i == maxReasons-1 {
			reasons[i].entries += entries
			return reasons
		}
	}
	return append(reasons, reason{text, where, entries})
}

func (i *importer) run(cmd *cobra.Command, to string, names []string) error {
	if !stores.IsURL(to) {
		if err := os.MkdirAll(to, 0o700); err != nil {
			return fmt.Errorf("creating the folder of records: %w", err)
		}
	}
	store, err := stores.OpenNamed(cmd.Context(), to)
	if err != nil {
		return err
	}
	defer store.Close() // all is written
	writer, err := record.NewWriter(store, record.WriterOptions{})
	if err != nil {
		return err
	}
	for _, name := range names {
		if err = i.file(cmd, writer, name); err != nil {
			break
		}
	}
	// The records before an error stay.
	if err := errors.Join(err, writer.Close(context.WithoutCancel(cmd.Context()))); err != nil {
		return fmt.Errorf("importing records: %w", err)
	}
	if err := i.report(cmd.OutOrStdout()); err != nil {
		return err
	}
	if i.imported == 0 {
		return errors.New("no record was imported")
	}
	return nil
}

func (i *importer) file(cmd *cobra.Command, writer *record.Writer, name string) error {
	from := cmd.InOrStdin()
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close() // only read
		from = file
	} else {
		name = "standard input"
	}
	for r, err := range convert.Read(name, from) {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		var skipped *record.SkippedError
		var ignored *convert.IgnoredError
		switch {
		case errors.As(err, &skipped):
			i.skipped = count(i.skipped, skipped.Err.Error(), skipped.Segment, max(skipped.Records, 1))
			continue
		case errors.As(err, &ignored):
			i.ignored = count(i.ignored, ignored.Reason, "", 1)
			continue
		case err != nil:
			return err
		}
		if err := i.masker.Mask(r); err != nil {
			i.skipped = count(i.skipped, err.Error(), name, 1)
			continue
		}
		if err := writer.Write(cmd.Context(), r); err != nil {
			return err
		}
		i.imported++
	}
	return nil
}

func (i *importer) report(to io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s imported\n", report.CountedAs(int(i.imported), "record", "records"))
	for _, one := range i.skipped {
		fmt.Fprintf(&b, "%s not imported: %s (first %s)\n", report.CountedAs(int(one.entries), "entry", "entries"), report.Printable(one.text), report.Printable(one.first))
	}
	for _, one := range i.ignored {
		fmt.Fprintf(&b, "%s without a request to admission: %s\n", report.CountedAs(int(one.entries), "entry", "entries"), report.Printable(one.text))
	}
	return report.Write(to, b.String())
}
