package serving

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/configfiles"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

// configSite is an API server with Configs.
type configSite struct {
	*site
	err error
}

func newConfigSite(t *testing.T, objects ...client.Object) *configSite {
	t.Helper()
	return &configSite{site: newSite(t, objects...)}
}

// render reconciles Config c, and says what its status is.
func (s *configSite) render() string {
	s.T.Helper()
	r := &ConfigReconciler{
		client: s.Client, applier: s.Applier, events: s.Events,
		admit: func(context.Context, builtin.Object) (builtin.Verdict, error) {
			return openvoxtest.Verdict(s.Denied), s.err
		},
		classifiers: classifiers{secrets: secrets{s.Client, s.Client}, admit: admitAll},
	}
	_, err := r.Reconcile(s.T.Context(), object.Request("ns", "c")[0])
	require.ErrorIs(s.T, err, s.err)
	config := &v1alpha1.Config{}
	require.True(s.T, s.Get("c", config))
	condition := config.Status.Conditions[0]
	require.Equal(s.T, v1alpha1.ConditionConfigReady, condition.Type)
	require.Equal(s.T, config.Generation, condition.ObservedGeneration)
	require.Equal(s.T, config.Generation, config.Status.ObservedGeneration)
	return string(config.Status.Phase) + " " + string(condition.Status) + " " + condition.Reason + ": " + condition.Message
}

func (s *configSite) files() map[string]string {
	s.T.Helper()
	files := &corev1.ConfigMap{}
	if !s.Get("c-config", files) {
		return nil
	}
	return files.Data
}

func (s *configSite) events() (list []string) {
	for len(s.Events.Events) > 0 {
		list = append(list, <-s.Events.Events)
	}
	return list
}

const rendered = "Running True ConfigMapsCreated: the files are in ConfigMap c-config"

// TestConfig is a Config that is there before its CA.
func TestConfig(t *testing.T) {
	s := newConfigSite(t, openvoxtest.MakeConfig("main"))
	require.Equal(t, `Pending False AuthorityNotFound: spec.authorityRef: there is no CertificateAuthority "main"; nothing is rendered until it is there`, s.render())
	require.Nil(t, s.files())

	require.NoError(t, s.Client.Create(t.Context(), openvoxtest.MakeCA("main")))
	require.Equal(t, rendered, s.render())
	require.Contains(t, s.files()["puppet.conf"], "ca_ttl = 157680000\n")
	account := &corev1.ServiceAccount{}
	require.True(t, s.Get("c-server", account))
	require.False(t, *account.AutomountServiceAccountToken)
	config, files := &v1alpha1.Config{}, &corev1.ConfigMap{}
	require.True(t, s.Get("c", config))
	require.True(t, s.Get("c-config", files))
	for _, object := range []client.Object{account, files} {
		require.True(t, metav1.IsControlledBy(object, config))
		require.Equal(t, "c", object.GetLabels()[layout.ConfigLabel])
	}
	require.Len(t, s.events(), 2)
	s.Writes = 0
	require.Equal(t, rendered, s.render())
	require.Zero(t, s.Writes, "nothing changed, nothing written")
	require.Empty(t, s.events())

	require.True(t, s.Get("c", config))
	config.Generation++
	require.NoError(t, s.Client.Update(t.Context(), config))
	require.Equal(t, rendered, s.render())
	require.Empty(t, s.events(), "that it is rendered is no news")

	// It follows its CA.
	ca := &v1alpha1.CertificateAuthority{}
	require.True(t, s.Get("main", ca))
	ca.Spec.TTL, ca.Spec.AllowAutoRenewal = "1h", new(false)
	require.NoError(t, s.Client.Update(t.Context(), ca))
	require.Equal(t, rendered, s.render())
	require.Contains(t, s.files()["puppet.conf"], "ca_ttl = 3600\n")
	require.Contains(t, s.files()["ca.conf"], `"allow-auto-renewal": false`)

	// Without it, servers retain their files.
	before := s.files()
	require.NoError(t, s.Client.Delete(t.Context(), ca))
	require.Contains(t, s.render(), "Pending False AuthorityNotFound")
	require.Equal(t, before, s.files())
}

// TestConfigEditedByHand: manual changes to rendered files are reverted.
func TestConfigEditedByHand(t *testing.T) {
	s := newConfigSite(t, openvoxtest.MakeConfig("main"), openvoxtest.MakeCA("main"))
	s.render()
	want, files, account := s.files(), &corev1.ConfigMap{}, &corev1.ServiceAccount{}
	require.True(t, s.Get("c-config", files))
	files.Data["auth.conf"] = "authorization: {}"
	delete(files.Data, "ca.conf")
	files.Labels = nil
	require.NoError(t, s.Client.Update(t.Context(), files))
	require.True(t, s.Get("c-server", account))
	account.AutomountServiceAccountToken = new(true)
	require.NoError(t, s.Client.Update(t.Context(), account))
	require.Equal(t, rendered, s.render())
	require.Equal(t, want, s.files())
	require.True(t, s.Get("c-config", files))
	require.Equal(t, layout.ManagedBy, files.Labels[layout.ManagedByLabel])
	require.True(t, s.Get("c-server", account))
	require.False(t, *account.AutomountServiceAccountToken)
}

