package audit

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/definition"
)

const (
	// maxSummary is the maximum size of a compressed summary in bytes: an object of Kubernetes
	// may have 1 MiB. maxSummaryText limits what a reader decompresses.
	maxSummary     = 700 << 10
	maxSummaryText = 64 << 20
)

// summary is what a replica reports about its shards, for the leader to add up.
type summary struct {
	Replica string `json:"replica"`
	// Process is the value of ShardAnnotation of the Lease, and Members the digest of the shards
	// that the results are about. Results of another process, or for other shards, do not count.
	Process string `json:"process"`
	Members string `json:"members"`
	// Identities are those of the sources whose policies were evaluated.
	Identities map[string]string       `json:"identities"`
	Kinds      map[string]kindProgress `json:"kinds"`
	Policies   []policySummary         `json:"policies,omitempty"`
	// Problem is why reports are not complete; empty if they are.
	Problem string `json:"problem,omitempty"`
}

// policySummary contains the results of one policy.
type policySummary struct {
	Source string       `json:"source"`
	Policy string       `json:"policy"`
	Counts audit.Counts `json:"counts"`
	// Violations are the first ones of a constraint.
	Violations []violation `json:"violations,omitempty"`
}

// key names the policy.
func (p policySummary) key() audit.PolicyKey {
	return audit.PolicyKey{Source: p.Source, Policy: p.Policy}
}

// summarize returns the summary of this replica.
func summarize(p *progress, ledger *audit.Ledger, problem string) summary {
	self := p.membership.shards.Self()
	s := summary{
		Replica: self, Process: p.membership.processes[self], Members: p.membership.shards.Digest(),
		Identities: p.identities, Kinds: p.kinds, Problem: problem,
	}
	details := ledger.DetailsOf(constraintSource, maxViolations, counted...)
	for key, counts := range ledger.Totals() {
		s.Policies = append(s.Policies, policySummary{
			Source: key.Source, Policy: key.Policy, Counts: counts, Violations: violationsOf(details[key]),
		})
	}
	slices.SortFunc(s.Policies, func(a, b policySummary) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Policy, b.Policy))
	})
	return s
}

// violationsOf converts results into the violations of a constraint.
func violationsOf(details []audit.Detail) (violations []violation) {
	for _, detail := range details {
		action := string(detail.Result.Enforcement)
		if detail.Result.Enforcement == definition.EnforceAudit {
			action = "dryrun"
		}
		of := detail.Object
		violations = append(violations, violation{
			EnforcementAction: action, Group: of.Kind.Group, Version: of.Kind.Version, Kind: of.Kind.Kind,
			Namespace: of.Namespace, Name: of.Name, Message: detail.Result.Message,
		})
	}
	return violations
}

// mergeViolations merges the violations of replicas, in the order of one replica.
func mergeViolations(lists ...[]violation) []violation {
	merged := slices.Concat(lists...)
	slices.SortStableFunc(merged, func(a, b violation) int {
		return cmp.Or(
			cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.kind().String(), b.kind().String()),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return merged[:min(len(merged), maxViolations)]
}

// encode compresses the summary. One that is too large contains fewer violations, and never fewer
// counts. It changes the summary.
func (s *summary) encode() ([]byte, error) {
	for limit := maxViolations; ; limit /= 2 {
		for i, one := range s.Policies {
			s.Policies[i].Violations = one.Violations[:min(len(one.Violations), limit)]
		}
		text, err := json.Marshal(s)
		if err != nil {
			return nil, fmt.Errorf("writing the summary of audit: %w", err)
		}
		var out bytes.Buffer
		compressed := gzip.NewWriter(&out)
		_, err = compressed.Write(text)
		if err = cmp.Or(err, compressed.Close()); err != nil {
			return nil, fmt.Errorf("compressing the summary of audit: %w", err)
		}
		switch {
		case out.Len() <= maxSummary && len(text) <= maxSummaryText:
			return out.Bytes(), nil
		case limit == 0:
			return nil, fmt.Errorf("the summary of audit has %d bytes: at most %d are allowed; reduce the number of policies", out.Len(), maxSummary)
		}
	}
}

// decodeSummary reads a compressed summary.
func decodeSummary(compressed []byte) (*summary, error) {
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("decompressing a summary of audit: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(reader, maxSummaryText))
	if err != nil {
		return nil, fmt.Errorf("decompressing a summary of audit: %w", err)
	}
	s := &summary{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("reading a summary of audit: %w", err)
	}
	return s, nil
}
