package serving

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

func admitAll(context.Context, builtin.Object) (builtin.Verdict, error) {
	return builtin.Verdict{}, nil
}

func newClassifier(change func(*v1alpha1.NodeClassifierSpec)) *v1alpha1.NodeClassifier {
	classifier := &v1alpha1.NodeClassifier{
		ObjectMeta: metav1.ObjectMeta{Name: "foreman", Namespace: "ns", Generation: 1},
		Spec: v1alpha1.NodeClassifierSpec{
			URL: "https://foreman.example.com", TimeoutSeconds: 10,
			Request: v1alpha1.NodeClassifierRequest{Method: "GET", Path: "/node/{certname}"}, Response: v1alpha1.NodeClassifierResponse{Format: "yaml"},
		},
	}
	if change != nil {
		change(&classifier.Spec)
	}
	return classifier
}

func withToken(spec *v1alpha1.NodeClassifierSpec) {
	spec.Auth = &v1alpha1.HTTPAuth{Token: &v1alpha1.TokenAuth{Header: "X-Authentication", SecretKeyRef: v1alpha1.SecretKeyRef{Name: "credentials", Key: "token"}}}
}

// classify reconciles NodeClassifier foreman, and says what its status is.
func (s *site) classify() string {
	s.T.Helper()
	r := &ClassifierReconciler{client: s.Client, events: s.Events, classifiers: classifiers{secrets: secrets{s.Client, s.Client}, admit: func(context.Context, builtin.Object) (builtin.Verdict, error) {
		return openvoxtest.Verdict(s.Denied), s.Broken
	}}}
	_, err := r.Reconcile(s.T.Context(), object.Request("ns", "foreman")[0])
	require.ErrorIs(s.T, err, s.Broken)
	classifier := &v1alpha1.NodeClassifier{}
	require.True(s.T, s.Get("foreman", classifier))
	if len(classifier.Status.Conditions) == 0 {
		return ""
	}
	condition := classifier.Status.Conditions[0]
	require.Equal(s.T, classifier.Generation, classifier.Status.ObservedGeneration)
	return string(classifier.Status.Phase) + " " + string(condition.Status) + " " + condition.Reason + ": " + condition.Message
}

// enc is what servers classify by: nil where they do not.
func (s *site) enc() *endpoints.Classifier {
	s.T.Helper()
	secret := &corev1.Secret{}
	if !s.Get("c-enc", secret) {
		return nil
	}
	file, err := endpoints.ReadClassifier(secret.Data[endpoints.ClassifierKey])
	require.NoError(s.T, err)
	return &file
}

func (s *site) update(name string, into client.Object, change func()) {
	s.T.Helper()
	require.True(s.T, s.Get(name, into))
	change()
	require.NoError(s.T, s.Client.Update(s.T.Context(), into))
}

const classified = "Active True ConfigRendered: it is rendered for the Configs that name it"

