package authority

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/cadir"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	"github.com/lintel-policy/lintel/test/certificates"
)

func setupFor(ca *v1alpha1.CertificateAuthority) inClusterCA {
	return inClusterCA{ca: ca, image: v1alpha1.ImageSpec{Repository: "example.com/openvox", Tag: "8"}, server: serverSpec(ca, nil), fsGroup: new(int64(1001))}
}

// TestServicesDoNotMix: the server of one CA is never reached by another's Service.
func TestServicesDoNotMix(t *testing.T) {
	pod := labels.Set{layout.CAServerLabel: "true", layout.CALabel: "one"}
	require.True(t, labels.SelectorFromSet(setupFor(openvoxtest.MakeCA("one")).service().Spec.Selector).Matches(pod))
	require.False(t, labels.SelectorFromSet(setupFor(openvoxtest.MakeCA("two")).service().Spec.Selector).Matches(pod))
}

// TestSetupPermissions: the setup Job fills its CA's Secrets, and can do nothing else.
func TestSetupPermissions(t *testing.T) {
	s := setupFor(openvoxtest.MakeCA("main"))
	require.Equal(t, []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"patch"},
		ResourceNames: []string{"main-ca", "main-ca-key", "main-ca-crl", "main-ca-setup"},
	}}, s.role().Rules)
	job := s.job()
	pod := job.Spec.Template.Spec
	require.False(t, *pod.AutomountServiceAccountToken)
	require.False(t, *s.serviceAccount().AutomountServiceAccountToken)
	require.NotNil(t, job.Spec.TTLSecondsAfterFinished)
	require.Nil(t, pod.SecurityContext.RunAsUser, "OpenShift gives users by namespace")
	require.True(t, *pod.SecurityContext.RunAsNonRoot)
	require.EqualValues(t, 1001, *pod.SecurityContext.FSGroup)
	container := pod.Containers[0]
	require.True(t, *container.SecurityContext.ReadOnlyRootFilesystem)
	require.False(t, *container.SecurityContext.AllowPrivilegeEscalation)
	require.Equal(t, []corev1.Capability{"ALL"}, container.SecurityContext.Capabilities.Drop)
	s.fsGroup = nil
	require.Nil(t, s.job().Spec.Template.Spec.SecurityContext.FSGroup)
}

func TestSetupJob(t *testing.T) {
	ca := openvoxtest.MakeCA("main")
	first := *certificates.MakeCertificate("a", "web").Created(1).Obj()
	server := *certificates.MakeCertificate("z", "ca.example.com").DNSNames("puppet", "10.0.0.1").Created(2).Obj()
	all := []v1alpha1.Certificate{first, server}
	value := func(s inClusterCA, name string) string {
		for _, variable := range s.job().Spec.Template.Spec.Containers[0].Env {
			if variable.Name == name {
				return variable.Value
			}
		}
		return "none"
	}
	s := setupFor(ca)
	require.Equal(t, "main-internal", value(s, "CERTNAME"))
	require.Equal(t, "DNS:main-internal.ns.svc", value(s, "DNS_ALT_NAMES"))
	require.Nil(t, serverCertificate(ca, all), "no Certificate is the server's for its age")
	ca.Spec.ServerCertificateRef = "z"
	s.server = serverSpec(ca, serverCertificate(ca, all))
	all[1].Spec.AuthorityRef = "other"
	require.Nil(t, serverCertificate(ca, all), "nor is that of another CA")
	require.Equal(t, "ca.example.com", value(s, "CERTNAME"))
	require.Equal(t, "DNS:puppet,IP:10.0.0.1,DNS:main-internal.ns.svc", value(s, "DNS_ALT_NAMES"), "addresses are such")
	require.Equal(t, "157680000", value(s, "CA_TTL"))
	require.Equal(t, "example.com/openvox:8", s.job().Spec.Template.Spec.Containers[0].Image)

	had := s.job().Annotations[setupHash]
	s.exists = true
	require.Equal(t, "true", value(s, "CA_EXISTS"))
	require.Equal(t, had, s.job().Annotations[setupHash], "the Job itself brings about that there is a CA")
	s.image.Tag = "9"
	require.NotEqual(t, had, s.job().Annotations[setupHash])

	require.Empty(t, value(s, "INTERMEDIATE_DIR"))
	ca.Spec.IntermediateCA = v1alpha1.IntermediateCA{Enabled: true, SecretName: "company"}
	require.Empty(t, value(s, "INTERMEDIATE_DIR"))
	volumes := s.job().Spec.Template.Spec.Volumes
	require.Nil(t, volumes[len(volumes)-1].Secret, "a CA that is there has its keys")
	s.exists = false
	require.Equal(t, intermediateFolder, value(s, "INTERMEDIATE_DIR"))
	volumes = s.job().Spec.Template.Spec.Volumes
	require.Equal(t, &corev1.SecretVolumeSource{SecretName: "company", Items: []corev1.KeyToPath{
		{Key: "ca.pem", Path: "ca.pem"}, {Key: "key.pem", Path: "key.pem"}, {Key: "crl.pem", Path: "crl.pem"},
	}}, volumes[len(volumes)-1].Secret, "its other keys are nobody's business")
}

// TestSetupScriptTakesNoPaths: a certname is part of the names of files that it removes.
func TestSetupScriptTakesNoPaths(t *testing.T) {
	for _, certname := range []string{"", "../../up", "a/b", ".a", "-x", "a..b", "a b", "$(id)"} {
		folder := t.TempDir()
		command := exec.CommandContext(t.Context(), "bash", "-c", setupScript)
		command.Env = append(os.Environ(), "SETUP_PROGRAM=", "WORK_DIR="+folder, "CA_DIR="+folder, "CERTNAME="+certname, "DNS_ALT_NAMES=", "CA_TTL=1")
		output, err := command.CombinedOutput()
		require.Error(t, err, certname)
		require.Contains(t, string(output), "is no certname", certname)
	}
}

