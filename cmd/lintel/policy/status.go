package policy

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/cmd/lintel/cluster"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/hierarchy"
)

func newStatusCommand() *cobra.Command {
	var connection cluster.Options
	var format report.Format
	cmd := &cobra.Command{
		Use:   "status [<name>]",
		Short: "Show the policy sources of a cluster and what its replicas serve",
		Long: `Show the PolicySources of a cluster: which revision is live, which replicas of
Lintel serve it and which lag behind, and every condition that is not True, with
its message.

Exit codes:
  0  the status was read, also if a source is not ready
  2  the usage is wrong, or the cluster cannot be asked`,
		Example: `  # What is enforced, and where?
  lintel policy status

  # Of one source
  lintel policy status team`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage.Errorf(cmd, "give the name of one source, or none for all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format.Check(cmd); err != nil {
				return err
			}
			found, err := readStatus(cmd.Context(), connection, args)
			if err != nil {
				return err
			}
			if format.Is("json") {
				return report.WriteJSON(cmd.OutOrStdout(), found)
			}
			return writeStatusText(cmd.OutOrStdout(), found, time.Now())
		},
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return connection.CompleteSources(typed), cobra.ShellCompDirectiveNoFileComp
	}
	connection.AddFlags(cmd)
	format.AddFlag(cmd, "text", "json")
	return cmd
}

// readStatus reads the sources that are named: all, where none is.
func readStatus(ctx context.Context, connection cluster.Options, named []string) (statusReport, error) {
	found := statusReport{Sources: []sourceStatus{}}
	live, err := cluster.Connect(connection)
	if err != nil {
		return found, err
	}
	objects, err := live.Sources(ctx)
	if err != nil {
		return found, err
	}
	if objects, err = onlyNamed(objects, named); err != nil {
		return found, err
	}
	for i := range objects {
		found.Sources = append(found.Sources, sourceStatusOf(&objects[i]))
	}
	return found, nil
}

// onlyNamed are the sources of these names, or all where there are none.
func onlyNamed(sources []v1alpha1.PolicySource, named []string) ([]v1alpha1.PolicySource, error) {
	if len(named) == 0 {
		return sources, nil
	}
	var names []string
	for _, source := range sources {
		if source.Name == named[0] {
			return []v1alpha1.PolicySource{source}, nil
		}
		names = append(names, source.Name)
	}
	return nil, fmt.Errorf("the cluster has no PolicySource %q%s", named[0], usage.DidYouMean("", admission.Nearest(named[0], names)))
}

// statusReport is the output of -o json. Its lists are never null.
type statusReport struct {
	Sources []sourceStatus `json:"sources"`
}

type sourceStatus struct {
	Name     string                 `json:"name"`
	Scope    string                 `json:"scope"`
	Ready    metav1.ConditionStatus `json:"ready"`
	Revision string                 `json:"revision"`
	Digest   string                 `json:"digest"`
	Policies int32                  `json:"policies"`
	Rules    int32                  `json:"rules"`
	Created  time.Time              `json:"created"`
	// Serving counts the replicas that serve the digest.
	Serving    int               `json:"serving"`
	Replicas   []replicaStatus   `json:"replicas"`
	Conditions []conditionStatus `json:"conditions"`
}

type replicaStatus struct {
	Name   string    `json:"name"`
	Digest string    `json:"digest"`
	Since  time.Time `json:"since"`
	// Current says whether it serves the source's digest.
	Current bool `json:"current"`
}

type conditionStatus struct {
	Type    string                 `json:"type"`
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message"`
}

func sourceStatusOf(object *v1alpha1.PolicySource) sourceStatus {
	status := object.Status
	out := sourceStatus{
		Name:     object.Name,
		Scope:    strings.TrimSpace(cmp.Or(string(object.Spec.Scope.Level), string(hierarchy.Enterprise)) + " " + object.Spec.Scope.Name),
		Ready:    metav1.ConditionUnknown,
		Revision: status.Revision, Digest: status.Digest, Policies: status.Policies, Rules: status.Rules,
		Created:  object.CreationTimestamp.Time,
		Replicas: []replicaStatus{}, Conditions: []conditionStatus{},
	}
	if ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); ready != nil {
		out.Ready = ready.Status
	}
	for _, replica := range status.Replicas {
		current := status.Digest != "" && replica.Digest == status.Digest
		if current {
			out.Serving++
		}
		out.Replicas = append(out.Replicas, replicaStatus{replica.Name, replica.Digest, replica.Time.Time, current})
	}
	for _, condition := range status.Conditions {
		out.Conditions = append(out.Conditions, conditionStatus{condition.Type, condition.Status, condition.Reason, condition.Message})
	}
	return out
}

// writeStatusText writes a table, and below it the conditions that are not as desired.
func writeStatusText(w io.Writer, found statusReport, now time.Time) error {
	var b strings.Builder
	if len(found.Sources) == 0 {
		b.WriteString("there are no policy sources\n")
	}
	table := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for i, s := range found.Sources {
		if i == 0 {
			fmt.Fprintln(table, "NAME\tSCOPE\tREADY\tREVISION\tPOLICIES\tRULES\tREPLICAS\tAGE")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%d\t%d/%d\t%s\n", s.Name, s.Scope, s.Ready, shortRevision(s.Revision), s.Policies, s.Rules,
			s.Serving, len(s.Replicas), duration.HumanDuration(now.Sub(s.Created)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, s := range found.Sources {
		writeUnready(&b, s, now)
	}
	return report.Write(w, b.String())
}

// writeUnready writes the replicas that lag and the conditions that are not True.
func writeUnready(b *strings.Builder, s sourceStatus, now time.Time) {
	var lines []string
	for _, replica := range s.Replicas {
		serves := "nothing of it"
		if replica.Digest != "" {
			serves = definition.ShortRevision(replica.Digest)
		}
		if !replica.Current {
			lines = append(lines, fmt.Sprintf("replica %s serves %s, since %s", replica.Name, serves, duration.HumanDuration(now.Sub(replica.Since))))
		}
	}
	said := map[string]bool{}
	for _, condition := range s.Conditions {
		if condition.Status == metav1.ConditionTrue || said[condition.Message] {
			continue // Ready repeats the other conditions
		}
		said[condition.Message] = true
		lines = append(lines, fmt.Sprintf("%s is %s, %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message))
	}
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", s.Name)
	for _, line := range lines {
		for part := range strings.Lines(line) {
			fmt.Fprintf(b, "  %s\n", report.Printable(strings.TrimRight(part, "\n")))
		}
	}
}

// shortRevision is as messages show it, with the branch or tag where there is one.
func shortRevision(revision string) string {
	if revision == "" {
		return "none"
	}
	ref, _, found := strings.Cut(revision, "@")
	if !found {
		return definition.ShortRevision(revision)
	}
	return ref + "@" + definition.ShortRevision(revision)
}
