package serving

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/configfiles"
	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

const reasonClassifierNotRendered = "ClassifierNotRendered"

// classifiers renders NodeClassifiers.
type classifiers struct {
	secrets secrets
	admit   builtin.Admitter
}

// render returns the file with which servers query a NodeClassifier. The error is *unrendered if
// there is none.
func (c classifiers) render(ctx context.Context, classifier *v1alpha1.NodeClassifier) ([]byte, error) {
	if err := admitted(ctx, c.admit, classifier); err != nil {
		return nil, err
	}
	spec := classifier.Spec
	endpoint, err := references{c.secrets, classifier.Namespace}.endpoint(ctx, spec.URL, spec.TimeoutSeconds, spec.Auth, spec.TLS)
	if err != nil {
		return nil, err
	}
	file := endpoints.Classifier{
		Endpoint: endpoint, Method: spec.Request.Method, Path: spec.Request.Path, Body: string(spec.Request.Body), ResponseFormat: spec.Response.Format,
	}
	if spec.Request.Body.HasFacts() {
		file.FactsDirectory = configfiles.FactsFolder
	}
	if spec.Cache != nil && spec.Cache.Enabled {
		file.Cache = endpoints.Cache{Enabled: true, Directory: spec.Cache.Directory}
	}
	text, err := file.Write()
	if err != nil {
		return nil, &unrendered{err.Error()}
	}
	return text, nil
}

// ClassifierReconciler reports whether NodeClassifiers can be rendered for Configs.
type ClassifierReconciler struct {
	client      client.Client
	events      events.EventRecorder
	classifiers classifiers
}

type classifierReport = object.Report[v1alpha1.NodeClassifierStatus]

func (r *ClassifierReconciler) reporter() object.Reporter[*v1alpha1.NodeClassifier, v1alpha1.NodeClassifierStatus] {
	return object.Reporter[*v1alpha1.NodeClassifier, v1alpha1.NodeClassifierStatus]{
		Client: r.client, Manager: classifiersManager, Action: "Render", Events: r.events,
		Status:     func(c *v1alpha1.NodeClassifier) *v1alpha1.NodeClassifierStatus { return &c.Status },
		Conditions: func(s *v1alpha1.NodeClassifierStatus) []metav1.Condition { return s.Conditions },
		News:       map[string]object.News{v1alpha1.ConditionReady: object.Turned(metav1.ConditionFalse)},
	}
}

// Reconcile reports of one NodeClassifier.
func (r *ClassifierReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return r.reporter().Reconcile(ctx, request, &v1alpha1.NodeClassifier{}, r.carryOut)
}

func (r *ClassifierReconciler) carryOut(ctx context.Context, classifier *v1alpha1.NodeClassifier) (classifierReport, error) {
	if !classifier.DeletionTimestamp.IsZero() {
		return classifierReport{}, nil
	}
	_, err := r.classifiers.render(ctx, classifier)
	var problem *unrendered
	if err != nil && !errors.As(err, &problem) {
		return classifierReport{}, err
	}
	next := classifier.Status.DeepCopy()
	phase, reason, message := v1alpha1.NodeClassifierActive, v1alpha1.ReasonConfigRendered, "it is rendered for the Configs that name it"
	if problem != nil {
		phase, reason, message = v1alpha1.NodeClassifierError, v1alpha1.ReasonError, "the configuration is not rendered, and servers keep the last one: "+problem.message
	}
	next.Phase, next.ObservedGeneration = phase, classifier.Generation
	object.Conditions{List: &next.Conditions, Generation: classifier.Generation}.Set(v1alpha1.ConditionReady, problem == nil, reason, message)
	return classifierReport{Status: next}, nil
}

// classifierOf returns the NodeClassifier of a Config, and its file: nil if the Config has none.
// The error is a *verdict if the NodeClassifier does not exist or cannot be rendered.
func (r *ConfigReconciler) classifierOf(ctx context.Context, config *v1alpha1.Config) (*v1alpha1.NodeClassifier, []byte, error) {
	name := config.Spec.NodeClassifierRef
	if name == "" {
		return nil, nil, nil
	}
	classifier := &v1alpha1.NodeClassifier{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: name}, classifier)
	if apierrors.IsNotFound(err) {
		return nil, nil, &verdict{phase: v1alpha1.ConfigPending, reason: reasonReferenceNotFound, message: fmt.Sprintf("spec.nodeClassifierRef: there is no NodeClassifier %q; nothing is rendered until it is there", name)}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading NodeClassifier %s: %w", name, err)
	}
	text, err := r.classifiers.render(ctx, classifier)
	if problem := (*unrendered)(nil); errors.As(err, &problem) {
		return nil, nil, &verdict{phase: v1alpha1.ConfigPending, reason: reasonClassifierNotRendered, message: fmt.Sprintf("spec.nodeClassifierRef: NodeClassifier %s cannot be rendered: %s; nothing is until it can be", name, problem.message)}
	}
	return classifier, text, err
}

func classifierSecret(config string) string { return config + "-enc" }

// renderedSecret has a file for the servers of a Config.
func renderedSecret(config *v1alpha1.Config, name, key string, text []byte) *corev1.Secret {
	return &corev1.Secret{TypeMeta: layout.KindOf(corev1.SchemeGroupVersion, "Secret"), ObjectMeta: configMeta(config, name), Data: map[string][]byte{key: text}}
}
