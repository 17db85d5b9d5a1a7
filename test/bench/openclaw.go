package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/lintel-policy/lintel/test/installation"
)

const (
	openClawNamespace = "openclaw-bench"
	openClawInstances = 200
	openClawBundles   = 50
	openClawRest      = time.Minute
)

var openClawPackage = regexp.MustCompile(`(?m)^package openclaw\.enterprise\.(\w+)`)

func domainOf(rego string) string {
	if found := openClawPackage.FindStringSubmatch(rego); found != nil {
		return strings.ReplaceAll(found[1], "_", "-")
	}
	return ""
}

// measureOpenClaw has one namespace with many gateways and bundles. It takes the place
// of the manager that the other parts measure, so it comes last.
func (b *bench) measureOpenClaw(ctx context.Context) error {
	say("measuring %d OpenClawInstances and %d PolicyBundles …", openClawInstances, openClawBundles)
	if err := b.restartWithOpenClaw(ctx); err != nil {
		return err
	}
	if err := b.createNamespace(ctx, openClawNamespace); err != nil {
		return err
	}
	instances, bundles := b.openClaw("openclawinstances"), b.openClaw("policybundles")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "all"}, StringData: map[string]string{"client-secret": "x", "connection-string": "x"}}
	if _, err := b.clientset.CoreV1().Secrets(openClawNamespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	var admissions samples
	for i := range openClawBundles {
		start := time.Now()
		if _, err := bundles.Create(ctx, bundleObject(i, 0), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating bundle %d: %w", i, err)
		}
		admissions = append(admissions, time.Since(start))
	}
	for i := range openClawInstances {
		if _, err := instances.Create(ctx, instanceObject(i), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating instance %d: %w", i, err)
		}
	}
	if err := b.untilComposed(ctx, 0); err != nil {
		return err
	}
	if err := b.untilQuiet(ctx, openClawKinds); err != nil {
		return err
	}

	before, err := b.countWrites(ctx, "configmaps")
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"spec": bundleObject(0, 1).Object["spec"]})
	if err != nil {
		return err
	}
	start := time.Now()
	if _, err := bundles.Patch(ctx, bundleName(0), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	admitted := time.Now()
	if err := b.untilComposed(ctx, 1); err != nil {
		return err
	}
	reached := time.Since(admitted).Seconds()
	b.row(row{
		What:   fmt.Sprintf("OpenClaw: an edit of the enterprise's bundle reaches the ConfigMaps of all %d gateways, after its admission (%.0f ms)", openClawInstances, milliseconds(admitted.Sub(start))),
		Lintel: fmt.Sprintf("%.2f s", reached), Target: "≤ 5 s", Verdict: verdict(reached, 5),
	})
	if err := b.untilQuiet(ctx, openClawKinds); err != nil {
		return err
	}
	after, err := b.countWrites(ctx, "configmaps")
	if err != nil {
		return err
	}
	const wanted = openClawInstances + 1 // and the bundle's own
	b.row(row{What: "… writes of ConfigMaps by the edit", Lintel: strconv.Itoa(after - before), Target: strconv.Itoa(wanted), Verdict: verdict(float64(after-before), wanted)})

	rested, err := b.countWrites(ctx, openClawKinds)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(openClawRest):
	}
	writes, err := b.countWrites(ctx, openClawKinds)
	if err != nil {
		return err
	}
	b.row(row{What: fmt.Sprintf("… writes at rest in %s", openClawRest), Lintel: strconv.Itoa(writes - rested), Target: "0", Verdict: verdict(float64(writes-rested), 0)})

	// New texts each time, or they would be known.
	var updates samples
	for revision := range 20 {
		patch, err := json.Marshal(map[string]any{"spec": bundleObject(openClawBundles-1, revision+2).Object["spec"]})
		if err != nil {
			return err
		}
		start := time.Now()
		if _, err := bundles.Patch(ctx, bundleName(openClawBundles-1), types.MergePatchType, patch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			return err
		}
		updates = append(updates, time.Since(start))
	}
	b.keep("OpenClaw: creating bundles", admissions)
	b.keep("OpenClaw: admission of a bundle among the others", updates)
	p50 := milliseconds(updates.percentile(50))
	b.row(row{
		What:   fmt.Sprintf("… admission of a changed PolicyBundle of five policies among %d others: p50", openClawBundles-1),
		Lintel: fmt.Sprintf("%.1f ms", p50), Target: "≤ 150 ms", Verdict: verdict(p50, 150),
	})
	return nil
}

