package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	nameClusterPolicy    = "Kyverno ClusterPolicy"
	nameValidatingPolicy = "Kyverno ValidatingPolicy"
)

var (
	clusterPolicies    = schema.GroupVersionResource{Group: "kyverno.io", Version: "v1", Resource: "clusterpolicies"}
	validatingPolicies = schema.GroupVersionResource{Group: "policies.kyverno.io", Version: "v1", Resource: "validatingpolicies"}
	// kyvernoNames are the constraints that a message of Kyverno names.
	kyvernoNames = regexp.MustCompile(`denied by ([\w-]+)`)
)

// kyverno is Kyverno's admission controller, as a process outside the cluster.
type kyverno struct {
	bench   *bench
	process *child
	address string
}

// kyvernoContender is one kind of its policies, and who signed for it.
type kyvernoContender struct {
	*contender
	authority []byte
}

// startKyverno installs Kyverno and starts its admission controller alone: without
// reports, policies in the API server of its own making, and metrics.
func startKyverno(ctx context.Context, b *bench, programs map[string]string) (*kyverno, error) {
	manifest, err := kyvernoManifest(b.folder, programs["kyverno-install"])
	if err != nil {
		return nil, err
	}
	if err := b.kubectl(ctx, "", "apply", "--server-side", "-f", manifest); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	k := &kyverno{bench: b, address: fmt.Sprintf("127.0.0.1:%d", port)}
	k.process, err = startChild(b.folder, "kyverno", programs["kyverno"],
		[]string{
			"KYVERNO_NAMESPACE=kyverno", "KYVERNO_POD_NAME=kyverno-0", "KYVERNO_SERVICEACCOUNT_NAME=kyverno-admission-controller",
			"KYVERNO_SVC=kyverno-svc", "KYVERNO_DEPLOYMENT=kyverno-admission-controller", "KYVERNO_ROLE_NAME=kyverno:admission-controller",
			"INIT_CONFIG=kyverno", "METRICS_CONFIG=kyverno-metrics",
		},
		[]string{
			"--kubeconfig=" + b.cluster.Kubeconfig, "--serverIP=" + k.address,
			fmt.Sprintf("--webhookServerPort=%d", port), "--webhookServerHost=127.0.0.1",
			"--backgroundServiceAccountName=system:serviceaccount:kyverno:kyverno-background-controller",
			"--reportsServiceAccountName=system:serviceaccount:kyverno:kyverno-reports-controller",
			"--caSecretName=kyverno-svc.kyverno.svc.kyverno-tls-ca", "--tlsSecretName=kyverno-svc.kyverno.svc.kyverno-tls-pair",
			"--controllerRuntimeMetricsAddress=0", "--disableMetrics=true", "--admissionReports=false", "--enableReporting=",
			"--generateValidatingAdmissionPolicy=false", "--crdWatcher=false",
		})
	return k, err
}

// kyvernoSelector is where Kyverno's settings say which namespaces it registers for.
var kyvernoSelector = regexp.MustCompile(`(?m)^  webhooks: .*namespaceSelector.*$`)

// kyvernoManifest is Kyverno's installation without its Deployments, whose Pods would
// run nothing here, and registered for no namespace: that is done for each kind of its
// policies apart.
func kyvernoManifest(folder, install string) (string, error) {
	paths, err := filepath.Glob(filepath.Join(install, "*.yaml"))
	if err != nil || len(paths) != 1 {
		return "", fmt.Errorf("expected one manifest in %s, found %v", install, paths)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		return "", err
	}
	documents := slices.DeleteFunc(strings.Split(string(text), "\n---\n"), func(document string) bool {
		return strings.Contains("\n"+document, "\nkind: Deployment\n")
	})
	all := strings.Join(documents, "\n---\n")
	if !kyvernoSelector.MatchString(all) {
		return "", fmt.Errorf("%s has no namespaceSelector for Kyverno's webhooks", paths[0])
	}
	all = kyvernoSelector.ReplaceAllString(all, `  webhooks: '{"namespaceSelector":{"matchLabels":{"bench.lintel.dev/registered":"never"}}}'`)
	path := filepath.Join(folder, "kyverno.yaml")
	return path, os.WriteFile(path, []byte(all), 0o600)
}

// stop ends it, and takes away the registrations that it has made.
func (k *kyverno) stop() error {
	k.process.stop()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	admission := k.bench.clientset.AdmissionregistrationV1()
	managed := metav1.ListOptions{LabelSelector: "webhook.kyverno.io/managed-by=kyverno"}
	return errors.Join(
		admission.ValidatingWebhookConfigurations().DeleteCollection(ctx, metav1.DeleteOptions{}, managed),
		admission.MutatingWebhookConfigurations().DeleteCollection(ctx, metav1.DeleteOptions{}, managed),
	)
}

