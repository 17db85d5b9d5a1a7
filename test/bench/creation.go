package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	nameCEL       = "ValidatingAdmissionPolicy"
	nameNoWebhook = "no webhook"
)

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// celRules are what a constraint says in CEL.
type celRules map[string][]string // by template

// variables are what the rules in CEL read.
func (c constraint) variables() ([]admissionregistrationv1.Variable, error) {
	parameters, err := celLiteral(c.parameters)
	if err != nil {
		return nil, err
	}
	return []admissionregistrationv1.Variable{
		{Name: "params", Expression: parameters},
		{Name: "containers", Expression: "object.spec.containers + object.spec.?initContainers.orValue([]) + object.spec.?ephemeralContainers.orValue([])"},
	}, nil
}

// celLiteral is a value as CEL writes it: as JSON does, but that the values of a map
// are of one type there, unless they say that they are of any.
func celLiteral(value any) (string, error) {
	var items []string
	switch value := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(value) {
			item, err := celLiteral(value[key])
			if err != nil {
				return "", err
			}
			items = append(items, fmt.Sprintf("%q: dyn(%s)", key, item))
		}
		return "{" + strings.Join(items, ", ") + "}", nil
	case []any:
		for _, each := range value {
			item, err := celLiteral(each)
			if err != nil {
				return "", err
			}
			items = append(items, item)
		}
		return "[" + strings.Join(items, ", ") + "]", nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// validations are the rules of a constraint.
func (r celRules) validations(c constraint) (list []admissionregistrationv1.Validation, err error) {
	if len(r[c.template]) == 0 {
		return nil, fmt.Errorf("policies/cel.yaml has nothing for the template %s", c.template)
	}
	for _, expression := range r[c.template] {
		list = append(list, admissionregistrationv1.Validation{Expression: expression, Message: "denied by " + c.name})
	}
	return list, nil
}

func podMatch(selector *metav1.LabelSelector) *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{
		NamespaceSelector: selector,
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		}}},
	}
}

// applyCEL makes ValidatingAdmissionPolicies of constraints, for a namespace of their own.
func (p *peers) applyCEL(ctx context.Context, constraints []constraint) error {
	var rules celRules
	if err := readPolicies("cel.yaml", &rules); err != nil {
		return err
	}
	admission := p.clientset.AdmissionregistrationV1()
	for _, c := range constraints {
		variables, err := c.variables()
		if err != nil {
			return err
		}
		validations, err := rules.validations(c)
		if err != nil {
			return err
		}
		_, err = admission.ValidatingAdmissionPolicies().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: c.name},
			Spec:       admissionregistrationv1.ValidatingAdmissionPolicySpec{MatchConstraints: podMatch(nil), Variables: variables, Validations: validations},
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("%s in CEL: %w", c.name, err)
		}
		_, err = admission.ValidatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: c.name},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: c.name, MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: onlyNamespace(namespaceCEL)},
				ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}

// registerGatekeeper registers it as its own manifest does, for its own namespace, and
// so that a failure is seen.
func (p *peers) registerGatekeeper(ctx context.Context) error {
	return p.register(ctx, gatekeeperConfiguration, namespaceGatekeeper, p.gatekeeper.url("/v1/admit"), p.process.authority)
}

// register configures the API server to call a peer for objects in a namespace.
func (b *bench) register(ctx context.Context, name, namespace, url string, authority []byte) error {
	_, err := b.clientset.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: name + ".bench.lintel.dev", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: authority},
			NamespaceSelector: onlyNamespace(namespace), MatchPolicy: new(admissionregistrationv1.Exact),
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
			}},
		}},
	}, metav1.CreateOptions{})
	return err
}

const gatekeeperConfiguration = "bench-gatekeeper"

