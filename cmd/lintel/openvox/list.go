package openvox

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
)

// The states of the list.
const (
	pending = "pending"
	signed  = "signed"
	revoked = "revoked"
)

var stateNames = map[puppet.State]string{puppet.StateRequested: pending, puppet.StateSigned: signed, puppet.StateRevoked: revoked}

// entry is a certificate or request in the list.
type entry struct {
	Certname        string     `json:"certname"`
	State           string     `json:"state"`
	SerialNumber    string     `json:"serialNumber,omitempty"`
	Fingerprint     string     `json:"fingerprint"`
	SubjectAltNames []string   `json:"subjectAltNames"`
	NotBefore       *time.Time `json:"notBefore,omitempty"`
	NotAfter        *time.Time `json:"notAfter,omitempty"`
	// Certificate is the object of the cluster that the certname belongs to.
	Certificate string `json:"certificate,omitempty"`
	// Policies is the decision of the signing policies about a request, and Reasons explains it.
	Policies verdict  `json:"policies,omitempty"`
	Reasons  []string `json:"reasons,omitempty"`
}

// listing is the output of -o json and -o yaml.
type listing struct {
	CertificateAuthority string  `json:"certificateAuthority"`
	Certificates         []entry `json:"certificates"`
}

type listOptions struct {
	options
	format        report.Format
	states        []string
	expiresWithin string
	globs         []string
	within        time.Duration
}

func newListCommand(common options) *cobra.Command {
	o := listOptions{options: common}
	cmd := &cobra.Command{
		Use:   "list [<glob>...]",
		Short: "List the certificates and the waiting requests of a CA",
		Long: `List the certificates of a CA, and the waiting requests with the reasons why the signing
policies do not permit them.

The reasons are those of the autosign hook: the same rules evaluate the requests with the
current policies. A request that arrived before a policy was changed can be "permitted".

Cleaned certificates are not listed. Arguments are globs of certnames.

Exit codes:
  0  the list was read
  2  the usage is wrong, or the cluster or the CA cannot be reached`,
		Example: `  # List waiting requests with the reasons
  lintel openvox ca list -n puppet --state pending

  # What expires in the next 30 days, in all detail
  lintel openvox ca list -n puppet --expires-within 30d -o wide`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.globs = args
			if err := o.complete(cmd); err != nil {
				return err
			}
			return runList(cmd, o)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o.addFlags(cmd)
	o.format.AddFlag(cmd, "text", "wide", "json", "yaml")
	cmd.Flags().StringSliceVar(&o.states, "state", nil, "only certificates in these `states`: pending, signed or revoked")
	cmd.Flags().StringVar(&o.expiresWithin, "expires-within", "", "only signed certificates that expire within a `duration` such as 30d")
	usage.CompleteFlag(cmd, "state", pending, signed, revoked)
	usage.CompleteFlag(cmd, "expires-within")
	return cmd
}

func (o *listOptions) complete(cmd *cobra.Command) error {
	if err := o.format.Check(cmd); err != nil {
		return err
	}
	for _, state := range o.states {
		if !slices.Contains([]string{pending, signed, revoked}, state) {
			return usage.Errorf(cmd, "--state %s is not pending, signed or revoked", state)
		}
	}
	for _, glob := range o.globs {
		if _, err := path.Match(glob, ""); err != nil {
			return usage.Errorf(cmd, "%q is not a valid glob", glob)
		}
	}
	var err error
	if o.within, err = layout.Duration(v1alpha1.Duration(o.expiresWithin), 0); err != nil {
		return usage.Errorf(cmd, "--expires-within: %v", err)
	}
	return nil
}

// shows reports whether the list includes an entry.
func (o *listOptions) shows(e entry, now time.Time) bool {
	switch {
	case len(o.states) > 0 && !slices.Contains(o.states, e.State):
		return false
	case o.expiresWithin != "" && (e.State != signed || e.NotAfter == nil || e.NotAfter.After(now.Add(o.within))):
		return false
	case len(o.globs) == 0:
		return true
	}
	return slices.ContainsFunc(o.globs, func(glob string) bool {
		matches, err := path.Match(glob, e.Certname)
		return matches && err == nil
	})
}

func runList(cmd *cobra.Command, o listOptions) error {
	ctx := cmd.Context()
	s, err := open(ctx, o.options)
	if err != nil {
		return err
	}
	defer s.close()
	statuses, err := s.admin.CertificateStatuses(ctx)
	if err != nil {
		return err
	}
	for _, note := range s.absent(statuses) {
		fmt.Fprintln(cmd.ErrOrStderr(), report.Printable(note))
	}
	found := listing{CertificateAuthority: s.ca.Namespace + "/" + s.ca.Name, Certificates: []entry{}}
	for _, status := range statuses {
		if e := s.entry(status); o.shows(e, time.Now()) {
			found.Certificates = append(found.Certificates, e)
		}
	}
	found.Certificates = s.evaluateAll(ctx, found.Certificates)
	slices.SortFunc(found.Certificates, func(a, b entry) int {
		order := []string{pending, signed, revoked}
		return cmp.Or(cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)), strings.Compare(a.Certname, b.Certname))
	})
	switch o.format.Name() {
	case "json":
		return report.WriteJSON(cmd.OutOrStdout(), found)
	case "yaml":
		return writeYAML(cmd.OutOrStdout(), found)
	}
	return writeList(cmd.OutOrStdout(), found.Certificates, o.format.Is("wide"))
}

