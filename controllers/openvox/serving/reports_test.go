package serving

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

func newProcessor(name string, change func(*v1alpha1.ReportProcessorSpec)) *v1alpha1.ReportProcessor {
	processor := &v1alpha1.ReportProcessor{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Generation: 1},
		Spec:       v1alpha1.ReportProcessorSpec{ConfigRef: "c", URL: "https://" + name + ".example.com", TimeoutSeconds: 30},
	}
	if change != nil {
		change(&processor.Spec)
	}
	return processor
}

// report reconciles the ReportProcessors of Config c.
func (s *site) report() {
	s.T.Helper()
	r := &ReportReconciler{
		client: s.Client, applier: s.Applier, secrets: secrets{s.Client, s.Client}, events: s.Events,
		admit: func(context.Context, builtin.Object) (builtin.Verdict, error) {
			return openvoxtest.Verdict(s.Denied), s.Broken
		},
	}
	_, err := r.Reconcile(s.T.Context(), object.Request("ns", "c")[0])
	require.ErrorIs(s.T, err, s.Broken)
}

// processor is the status of a ReportProcessor.
func (s *site) processor(name string) string {
	s.T.Helper()
	processor := &v1alpha1.ReportProcessor{}
	require.True(s.T, s.Get(name, processor))
	if len(processor.Status.Conditions) == 0 {
		return ""
	}
	condition := processor.Status.Conditions[0]
	require.Equal(s.T, processor.Generation, processor.Status.ObservedGeneration)
	return string(processor.Status.Phase) + " " + string(condition.Status) + " " + condition.Reason + ": " + condition.Message
}

// targets are the endpoints that servers send reports to: nil where there is no Secret.
func (s *site) targets() []endpoints.Report {
	s.T.Helper()
	secret := &corev1.Secret{}
	if !s.Get("c-report-webhook", secret) {
		return nil
	}
	file, err := endpoints.ReadReports(secret.Data[endpoints.ReportsKey])
	require.NoError(s.T, err)
	return file.Endpoints
}

const processed = "Active True ConfigRendered: it is rendered for the servers of Config c"

func withHeaders(spec *v1alpha1.ReportProcessorSpec) {
	spec.Headers = []v1alpha1.HTTPHeader{
		{Name: "X-Plain", Value: new("plain")},
		{Name: "X-Secret", ValueFrom: &v1alpha1.HTTPHeaderSource{SecretKeyRef: &v1alpha1.SecretKeyRef{Name: "credentials", Key: "token"}}},
		{Name: "X-Map", ValueFrom: &v1alpha1.HTTPHeaderSource{ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "settings", Key: "site"}}},
	}
}

// TestReportProcessors: the Secret comes with the first, has those that can be rendered, and
// goes with the last.
func TestReportProcessors(t *testing.T) {
	other := newProcessor("other", func(s *v1alpha1.ReportProcessorSpec) { s.ConfigRef = "another" })
	s := newConfigSite(t, newProcessor("z", nil), newProcessor("a", withHeaders), other)
	s.report()
	require.Equal(t, `Error False Error: no reports are sent to it: spec.configRef: there is no Config "c"`, s.processor("z"))
	require.Nil(t, s.targets())

	require.NoError(t, s.Client.Create(t.Context(), openvoxtest.MakeConfig("")))
	s.report()
	require.Equal(t, processed, s.processor("z"))
	require.Equal(t, "Error False Error: no reports are sent to it: spec.headers[1].valueFrom.secretKeyRef: "+noCredentials, s.processor("a"))
	require.Empty(t, s.processor("other"))
	require.Len(t, s.targets(), 1, "one that cannot be rendered holds up no other")
	require.Equal(t, rendered, s.render())
	require.Contains(t, s.files()["puppet.conf"], "reports = store,lintel\n")

	secret, settings := openvoxtest.MakeSecret("credentials", map[string][]byte{"token": []byte("one")}), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: "ns"}}
	require.NoError(t, s.Client.Create(t.Context(), secret))
	s.report()
	require.Contains(t, s.processor("a"), "spec.headers[2].valueFrom.configMapKeyRef: there is no ConfigMap settings")
	settings.Data = map[string]string{"site": "here"}
	require.NoError(t, s.Client.Create(t.Context(), settings))
	s.report()
	require.Equal(t, processed, s.processor("a"))
	require.Equal(t, []endpoints.Report{
		{Name: "a", Endpoint: endpoints.Endpoint{URL: "https://a.example.com", TimeoutSeconds: 30, SSL: serverSSL}, Headers: []endpoints.Header{{Name: "X-Plain", Value: "plain"}, {Name: "X-Secret", Value: "one"}, {Name: "X-Map", Value: "here"}}},
		{Name: "z", Endpoint: endpoints.Endpoint{URL: "https://z.example.com", TimeoutSeconds: 30, SSL: serverSSL}},
	}, s.targets())
	s.Writes = 0
	s.report()
	require.Zero(t, s.Writes, "nothing changed, nothing written")

	// Their Secret changes.
	s.update("credentials", secret, func() { secret.Data["token"] = []byte("two") })
	s.update("settings", settings, func() { settings.Data["site"] = "there" })
	s.report()
	require.Equal(t, "two", s.targets()[0].Headers[1].Value)
	require.Equal(t, "there", s.targets()[0].Headers[2].Value)

	for _, name := range []string{"a", "z"} {
		require.NotNil(t, s.targets())
		require.NoError(t, s.Client.Delete(t.Context(), newProcessor(name, nil)))
		s.report()
	}
	require.Nil(t, s.targets(), "nothing is left of what nobody reads any more")
	require.Equal(t, rendered, s.render())
	require.Contains(t, s.files()["puppet.conf"], "reports = store\n")
}

