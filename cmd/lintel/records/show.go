package records

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/record"
)

func newShowCommand() *cobra.Command {
	var p period
	cmd := &cobra.Command{
		Use:   "show <uid> <records>...",
		Short: "Show the records of a request",
		Long: `Show the records of a request with this UID as JSON: the request, the data that the
policies read, and the decision. Masked values stay masked.

` + storeHelp,
		Example: `  lintel record show 705ab4f5-6393-11e8-b7cc-42010a800002 records/`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage.Errorf(cmd, "give the UID of a request, as lintel record ls prints it, and a store")
			}
			return p.check(cmd)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found := 0
			skipped, err := each(cmd, args[1:], p, func(r *record.Record) error {
				if describe(r).UID != args[0] {
					return nil
				}
				found++
				text, err := json.MarshalIndent(r, "", "  ")
				if err != nil {
					return err
				}
				return report.Write(cmd.OutOrStdout(), string(text)+"\n")
			})
			for _, reason := range skipped {
				fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", report.Printable(reason))
			}
			if err == nil && found == 0 {
				err = fmt.Errorf("there is no record of request %q: see --since", args[0])
			}
			return err
		},
	}
	p.addFlags(cmd)
	return cmd
}