// TestConfigIsNotRendered: the condition reports the reason, and the existing files stay.
func TestConfigIsNotRendered(t *testing.T) {
	for want, change := range map[string]func(*configSite, *v1alpha1.Config){
		"Error False NotAdmitted: no": func(s *configSite, _ *v1alpha1.Config) { s.Denied = "no" },
		rendered:                      func(s *configSite, _ *v1alpha1.Config) { s.err = errors.New("down") }, // which says nothing of the Config
		"Error False NotWritten: configs \"c\" is forbidden: quota": func(s *configSite, _ *v1alpha1.Config) {
			s.err = apierrors.NewForbidden(schema.GroupResource{Resource: "configs"}, "c", errors.New("quota"))
		},
		`Pending False ReferenceNotFound: spec.databaseRef`: func(_ *configSite, c *v1alpha1.Config) { c.Spec.DatabaseRef = "db" },
		`Pending False ReferenceNotFound: spec.nodeClass`:   func(_ *configSite, c *v1alpha1.Config) { c.Spec.NodeClassifierRef = "foreman" },
		"Error False NotRendered: puppet.conf: the value of reports has more than one line": func(_ *configSite, c *v1alpha1.Config) {
			c.Spec.Puppet.Reports = "a\nautosign = true"
		},
	} {
		s := newConfigSite(t, openvoxtest.MakeConfig("main"), openvoxtest.MakeCA("main"))
		s.render()
		before, config := s.files(), &v1alpha1.Config{}
		require.True(t, s.Get("c", config))
		config.Spec.PuppetServer.ClientAuth = "need"
		change(s, config)
		require.NoError(t, s.Client.Update(t.Context(), config))
		require.Contains(t, s.render(), want)
		require.Equal(t, before, s.files(), want)
		s.events()
		s.Writes = 0
		s.render()
		require.Zero(t, s.Writes)
		require.Empty(t, s.events(), "it is reported once")
	}

	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c-config", Namespace: "ns"}, Data: map[string]string{"a": "b"}}
	s := newConfigSite(t, openvoxtest.MakeConfig(""), theirs)
	require.Equal(t, "Error False NotOwned: ConfigMap c-config does not belong to this object and is left alone; delete it, or have this object under another name", s.render())
	require.Equal(t, theirs.Data, s.files())
}

// TestConfigOfADatabase: servers store in the Database that their Config names.
func TestConfigOfADatabase(t *testing.T) {
	config := openvoxtest.MakeConfig("main")
	config.Spec.DatabaseRef = "db"
	s := newConfigSite(t, config, openvoxtest.MakeCA("main"), newDatabase())
	s.render()
	files := s.files()
	require.Contains(t, files["puppetdb.conf"], "server_urls = https://db.ns.svc:8081\n")
	require.Contains(t, files["puppet.conf"], "storeconfigs = true\n")
	require.Contains(t, files["puppet.conf"], "reports = puppetdb\n")
	require.Contains(t, files["routes.yaml"], "terminus: puppetdb\n")
}

// TestReplacedCommand: a program that is denied for SigningPolicies is not used, and everything else
// of the Config is rendered.
func TestReplacedCommand(t *testing.T) {
	t.Parallel()
	config := openvoxtest.MakeConfig("main")
	config.Spec.Puppet.AutosignCommand = "/hooks/sign"
	s := newConfigSite(t, config, openvoxtest.MakeCA("main"))
	denied := "" // by whether it has the command
	r := &ConfigReconciler{client: s.Client, applier: s.Applier, events: s.Events, classifiers: classifiers{secrets: secrets{s.Client, s.Client}, admit: admitAll}}
	r.admit = func(_ context.Context, o builtin.Object) (builtin.Verdict, error) {
		if o.(*v1alpha1.Config).Spec.Puppet.AutosignCommand != "" || denied == "both" {
			return openvoxtest.Verdict(denied), nil
		}
		return builtin.Verdict{}, nil
	}
	render := func() string {
		_, err := r.Reconcile(t.Context(), object.Request("ns", "c")[0])
		require.NoError(t, err)
		require.True(t, s.Get("c", config))
		return config.Status.Conditions[0].Reason + ": " + config.Status.Conditions[0].Message
	}
	render()
	require.Contains(t, s.files()["puppet.conf"], "autosign = /hooks/sign\n")
	denied = "it has policies"
	require.Equal(t, "AutosignCommandReplaced: it has policies; the program is not used, and SigningPolicies decide", render())
	require.Contains(t, s.files()["puppet.conf"], "autosign = /usr/local/bin/lintel-openvox-autosign\n")
	require.Equal(t, v1alpha1.ConfigError, config.Status.Phase)
	require.Equal(t, configfiles.Hash(s.files()), config.Status.FilesHash, "Servers have the files")
	require.Equal(t, "/hooks/sign", config.Spec.Puppet.AutosignCommand)
	denied = "both"
	require.Equal(t, "NotAdmitted: both", render())
}