// TestReportProcessorsThatAreNotRendered: each one reports its error. If the API server does not
// answer, neither status nor files are written.
func TestReportProcessorsThatAreNotRendered(t *testing.T) {
	s := newSite(t, openvoxtest.MakeConfig(""), newProcessor("a", nil))
	s.Denied = "no"
	s.report()
	require.Equal(t, "Error False Error: no reports are sent to it: no", s.processor("a"))
	require.Empty(t, s.targets())
	s.Denied = ""
	s.report()
	before := s.targets()
	require.Len(t, before, 1)
	s.Broken = errors.New("down")
	s.report()
	require.Equal(t, processed, s.processor("a"))
	require.Equal(t, before, s.targets())

	foreign := newSite(t, openvoxtest.MakeConfig(""), newProcessor("a", nil), openvoxtest.MakeSecret("c-report-webhook", nil))
	foreign.report()
	require.Equal(t, "Error False Error: no reports are sent to it: Secret c-report-webhook does not belong to this object and is left alone; delete it, or have this object under another name", foreign.processor("a"))
}

// TestWhomRotationConcerns: what reads a Secret or a ConfigMap is looked at when it changes.
func TestWhomRotationConcerns(t *testing.T) {
	config := openvoxtest.MakeConfig("")
	config.Spec.NodeClassifierRef = "foreman"
	basic := newProcessor("b", func(s *v1alpha1.ReportProcessorSpec) {
		s.ConfigRef, s.Auth = "second", &v1alpha1.HTTPAuth{Basic: &v1alpha1.BasicAuth{SecretRef: v1alpha1.BasicAuthSecretRef{Name: "basic"}}}
	})
	bearer := newProcessor("d", func(s *v1alpha1.ReportProcessorSpec) {
		s.ConfigRef, s.Auth = "third", &v1alpha1.HTTPAuth{Bearer: &v1alpha1.SecretKeySelector{SecretKeyRef: v1alpha1.SecretKeyRef{Name: "bearer"}}}
		s.TLS = &v1alpha1.EndpointTLS{CASecretRef: &v1alpha1.SecretKeyRef{Name: "ca"}}
	})
	w := watches{newSite(t, config, newClassifier(withToken), newProcessor("a", withHeaders), basic, bearer).Client}
	named := func(name string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}}
	}
	ctx := t.Context()
	require.Equal(t, object.Request("ns", "foreman"), w.classifiersOfSecret(ctx, named("credentials")))
	require.Equal(t, object.Request("ns", "c"), w.configsOfClassifierSecret(ctx, named("credentials")))
	require.Equal(t, object.Request("ns", "c"), w.configsOfProcessorSecret(ctx, named("credentials")))
	require.Equal(t, object.Request("ns", "second"), w.configsOfProcessorSecret(ctx, named("basic")))
	require.Equal(t, object.Request("ns", "third"), w.configsOfProcessorSecret(ctx, named("bearer")))
	require.Equal(t, object.Request("ns", "third"), w.configsOfProcessorSecret(ctx, named("ca")))
	require.Equal(t, object.Request("ns", "c"), w.configsOfProcessorConfigMap(ctx, named("settings")))
	require.Equal(t, object.Request("ns", "c"), configOfReportsSecret(ctx, named("c-report-webhook")))
	for _, other := range []string{"other", "c-enc"} {
		require.Empty(t, w.classifiersOfSecret(ctx, named(other)))
		require.Empty(t, w.configsOfClassifierSecret(ctx, named(other)))
		require.Empty(t, w.configsOfProcessorSecret(ctx, named(other)))
		require.Empty(t, w.configsOfProcessorConfigMap(ctx, named(other)))
		require.Empty(t, configOfReportsSecret(ctx, named(other)))
	}
}

// TestPausedProcessor: servers send reports to it as they last did, and changes of others arrive.
func TestPausedProcessor(t *testing.T) {
	t.Parallel()
	s := newConfigSite(t, openvoxtest.MakeConfig(""), newProcessor("a", nil), newProcessor("b", nil))
	s.report()
	edit := func(name, url, paused string) {
		processor := &v1alpha1.ReportProcessor{}
		require.True(t, s.Get(name, processor))
		processor.Annotations, processor.Spec.URL = map[string]string{v1alpha1.PausedAnnotation: paused}, url
		require.NoError(t, s.Client.Update(t.Context(), processor))
	}
	urls := func() (list []string) {
		for _, target := range s.targets() {
			list = append(list, target.URL)
		}
		return list
	}
	edit("a", "https://next.example.com", "true")
	edit("b", "https://next.example.com", "")
	s.report()
	require.Equal(t, []string{"https://a.example.com", "https://next.example.com"}, urls())
	processor := &v1alpha1.ReportProcessor{}
	require.True(t, s.Get("a", processor))
	require.True(t, meta.IsStatusConditionTrue(processor.Status.Conditions, v1alpha1.ConditionPaused))
	edit("a", "https://next.example.com", "")
	s.report()
	require.Equal(t, []string{"https://next.example.com", "https://next.example.com"}, urls())
	require.True(t, s.Get("a", processor))
	require.Nil(t, meta.FindStatusCondition(processor.Status.Conditions, v1alpha1.ConditionPaused))
}