// TestSetupScriptFinishesAnImport: whenever the Job is killed, the next one starts above the serials
// in use, with the inventory of the imported CA.
func TestSetupScriptFinishesAnImport(t *testing.T) {
	// Like the real command, import refuses existing files and writes the certificate first.
	const command = `#!/bin/bash
set -eu
case "$2" in
  import)
    for file in ca_crt.pem ca_key.pem serial inventory.txt setup-ssl/certs/puppet.pem; do
      if [ -e "$CA_DIR/$file" ]; then echo "Existing file at $file" >&2; exit 1; fi
    done
    mkdir -p "$CA_DIR/signed" "$CA_DIR/setup-ssl/certs"
    echo x > "$CA_DIR/ca_crt.pem"
    if [ "$KILL" = within ]; then kill -9 $PPID; exit 1; fi
    echo 0x0001 > "$CA_DIR/inventory.txt"
    echo 002 > "$CA_DIR/serial"
    for file in ca_key.pem ca_crl.pem signed/puppet.pem setup-ssl/certs/puppet.pem; do echo x > "$CA_DIR/$file"; done
    if [ "$KILL" = after ]; then kill -9 $PPID; exit 1; fi ;;
  generate)
    cp "$CA_DIR/serial" "$CA_DIR/used"
    exit 1 ;;
esac
`
	for _, c := range []struct{ kill, first, second, serial string }{
		{"within", "00FF", "00FF", "00FF"},
		{"after", "00FF", "00FF", "00FF"},
		{"after", "00FF", "0200", "0200"},
		{"after", "0200", "00FF", "0200"},
	} {
		bin, work, ca, from := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(bin, "puppetserver"), []byte(command), 0o700)) //nolint:gosec // it is executed
		require.NoError(t, os.WriteFile(filepath.Join(from, "inventory.txt"), []byte("0x00fe a b /CN=x\n"), 0o600))
		run := func(kill, serial, intermediate string) string {
			setup := exec.CommandContext(t.Context(), "bash", "-c", setupScript)
			setup.Env = []string{
				"PATH=" + bin + ":" + os.Getenv("PATH"), "SETUP_PROGRAM=", "WORK_DIR=" + work, "CA_DIR=" + ca, "CERTNAME=puppet", "DNS_ALT_NAMES=", "CA_TTL=1", "KILL=" + kill,
				"CA_EXISTS=false", "CA_SERVED=false", "RESCUE_CERTNAME=", "CA_NAME=main", "INTERMEDIATE_DIR=" + intermediate, "NEXT_SERIAL=" + serial,
			}
			output, err := setup.CombinedOutput()
			require.Error(t, err)
			return string(output)
		}
		run(c.kill, c.first, from)
		require.Contains(t, run("", c.second, ""), "The import of the CA was interrupted")
		require.NoFileExists(t, filepath.Join(ca, "used"))
		require.NotContains(t, run("", c.second, from), "Existing file")
		require.NoFileExists(t, filepath.Join(ca, "import-unfinished"))
		for name, want := range map[string]string{"used": c.serial + "\n", "inventory.txt": "0x00fe a b /CN=x\n"} {
			content, err := os.ReadFile(filepath.Join(ca, name))
			require.NoError(t, err)
			require.Equal(t, want, string(content), "%+v", c)
		}
		require.NoError(t, os.WriteFile(filepath.Join(ca, "serial"), []byte("0999\n"), 0o600))
		run("", c.first, from)
		content, err := os.ReadFile(filepath.Join(ca, "used"))
		require.NoError(t, err)
		require.Equal(t, "0999\n", string(content), "an import that is finished stays as it is")
	}
}

// TestPhases: set up and answering are two facts.
func TestPhases(t *testing.T) {
	for _, c := range []struct {
		initialized string
		ready, once bool
		want        v1alpha1.CertificateAuthorityPhase
	}{
		{"", false, false, v1alpha1.CertificateAuthorityPending},
		{reasonWaitingForConfig, false, false, v1alpha1.CertificateAuthorityPending},
		{reasonSettingUp, false, false, v1alpha1.CertificateAuthorityInitializing},
		{reasonSetupFailed, false, false, v1alpha1.CertificateAuthorityError},
		{reasonNotOwned, true, true, v1alpha1.CertificateAuthorityError},
		{reasonNotWritten, false, false, v1alpha1.CertificateAuthorityError},
		{reasonInitialized, false, false, v1alpha1.CertificateAuthorityInitializing},
		{reasonInitialized, true, true, v1alpha1.CertificateAuthorityReady},
		{reasonInitialized, false, true, v1alpha1.CertificateAuthorityError},
	} {
		ca := openvoxtest.MakeCA("main")
		if c.initialized != "" {
			ConditionsOf(ca).Set(v1alpha1.ConditionInitialized, c.initialized == reasonInitialized, c.initialized, "")
		}
		ConditionsOf(ca).Set(v1alpha1.ConditionCAReady, c.ready, "X", "")
		if c.once {
			ca.Status.CRL = &v1alpha1.CRLStatus{Refreshed: new(metav1.Now())}
		}
		require.Equal(t, c.want, phaseOf(ca), "%+v", c)
	}
}

// site sets up its CA.
type site struct{ *openvoxtest.Site }

func newSite(t *testing.T, objects ...client.Object) *site {
	t.Helper()
	return &site{openvoxtest.NewSite(t, objects...)}
}

func (s *site) reconcile() *v1alpha1.CertificateAuthority {
	s.T.Helper()
	r := NewInitializeReconciler(s.Client, Secrets{s.Client, s.Client}, s.Applier, s.Events, func(context.Context, builtin.Object) (builtin.Verdict, error) {
		return openvoxtest.Verdict(s.Denied), s.Broken
	}, func() time.Time { return s.Now })
	_, err := r.Reconcile(s.T.Context(), openvoxtest.Main)
	require.ErrorIs(s.T, err, s.Broken)
	ca := &v1alpha1.CertificateAuthority{}
	require.NoError(s.T, s.Client.Get(s.T.Context(), openvoxtest.Main.NamespacedName, ca))
	return ca
}

func (s *site) reason() string {
	return meta.FindStatusCondition(s.reconcile().Status.Conditions, v1alpha1.ConditionInitialized).Reason
}

// TestSetupJobFollowsTheVolume: which is for one node at a time. A Job that has not started is
// created again where the server has moved meanwhile, and one that runs is left alone.
func TestSetupJobFollowsTheVolume(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "ca-0", Namespace: "ns", Labels: map[string]string{layout.CALabel: "main", layout.CAServerLabel: "true"}},
		Spec:       corev1.PodSpec{NodeName: "one"},
	}
	s := newSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"), pod)
	node := func() string {
		for range 2 { // it is deleted, and created
			s.reconcile()
		}
		job := &batchv1.Job{}
		require.True(t, s.Get("main-ca-setup", job))
		affinity := job.Spec.Template.Spec.Affinity
		if affinity == nil {
			return ""
		}
		field := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0]
		require.Equal(t, "metadata.name", field.Key)
		return field.Values[0]
	}
	require.Equal(t, "one", node())
	pod.Spec.NodeName = "two"
	require.NoError(t, s.Client.Update(t.Context(), pod))
	require.Equal(t, "two", node())
	job := &batchv1.Job{}
	require.True(t, s.Get("main-ca-setup", job))
	job.Status.Ready = new(int32(1))
	require.NoError(t, s.Client.Status().Update(t.Context(), job))
	require.NoError(t, s.Client.Delete(t.Context(), pod))
	require.Equal(t, "two", node())
	job.Status.Ready = nil
	require.NoError(t, s.Client.Status().Update(t.Context(), job))
	require.Empty(t, node(), "without a server any node will do")
}

