package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	controller "github.com/lintel-policy/lintel/controllers/audit"
	"github.com/lintel-policy/lintel/controllers/blocked"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/policy"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/webhooks"
)

func (o *options) auditFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.audit, "audit", true, "evaluate the objects in the cluster, and report violations in reports, status and metrics")
	flags.Float32Var(&o.auditQPS, "audit-qps", 20, "maximum `requests` per second of audit on each replica")
	flags.StringVar(&o.auditReports, "audit-reports", string(audit.OpenReports), "`API` of reports: openreports (openreports.io), wgpolicyk8s (wgpolicyk8s.io) or none")
	flags.IntVar(&o.auditLimit, "audit-violations-limit", 500, "maximum `number` of violations of a policy in reports, which the replicas share; their summaries count all")
}

// checkAudit checks the flags of audit.
func (o *options) checkAudit() error {
	formats := []audit.Format{audit.OpenReports, audit.WGPolicy, audit.NoReports}
	switch {
	case !slices.Contains(formats, audit.Format(o.auditReports)):
		return fmt.Errorf("--audit-reports: Invalid value %q: must be openreports, wgpolicyk8s or none", o.auditReports)
	case o.auditQPS <= 0:
		return fmt.Errorf("--audit-qps: Invalid value %g: must be greater than 0", o.auditQPS)
	case o.auditLimit < 1:
		return fmt.Errorf("--audit-violations-limit: Invalid value %d: must be at least 1", o.auditLimit)
	}
	return nil
}

// addAudit adds the evaluation of the objects in the cluster.
func addAudit(mgr manager.Manager, config *rest.Config, o *options, policies *policy.Policies) error {
	if !o.audit {
		return nil
	}
	return controller.Setup(mgr, controller.Options{
		Config: config, QPS: o.auditQPS,
		Live: policies.Live, Cluster: policies.Cluster,
		Namespaces:         webhooks.NewNamespaces(mgr.GetClient(), mgr.GetAPIReader()),
		ExcludedNamespaces: append([]string{o.namespace}, o.excludedNamespaces...),
		Reports:            audit.Format(o.auditReports), ViolationsLimit: o.auditLimit,
		Constraints: o.gatekeeper, Metrics: metrics.Registry,
		Namespace: o.namespace, Replica: replicaName(), PodUID: os.Getenv("POD_UID"), Leases: policies.Leases,
	})
}

// addBlocked adds the Events about objects of workloads that are denied. Like audit, it reads
// workloads. It returns the function that receives denials: nil without audit.
func addBlocked(mgr manager.Manager, o *options, policies *policy.Policies) (func(*admission.Review, []string), error) {
	if !o.audit {
		return nil, nil
	}
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS, config.Burst = blockedQPS, 2*blockedQPS
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("setting up the client of owners: %w", err)
	}
	events := blocked.New(policies.Live.Resources, client, mgr.GetEventRecorder("lintel-manager"))
	return events.Denied, mgr.Add(object.Everywhere(events.Start))
}

// blockedQPS is the maximum number of requests for owners per second.
const blockedQPS = 10

// leaseAnnotations mark the Lease of a replica that audits, with an identity of the process.
func (o *options) leaseAnnotations() map[string]string {
	if !o.audit {
		return nil
	}
	return map[string]string{controller.ShardAnnotation: rand.Text()}
}
