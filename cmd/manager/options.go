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
	leaderElect        bool
	metricsAddress     string
	healthAddress      string
	drain              time.Duration
	systems            []string

	parts []system.Part
}

// parseOptions reads the command line, and what it leaves open from the file.
func parseOptions(args []string) (*options, error) {
	o := &options{parts: parts()}
	flags := o.flags()
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: the manager takes flags only", flags.Arg(0))
	}
	if o.config != "" {
		if err := readConfig(flags, o.config); err != nil {
			return nil, err
		}
	}
	if o.webhookPort < 0 || o.webhookPort > 65535 {
		return nil, fmt.Errorf("--webhook-port=%d is not a port", o.webhookPort)
	}
	if o.drain < 0 {
		return nil, fmt.Errorf("--drain=%s is in the past", o.drain)
	}
	if o.maxReviewBytes < 1 {
		return nil, fmt.Errorf("--max-review-bytes=%d leaves nothing to judge", o.maxReviewBytes)
	}
	if err := o.checkSystems(); err != nil {
		return nil, err
	}
	return o, nil
}

// flags are the flags that fill o. What stands in backquotes is the name of a
// flag's value in the help.
func (o *options) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringVar(&o.config, "config", "", "YAML `file` of flags by their names, such as webhook-port: 9443; a flag beats the file")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` that says how to reach the cluster; empty: as the Pod's service account")
	flags.StringVar(&o.namespace, "namespace", "lintel-system", "`namespace` of artifacts, Leases and the serving certificate")
	flags.BoolVar(&o.leaderElect, "leader-elect", false, "let one of several replicas gate policies and register webhooks")
	flags.IntVar(&o.webhookPort, "webhook-port", 9443, "`port` of the webhooks")
	flags.StringVar(&o.webhookHost, "webhook-host", "", "`address` to serve webhooks on; empty: all")
	flags.StringVar(&o.webhookURL, "webhook-url", "", "base `URL` of the webhooks where the API server cannot use the Service")
	flags.StringVar(&o.certDir, "cert-dir", "/etc/lintel/tls", "`folder` with tls.crt, tls.key and ca.crt, reloaded when they change")
	flags.StringVar(&o.certSecret, "cert-secret", "", "read the certificate from this `Secret` of --namespace instead of --cert-dir, where nothing mounts it")
	flags.StringVar(&o.clientCA, "client-ca", "", "`file` of the CA that issues the API server's client certificate; nobody else may call then")
	flags.BoolVar(&o.gatekeeper, "gatekeeper", false, "keep the cluster's own ConstraintTemplates and constraints in force, as the PolicySource gatekeeper")
	flags.StringVar(&o.policyDir, "policy-dir", "", "for development: a `folder` kept applied as the PolicySource policy-dir")
	flags.BoolVar(&o.allowFileOrigins, "allow-file-origins", false, "let PolicySources read Git repositories of this machine's own disk (file:///…)")
	flags.StringVar(&o.receiverAddress, "receiver-bind-address", "", "`address`, such as :9292, on which to take push notifications of GitHub, GitLab, Gitea and Forgejo at /hook/<PolicySource>; empty: none")
	flags.StringVar(&o.receiverCertDir, "receiver-cert-dir", "", "`folder` with tls.crt and tls.key of the receiver; empty: plain HTTP, for behind an Ingress")
	flags.StringSliceVar(&o.excludedNamespaces, "excluded-namespaces", registration.DefaultExcludedNamespaces(), "`namespaces` that user policies are never asked about, beside the manager's own")
	flags.Int64Var(&o.maxReviewBytes, "max-review-bytes", webhooks.DefaultMaxReviewBytes, "`bytes` of the largest review that is judged; a larger one is denied")
	flags.StringVar(&o.decisionLog, "decision-log", "denied", "which `decisions` are logged: denied, all or none")
	flags.Float64Var(&o.decisionLogSample, "decision-log-sample", 1, "`share` of the decisions that --decision-log=all writes, from 0 to 1; denials, errors and audit findings always are")
	flags.StringSliceVar(&o.decisionLogExclude, "decision-log-exclude-kinds", nil, "`kinds`, as Kind or Kind.group, whose admitted objects --decision-log=all leaves out")
	flags.BoolVar(&o.decisionLogObjects, "decision-log-objects", false, "add the object to each line; the data of Secrets is always masked")
	flags.StringSliceVar(&o.decisionLogMask, "decision-log-mask", nil, "`places` in logged objects to mask, such as /spec/containers/*/env/*/value")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "`address` of Prometheus metrics; 0 turns them off")
	flags.StringVar(&o.healthAddress, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz")
	flags.StringSliceVar(&o.systems, "systems", nil, "`systems` to switch on, of "+strings.Join(o.systemNames(), ", ")+"; the others need no kinds and no permissions")
	for _, part := range o.parts {
		part.Flags(flags)
	}
	flags.DurationVar(&o.drain, "drain", 5*time.Second, "`duration` for which to go on answering, unready, after the end was asked for: the API server learns of it later")
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
			return fmt.Errorf("reading --config %s: there is no flag %q", path, name)
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