func (s *site) endJob(kind batchv1.JobConditionType) {
	s.T.Helper()
	job := &batchv1.Job{}
	require.True(s.T, s.Get("main-ca-setup", job))
	job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded", LastTransitionTime: metav1.NewTime(s.Now)}}
	require.NoError(s.T, s.Client.Status().Update(s.T.Context(), job))
}

var bootNames = []string{"main-internal.ns.svc"}

// TestInitialize is the way of a CA to its three Secrets.
func TestInitialize(t *testing.T) {
	s := newSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("other"))
	require.Equal(t, v1alpha1.CertificateAuthorityPending, s.reconcile().Status.Phase)
	require.False(t, s.Get("main-ca-setup", &batchv1.Job{}))
	config := openvoxtest.MakeConfig("main")
	config.Name = "second"
	require.NoError(t, s.Client.Create(t.Context(), config))
	require.Equal(t, v1alpha1.CertificateAuthorityInitializing, s.reconcile().Status.Phase)
	job := &batchv1.Job{}
	require.True(t, s.Get("main-ca-setup", job))
	require.True(t, s.Get("main-ca-setup", &rbacv1.RoleBinding{}))

	s.Writes = 0
	require.Equal(t, reasonSettingUp, s.reason())
	require.Zero(t, s.Writes, "nothing changed, nothing written")

	ca := openvoxtest.NewCA(t)
	s.FillCA(ca, "main-internal", bootNames...)
	object := s.reconcile()
	require.True(t, meta.IsStatusConditionTrue(object.Status.Conditions, v1alpha1.ConditionInitialized))
	require.False(t, meta.IsStatusConditionTrue(object.Status.Conditions, v1alpha1.ConditionCAReady), "nobody has asked it")
	require.Equal(t, "main-ca-setup", object.Status.SigningSecretName)
	require.Equal(t, "main-internal", object.Status.ServiceName)
	require.NotNil(t, object.Status.NotAfter)
	require.True(t, s.Get("main-ca-setup", &rbacv1.RoleBinding{}), "the Job still runs")
	signing := &v1alpha1.Certificate{}
	require.True(t, s.Get("main-operator-signing", signing))
	require.Equal(t, "main-operator", signing.Spec.Certname)
	s.endJob(batchv1.JobComplete)
	s.reconcile()
	require.False(t, s.Get("main-ca-setup", &rbacv1.RoleBinding{}), "nobody fills the Secrets any more")
	s.Writes = 0
	s.reconcile()
	require.Zero(t, s.Writes, "nothing changed, nothing written")

	require.NoError(t, s.Client.Create(t.Context(), openvoxtest.MakeSecret("main-operator-signing-tls", openvoxtest.NewPair(t, ca, &x509.Certificate{Subject: pkix.Name{CommonName: "main-operator"}}))))
	object = s.reconcile()
	require.Equal(t, "main-operator-signing-tls", object.Status.SigningSecretName)
	require.True(t, meta.IsStatusConditionTrue(object.Status.Conditions, v1alpha1.ConditionOperatorSigningReady))

	// A Secret that is lost comes back from the volume, and never from a new CA.
	require.NoError(t, s.Client.Delete(t.Context(), openvoxtest.MakeSecret("main-ca-crl", nil)))
	s.Now = s.Now.Add(time.Minute)
	require.Equal(t, reasonSettingUp, s.reason())
	require.Equal(t, reasonSettingUp, s.reason())
	require.True(t, s.Get("main-ca-setup", job))
	require.Contains(t, job.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "CA_EXISTS", Value: "true"})
	require.True(t, s.Get("main-ca-setup", &rbacv1.RoleBinding{}))
}

// TestLostCRL: of a CA that answers, the CRL is read again, and no setup Job runs.
func TestLostCRL(t *testing.T) {
	s := newSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"))
	s.reconcile()
	s.FillCA(openvoxtest.NewCA(t), "main-internal", bootNames...)
	s.endJob(batchv1.JobComplete)
	ca := s.reconcile()
	ConditionsOf(ca).Set(v1alpha1.ConditionCAReady, true, "CAAnswers", "")
	require.NoError(t, s.Client.Status().Update(t.Context(), ca))
	require.NoError(t, s.Client.Delete(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "main-ca-setup", Namespace: "ns"}}))
	require.NoError(t, s.Client.Delete(t.Context(), openvoxtest.MakeSecret("main-ca-crl", nil)))
	ca = s.reconcile()
	require.True(t, meta.IsStatusConditionTrue(ca.Status.Conditions, v1alpha1.ConditionInitialized))
	require.Contains(t, state(ca, v1alpha1.ConditionInitialized), "is read from the CA again")
	require.False(t, s.Get("main-ca-setup", &batchv1.Job{}))
	_, err := Connect(t.Context(), Secrets{s.Client, s.Client}, ca, "")
	require.ErrorIs(t, err, errNoCRL, "nothing is signed without it")
	anyone, err := connectAsAnyone(t.Context(), Secrets{s.Client, s.Client}, ca)
	require.NoError(t, err)
	anyone.Close()
}

// TestTakenOver: a recreated CertificateAuthority sets nothing up if the CA's server already has
// a certificate with names that differ from the setup Job's.
func TestTakenOver(t *testing.T) {
	s := newSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"))
	s.reconcile()
	fake := openvoxtest.NewCA(t)
	s.FillCA(fake, "main-internal", bootNames...)
	s.endJob(batchv1.JobComplete)
	ca := s.reconcile()
	require.NoError(t, s.Client.Delete(t.Context(), ca))
	// What goes with it: the Certificate stays.
	mine := metav1.ObjectMeta{Name: "main-ca-setup", Namespace: "ns"}
	for _, object := range []client.Object{
		&batchv1.Job{ObjectMeta: mine}, &corev1.ServiceAccount{ObjectMeta: mine}, &rbacv1.Role{ObjectMeta: mine},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "main-internal", Namespace: "ns"}},
	} {
		require.NoError(t, s.Client.Delete(t.Context(), object))
	}
	server := certificates.MakeCertificate("server", "ca.example.com").Obj()
	require.NoError(t, s.Client.Create(t.Context(), server))
	tls := openvoxtest.MakeSecret("server-tls", openvoxtest.NewPair(t, fake, &x509.Certificate{Subject: pkix.Name{CommonName: "ca.example.com"}}))
	require.NoError(t, s.Client.Create(t.Context(), tls))

	again := openvoxtest.MakeCA("main")
	again.UID = "another"
	again.Spec.ServerCertificateRef = "server"
	again.Spec.DeletionPolicy = v1alpha1.DeletionRetain
	require.NoError(t, s.Client.Create(t.Context(), again))
	require.Equal(t, reasonInitialized, s.reason())
	require.False(t, s.Get("main-ca-setup", &batchv1.Job{}))
	signing := &v1alpha1.Certificate{}
	require.True(t, s.Get("main-operator-signing", signing))
	require.Empty(t, signing.OwnerReferences, "it stays with the keys")

	// A Secret that is lost comes back; the server's pair on the volume is left alone.
	require.NoError(t, s.Client.Delete(t.Context(), openvoxtest.MakeSecret("main-ca-key", nil)))
	require.Equal(t, reasonSettingUp, s.reason())
	job := &batchv1.Job{}
	require.True(t, s.Get("main-ca-setup", job))
	require.Contains(t, job.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "CA_SERVED", Value: "true"})
}

