package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/webhooks/registration"
)

const echoConfiguration = "bench-echo"

var dryRun = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

// pod is a Pod of two containers that all sample policies admit as it is. It is
// never scheduled: what happens after its creation is not ours to measure.
func pod(name string) *corev1.Pod {
	container := func(name string, port int32) corev1.Container {
		return corev1.Container{
			Name: name, Image: "registry.k8s.io/pause:3.10",
			Ports: []corev1.ContainerPort{{Name: name, ContainerPort: port}},
			Env:   []corev1.EnvVar{{Name: "MODE", Value: "bench"}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("32Mi"),
			}},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false),
				Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "bench", "team": "blue"}},
		Spec: corev1.PodSpec{
			Containers:      []corev1.Container{container("web", 8080), container("proxy", 9090)},
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "lintel.dev/bench"}},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(65535)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	}
}

// record has the API server ask about Pods, and gives its words about each.
func (b *bench) record(ctx context.Context, pods ...*corev1.Pod) (bodies [][]byte, err error) {
	recorded := make(chan []byte, 10)
	server, url, served, err := listenEcho(b.folder, echo{record: func(body []byte) { recorded <- body }})
	if err != nil {
		return nil, err
	}
	defer func() {
		server.Close()
		<-served
	}()
	admission := b.clientset.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-record"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "record.bench.lintel.dev",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: b.process.authority},
			NamespaceSelector:       onlyNamespace(namespaceLintel),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			Rules:                   aboutCreatedPods(),
		}},
	}
	if _, err := admission.Create(ctx, config, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	for _, p := range pods {
		// The API server learns of the configuration a moment later.
		err := poll(ctx, "the review of a Pod", func() (bool, error) {
			_, err := b.clientset.CoreV1().Pods(namespaceLintel).Create(ctx, p, dryRun)
			return len(recorded) > 0, err
		})
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, <-recorded)
	}
	return bodies, admission.Delete(ctx, config.Name, metav1.DeleteOptions{})
}

func aboutCreatedPods() []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
	}}
}

func onlyNamespace(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}}
}

// registerEcho registers the echo as Lintel is, for its own namespace: the same
// entries, rules, conditions and order.
func (b *bench) registerEcho(ctx context.Context) error {
	admission := b.clientset.AdmissionregistrationV1()
	validating, err := admission.ValidatingWebhookConfigurations().Get(ctx, registration.ConfigurationName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	mutating, err := admission.MutatingWebhookConfigurations().Get(ctx, registration.ConfigurationName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	client := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{URL: new(b.process.url + path), CABundle: b.process.authority}
	}
	validating.ObjectMeta = metav1.ObjectMeta{Name: echoConfiguration}
	for i := range validating.Webhooks {
		entry := &validating.Webhooks[i]
		entry.ClientConfig, entry.NamespaceSelector = client("/validate"), onlyNamespace(namespaceEcho)
	}
	mutating.ObjectMeta = metav1.ObjectMeta{Name: echoConfiguration}
	for i := range mutating.Webhooks {
		entry := &mutating.Webhooks[i]
		entry.ClientConfig, entry.NamespaceSelector = client("/mutate"), onlyNamespace(namespaceEcho)
	}
	if _, err := admission.ValidatingWebhookConfigurations().Create(ctx, validating, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err = admission.MutatingWebhookConfigurations().Create(ctx, mutating, metav1.CreateOptions{})
	return err
}

// checkDecisions: before anything is measured, the policies have the expected verdicts, and
// only for the expected objects.
func (b *bench) checkDecisions(ctx context.Context) error {
	privileged := pod("privileged")
	privileged.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
	bare := pod("without-requests")
	bare.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
	// Denials come once the API server has learned of the registration.
	err := poll(ctx, "a denial", func() (bool, error) {
		_, err := b.clientset.CoreV1().Pods(namespaceLintel).Create(ctx, privileged, dryRun)
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "samples.privileged deny") &&
			strings.Contains(err.Error(), "samples.pod_security_restricted deny"), nil
	})
	if err != nil {
		return err
	}
	for _, namespace := range []string{namespaceNone, namespaceEcho} {
		if _, err := b.clientset.CoreV1().Pods(namespace).Create(ctx, privileged, dryRun); err != nil {
			return fmt.Errorf("expected no policy in %s: %w", namespace, err)
		}
	}
	defaulted, err := b.clientset.CoreV1().Pods(namespaceLintel).Create(ctx, bare, dryRun)
	if err != nil {
		return err
	}
	if got := defaulted.Spec.Containers[0].Resources.Requests.Cpu().String(); got != "100m" {
		return fmt.Errorf("a container without requests got cpu %q, not 100m", got)
	}
	return nil
}

// measureCreate compares what the API server takes to create a Pod, in turns.
func (b *bench) measureCreate(ctx context.Context) error {
	say("measuring creation through the API server …")
	for _, c := range []struct {
		what    string
		rounds  int
		options metav1.CreateOptions
		limit   float64
	}{
		{"create a Pod, dry run", 400, dryRun, 1.2},
		{"create a Pod", 150, metav1.CreateOptions{}, 0},
	} {
		none, echo, lintel, err := b.createInTurns(ctx, c.rounds, c.options)
		if err != nil {
			return err
		}
		b.keep(c.what+", no webhook", none)
		b.keep(c.what+", echo", echo)
		b.keep(c.what+", ten policies", lintel)
		b.row(ratioRow(c.what+": p50 (reference: echo)", p50(lintel), p50(echo),
			milliseconds(lintel.percentile(50)), milliseconds(echo.percentile(50)), c.limit))
		b.row(ratioRow(c.what+": p50 (reference: no webhook)", p50(lintel), p50(none),
			milliseconds(lintel.percentile(50)), milliseconds(none.percentile(50)), 0))
		b.row(ratioRow(c.what+": p50 / p99 / p99.9", lintel.percentiles(), echo.percentiles(),
			milliseconds(lintel.percentile(99)), milliseconds(echo.percentile(99)), 0))
	}
	return nil
}

func p50(s samples) string { return fmt.Sprintf("%.2f ms", milliseconds(s.percentile(50))) }

func (b *bench) createInTurns(ctx context.Context, rounds int, options metav1.CreateOptions) (none, echo, lintel samples, err error) {
	const warmUp = 30
	namespaces := []string{namespaceNone, namespaceEcho, namespaceLintel}
	taken := make([]samples, len(namespaces))
	for round := -warmUp; round < rounds; round++ {
		for i := range namespaces {
			i = (i + warmUp + round) % len(namespaces) // each is first as often as the others
			name := fmt.Sprintf("bench-%d", warmUp+round)
			start := time.Now()
			_, createErr := b.clientset.CoreV1().Pods(namespaces[i]).Create(ctx, pod(name), options)
			took := time.Since(start)
			err = errors.Join(err, createErr)
			if round >= 0 {
				taken[i] = append(taken[i], took)
			}
		}
		if err != nil {
			return nil, nil, nil, err
		}
	}
	return taken[0], taken[1], taken[2], nil
}