// restartWithOpenClaw replaces the manager.
func (b *bench) restartWithOpenClaw(ctx context.Context) error {
	if err := installation.PermitOpenClaw(ctx, b.cluster); err != nil {
		return err
	}
	if err := b.restart(ctx, "manager-openclaw", "--systems=openclaw"); err != nil {
		return err
	}
	return poll(ctx, "the entry for PolicyBundles to be registered", func() (bool, error) {
		output, err := b.cluster.Kubectl(ctx, "", "get", "validatingwebhookconfiguration", "lintel", "-o",
			`jsonpath={.webhooks[?(@.name=="policybundle.openclaw.enterprise.io")].rules[*].resources}`)
		return strings.Contains(output, "policybundles"), err
	})
}

func (b *bench) openClaw(resource string) dynamic.ResourceInterface {
	return b.dynamic.Resource(schema.GroupVersionResource{Group: "openclaw.enterprise.io", Version: "v1", Resource: resource}).Namespace(openClawNamespace)
}

func bundleName(i int) string { return fmt.Sprintf("bundle-%02d", i) }

// bundleObject is the enterprise's bundle for 0, else one of a tenant's team.
func bundleObject(i, revision int) *unstructured.Unstructured {
	scope, narrower := "enterprise", ""
	spec := map[string]any{}
	if i > 0 {
		scope, narrower = "team", fmt.Sprintf("\n\tinput.team == \"team-%d-%d\"", i, revision)
		spec["instanceSelector"] = map[string]any{"matchLabels": map[string]any{"tenant": fmt.Sprint("t", i%10)}}
	}
	var policies []any
	for _, domain := range []string{"models", "integrations", "features", "data", "audit"} {
		policies = append(policies, map[string]any{
			"scope": scope, "domain": domain, "name": domain,
			"content": fmt.Sprintf(`package openclaw.enterprise.%[1]s

import rego.v1

default allow := false

allow if {
	input.model.provider == "internal"%[3]s
}

allow if {
	input.model.provider == "external"
	input.data.classification == "public"%[3]s
}

deny if input.data.classification == "restricted"

retention_days := %[2]d
`, domain, 365+revision, narrower),
		})
	}
	spec["policies"] = policies
	return openClawObject("PolicyBundle", bundleName(i), nil, spec)
}

func instanceObject(i int) *unstructured.Unstructured {
	reference := func() map[string]any { return map[string]any{"name": "all"} }
	return openClawObject("OpenClawInstance", fmt.Sprintf("instance-%03d", i), map[string]any{"tenant": fmt.Sprint("t", i%10)}, map[string]any{
		"deploymentMode": "single", "replicas": int64(1),
		"auth":    map[string]any{"provider": "okta", "clientId": "id", "clientSecretRef": reference()},
		"storage": map[string]any{"postgresSecretRef": reference(), "redisSecretRef": reference()},
	})
}

func openClawObject(kind, name string, labels, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "openclaw.enterprise.io/v1", "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": openClawNamespace, "labels": labels}, "spec": spec,
	}}
}

// untilComposed waits until every gateway's ConfigMap has the enterprise's revision.
func (b *bench) untilComposed(ctx context.Context, revision int) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	wanted := map[string]bool{}
	for {
		list, err := b.clientset.CoreV1().ConfigMaps(openClawNamespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		for _, one := range list.Items {
			if name := one.Labels["app.kubernetes.io/instance"]; !wanted[name] && hasRevision(one.BinaryData["bundle.tar.gz"], revision) {
				wanted[name] = true
			}
		}
		if len(wanted) == openClawInstances {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d gateways have their policies: %w", len(wanted), openClawInstances, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// hasRevision says whether a bundle of policies has a revision of the enterprise's.
func hasRevision(bundle []byte, revision int) bool {
	plain, err := gzip.NewReader(bytes.NewReader(bundle))
	if err != nil {
		return false // no bundle
	}
	text, err := io.ReadAll(plain)
	return err == nil && bytes.Contains(text, []byte(fmt.Sprintf("retention_days := %d\n", 365+revision)))
}

// openClawKinds are the resources that OpenClaw writes.
const openClawKinds = "openclawinstances|policybundles|configmaps|deployments|services|poddisruptionbudgets"

// countWrites is how often the API server was asked to write resources.
func (b *bench) countWrites(ctx context.Context, resources string) (count int, err error) {
	text, err := b.clientset.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	writes := regexp.MustCompile(`(?m)^apiserver_request_total\{.*dry_run="".*resource="(?:` + resources + `)".*verb="(?:APPLY|PATCH|POST|PUT|DELETE)".*\} (\d+)$`)
	for _, found := range writes.FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.Atoi(found[1])
		if err != nil {
			return 0, err
		}
		count += n
	}
	return count, nil
}

// untilQuiet waits until none of the resources has been written for a while: Pods roll out.
func (b *bench) untilQuiet(ctx context.Context, resources string) error {
	const quiet = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	last, since := -1, time.Now()
	for time.Since(since) < quiet {
		count, err := b.countWrites(ctx, resources)
		if err != nil {
			return err
		}
		if count != last {
			last, since = count, time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for Pods to roll out: %w", ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil
}