// TestSigners: an expired or revoked certificate is skipped in favor of the next one. If none is
// valid, that is reported once.
func TestSigners(t *testing.T) {
	s := newSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"))
	s.reconcile()
	fake := openvoxtest.NewCA(t)
	setup := s.FillCA(fake, "main-internal", bootNames...)
	life := fake.Lifetime
	fake.Lifetime = -time.Minute
	ended := openvoxtest.NewPair(t, fake, &x509.Certificate{Subject: pkix.Name{CommonName: "main-operator"}})
	fake.Lifetime = life
	require.NoError(t, s.Client.Create(t.Context(), openvoxtest.MakeSecret("main-operator-signing-tls", ended)))
	ca := s.reconcile()
	require.Equal(t, "main-ca-setup", ca.Status.SigningSecretName)
	a, err := Connect(t.Context(), Secrets{s.Client, s.Client}, ca, "")
	require.NoError(t, err)
	require.NotNil(t, a.Admin, "the setup Job's pair signs")
	a.Close()

	fake.Revoked = append(fake.Revoked, openvoxtest.CertificateOf(t, setup).SerialNumber)
	secret := &corev1.Secret{}
	require.True(t, s.Get("main-ca-crl", secret))
	secret.Data[layout.CRLFile] = fake.List(2)
	require.NoError(t, s.Client.Update(t.Context(), secret))
	ca.Status.CRL = &v1alpha1.CRLStatus{Refreshed: new(metav1.Now())}
	require.NoError(t, s.Client.Status().Update(t.Context(), ca))
	for len(s.Events.Events) > 0 {
		<-s.Events.Events
	}
	for range 2 {
		ca = s.reconcile()
		require.Empty(t, ca.Status.SigningSecretName)
		require.Equal(t, reasonNoSigner, meta.FindStatusCondition(ca.Status.Conditions, v1alpha1.ConditionOperatorSigningReady).Reason)
	}
	require.Len(t, s.Events.Events, 1)
	a, err = Connect(t.Context(), Secrets{s.Client, s.Client}, ca, "")
	require.NoError(t, err)
	require.Nil(t, a.Admin)
	a.Close()

	// The Secret was emptied: the Job creates a key that signs, and that does not belong to any
	// server.
	require.True(t, s.Get("main-ca-setup", secret))
	secret.Data = nil
	require.NoError(t, s.Client.Update(t.Context(), secret))
	require.NoError(t, s.Client.DeleteAllOf(t.Context(), &batchv1.Job{}, client.InNamespace("ns")))
	require.Equal(t, reasonSettingUp, s.reason())
	job := &batchv1.Job{}
	require.True(t, s.Get("main-ca-setup", job))
	require.Contains(t, job.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "RESCUE_CERTNAME", Value: "main-setup"})
	require.True(t, s.Get("main-ca-setup", secret))
	secret.Data = openvoxtest.NewPair(t, fake, &x509.Certificate{Subject: pkix.Name{CommonName: "main-setup"}})
	require.NoError(t, s.Client.Update(t.Context(), secret))
	ca = s.reconcile()
	require.Equal(t, "main-ca-setup", ca.Status.SigningSecretName)
	a, err = Connect(t.Context(), Secrets{s.Client, s.Client}, ca, "")
	require.NoError(t, err)
	require.NotNil(t, a.Admin)
	a.Close()
}

func reasonOf(err error) string {
	if known, ok := errors.AsType[*Problem](err); ok {
		return known.Reason
	}
	return ""
}