// compareCreation: the creation of a Pod as users meet it. Each variant has its own
// namespace, in which nothing else is asked.
func (p *peers) compareCreation(ctx context.Context) (err error) {
	say("registering the peers …")
	constraints := p.library.matching(usual)
	err = poll(ctx, "the registration for Pods", func() (bool, error) {
		validating, _, err := p.rules(ctx)
		return validating["pods"], err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.unregister(constraints)) }()
	for _, register := range []func(context.Context) error{
		p.registerEcho, p.registerGatekeeper, func(ctx context.Context) error { return p.applyCEL(ctx, constraints) },
	} {
		if err := register(ctx); err != nil {
			return err
		}
	}
	if p.valid, err = p.compareCreated(ctx, "Lintel, Gatekeeper and ValidatingAdmissionPolicies", namespaceLintel, namespaceGatekeeper, namespaceCEL); err != nil {
		return err
	}
	say("measuring creation through the API server: %d matching policies …", usual)
	c, err := p.createTurns(ctx, "replicas, created in a dry run", usual, []variant{
		{namespaceNone, nameNoWebhook}, {namespaceEcho, nameEcho}, {namespaceLintel, nameLintel}, {namespaceGatekeeper, nameGatekeeper}, {namespaceCEL, nameCEL},
	})
	if err != nil {
		return err
	}
	what := "Pod create, 45 matching, replicas"
	ours, none := c.of(nameLintel), c.of(nameNoWebhook)
	for _, each := range []struct {
		name  string
		limit float64
	}{{nameEcho, 1.15}, {nameCEL, 1}, {nameGatekeeper, 0}} {
		other := c.of(each.name)
		p.row(ratioRow(fmt.Sprintf("API server p50, %s (reference: %s)", what, each.name), p50Text(ours), p50Text(other),
			milliseconds(ours.latencies().percentile(50)), milliseconds(other.latencies().percentile(50)), each.limit))
	}
	for _, m := range c.Contenders[1:] {
		over := func(percentile float64) float64 {
			return milliseconds(m.latencies().percentile(percentile) - none.latencies().percentile(percentile))
		}
		p.row(row{What: "… over no webhook, p50 and p99: " + m.name, Lintel: fmt.Sprintf("%.2f ms, %.2f ms", over(50), over(99))})
	}
	return nil
}

// unregister leaves nothing that the next case could meet.
func (p *peers) unregister(constraints []constraint) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	admission := p.clientset.AdmissionregistrationV1()
	errs := []error{
		p.unregisterPeer(ctx, gatekeeperConfiguration),
		p.unregisterEcho(ctx),
	}
	for _, c := range constraints {
		errs = append(errs, admission.ValidatingAdmissionPolicyBindings().Delete(ctx, c.name, metav1.DeleteOptions{}),
			admission.ValidatingAdmissionPolicies().Delete(ctx, c.name, metav1.DeleteOptions{}))
	}
	for i, err := range errs {
		if apierrors.IsNotFound(err) {
			errs[i] = nil
		}
	}
	return errors.Join(errs...)
}

