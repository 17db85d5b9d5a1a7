package records

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/record"
)

// Listed is a record in the output of `lintel record ls -o json`.
type Listed struct {
	Time      time.Time `json:"time"`
	UID       string    `json:"uid"`
	Entry     string    `json:"entry"`
	Outcome   string    `json:"outcome"`
	Operation string    `json:"operation"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name,omitempty"`
	User      string    `json:"user"`
	Policies  []string  `json:"policies,omitempty"`
}

type listOptions struct {
	period
	denied    bool
	namespace string
	limit     int
	format    report.Format
}

func newListCommand() *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "ls <records>...",
		Short: "List recorded requests",
		Long: `List recorded requests, one record for each call of a webhook entry.

` + storeHelp,
		Example: `  # Which requests were denied today?
  lintel record ls --since 1d --denied records/`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usage.Errorf(cmd, "no records: give the store of the manager's --record")
			case o.limit < 0:
				return usage.Errorf(cmd, "--limit is %d: give 0 for all, or a positive number", o.limit)
			}
			return cmp.Or(o.check(cmd), o.format.Check(cmd))
		},
		RunE: func(cmd *cobra.Command, args []string) error { return list(cmd, args, o) },
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVar(&o.denied, "denied", false, "list only requests that were denied")
	cmd.Flags().StringVar(&o.namespace, "namespace", "", "`namespace` of the requests to list; any if not given")
	cmd.Flags().IntVar(&o.limit, "limit", 100, "maximum `number` of records; 0 is for all")
	o.format.AddFlag(cmd, "text", "json")
	return cmd
}

// describe is a record without its objects.
func describe(r *record.Record) Listed {
	var request struct {
		UID, Operation, SubResource, Namespace, Name string
		Kind                                         struct{ Group, Kind string }
		UserInfo                                     struct{ Username string }
		Object                                       struct {
			Metadata struct{ GenerateName string }
		}
	}
	_ = json.Unmarshal(r.Request, &request) // validated when it was read
	listed := Listed{
		Time: r.Time.UTC(), UID: request.UID, Entry: r.Entry, Outcome: outcomeOf(&r.Decision), Operation: request.Operation,
		Kind: request.Kind.Kind, Namespace: request.Namespace, Name: cmp.Or(request.Name, request.Object.Metadata.GenerateName), User: request.UserInfo.Username,
	}
	if request.Kind.Group != "" {
		listed.Kind += "." + request.Kind.Group
	}
	if request.SubResource != "" {
		listed.Kind += "/" + request.SubResource
	}
	for _, finding := range slices.Concat(r.Decision.Denials, r.Decision.Warnings, r.Decision.Audits) {
		if !slices.Contains(listed.Policies, finding.Policy) {
			listed.Policies = append(listed.Policies, finding.Policy)
		}
	}
	return listed
}

func outcomeOf(d *record.Decision) string {
	switch {
	case d.Error != "":
		return "error"
	case !d.Allowed:
		return "denied"
	case len(d.Warnings) > 0:
		return "warned"
	case len(d.Audits) > 0:
		return "audited"
	}
	return "allowed"
}

// errLimit ends a listing.
var errLimit = errors.New("limit")

func list(cmd *cobra.Command, names []string, o listOptions) error {
	found := []Listed{}
	more := false
	skipped, err := each(cmd, names, o.period, func(r *record.Record) error {
		one := describe(r)
		if o.denied && one.Outcome != "denied" || o.namespace != "" && one.Namespace != o.namespace {
			return nil
		}
		if more = o.limit > 0 && len(found) == o.limit; more {
			return errLimit
		}
		found = append(found, one)
		return nil
	})
	if err != nil && !errors.Is(err, errLimit) {
		return err
	}
	for _, reason := range skipped {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", report.Printable(reason))
	}
	if more {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: there are more than %d records: see --limit\n", o.limit)
	}
	if o.format.Is("json") {
		return report.WriteJSON(cmd.OutOrStdout(), found)
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TIME\tOUTCOME\tOPERATION\tKIND\tOBJECT\tUSER\tUID")
	for _, one := range found {
		object := one.Name
		if one.Namespace != "" {
			object = one.Namespace + "/" + one.Name
		}
		cells := []string{one.Time.Format(time.RFC3339), one.Outcome, one.Operation, one.Kind, object, one.User, one.UID}
		for i := range cells {
			cells[i] = report.Printable(cells[i])
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return report.Write(cmd.OutOrStdout(), text.String())
}

// each calls visit for all records of a period. It returns the records that were skipped.
func each(cmd *cobra.Command, names []string, p period, visit func(*record.Record) error) (skipped []string, err error) {
	since, until, err := p.times(time.Now())
	if err != nil {
		return nil, err
	}
	in, err := Open(cmd.Context(), names, cmd.InOrStdin(), since, until)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	const maxSkipped = 100
	for r, err := range in.Records {
		var one *record.SkippedError
		switch {
		case errors.As(err, &one):
			if len(skipped) < maxSkipped {
				skipped = append(skipped, err.Error())
			}
		case err != nil:
			return skipped, err
		default:
			if err := visit(r); err != nil {
				return skipped, err
			}
		}
	}
	return skipped, nil
}