// TestClassifierOfAConfig: the Secret is created with the reference, follows its inputs, and is
// deleted with the reference.
func TestClassifierOfAConfig(t *testing.T) {
	config := openvoxtest.MakeConfig("")
	config.Spec.NodeClassifierRef = "foreman"
	s := newConfigSite(t, config)
	require.Equal(t, `Pending False ReferenceNotFound: spec.nodeClassifierRef: there is no NodeClassifier "foreman"; nothing is rendered until it is there`, s.render())
	require.Nil(t, s.files())

	require.NoError(t, s.Client.Create(t.Context(), newClassifier(withToken)))
	require.Equal(t, "Pending False ClassifierNotRendered: spec.nodeClassifierRef: NodeClassifier foreman cannot be rendered: spec.auth.token.secretKeyRef: "+noCredentials+"; nothing is until it can be", s.render())
	require.Equal(t, "Error False Error: the configuration is not rendered, and servers keep the last one: spec.auth.token.secretKeyRef: "+noCredentials, s.classify())
	require.Nil(t, s.enc())

	require.NoError(t, s.Client.Create(t.Context(), openvoxtest.MakeSecret("credentials", map[string][]byte{"token": []byte("one\n")})))
	require.Equal(t, rendered, s.render())
	require.Equal(t, classified, s.classify())
	require.Equal(t, &endpoints.Auth{Type: endpoints.AuthToken, Header: "X-Authentication", Token: "one"}, s.enc().Auth)
	require.Contains(t, s.files()["puppet.conf"], "node_terminus = exec\nexternal_nodes = /usr/local/bin/lintel-openvox-enc\n")
	secret, owner := &corev1.Secret{}, &v1alpha1.Config{}
	require.True(t, s.Get("c-enc", secret))
	require.True(t, s.Get("c", owner))
	require.True(t, metav1.IsControlledBy(secret, owner))
	s.Writes = 0
	s.render()
	s.classify()
	require.Zero(t, s.Writes, "nothing changed, nothing written")

	// Credentials rotate.
	s.update("credentials", secret, func() { secret.Data["token"] = []byte("two") })
	require.Equal(t, rendered, s.render())
	require.Equal(t, "two", s.enc().Auth.Token)

	// Without the credentials, servers retain the last rendered files.
	require.NoError(t, s.Client.Delete(t.Context(), openvoxtest.MakeSecret("credentials", nil)))
	require.Contains(t, s.render(), "Pending False ClassifierNotRendered")
	require.Contains(t, s.classify(), "Error False Error")
	require.Equal(t, "two", s.enc().Auth.Token)
	s.told()
	s.render()
	s.classify()
	require.Empty(t, s.told(), "it is told once")

	s.update("c", owner, func() { owner.Spec.NodeClassifierRef = "" })
	require.Equal(t, rendered, s.render())
	require.Nil(t, s.enc(), "nothing is left of what is not asked any more")
	require.NotContains(t, s.files()["puppet.conf"], "external_nodes")
}

// TestForeignClassifierSecret: a Secret of another owner is neither adopted nor deleted.
func TestForeignClassifierSecret(t *testing.T) {
	config := openvoxtest.MakeConfig("")
	config.Spec.NodeClassifierRef = "foreman"
	s := newConfigSite(t, config, newClassifier(nil), openvoxtest.MakeSecret("c-enc", map[string][]byte{"a": []byte("b")}))
	require.Equal(t, "Error False NotOwned: Secret c-enc does not belong to this object and is left alone; delete it, or have this object under another name", s.render())
	s.update("c", config, func() { config.Spec.NodeClassifierRef = "" })
	require.Equal(t, rendered, s.render())
	secret := &corev1.Secret{}
	require.True(t, s.Get("c-enc", secret))
	require.Equal(t, map[string][]byte{"a": []byte("b")}, secret.Data)
}