// TestNoPairSignsItsSuccessor: nor does it once it is revoked, so another does, and where there
// is none, nothing is revoked.
func TestNoPairSignsItsSuccessor(t *testing.T) {
	s := newSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"))
	s.reconcile()
	fake := openvoxtest.NewCA(t)
	bootstrap := s.FillCA(fake, "main-internal", bootNames...)
	setup := openvoxtest.CertificateOf(t, bootstrap)
	ca := s.reconcile()
	for _, name := range []string{"main-operator-signing", "main-operator-standby"} {
		require.True(t, s.Get(name, &v1alpha1.Certificate{}))
	}
	signers := func(of string) (a *Connection, list []*x509.Certificate) {
		a, err := Connect(t.Context(), Secrets{s.Client, s.Client}, ca, of)
		require.NoError(t, err)
		t.Cleanup(a.Close)
		for _, one := range a.Admins {
			list = append(list, one.Certificate)
		}
		return a, list
	}
	a, list := signers("main-server")
	require.Equal(t, []*x509.Certificate{setup}, list)
	pairs := map[*x509.Certificate]map[string][]byte{}
	// lead presents the client certificates to the CA of this test.
	lead := func(a *Connection) {
		for i, one := range a.Admins {
			for certificate, pair := range pairs {
				if certificate.Equal(one.Certificate) {
					client, err := puppet.NewClient(puppet.Server{URL: fake.URL, CA: fake.Bundle(), Certificate: pair[layout.CertificateFile], Key: pair[layout.KeyFile]})
					require.NoError(t, err)
					t.Cleanup(client.Close)
					a.Admins[i].Client = client
				}
			}
		}
		a.Admin = a.Admins[0].Client
		client, err := puppet.NewClient(puppet.Server{URL: fake.URL, CA: fake.Bundle()})
		require.NoError(t, err)
		t.Cleanup(client.Close)
		a.Anyone = client
	}
	_, err := revokerOf(s.Client, nil).Revoke(t.Context(), a, "main-internal", setup, true)
	require.ErrorContains(t, err, "requests are signed with the very certificate that is to be replaced")
	require.Equal(t, ReasonWaitingForSigner, reasonOf(err))

	signing := openvoxtest.NewPair(t, fake, &x509.Certificate{Subject: pkix.Name{CommonName: "main-operator"}})
	standby := openvoxtest.NewPair(t, fake, &x509.Certificate{Subject: pkix.Name{CommonName: "standby.main-operator"}})
	require.NoError(t, s.Client.Create(t.Context(), openvoxtest.MakeSecret("main-operator-standby-tls", standby)))
	require.Equal(t, "main-operator-standby-tls", s.reconcile().Status.SigningSecretName)
	require.NoError(t, s.Client.Create(t.Context(), openvoxtest.MakeSecret("main-operator-signing-tls", signing)))
	require.Equal(t, "main-operator-signing-tls", s.reconcile().Status.SigningSecretName)
	one, other := openvoxtest.CertificateOf(t, signing), openvoxtest.CertificateOf(t, standby)
	pairs[one], pairs[other], pairs[setup] = signing, standby, bootstrap
	for certificate := range pairs {
		fake.Issued[certificate.Subject.CommonName] = certificate
	}
	var refused *x509.Certificate // as one that is revoked
	fake.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if len(r.TLS.PeerCertificates) > 0 && r.TLS.PeerCertificates[0].Equal(refused) {
			http.Error(w, "who are you", http.StatusForbidden)
			return true
		}
		return false
	}
	for of, want := range map[string][]*x509.Certificate{
		"": {one, other, setup}, "main-server": {one, other, setup}, "main-operator-signing": {other, setup, one}, "main-operator-standby": {one, setup, other},
	} {
		a, list := signers(of)
		require.Equal(t, want, list, of)
		lead(a)
		refused = nil
		require.NoError(t, a.stepAside(t.Context(), "x", openvoxtest.NewCA(t).Root))
		require.Same(t, a.Admins[0].Client, a.Admin, "another's certificate concerns none of them")
		require.NoError(t, a.stepAside(t.Context(), "x", want[0]))
		require.Same(t, a.Admins[1].Client, a.Admin)
		require.NoError(t, a.stepAside(t.Context(), "x", want[2]))
		require.Same(t, a.Admins[0].Client, a.Admin)
		refused = want[1] // by the CRL that the CA has, and we have not read yet
		require.NoError(t, a.stepAside(t.Context(), "x", want[0]))
		require.Same(t, a.Admins[2].Client, a.Admin)
		a.Admins = a.Admins[:2]
		err := a.stepAside(t.Context(), "x", want[0])
		require.Equal(t, ReasonWaitingForSigner, reasonOf(err))
		require.ErrorContains(t, err, "403")
		// One that it has revoked, and still takes, for it has not read its own CRL again.
		refused = nil
		name := want[1].Subject.CommonName
		delete(fake.Issued, name)
		require.ErrorContains(t, a.stepAside(t.Context(), "x", want[0]), puppet.ErrNotFound.Error())
		fake.Issued[name] = fake.Root
		require.ErrorContains(t, a.stepAside(t.Context(), "x", want[0]), "the CA has another for "+name+" by now")
		fake.Issued[name] = want[1]
		require.NoError(t, a.stepAside(t.Context(), "x", want[0]))
	}
}

// TestSpareIsMissing: a CA with one pair that signs goes on, and says what keeps the other away.
func TestSpareIsMissing(t *testing.T) {
	s := newSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"), certificates.MakeCertificate("main-operator-standby", "theirs.example.com").Of("other").UID("theirs").Obj())
	s.reconcile()
	fake := openvoxtest.NewCA(t)
	s.FillCA(fake, "main-internal", bootNames...)
	require.NoError(t, s.Client.Create(t.Context(), openvoxtest.MakeSecret("main-operator-signing-tls", openvoxtest.NewPair(t, fake, &x509.Certificate{Subject: pkix.Name{CommonName: "main-operator"}}))))
	ca := s.reconcile()
	require.True(t, meta.IsStatusConditionTrue(ca.Status.Conditions, v1alpha1.ConditionInitialized))
	require.Equal(t, "main-operator-signing-tls", ca.Status.SigningSecretName)
	require.Contains(t, state(ca, v1alpha1.ConditionOperatorSigningReady), "False NotOwned requests are signed only for as long as the other pair counts: Certificate main-operator-standby does not belong")
	_, err := Connect(t.Context(), Secrets{s.Client, s.Client}, ca, "web")
	require.NoError(t, err)
}

// TestOthersCertificatesAreNotTaken: a label on a Certificate of another CA does not put an
// administrator's key into its Secret, which a Pod may mount. An unlabelled Certificate is
// recognized by its name alone, which admission reserves.
func TestOthersCertificatesAreNotTaken(t *testing.T) {
	labelled := certificates.MakeCertificate("main-operator-standby", "x.example.com").Of("other").UID("theirs").Obj()
	server := certificates.MakeCertificate("main-server", "x.example.com").Of("other").UID("theirs").Obj()
	labelled.Labels, server.Labels = layout.ObjectLabels("main"), layout.ObjectLabels("main")
	owned := certificates.MakeCertificate("main-operator-signing", "main-operator").UID("kept").Obj()
	for _, c := range []struct {
		theirs *v1alpha1.Certificate
		taken  bool
	}{{labelled, false}, {server, false}, {owned, true}} {
		s := newSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"), c.theirs)
		ca := s.reconcile()
		if c.theirs != server { // without its server's, nothing is set up
			s.FillCA(openvoxtest.NewCA(t), "main-internal", bootNames...)
			ca = s.reconcile()
		}
		have := &v1alpha1.Certificate{}
		require.True(t, s.Get(c.theirs.Name, have))
		require.Equal(t, c.taken, have.Labels[layout.CALabel] == "main" && have.Spec.AuthorityRef == "main", c.theirs.Name)
		require.Equal(t, c.theirs.Name == "main-server", strings.Contains(state(ca, v1alpha1.ConditionInitialized), "False NotOwned"), c.theirs.Name)
	}
}

// TestRescuingPairCounts: its certname does not belong to a Certificate.
func TestRescuingPairCounts(t *testing.T) {
	s := newSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"))
	s.reconcile()
	fake := openvoxtest.NewCA(t)
	s.FillCA(fake, "main-internal", bootNames...)
	ca := s.reconcile()
	ca.Status.CRL = &v1alpha1.CRLStatus{Refreshed: new(metav1.Now())}
	require.NoError(t, s.Client.Status().Update(t.Context(), ca))
	secret := &corev1.Secret{}
	require.True(t, s.Get("main-ca-setup", secret))
	secret.Data = openvoxtest.NewPair(t, fake, &x509.Certificate{Subject: pkix.Name{CommonName: "main-setup"}})
	require.NoError(t, s.Client.Update(t.Context(), secret))
	theirs := certificates.MakeCertificate("theirs", "main-setup").Issued("99").Obj()
	require.NoError(t, s.Client.Create(t.Context(), theirs))
	require.NoError(t, s.Client.Status().Update(t.Context(), theirs))
	require.Equal(t, "main-ca-setup", s.reconcile().Status.SigningSecretName)
}

