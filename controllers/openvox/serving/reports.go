package serving

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/pausing"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

// ReportReconciler renders the ReportProcessors of a Config into a Secret for its servers. A
// ReportProcessor that cannot be rendered reports the reason, and does not delay others.
type ReportReconciler struct {
	client  client.Client
	applier *object.Applier
	secrets secrets
	events  events.EventRecorder
	admit   builtin.Admitter
}

type processorReport = object.Report[v1alpha1.ReportProcessorStatus]

func (r *ReportReconciler) reporter() object.Reporter[*v1alpha1.ReportProcessor, v1alpha1.ReportProcessorStatus] {
	return object.Reporter[*v1alpha1.ReportProcessor, v1alpha1.ReportProcessorStatus]{
		Client: r.client, Manager: reportsManager, Action: "Render", Events: r.events,
		Status:     func(p *v1alpha1.ReportProcessor) *v1alpha1.ReportProcessorStatus { return &p.Status },
		Conditions: func(s *v1alpha1.ReportProcessorStatus) []metav1.Condition { return s.Conditions },
		News:       map[string]object.News{v1alpha1.ConditionReady: object.Turned(metav1.ConditionFalse)},
	}
}

// Reconcile renders the ReportProcessors of one Config and sets their status. A missing Config is
// reported on them.
func (r *ReportReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	processors, err := processorsOf(ctx, r.client, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	problems := map[string]error{}
	config := &v1alpha1.Config{}
	err = r.client.Get(ctx, request.NamespacedName, config)
	switch {
	case apierrors.IsNotFound(err):
		err = &unrendered{fmt.Sprintf("spec.configRef: there is no Config %q", request.Name)}
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("reading Config %s: %w", request.Name, err)
	case !config.DeletionTimestamp.IsZero(), pausing.IsPaused(config):
		return reconcile.Result{}, nil
	default:
		err = r.keep(ctx, config, processors, problems)
	}
	return r.report(ctx, processors, problems, err)
}

// report sets the conditions of the ReportProcessors: the error of each, or an error that
// concerns all.
func (r *ReportReconciler) report(ctx context.Context, processors []v1alpha1.ReportProcessor, problems map[string]error, all error) (reconcile.Result, error) {
	var failure error
	switch foreign := (*object.Foreign)(nil); {
	case errors.As(all, &foreign):
		all = &unrendered{foreign.Error()} // the Secret's next change begins this again
	case all != nil && !errors.As(all, new(*unrendered)):
		failure = all
	}
	for i := range processors {
		processor, problem := &processors[i], (*unrendered)(nil)
		if pausing.IsPaused(processor) {
			failure = errors.Join(failure, r.reporter().Write(ctx, processor, processorPausing.Paused(processor)))
			continue
		}
		err := problems[processor.Name]
		if err == nil {
			err = all
		}
		if err != nil && !errors.As(err, &problem) {
			failure = errors.Join(failure, err)
			continue
		}
		failure = errors.Join(failure, r.reporter().Write(ctx, processor, processorPausing.Resumed(processor, reportOnProcessor(processor, problem))))
	}
	return object.Result(0, failure)
}

// keep reconciles the Secret with the ReportProcessors, and deletes it if there are none.
func (r *ReportReconciler) keep(ctx context.Context, config *v1alpha1.Config, processors []v1alpha1.ReportProcessor, problems map[string]error) error {
	name, ours := reportsSecret(config.Name), object.ControlledBy(config)
	if len(processors) == 0 {
		return r.applier.Remove(ctx, ours, client.ObjectKey{Namespace: config.Namespace, Name: name}, &corev1.Secret{})
	}
	file, before := endpoints.ReportEndpoints{Endpoints: []endpoints.Report{}}, map[string]endpoints.Report{}
	if slices.ContainsFunc(processors, func(p v1alpha1.ReportProcessor) bool { return pausing.IsPaused(&p) }) {
		secret, err := layout.ReadSecret(ctx, r.secrets.live, config.Namespace, name)
		if err != nil {
			return err
		}
		if secret != nil && metav1.IsControlledBy(secret, config) {
			stored, _ := endpoints.ReadReports(secret.Data[endpoints.ReportsKey]) // what cannot be read has no entries
			for _, each := range stored.Endpoints {
				before[each.Name] = each
			}
		}
	}
	for i := range processors {
		if pausing.IsPaused(&processors[i]) {
			if stored, ok := before[processors[i].Name]; ok {
				file.Endpoints = append(file.Endpoints, stored)
			}
			continue
		}
		rendered, err := r.render(ctx, &processors[i])
		switch {
		case err == nil:
			file.Endpoints = append(file.Endpoints, rendered)
		case errors.As(err, new(*unrendered)):
			problems[processors[i].Name] = err
		default:
			return err // its state is unknown: keep the rendered files
		}
	}
	text, err := file.Write()
	if err != nil {
		return &unrendered{err.Error()}
	}
	_, err = r.applier.Apply(ctx, ours, renderedSecret(config, name, endpoints.ReportsKey, text), nil)
	return err
}

// render returns the settings of a ReportProcessor for servers.
func (r *ReportReconciler) render(ctx context.Context, processor *v1alpha1.ReportProcessor) (endpoints.Report, error) {
	out := endpoints.Report{Name: processor.Name, Processor: processor.Spec.Processor}
	if err := admitted(ctx, r.admit, processor); err != nil {
		return out, err
	}
	spec, refs := processor.Spec, references{r.secrets, processor.Namespace}
	var err error
	if out.Endpoint, err = refs.endpoint(ctx, spec.URL, spec.TimeoutSeconds, spec.Auth, spec.TLS); err != nil {
		return out, err
	}
	for i, header := range spec.Headers {
		value, err := refs.header(ctx, fmt.Sprintf("spec.headers[%d]", i), header)
		if err != nil {
			return out, err
		}
		out.Headers = append(out.Headers, endpoints.Header{Name: header.Name, Value: value})
	}
	if err := out.Check(); err != nil {
		return out, &unrendered{err.Error()}
	}
	return out, nil
}

func (r references) header(ctx context.Context, field string, header v1alpha1.HTTPHeader) (string, error) {
	from := header.ValueFrom
	switch {
	case header.Value != nil && from == nil:
		return *header.Value, nil
	case from != nil && header.Value == nil && from.SecretKeyRef != nil && from.ConfigMapKeyRef == nil:
		return r.credential(ctx, field+".valueFrom.secretKeyRef", from.SecretKeyRef.Name, from.SecretKeyRef.Key)
	case from != nil && header.Value == nil && from.ConfigMapKeyRef != nil && from.SecretKeyRef == nil:
		return r.configMapValue(ctx, field+".valueFrom.configMapKeyRef", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key)
	}
	return "", &unrendered{field + ": give exactly one of value, valueFrom.secretKeyRef and valueFrom.configMapKeyRef"}
}

// reportOnProcessor reports whether servers send reports to a ReportProcessor.
func reportOnProcessor(processor *v1alpha1.ReportProcessor, problem *unrendered) processorReport {
	next := processor.Status.DeepCopy()
	phase, reason, message := v1alpha1.ReportProcessorActive, v1alpha1.ReasonConfigRendered, "it is rendered for the servers of Config "+processor.Spec.ConfigRef
	if problem != nil {
		phase, reason, message = v1alpha1.ReportProcessorError, v1alpha1.ReasonError, "no reports are sent to it: "+problem.message
	}
	next.Phase, next.ObservedGeneration = phase, processor.Generation
	object.Conditions{List: &next.Conditions, Generation: processor.Generation}.Set(v1alpha1.ConditionReady, problem == nil, reason, message)
	return processorReport{Status: next}
}

// processorsOf returns the ReportProcessors of a Config, except those that are being deleted.
func processorsOf(ctx context.Context, reader client.Reader, config client.ObjectKey) (all []v1alpha1.ReportProcessor, err error) {
	var list v1alpha1.ReportProcessorList
	if err := reader.List(ctx, &list, client.InNamespace(config.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the ReportProcessors of %s: %w", config.Namespace, err)
	}
	for _, processor := range list.Items {
		if processor.Spec.ConfigRef == config.Name && processor.DeletionTimestamp.IsZero() {
			all = append(all, processor)
		}
	}
	return all, nil
}

func reportsSecret(config string) string { return config + "-report-webhook" }