// apply makes policies of constraints, of both kinds, and waits until the API server calls it
// for Pods. It returns the webhooks of each kind.
func (k *kyverno) apply(ctx context.Context, constraints []constraint) (patterns, expressions *kyvernoContender, err error) {
	var bodies map[string]map[string]any
	var rules celRules
	if err := errors.Join(readPolicies("kyverno.yaml", &bodies), readPolicies("cel.yaml", &rules)); err != nil {
		return nil, nil, err
	}
	for _, c := range constraints {
		policy, err := validatingPolicy(c, rules)
		if err != nil {
			return nil, nil, err
		}
		for resource, object := range map[schema.GroupVersionResource]map[string]any{
			clusterPolicies: clusterPolicy(c.name, bodies[c.name]), validatingPolicies: policy,
		} {
			if err := k.create(ctx, resource, object); err != nil {
				return nil, nil, fmt.Errorf("%s as one of Kyverno's %s: %w", c.name, resource.Resource, err)
			}
		}
	}
	err = pollFor(ctx, time.Minute, "Kyverno's registration for Pods", func() (bool, error) {
		var err error
		patterns, expressions, err = k.contenders(ctx, len(constraints))
		return patterns != nil && expressions != nil, err
	})
	return patterns, expressions, err
}

// create tries until Kyverno, which is asked about its own policies, answers.
func (k *kyverno) create(ctx context.Context, resource schema.GroupVersionResource, object map[string]any) error {
	var last error
	err := pollFor(ctx, time.Minute, "Kyverno", func() (bool, error) {
		_, last = k.bench.dynamic.Resource(resource).Create(ctx, &unstructured.Unstructured{Object: runtime.DeepCopyJSON(object)}, metav1.CreateOptions{})
		return last == nil, nil
	})
	return errors.Join(err, last)
}

// contenders are nil until Kyverno has registered itself for all of its policies.
func (k *kyverno) contenders(ctx context.Context, policies int) (patterns, expressions *kyvernoContender, err error) {
	for _, resource := range []schema.GroupVersionResource{clusterPolicies, validatingPolicies} {
		list, err := k.bench.dynamic.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, nil, err
		}
		ready := slices.DeleteFunc(list.Items, func(policy unstructured.Unstructured) bool { return !isReady(policy) })
		if len(ready) < policies {
			return nil, nil, nil
		}
	}
	configurations, err := k.bench.clientset.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	for _, configuration := range configurations.Items {
		for _, w := range configuration.Webhooks {
			if w.ClientConfig.URL == nil || !slices.ContainsFunc(w.Rules, func(r ruleWithOperations) bool { return slices.Contains(r.Resources, "pods") }) {
				continue
			}
			c := &kyvernoContender{contender: &contender{name: nameClusterPolicy, names: kyvernoNames}}
			c.authority = w.ClientConfig.CABundle
			if c.endpoint, err = newEndpoint(*w.ClientConfig.URL, k.process.pid(), c.authority); err != nil {
				return nil, nil, err
			}
			switch {
			case strings.HasPrefix(w.Name, "vpol."):
				c.name = nameValidatingPolicy
				expressions = c
			case strings.HasPrefix(w.Name, "validate.kyverno."):
				patterns = c
			}
		}
	}
	return patterns, expressions, nil
}

// isReady reads the status of either kind.
func isReady(policy unstructured.Unstructured) bool {
	if ready, found, _ := unstructured.NestedBool(policy.Object, "status", "conditionStatus", "ready"); found {
		return ready
	}
	conditions, _, _ := unstructured.NestedSlice(policy.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(condition any) bool {
		c := condition.(map[string]any)
		return c["type"] == "Ready" && c["status"] == "True"
	})
}

// clusterPolicy has a pattern; where that is about containers, it is for all three
// lists of them.
func clusterPolicy(name string, pattern map[string]any) map[string]any {
	if containers, ok := pattern["CONTAINERS"]; ok {
		pattern = map[string]any{"spec": map[string]any{
			"containers": containers, "=(initContainers)": containers, "=(ephemeralContainers)": containers,
		}}
	}
	return map[string]any{
		"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy",
		"metadata": map[string]any{"name": name, "annotations": map[string]any{"pod-policies.kyverno.io/autogen-controllers": "none"}},
		"spec": map[string]any{"background": false, "rules": []any{map[string]any{
			"name":     name,
			"match":    map[string]any{"any": []any{map[string]any{"resources": map[string]any{"kinds": []any{"Pod"}, "operations": []any{"CREATE", "UPDATE"}}}}},
			"validate": map[string]any{"failureAction": "Enforce", "message": "denied by " + name, "pattern": pattern},
		}}},
	}
}

func validatingPolicy(c constraint, rules celRules) (map[string]any, error) {
	variables, err := c.variables()
	if err != nil {
		return nil, err
	}
	validations, err := rules.validations(c)
	if err != nil {
		return nil, err
	}
	var named, said []any
	for _, v := range variables {
		named = append(named, map[string]any{"name": v.Name, "expression": v.Expression})
	}
	for _, v := range validations {
		said = append(said, map[string]any{"message": v.Message, "expression": v.Expression})
	}
	return map[string]any{
		"apiVersion": "policies.kyverno.io/v1", "kind": "ValidatingPolicy", "metadata": map[string]any{"name": c.name},
		"spec": map[string]any{
			"validationActions": []any{"Deny"},
			"evaluation":        map[string]any{"background": map[string]any{"enabled": false}},
			"autogen":           map[string]any{"podControllers": map[string]any{"controllers": []any{}}},
			"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"pods"}, "operations": []any{"CREATE", "UPDATE"},
			}}},
			"variables": named, "validations": said,
		},
	}, nil
}