// TestReplacedPair: that of the setup Job signs nothing once its Certificate has another.
func TestReplacedPair(t *testing.T) {
	s := newSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"))
	s.reconcile()
	pair := s.FillCA(openvoxtest.NewCA(t), "main-internal", bootNames...)
	server := &v1alpha1.Certificate{}
	require.True(t, s.Get("main-server", server))
	for known, want := range map[string]string{layout.Serial(openvoxtest.CertificateOf(t, pair)): "main-ca-setup", "99": ""} {
		server.Status.SerialNumber = known
		require.NoError(t, s.Client.Status().Update(t.Context(), server))
		object := s.reconcile()
		require.True(t, meta.IsStatusConditionTrue(object.Status.Conditions, v1alpha1.ConditionInitialized))
		require.Equal(t, want, object.Status.SigningSecretName)
	}
}

// TestStatusOfOpenVoxOperator: openvox-operator drops the field that names the Certificate of
// the CA's server. Until the field is written again, that certificate is not revoked for its
// rights.
func TestStatusOfOpenVoxOperator(t *testing.T) {
	ca, server, later := openvoxtest.MakeCA("main"), openvoxtest.MakeCAServer(), openvoxtest.MakeCAServer()
	server.Spec.CertificateRef, later.Spec.CertificateRef, later.Name = "web", "late", "z"
	c := openvoxtest.NewClient(t, ca, openvoxtest.MakeConfig("main"), later, server)
	for _, said := range []struct{ spec, status, want string }{{"", "", "web"}, {"", "late", "late"}, {"own", "", "own"}} {
		ca.Spec.ServerCertificateRef, ca.Status.ServerCertificateName = said.spec, said.status
		name, err := ServerCertificateOf(t.Context(), c, ca)
		require.NoError(t, err)
		require.Equal(t, said.want, name)
	}
	name, err := ServerCertificateOf(t.Context(), openvoxtest.NewClient(t), openvoxtest.MakeCA("main"))
	require.NoError(t, err)
	require.Equal(t, "main-server", name)
}

// TestStartOfJob: where to look depends on how far it has come.
func TestStartOfJob(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j"}}
	require.Contains(t, startOf(job, "c"), "kubectl describe job j")
	job.Status.Active = 1
	require.Contains(t, startOf(job, "c"), "kubectl describe pvc c")
	job.Status.Ready = new(int32(1))
	require.Empty(t, startOf(job, "c"))
}

// TestSetupFails: once, with an Event, and again only when something changes.
func TestSetupFails(t *testing.T) {
	s := newSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"))
	s.reconcile()
	s.endJob(batchv1.JobFailed)
	object := s.reconcile()
	require.Equal(t, v1alpha1.CertificateAuthorityError, object.Status.Phase)
	require.Contains(t, meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionInitialized).Message, "BackoffLimitExceeded")
	s.Now = s.Now.Add(time.Hour)
	require.Equal(t, reasonSetupFailed, s.reason())
	require.True(t, s.Get("main-ca-setup", &batchv1.Job{}), "it is not run again by itself")
	var told []string
	for len(s.Events.Events) > 0 {
		told = append(told, <-s.Events.Events)
	}
	require.Equal(t, 1, strings.Count(strings.Join(told, "\n"), "Warning SetupFailed"), "%q", told)

	config := &v1alpha1.Config{}
	require.True(t, s.Get("c", config))
	config.Spec.Image.Tag = "2"
	require.NoError(t, s.Client.Update(t.Context(), config))
	s.reconcile()
	require.Equal(t, reasonSettingUp, s.reason())
}

// TestIntermediateCA waits for the keys that it is to have.
func TestIntermediateCA(t *testing.T) {
	ca := openvoxtest.MakeCA("main")
	ca.Spec.IntermediateCA = v1alpha1.IntermediateCA{Enabled: true, SecretName: "company"}
	s := newSite(t, ca, openvoxtest.MakeConfig("main"), openvoxtest.MakeSecret("company", map[string][]byte{"ca.pem": []byte("x"), "key.pem": []byte("x")}))
	update := func(change func(*corev1.Secret)) {
		secret := &corev1.Secret{}
		require.True(t, s.Get("company", secret))
		change(secret)
		require.NoError(t, s.Client.Update(t.Context(), secret))
	}
	waits := func(why string) {
		t.Helper()
		object := s.reconcile()
		require.Contains(t, state(object, v1alpha1.ConditionInitialized), "False WaitingForIntermediateCA spec.intermediateCA: the Secret company "+why)
		require.Equal(t, v1alpha1.CertificateAuthorityPending, object.Status.Phase)
		require.False(t, s.Get("main-ca-setup", &batchv1.Job{}))
	}
	mark := func(ca string) func(*corev1.Secret) {
		return func(s *corev1.Secret) { s.Annotations = map[string]string{"openvox.voxpupuli.org/intermediate-ca": ca} }
	}
	waits("is not marked for this CertificateAuthority")
	update(mark("other"))
	waits("is not marked for this CertificateAuthority")
	update(mark("main"))
	waits(`has no key "crl.pem"`)
	update(func(s *corev1.Secret) { s.Data["crl.pem"] = []byte("x") })
	require.Equal(t, cadir.ImportInvalid, s.reason())
	require.Equal(t, v1alpha1.CertificateAuthorityError, s.reconcile().Status.Phase)
	require.False(t, s.Get("main-ca-setup", &batchv1.Job{}))
	vm := cadir.Folder{Path: filepath.Join(t.TempDir(), "ca"), KeyBits: 1024, Now: time.Now}
	require.NoError(t, vm.Create("Puppet CA: vm", time.Hour))
	update(func(s *corev1.Secret) {
		for key, file := range map[string]string{"ca.pem": cadir.CertificateFile, "key.pem": cadir.KeyFile, "crl.pem": cadir.CRLFile} {
			content, err := os.ReadFile(filepath.Join(vm.Path, file))
			require.NoError(t, err)
			s.Data[key] = content
		}
		s.Data["serial"] = []byte("00FF")
	})
	require.Equal(t, reasonSettingUp, s.reason())
	job := &batchv1.Job{}
	require.True(t, s.Get("main-ca-setup", job))
	require.Contains(t, job.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "NEXT_SERIAL", Value: "00FF"})
	update(func(s *corev1.Secret) { s.Data["serial"] = []byte("0200") })
	for range 2 { // the Job is deleted, and created
		require.Equal(t, reasonSettingUp, s.reason())
	}
	require.True(t, s.Get("main-ca-setup", job))
	require.Contains(t, job.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "NEXT_SERIAL", Value: "0200"}, "the Secret was corrected")
	key := &corev1.Secret{}
	require.True(t, s.Get("main-ca-key", key))
	key.Data = map[string][]byte{caPrivateKey: []byte("key")}
	require.NoError(t, s.Client.Update(t.Context(), key))
	for range 2 {
		require.Equal(t, reasonSettingUp, s.reason())
		require.True(t, s.Get("main-ca-setup", job), "a Job that fills the Secrets stays")
	}
	require.True(t, s.Get("main-ca-key", key))
	key.Data = nil
	require.NoError(t, s.Client.Update(t.Context(), key))
	update(mark(""))
	waits("is not marked for this CertificateAuthority")
	update(mark("main"))
	require.Equal(t, reasonSettingUp, s.reason())
}

