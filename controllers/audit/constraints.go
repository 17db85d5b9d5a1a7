package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
)

const (
	// constraintSource is the PolicySource of the constraints in the cluster.
	constraintSource = "gatekeeper"
	// maxViolations is the number of violations in the status of a constraint, as in Gatekeeper.
	maxViolations = 20
)

// constraints writes the results into the status of Gatekeeper's constraints.
type constraints struct {
	writer  dynamic.Interface
	ledger  *audit.Ledger
	written map[string]string // the last status, by policy
}

// violation is an element of status.violations of a constraint, in Gatekeeper's form.
type violation struct {
	EnforcementAction string `json:"enforcementAction"`
	// EnforcementActions are those of audit, of a constraint with the action scoped.
	EnforcementActions []string `json:"enforcementActions,omitempty"`
	Group              string   `json:"group"`
	Version            string   `json:"version"`
	Kind               string   `json:"kind"`
	Namespace          string   `json:"namespace,omitempty"`
	Name               string   `json:"name"`
	Message            string   `json:"message"`
}

// constraintStatus is the part of the status of a constraint that audit writes. A null value
// removes the field.
type constraintStatus struct {
	TotalViolations *int        `json:"totalViolations"`
	Violations      []violation `json:"violations"`
	AuditTimestamp  *string     `json:"auditTimestamp"`
}

// write updates the constraints whose results have changed. Nothing is written before the
// objects were evaluated completely.
func (c *constraints) write(ctx context.Context, state *state, totals map[audit.PolicyKey]audit.Counts) error {
	found, live := state.sources[constraintSource]
	if !live || found.reason != "" {
		return nil
	}
	for _, info := range state.policies {
		kind, name, ok := strings.Cut(info.Package, "/")
		if info.Source != constraintSource || !info.AnyVersion || !ok {
			continue
		}
		key := audit.PolicyKey{Source: info.Source, Policy: info.Package}
		status := constraintStatusOf(info, totals[key], c.ledger.Details(key, maxViolations, counted...))
		text, err := json.Marshal(status)
		if err != nil {
			return fmt.Errorf("writing the status of %s: %w", info.Package, err)
		}
		if c.written[info.Package] == string(text) {
			continue
		}
		if status.TotalViolations != nil {
			status.AuditTimestamp = new(time.Now().UTC().Format(time.RFC3339))
		}
		patch, err := json.Marshal(map[string]any{"status": status})
		if err != nil {
			return fmt.Errorf("writing the status of %s: %w", info.Package, err)
		}
		resource := schema.GroupVersionResource{Group: "constraints.gatekeeper.sh", Version: "v1beta1", Resource: strings.ToLower(kind)}
		_, err = c.writer.Resource(resource).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}, "status")
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("writing the status of %s: %w", info.Package, err)
		}
		c.written[info.Package] = string(text)
	}
	return nil
}

// counted are the outcomes that count as violations. As in Gatekeeper, an object for which the
// template fails is one: it does not comply. An object that an exception exempts is not.
var counted = []audit.Outcome{audit.Error, audit.Fail, audit.Warn}

// constraintStatusOf is empty for a constraint without violations that was not evaluated
// completely.
func constraintStatusOf(info engine.PolicyInfo, counts audit.Counts, details []audit.Detail) constraintStatus {
	total := counts.Violations()
	if total == 0 && len(info.NotAuditable) > 0 {
		return constraintStatus{}
	}
	status := constraintStatus{TotalViolations: &total}
	for _, detail := range details {
		action := string(detail.Result.Enforcement)
		if detail.Result.Enforcement == definition.EnforceAudit {
			action = "dryrun"
		}
		if len(info.ScopedActions) > 0 {
			action = "scoped"
		}
		of := detail.Object
		status.Violations = append(status.Violations, violation{
			EnforcementAction: action, EnforcementActions: info.ScopedActions, Group: of.Kind.Group, Version: of.Kind.Version, Kind: of.Kind.Kind,
			Namespace: of.Namespace, Name: of.Name, Message: detail.Result.Message,
		})
	}
	return status
}
