package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/webhooks"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

// options are the manager's flags.
type options struct {
	config             string
	kubeconfig         string
	namespace          string
	webhookPort        int
	webhookHost        string
	webhookURL         string
	certDir            string
	certSecret         string
	clientCA           string
	policyDir          string
	gatekeeper         bool
	allowFileOrigins   bool
	receiverAddress    string
	receiverCertDir    string
	excludedNamespaces []string
	maxReviewBytes     int64
	decisionLog        string
	decisionLogSample  float64
	decisionLogExclude []string
	decisionLogObjects bool
	decisionLogMask    []string
	record             recordOptions
	leaderElect        bool
	metricsAddress     string
	healthAddress      string
	audit              bool
	auditQPS           float32
	auditReports       string
	auditLimit         int
	drain              time.Duration
	systems            []string

	parts []system.Part
}

// parseOptions reads the command line, and options that are not on it from the file.
func parseOptions(args []string) (*options, error) {
	o := &options{parts: parts()}
	flags := o.flags()
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: the manager accepts only flags", flags.Arg(0))
	}
	if o.config != "" {
		if err := readConfig(flags, o.config); err != nil {
			return nil, err
		}
	}
	if o.webhookPort < 0 || o.webhookPort > 65535 {
		return nil, fmt.Errorf("--webhook-port: Invalid value %d: must be between 0 and 65535", o.webhookPort)
	}
	if o.drain < 0 {
		return nil, fmt.Errorf("--drain: Invalid value %s: must not be negative", o.drain)
	}
	if o.maxReviewBytes < 1 {
		return nil, fmt.Errorf("--max-review-bytes: Invalid value %d: must be at least 1", o.maxReviewBytes)
	}
	if err := o.record.check(); err != nil {
		return nil, err
	}
	if err := o.checkAudit(); err != nil {
		return nil, err
	}
	if err := o.checkSystems(); err != nil {
		return nil, err
	}
	return o, nil
}

// flags are the flags that fill o. The text in backquotes is the name of a flag's value in the
// help.
func (o *options) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringVar(&o.config, "config", "", "YAML `file` with flags by name, such as webhook-port: 9443; a flag on the command line overrides the file")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file` of the cluster; without it, the ServiceAccount of the Pod")
	flags.StringVar(&o.namespace, "namespace", "lintel-system", "`namespace` of stored revisions, Leases and the serving certificate")
	flags.BoolVar(&o.leaderElect, "leader-elect", false, "elect a leader among several replicas, which checks revisions and registers webhooks")
	flags.IntVar(&o.webhookPort, "webhook-port", 9443, "`port` of the webhooks")
	flags.StringVar(&o.webhookHost, "webhook-host", "", "`address` on which to serve webhooks; without it, all addresses")
	flags.StringVar(&o.webhookURL, "webhook-url", "", "base `URL` of the webhooks, if the API server cannot use the Service")
	flags.StringVar(&o.certDir, "cert-dir", "/etc/lintel/tls", "`folder` with tls.crt, tls.key and ca.crt, which the manager reloads when they change")
	flags.StringVar(&o.certSecret, "cert-secret", "", "`Secret` in --namespace with the certificate, in place of --cert-dir")
	flags.StringVar(&o.clientCA, "client-ca", "", "`file` with the CA of the API server's client certificate; other clients are refused")
	flags.BoolVar(&o.gatekeeper, "gatekeeper", false, "enforce the ConstraintTemplates and constraints of the cluster, as the PolicySource gatekeeper")
	flags.StringVar(&o.policyDir, "policy-dir", "", "for development: `folder` that the manager applies as the PolicySource policy-dir whenever it changes")
	flags.BoolVar(&o.allowFileOrigins, "allow-file-origins", false, "allow PolicySources to read Git repositories on the disk of the manager (file:///…)")
	flags.StringVar(&o.receiverAddress, "receiver-bind-address", "", "`address`, such as :9292, on which to receive push notifications of GitHub, GitLab, Gitea and Forgejo at /hook/<PolicySource>; without it, none")
	flags.StringVar(&o.receiverCertDir, "receiver-cert-dir", "", "`folder` with tls.crt and tls.key of the receiver; without it, plain HTTP, for use behind an Ingress")
	flags.StringSliceVar(&o.excludedNamespaces, "excluded-namespaces", registration.DefaultExcludedNamespaces(), "`namespaces` that policies are never evaluated for, in addition to the namespace of the manager")
	flags.Int64Var(&o.maxReviewBytes, "max-review-bytes", webhooks.DefaultMaxReviewBytes, "maximum `bytes` of a review; a larger one is denied")
	flags.StringVar(&o.decisionLog, "decision-log", "denied", "`decisions` to log: denied, all or none")
	flags.Float64Var(&o.decisionLogSample, "decision-log-sample", 1, "`share` of decisions, from 0 to 1, that --decision-log=all logs; denials, errors and audit violations are always logged")
	flags.StringSliceVar(&o.decisionLogExclude, "decision-log-exclude-kinds", nil, "`kinds`, as Kind or Kind.group, whose admitted objects --decision-log=all omits")
	flags.BoolVar(&o.decisionLogObjects, "decision-log-objects", false, "add the object to each line of the decision log; the data of Secrets is always masked")
	flags.StringSliceVar(&o.decisionLogMask, "decision-log-mask", nil, "`locations` in logged objects to mask, such as /spec/containers/*/env/*/value")
	o.record.flags(flags)
	o.auditFlags(flags)
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "`address` of Prometheus metrics; 0 switches them off")
	flags.StringVar(&o.healthAddress, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz")
	flags.StringSliceVar(&o.systems, "systems", nil, "`systems` to switch on, of "+strings.Join(o.systemNames(), ", ")+"; other systems need no CRDs and no permissions")
	for _, part := range o.parts {
		part.Flags(flags)
	}
	flags.DurationVar(&o.drain, "drain", 5*time.Second, "`duration` for which the manager answers requests after SIGTERM while it is not ready, so that the API server stops calling it")
	return flags
}

// readConfig sets the flags that the command line does not.
func readConfig(flags *pflag.FlagSet, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading --config: %w", err)
	}
	var settings map[string]any
	if err := yaml.UnmarshalStrict(text, &settings); err != nil {
		return fmt.Errorf("reading --config %s: %w", path, err)
	}
	for name, value := range settings {
		flag := flags.Lookup(name)
		if flag == nil || name == "config" {
			return fmt.Errorf("reading --config %s: unknown flag %q", path, name)
		}
		if flag.Changed {
			continue
		}
		if err := setFlag(flag, value); err != nil {
			return fmt.Errorf("reading --config %s: %s: %w", path, name, err)
		}
	}
	return nil
}

func setFlag(flag *pflag.Flag, value any) error {
	slice, isSlice := flag.Value.(pflag.SliceValue)
	list, isList := value.([]any)
	if !isSlice || !isList {
		return flag.Value.Set(fmt.Sprint(value))
	}
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = fmt.Sprint(item)
	}
	return slice.Replace(texts)
}