// TestServerCertificate: the setup Job makes a pair for the Certificate that the
// CertificateAuthority names and the rules admit, and for no other.
func TestServerCertificate(t *testing.T) {
	ca := openvoxtest.MakeCA("main")
	ca.Spec.ServerCertificateRef = "server"
	first := certificates.MakeCertificate("first", "web").Obj()
	s := newSite(t, ca, openvoxtest.MakeConfig("main"), first)
	object := s.reconcile()
	require.Contains(t, state(object, v1alpha1.ConditionInitialized), "False WaitingForServerCertificate there is no Certificate server of this CertificateAuthority")
	require.Equal(t, v1alpha1.CertificateAuthorityPending, object.Status.Phase)
	require.False(t, s.Get("main-server", &v1alpha1.Certificate{}), "one is named")
	server := certificates.MakeCertificate("server", "../../x").Obj()
	require.NoError(t, s.Client.Create(t.Context(), server))
	s.Denied = `spec.certname: "../../x" is not a certname`
	object = s.reconcile()
	require.Contains(t, state(object, v1alpha1.ConditionInitialized), `False ServerCertificateNotAdmitted Certificate server of the CA's server is not admitted: spec.certname: "../../x"`)
	require.Equal(t, v1alpha1.CertificateAuthorityError, object.Status.Phase)
	require.False(t, s.Get("main-ca-setup", &batchv1.Job{}))

	server.Spec.Certname = "ca.example.com"
	require.NoError(t, s.Client.Update(t.Context(), server))
	s.Denied, s.Broken = "", errors.New("the rules cannot be asked")
	s.reconcile()
	require.False(t, s.Get("main-ca-setup", &batchv1.Job{}))
	s.Broken = nil
	require.Equal(t, reasonSettingUp, s.reason())
	job := &batchv1.Job{}
	require.True(t, s.Get("main-ca-setup", job))
	require.Contains(t, job.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "CERTNAME", Value: "ca.example.com"})

	// No Certificate is created before a Server had time to name one.
	young := openvoxtest.MakeCA("main")
	young.CreationTimestamp = metav1.Now()
	s = newSite(t, young, openvoxtest.MakeConfig("main"))
	s.Now = young.CreationTimestamp.Time
	require.Contains(t, state(s.reconcile(), v1alpha1.ConditionInitialized), "False WaitingForServerCertificate nothing names the certificate of the CA's server yet")
	require.False(t, s.Get("main-server", &v1alpha1.Certificate{}))
	s.Now = s.Now.Add(namingTime)
	require.Equal(t, reasonSettingUp, s.reason())
	require.True(t, s.Get("main-server", &v1alpha1.Certificate{}))
	s = newSite(t, young, openvoxtest.MakeConfig("main"))
	s.Now = young.CreationTimestamp.Add(-time.Hour) // by the clock of the API server it is of tomorrow
	require.Equal(t, reasonSettingUp, s.reason())

	// A Certificate of another owner is not mistaken for the one that Lintel creates.
	taken := certificates.MakeCertificate("main-server", "web").Obj()
	s = newSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"), taken)
	object = s.reconcile()
	require.Contains(t, state(object, v1alpha1.ConditionInitialized), "False NotOwned Certificate main-server does not belong to this object and is left alone; delete it, or have this object under another name, or name it in spec.serverCertificateRef")
}

// TestExternalOnly: a manager that sets no CAs up says so, and makes nothing.
func TestExternalOnly(t *testing.T) {
	s := newSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"))
	r := &InitializeReconciler{client: s.Client, events: s.Events, externalOnly: true, now: time.Now}
	_, err := r.Reconcile(t.Context(), openvoxtest.Main)
	require.NoError(t, err)
	ca := &v1alpha1.CertificateAuthority{}
	require.True(t, s.Get("main", ca))
	require.Equal(t, v1alpha1.CertificateAuthorityError, ca.Status.Phase)
	require.Contains(t, state(ca, v1alpha1.ConditionInitialized), "False ExternalOnly the manager sets up no CAs in the cluster (--openvox-external-only)")
	require.Equal(t, 1, s.Writes, "its status alone")
}

// TestDeletionPolicy: keys and volume have no owner, unless they are to go, too.
func TestDeletionPolicy(t *testing.T) {
	s := newSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"))
	owners := func() (n int) {
		for _, object := range []client.Object{&corev1.Secret{}, &corev1.PersistentVolumeClaim{}} {
			name := "main-data"
			if _, ok := object.(*corev1.Secret); ok {
				name = "main-ca-key"
			}
			require.True(t, s.Get(name, object))
			n += len(object.GetOwnerReferences())
		}
		return n
	}
	object := s.reconcile()
	require.Zero(t, owners())
	service := &corev1.Service{}
	require.True(t, s.Get("main-internal", service))
	require.True(t, metav1.IsControlledBy(service, object))

	object.Spec.DeletionPolicy = v1alpha1.DeletionDelete
	require.NoError(t, s.Client.Update(t.Context(), object))
	object = s.reconcile()
	require.Equal(t, 2, owners())
	object.Spec.DeletionPolicy = v1alpha1.DeletionRetain
	require.NoError(t, s.Client.Update(t.Context(), object))
	s.reconcile()
	require.Zero(t, owners())
}