// absent notes the Certificates that are signed and that a list of the CA lacks.
func (s *session) absent(statuses []puppet.CertificateStatus) (notes []string) {
	listed := map[string]bool{}
	for _, status := range statuses {
		listed[status.Name] = true
	}
	for certname, certificate := range s.certificates {
		if certificate.Status.Phase == v1alpha1.CertificateSigned && !listed[certname] {
			notes = append(notes, fmt.Sprintf("the CA's list lacks %s of Certificate %s, which is signed: the list may be incomplete, or the CA has lost the file", certname, certificate.Name))
		}
	}
	slices.Sort(notes)
	return notes
}

func (s *session) entry(status puppet.CertificateStatus) entry {
	e := entry{Certname: status.Name, State: stateNames[status.State], SerialNumber: status.Serial, Fingerprint: status.Fingerprint, SubjectAltNames: append([]string{}, status.SubjectAltNames...)}
	if !status.NotBefore.IsZero() {
		e.NotBefore = &status.NotBefore
	}
	if !status.NotAfter.IsZero() {
		e.NotAfter = &status.NotAfter
	}
	if certificate := s.certificates[status.Name]; certificate != nil {
		e.Certificate = certificate.Name
	}
	return e
}

// evaluateAll adds the decisions of the policies to the requests among the entries, and removes
// requests that no longer wait.
func (s *session) evaluateAll(ctx context.Context, entries []entry) []entry {
	if !slices.ContainsFunc(entries, func(e entry) bool { return e.State == pending }) {
		return entries
	}
	rendered, policyErr := s.policies(ctx)
	const workers = 4
	var group sync.WaitGroup
	gone, next := make([]bool, len(entries)), make(chan int)
	for range workers {
		group.Go(func() {
			for i := range next {
				e := &entries[i]
				e.Policies, e.Reasons, gone[i] = s.evaluatePending(ctx, e.Certname, rendered, policyErr)
			}
		})
	}
	for i := range entries {
		if entries[i].State == pending {
			next <- i
		}
	}
	close(next)
	group.Wait()
	kept := entries[:0]
	for i, e := range entries {
		if !gone[i] {
			kept = append(kept, e)
		}
	}
	return kept
}

func writeYAML(w io.Writer, value any) error {
	text, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	return report.Write(w, string(text))
}

// writeList writes a table. Text of the CA and of requests is anybody's.
func writeList(w io.Writer, entries []entry, wide bool) error {
	if len(entries) == 0 {
		return report.Write(w, "no certificates and no requests\n")
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	header := []string{"CERTNAME", "STATE", "EXPIRES", "CERTIFICATE", "POLICIES"}
	if wide {
		header = []string{"CERTNAME", "STATE", "SERIAL", "BEGINS", "EXPIRES", "CERTIFICATE", "ALT NAMES", "SHA256", "POLICIES"}
	}
	fmt.Fprintln(table, strings.Join(header, "\t"))
	for _, e := range entries {
		row := []string{e.Certname, e.State, date(e.NotAfter), cmp.Or(e.Certificate, "-"), explain(e, wide)}
		if wide {
			row = []string{
				e.Certname, e.State, cmp.Or(e.SerialNumber, "-"), date(e.NotBefore), date(e.NotAfter), cmp.Or(e.Certificate, "-"),
				cmp.Or(strings.Join(e.SubjectAltNames, ","), "-"), e.Fingerprint, explain(e, wide),
			}
		}
		for i := range row {
			row[i] = report.Printable(row[i])
		}
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return report.Write(w, text.String())
}

// explain is the verdict on a request: with its first reason, or all of them.
func explain(e entry, all bool) string {
	switch {
	case e.Policies == "":
		return "-"
	case len(e.Reasons) == 0:
		return string(e.Policies)
	case all || len(e.Reasons) == 1:
		return string(e.Policies) + ": " + strings.Join(e.Reasons, "; ")
	}
	return fmt.Sprintf("%s: %s; and %d more", e.Policies, e.Reasons[0], len(e.Reasons)-1)
}

func date(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format(time.DateOnly)
}
