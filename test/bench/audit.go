package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/lintel-policy/lintel/test/installation"
)

const partAudit = "audit"

// readsEverything lets Lintel's audit read all kinds, as Gatekeeper's does.
const readsEverything = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: bench-audit}
rules:
  - {apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: bench-audit}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: bench-audit}
subjects: [{kind: ServiceAccount, name: lintel-manager, namespace: ` + installation.Namespace + `}]
`

// measureAudit compares the audits of Lintel and of its peers: first the violations, and then
// their cost.
func (b *bench) measureAudit(ctx context.Context) error {
	p := &peers{bench: b}
	defer p.stop()
	if err := p.prepare(ctx, "gatekeeper", "gatekeeper-crds"); err != nil {
		return err
	}
	for _, folder := range []string{"config/reports", "config/rbac/gatekeeper"} {
		if err := b.kubectl(ctx, "", "apply", "--server-side", "-k", filepath.Join(installation.Root(), folder)); err != nil {
			return err
		}
	}
	if err := b.kubectl(ctx, readsEverything, "apply", "--server-side", "-f", "-"); err != nil {
		return err
	}
	folders := b.auditFolders()
	for _, name := range sortedKeys(folders) {
		if err := p.compareAudits(ctx, name, folders[name]); err != nil {
			return fmt.Errorf("comparing audits of %s: %w", name, err)
		}
	}
	return p.measureAuditCost(ctx)
}