// TestRefusedObjects: the status reports objects that the API server rejects.
func TestRefusedObjects(t *testing.T) {
	s := newSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"))
	s.Refuse = apierrors.NewInvalid(schema.GroupKind{Kind: "PersistentVolumeClaim"}, "main-data", field.ErrorList{
		field.Invalid(field.NewPath("spec"), "-1Gi", "must be greater than zero"),
	})
	object := s.reconcile()
	require.Equal(t, v1alpha1.CertificateAuthorityError, object.Status.Phase)
	require.Contains(t, state(object, v1alpha1.ConditionInitialized), "NotWritten")
	require.Contains(t, state(object, v1alpha1.ConditionInitialized), "must be greater than zero")
	s.Refuse = nil
	require.Equal(t, reasonSettingUp, s.reason())
}

// TestForeignObjects are left alone.
func TestForeignObjects(t *testing.T) {
	for _, foreign := range []client.Object{
		openvoxtest.MakeSecret("main-ca-key", map[string][]byte{caPrivateKey: []byte("theirs")}),
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "main-internal", Namespace: "ns", Labels: layout.ObjectLabels("main")}},
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "main-data", Namespace: "ns", Labels: layout.ObjectLabels("other")}},
	} {
		s := newSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"), foreign)
		before := foreign.DeepCopyObject().(client.Object)
		require.True(t, s.Get(foreign.GetName(), before))
		object := s.reconcile()
		require.Equal(t, v1alpha1.CertificateAuthorityError, object.Status.Phase)
		require.Contains(t, object.Status.Conditions[0].Message, foreign.GetName())
		after := foreign.DeepCopyObject().(client.Object)
		require.True(t, s.Get(foreign.GetName(), after))
		require.Equal(t, before.GetResourceVersion(), after.GetResourceVersion())
	}
}

// TestComingFromOpenVoxOperator: a CA that openvox-operator has created is adopted and not set
// up again. From then on its keys and its volume are no longer deleted together with the
// CertificateAuthority.
func TestComingFromOpenVoxOperator(t *testing.T) {
	ca, fake := openvoxtest.MakeCA("main"), openvoxtest.NewCA(t)
	ca.UID, ca.Spec.DeletionPolicy, ca.Spec.ServerCertificateRef = "ca", v1alpha1.DeletionRetain, "puppet"
	owned := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Name: name, Namespace: "ns", UID: types.UID(name), Labels: layout.ObjectLabels("main"),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(ca, v1alpha1.SchemeGroupVersion.WithKind("CertificateAuthority"))},
		}
	}
	pair := openvoxtest.NewPair(t, fake, &x509.Certificate{Subject: pkix.Name{CommonName: "puppet"}, DNSNames: []string{"main-internal.ns.svc"}})
	s := newSite(t, ca, openvoxtest.MakeConfig("main"),
		&corev1.PersistentVolumeClaim{ObjectMeta: owned("main-data")},
		&corev1.Secret{ObjectMeta: owned("main-ca"), Data: map[string][]byte{layout.CAFile: fake.Bundle()}},
		&corev1.Secret{ObjectMeta: owned("main-ca-key"), Data: map[string][]byte{caPrivateKey: []byte("key")}},
		&corev1.Secret{ObjectMeta: owned("main-ca-crl"), Data: map[string][]byte{layout.CRLFile: fake.List(1), "infra_crl.pem": []byte("x")}},
		certificates.MakeCertificate("puppet", "puppet").Obj(), openvoxtest.MakeSecret("puppet-tls", pair),
		&v1alpha1.Certificate{ObjectMeta: owned("main-operator-signing"), Spec: v1alpha1.CertificateSpec{AuthorityRef: "main", Certname: "main-operator"}},
		openvoxtest.MakeSecret("main-operator-signing-tls", openvoxtest.NewPair(t, fake, &x509.Certificate{Subject: pkix.Name{CommonName: "main-operator"}})))
	require.Equal(t, reasonInitialized, s.reason())
	require.Equal(t, reasonInitialized, s.reason())
	require.False(t, s.Get("main-ca-setup", &batchv1.Job{}), "no CA is set up anew")
	claim := &corev1.PersistentVolumeClaim{}
	require.True(t, s.Get("main-data", claim))
	require.Empty(t, claim.OwnerReferences)
	for _, name := range []string{"main-ca", "main-ca-key", "main-ca-crl"} {
		secret := &corev1.Secret{}
		require.True(t, s.Get(name, secret))
		require.Empty(t, secret.OwnerReferences, name)
	}
}

// TestNameOfCAServer: the Certificate of the CA's server is that of the Server that was there
// first, for as long as a Server names it.
func TestNameOfCAServer(t *testing.T) {
	ca := openvoxtest.MakeCA("main")
	server := func(name, certificate string, second int64) *v1alpha1.Server {
		s := openvoxtest.MakeCAServer()
		s.Name, s.UID, s.Spec.CertificateRef, s.CreationTimestamp = name, types.UID(name), certificate, metav1.Unix(second, 0)
		return s
	}
	other := server("other", "elsewhere", 1)
	other.Spec.ConfigRef = "none"
	catalogs := openvoxtest.MakeServer("catalogs")
	s := newSite(t, ca, openvoxtest.MakeConfig("main"), other, catalogs)
	named := func() string { return s.reconcile().Status.ServerCertificateName }
	require.Empty(t, named())
	require.True(t, s.Get("main-server", &v1alpha1.Certificate{}), "it is made where nobody names one")
	second := server("a", "second", 3)
	require.NoError(t, s.Client.Create(t.Context(), second))
	require.Equal(t, "second", named())
	require.NoError(t, s.Client.Create(t.Context(), server("b", "first", 2)))
	require.Equal(t, "second", named(), "one that comes takes nothing over")
	require.NoError(t, s.Client.Delete(t.Context(), second))
	require.Equal(t, "first", named())
	require.NoError(t, s.Client.Delete(t.Context(), server("b", "first", 2)))
	require.Equal(t, "first", named(), "while a server is made again, its certificate stays")
}

// TestVolumeThatOthersWaitFor: the volume of a CA is not created while Pods wait for one of its name.
func TestVolumeThatOthersWaitFor(t *testing.T) {
	t.Parallel()
	waiting := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "catalogs", Namespace: "ns"}}
	waiting.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "extra-a", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "main-data"}}}}
	s := newSite(t, openvoxtest.MakeCA("main"), openvoxtest.MakeConfig("main"), waiting)
	require.Contains(t, state(s.reconcile(), v1alpha1.ConditionInitialized), "Deployment catalogs mounts claim main-data, which this CertificateAuthority would create for its keys")
	require.False(t, s.Get("main-data", &corev1.PersistentVolumeClaim{}))
	waiting.Spec.Replicas = new(int32(0))
	require.NoError(t, s.Client.Update(t.Context(), waiting))
	s.reconcile()
	require.True(t, s.Get("main-data", &corev1.PersistentVolumeClaim{}))
}