// compareKyverno: the constraints that can be written as patterns, in Rego, as patterns and in
// CEL. Gatekeeper is no longer needed.
func (p *peers) compareKyverno(ctx context.Context) (err error) {
	p.gatekeeper.stop()
	var patterns map[string]any
	if err := readPolicies("kyverno.yaml", &patterns); err != nil {
		return err
	}
	constraints := p.library.named(sortedKeys(patterns))
	if len(constraints) != len(patterns) {
		return fmt.Errorf("policies/kyverno.yaml has %d patterns, of which %d are of constraints", len(patterns), len(constraints))
	}
	say("starting Kyverno …")
	k, err := startKyverno(ctx, p.bench, p.programs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.stop()) }()
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: anyCertificate}, Timeout: time.Second}
	if err := k.process.waitAnswer(ctx, insecure, "https://"+k.address+"/health/readiness"); err != nil {
		return err
	}
	byPattern, byCEL, err := k.apply(ctx, constraints)
	if err != nil {
		return err
	}
	// Created again: patched fields belong to another manager than applied ones.
	if err := p.deleteSource(ctx, peersSource); err != nil {
		return err
	}
	if err := p.apply(ctx, peersSource, constraints); err != nil {
		return err
	}
	contenders := []*contender{p.lintelAt("/validate/fail"), byPattern.contender, byCEL.contender, p.nothing()}
	asked, denied, err := p.compareValid(ctx, contenders[:3])
	if err != nil {
		return err
	}
	p.row(row{
		What:   fmt.Sprintf("decisions on %d Pods by the %d policies that Kyverno has too: those that differ from Kyverno's, of either kind", asked, len(constraints)),
		Lintel: "0", Reference: fmt.Sprintf("%d denied", denied), Target: "0", Verdict: verdict(0, 0),
	})
	c, err := p.compare(ctx, "unique Pods, policies as in Kyverno", len(constraints), p.workloads.unique, direct, contenders)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d policies as in Kyverno, unique Pods", len(constraints))
	p.cpuRow(what, c.of(nameLintel), c.of(nameValidatingPolicy), 1.0/8)
	p.cpuRow(what, c.of(nameLintel), c.of(nameClusterPolicy), 1.0/8)
	p.row(ratioRow("resident memory after that (reference: Kyverno)", mebibytes(c.of(nameLintel).resident), mebibytes(c.of(nameClusterPolicy).resident),
		float64(c.of(nameLintel).resident), float64(c.of(nameClusterPolicy).resident), 0))
	return p.createWithKyverno(ctx, len(constraints), byPattern, byCEL)
}

// createWithKyverno is compareCreation with Kyverno.
func (p *peers) createWithKyverno(ctx context.Context, policies int, byPattern, byCEL *kyvernoContender) (err error) {
	say("measuring creation through the API server: %d policies as in Kyverno …", policies)
	variants := []variant{
		{namespaceNone, nameNoWebhook}, {namespaceEcho, nameEcho}, {namespaceLintel, nameLintel}, {namespacePatterns, nameClusterPolicy}, {namespaceKyvernoCEL, nameValidatingPolicy},
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		err = errors.Join(err, p.unregisterEcho(ctx), p.unregisterPeer(ctx, namespacePatterns), p.unregisterPeer(ctx, namespaceKyvernoCEL))
	}()
	err = errors.Join(p.registerEcho(ctx),
		p.register(ctx, namespacePatterns, namespacePatterns, byPattern.url, byPattern.authority),
		p.register(ctx, namespaceKyvernoCEL, namespaceKyvernoCEL, byCEL.url, byCEL.authority))
	if err != nil {
		return err
	}
	if _, err := p.compareCreated(ctx, "Lintel and Kyverno", namespaceLintel, namespacePatterns, namespaceKyvernoCEL); err != nil {
		return err
	}
	c, err := p.createTurns(ctx, "replicas, created in a dry run, policies as in Kyverno", policies, variants)
	if err != nil {
		return err
	}
	ours := c.of(nameLintel)
	for _, name := range []string{nameEcho, nameValidatingPolicy, nameClusterPolicy} {
		other := c.of(name)
		p.row(ratioRow(fmt.Sprintf("API server p50, Pod create, %d policies as in Kyverno, replicas (reference: %s)", policies, name), p50Text(ours), p50Text(other),
			milliseconds(ours.latencies().percentile(50)), milliseconds(other.latencies().percentile(50)), 0))
	}
	return nil
}

// compareValid compares decisions on the variations that the API server takes for Pods:
// what a pattern makes of a quantity that is none is not of interest.
func (p *peers) compareValid(ctx context.Context, contenders []*contender) (asked, denied int, err error) {
	say("comparing decisions on %d objects …", len(p.valid))
	denied, err = compareDecisions(ctx, p.valid, contenders)
	return len(p.valid), denied, err
}
