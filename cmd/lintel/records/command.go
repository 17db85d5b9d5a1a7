package records

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/definition"
)

// storeHelp describes the arguments of all commands.
const storeHelp = `A store is a folder or a URL: file:///folder, s3://bucket/folder, gs://bucket/folder
or azblob://container/folder. Credentials are those of the environment, as for the
provider's own tools: variables, files, or the identity of the workload.`

// NewCommand is `lintel record`.
func NewCommand() *cobra.Command {
	return usage.NewGroup(&cobra.Command{
		Use:   "record",
		Short: "List, show, import and upload recorded requests",
		Long: `List, show, import and upload recorded requests, which lintel replay evaluates.

` + storeHelp,
		Example: `  # Which requests were denied today?
  lintel record ls --since 1d --denied records/`,
	}, newListCommand(), newShowCommand(), newImportCommand(), newUploadCommand())
}

// period is the time of records.
type period struct{ since, until string }

func (p *period) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.since, "since", "7d", "`time` of the first record: a duration before now such as 7d or 12h, or a time such as 2026-11-20T00:00:00Z")
	cmd.Flags().StringVar(&p.until, "until", "", "`time` after the last record, as for --since; now if not given")
	usage.CompleteFlag(cmd, "since", "1d", "7d", "30d")
}

// times are zero for an empty text.
func (p *period) times(now time.Time) (since, until time.Time, err error) {
	if since, err = TimeOf(p.since, now); err == nil {
		until, err = TimeOf(p.until, now)
	}
	return since, until, err
}

func (p *period) check(cmd *cobra.Command) error {
	if _, _, err := p.times(time.Now()); err != nil {
		return usage.Errorf(cmd, "--since or --until: %v", err)
	}
	return nil
}

// TimeOf reads a duration before now, or a time. It is zero for an empty text.
func TimeOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	before, err := definition.ParseDays(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is neither a duration such as 7d or 12h nor a time such as 2026-11-20T00:00:00Z", text)
	}
	return now.Add(-before), nil
}