// TestClassifierIsRendered: the file contains each field.
func TestClassifierIsRendered(t *testing.T) {
	ca := openvoxtest.NewCA(t).Bundle()
	basic := map[string][]byte{"username": []byte("ann"), "password": []byte("pa:ss"), "other": []byte("x"), "ca.pem": ca}
	for name, c := range map[string]struct {
		change func(*v1alpha1.NodeClassifierSpec)
		want   func(*endpoints.Classifier)
	}{
		"plain": {func(*v1alpha1.NodeClassifierSpec) {}, func(*endpoints.Classifier) {}},
		"mtls": {func(s *v1alpha1.NodeClassifierSpec) { s.Auth = &v1alpha1.HTTPAuth{MTLS: true} }, func(c *endpoints.Classifier) {
			c.Auth = &endpoints.Auth{Type: "mtls"}
		}},
		"no auth": {func(s *v1alpha1.NodeClassifierSpec) { s.Auth = &v1alpha1.HTTPAuth{} }, func(*endpoints.Classifier) {}},
		"bearer": {func(s *v1alpha1.NodeClassifierSpec) {
			s.Auth = &v1alpha1.HTTPAuth{Bearer: &v1alpha1.SecretKeySelector{SecretKeyRef: v1alpha1.SecretKeyRef{Name: "all", Key: "other"}}}
		}, func(c *endpoints.Classifier) { c.Auth = &endpoints.Auth{Type: "bearer", Token: "x"} }},
		"basic": {func(s *v1alpha1.NodeClassifierSpec) {
			s.Auth = &v1alpha1.HTTPAuth{Basic: &v1alpha1.BasicAuth{SecretRef: v1alpha1.BasicAuthSecretRef{Name: "all", UsernameKey: "username", PasswordKey: "password"}}}
		}, func(c *endpoints.Classifier) {
			c.Auth = &endpoints.Auth{Type: "basic", Username: "ann", Password: "pa:ss"}
		}},
		"CA": {func(s *v1alpha1.NodeClassifierSpec) {
			s.TLS = &v1alpha1.EndpointTLS{CASecretRef: &v1alpha1.SecretKeyRef{Name: "all", Key: "ca.pem"}}
		}, func(c *endpoints.Classifier) { c.SSL.CA = strings.TrimSpace(string(ca)) }},
		"facts": {func(s *v1alpha1.NodeClassifierSpec) {
			s.Request = v1alpha1.NodeClassifierRequest{Method: "POST", Path: "/x", Body: v1alpha1.BodyFacts}
		}, func(c *endpoints.Classifier) {
			c.Method, c.Path, c.Body, c.FactsDirectory = "POST", "/x", "facts", "/run/puppetserver/server_data/facts"
		}},
		"cache": {func(s *v1alpha1.NodeClassifierSpec) {
			s.Cache = &v1alpha1.NodeClassifierCache{Enabled: true, Directory: "/c"}
		}, func(c *endpoints.Classifier) { c.Cache = endpoints.Cache{Enabled: true, Directory: "/c"} }},
		"no cache": {func(s *v1alpha1.NodeClassifierSpec) { s.Cache = &v1alpha1.NodeClassifierCache{Directory: "/c"} }, func(*endpoints.Classifier) {}},
	} {
		want := endpoints.Classifier{
			Endpoint: endpoints.Endpoint{URL: "https://foreman.example.com", TimeoutSeconds: 10, SSL: serverSSL}, Method: "GET", Path: "/node/{certname}", ResponseFormat: "yaml",
		}
		c.want(&want)
		cl := openvoxtest.NewClient(t, openvoxtest.MakeSecret("all", basic))
		text, err := classifiers{secrets{cl, cl}, admitAll}.render(t.Context(), newClassifier(c.change))
		require.NoError(t, err, name)
		read, err := endpoints.ReadClassifier(text)
		require.NoError(t, err, name)
		require.Equal(t, want, read, name)
	}
}

// TestClassifierCannotBeRendered: the condition reports the error, and never the content of a
// Secret.
func TestClassifierCannotBeRendered(t *testing.T) {
	for want, change := range map[string]func(*v1alpha1.NodeClassifierSpec){
		`spec.auth.token.secretKeyRef: there is no Secret credentials with a value of key "none" that can be used here; create one`: func(s *v1alpha1.NodeClassifierSpec) {
			withToken(s)
			s.Auth.Token.SecretKeyRef.Key = "none"
		},
		`spec.auth.token.secretKeyRef: there is no Secret credentials with a value of key "empty" that can be used here; create one`: func(s *v1alpha1.NodeClassifierSpec) {
			withToken(s)
			s.Auth.Token.SecretKeyRef.Key = "empty"
		},
		"auth: the value of header X-Authentication has more than one line": func(s *v1alpha1.NodeClassifierSpec) {
			withToken(s)
			s.Auth.Token.SecretKeyRef.Key = "lines"
		},
		"url is not http or https": func(s *v1alpha1.NodeClassifierSpec) { s.URL = "ftp://a" },
		`spec.tls.caSecretRef: there is no Secret credentials with a value of key "lines" that can be used here; its value must be certificates`: func(s *v1alpha1.NodeClassifierSpec) {
			s.TLS = &v1alpha1.EndpointTLS{CASecretRef: &v1alpha1.SecretKeyRef{Name: "credentials", Key: "lines"}}
		},
	} {
		s := newSite(t, newClassifier(change), openvoxtest.MakeSecret("credentials", map[string][]byte{"lines": []byte("hunter2\nhunter3"), "empty": []byte("\n")}))
		status := s.classify()
		require.Contains(t, status, "Error False Error: the configuration is not rendered, and servers keep the last one: "+want)
		require.NotContains(t, status, "hunter")
	}
	own := openvoxtest.MakeSecret("credentials", map[string][]byte{"token": []byte("hunter2")})
	own.Labels = map[string]string{layout.ManagedByLabel: layout.ManagedBy}
	require.Equal(t, newSite(t, newClassifier(withToken)).classify(), newSite(t, newClassifier(withToken), own).classify(), "the status does not tell whether the Secret exists")
	s := newSite(t, newClassifier(nil))
	s.Denied = "no"
	require.Contains(t, s.classify(), "keep the last one: no")
	s.Denied, s.Broken = "", errors.New("down")
	require.Contains(t, s.classify(), "keep the last one: no", "that nobody answers says nothing about it")
}