// unregisterPeer undoes register.
func (b *bench) unregisterPeer(ctx context.Context, name string) error {
	err := b.clientset.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// unregisterEcho undoes registerEcho.
func (b *bench) unregisterEcho(ctx context.Context) error {
	admission := b.clientset.AdmissionregistrationV1()
	errs := []error{
		admission.ValidatingWebhookConfigurations().Delete(ctx, echoConfiguration, metav1.DeleteOptions{}),
		admission.MutatingWebhookConfigurations().Delete(ctx, echoConfiguration, metav1.DeleteOptions{}),
	}
	for i, err := range errs {
		if apierrors.IsNotFound(err) {
			errs[i] = nil
		}
	}
	return errors.Join(errs...)
}

var (
	celNames = regexp.MustCompile(`ValidatingAdmissionPolicy '([\w.-]+)'`)
)

// compareCreated creates every variation of the Pod through the API server, in a dry run, once
// in each namespace, and compares the verdicts. The API server refuses variations that are not
// valid Pods before it calls a webhook; reviews of the others are returned.
func (p *peers) compareCreated(ctx context.Context, by string, namespaces ...string) (valid [][]byte, err error) {
	pod, err := strictObject()
	if err != nil {
		return nil, err
	}
	var like admissionv1.AdmissionReview
	example, _ := p.workloads.unique.next()
	if err := json.Unmarshal(example, &like); err != nil {
		return nil, err
	}
	all := append([]map[string]any{privileged(pod)}, variations(pod)...)
	denied := 0
	for i := range all {
		isPod, refused, err := p.compareOne(ctx, all[i], namespaces)
		if err != nil {
			return nil, err
		}
		if isPod {
			body, err := reviewOf(&like, i, all[i], nil, nil)
			if err != nil {
				return nil, err
			}
			valid = append(valid, body)
		}
		if refused {
			denied++
		}
	}
	p.row(row{
		What:   fmt.Sprintf("decisions on %d Pods through the API server, by %s: differences", len(valid), by),
		Lintel: "0", Reference: fmt.Sprintf("%d denied", denied), Target: "0", Verdict: verdict(0, 0),
	})
	return valid, nil
}

// compareOne creates one Pod until the answers agree: a new registration takes effect a moment
// later.
func (p *peers) compareOne(ctx context.Context, object map[string]any, namespaces []string) (valid, denied bool, err error) {
	ask := func() error {
		var answers []error
		for _, namespace := range namespaces {
			copied := &unstructured.Unstructured{Object: object}
			copied = copied.DeepCopy()
			copied.SetNamespace(namespace)
			_, err := p.dynamic.Resource(podResource).Namespace(namespace).Create(ctx, copied, dryRun)
			if err != nil && !isDenial(err) {
				return nil // not a Pod, to anybody
			}
			answers = append(answers, err)
		}
		valid, denied = true, answers[0] != nil
		for i, answer := range answers {
			if (answer != nil) != denied {
				return fmt.Errorf("decisions differ: in %s %w, in %s %w, of %v", namespaces[0], orAdmitted(answers[0]), namespaces[i], orAdmitted(answer), object)
			}
		}
		return nil
	}
	var last error
	err = poll(ctx, "equal decisions", func() (bool, error) {
		last = ask()
		return last == nil, nil
	})
	return valid, denied, errors.Join(err, last)
}

func orAdmitted(err error) error {
	if err == nil {
		return errors.New("admitted")
	}
	return err
}

// isDenial reports whether an error is a denial of a webhook or policy, and not of the API
// server itself.
func isDenial(err error) bool {
	text := err.Error()
	return strings.Contains(text, "denied the request") || celNames.MatchString(text)
}

// strictObject is the Pod of the benchmarks with values in place of its marks.
func strictObject() (map[string]any, error) {
	text, err := json.Marshal(strictPod(0))
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(fill(string(text), 1), &object); err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(object, "status")
	unstructured.RemoveNestedField(object, "metadata", "creationTimestamp")
	object["apiVersion"], object["kind"] = "v1", "Pod"
	return object, nil
}

// variant is a namespace, and the engine that reviews the Pods in it.
type variant struct{ namespace, name string }

// createTurns creates replicas in all namespaces in turns.
func (p *peers) createTurns(ctx context.Context, what string, policies int, variants []variant) (*comparison, error) {
	const warmUp, turns, block = 20, 5, 40
	var found []*measured
	for _, v := range variants {
		found = append(found, &measured{name: v.name, turns: make([]turn, turns)})
	}
	for n := range warmUp + turns*block {
		for i := range variants {
			i = (i + n) % len(variants)
			replica, err := replica(n)
			if err != nil {
				return nil, err
			}
			start := time.Now()
			if _, err := p.clientset.CoreV1().Pods(variants[i].namespace).Create(ctx, replica, dryRun); err != nil {
				return nil, fmt.Errorf("creating a Pod, %s: %w", variants[i].name, err)
			}
			took := time.Since(start)
			if n >= warmUp {
				t := &found[i].turns[(n-warmUp)/block]
				t.Requests++
				t.Latencies = append(t.Latencies, took)
			}
		}
	}
	return p.keepComparison(&comparison{"API server", what, policies, plural(1, "client"), found}), nil
}

// replica is the n-th Pod of one Deployment.
func replica(n int) (*corev1.Pod, error) {
	text, err := json.Marshal(strictPod(0))
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	return pod, json.Unmarshal(fill(sameObject(string(text)), int64(n)), pod)
}

// privileged is a Pod that is denied.
func privileged(pod map[string]any) map[string]any {
	pod = runtime.DeepCopyJSON(pod)
	replaceAt(pod, []any{"spec", "containers", 0, "securityContext", "allowPrivilegeEscalation"}, func(any) (any, bool) { return true, true })
	replaceAt(pod, []any{"spec", "containers", 0, "securityContext", "privileged"}, func(any) (any, bool) { return true, true })
	return pod
}