// TestKeysAreSentToNobody: a user who writes a NodeClassifier need not have permission to read
// the Secrets with which a CA is set up or signs.
func TestKeysAreSentToNobody(t *testing.T) {
	ca := openvoxtest.MakeCA("main")
	ca.Name, ca.Spec.External = "elsewhere", &v1alpha1.ExternalCA{URL: "https://ca.example.com", TLSSecretRef: "admin"}
	below := openvoxtest.MakeSecret("company", map[string][]byte{"ca.pem": []byte("certificate"), "key.pem": []byte("key\n")})
	below.Annotations = map[string]string{rules.IntermediateAnnotation: "below"}
	pair := openvoxtest.MakeSecret("pair", map[string][]byte{"tls.crt": []byte("certificate"), "tls.key": []byte("key")})
	pair.Type = corev1.SecretTypeTLS
	s := newSite(t, ca, below, pair, openvoxtest.MakeSecret("admin", map[string][]byte{"tls.crt": []byte("certificate"), "tls.key": []byte("key")}),
		openvoxtest.MakeSecret("own", map[string][]byte{"username": []byte("u"), "password": []byte("p")}))
	refs := references{secrets{s.Client, s.Client}, "ns"}
	basic := func(secret, username, password string) error {
		_, err := refs.auth(t.Context(), &v1alpha1.HTTPAuth{Basic: &v1alpha1.BasicAuth{SecretRef: v1alpha1.BasicAuthSecretRef{Name: secret, UsernameKey: username, PasswordKey: password}}})
		return err
	}
	require.NoError(t, basic("own", "username", "password"))
	for name, keys := range map[string][2]string{"company": {"ca.pem", "key.pem"}, "admin": {"tls.crt", "tls.key"}, "pair": {"tls.crt", "tls.key"}} {
		require.EqualError(t, basic(name, keys[0], keys[1]), strings.ReplaceAll(basic("missing", keys[0], keys[1]).Error(), "missing", name))
	}
	_, err := refs.endpoint(t.Context(), "https://a", 1, nil, &v1alpha1.EndpointTLS{CASecretRef: &v1alpha1.SecretKeyRef{Name: "both", Key: "all"}})
	require.ErrorContains(t, err, "there is no Secret both")
	missing := err.Error()
	fake := openvoxtest.NewCA(t)
	whole := openvoxtest.NewPair(t, fake, &x509.Certificate{Subject: pkix.Name{CommonName: "a"}})
	require.NoError(t, s.Client.Create(t.Context(), openvoxtest.MakeSecret("both", map[string][]byte{"all": append(whole[layout.CertificateFile], whole[layout.KeyFile]...)})))
	_, err = refs.endpoint(t.Context(), "https://a", 1, nil, &v1alpha1.EndpointTLS{CASecretRef: &v1alpha1.SecretKeyRef{Name: "both", Key: "all"}})
	require.EqualError(t, err, missing)
}

// noCredentials is the text about a missing Secret, and about one that is not permitted.
var noCredentials = layout.NoSecretValue("credentials", "token", layout.OfItsOwn).Error()
