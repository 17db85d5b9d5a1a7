package serving

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
	"github.com/lintel-policy/lintel/controllers/openvox/configfiles"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	"github.com/lintel-policy/lintel/test/certificates"
)

func newDatabase() *v1alpha1.Database {
	return &v1alpha1.Database{
		ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "ns", UID: "db", Generation: 1},
		Spec: v1alpha1.DatabaseSpec{
			CertificateRef: "db", Image: v1alpha1.DatabaseImageSpec{Repository: "example.com/openvox-db", Tag: "8"}, Replicas: new(int32(1)),
			Postgres: v1alpha1.PostgresSpec{Host: "pg", Port: 5432, Database: "openvoxdb", CredentialsSecretRef: "postgres", SSLMode: "require"},
			Service:  v1alpha1.DatabaseServiceSpec{Type: corev1.ServiceTypeClusterIP, Port: 8081},
		},
	}
}

// databaseSite is an API server with one Database and the objects it refers to.
type databaseSite struct {
	*site
	db           *v1alpha1.Database
	refused      string
	externalOnly bool
	err          error
}

func newDatabaseSite(t *testing.T, objects ...client.Object) *databaseSite {
	t.Helper()
	fake, db := openvoxtest.NewCA(t), newDatabase()
	pair := openvoxtest.NewPair(t, fake, &x509.Certificate{Subject: pkix.Name{CommonName: "db.example.com"}, DNSNames: []string{"db.ns.svc"}})
	config, other := openvoxtest.MakeConfig("main"), openvoxtest.MakeConfig("main")
	config.Spec.DatabaseRef, other.Name = "db", "other"
	stranger := openvoxtest.MakeServer("stranger")
	stranger.Spec.ConfigRef, stranger.Spec.CertificateRef = "other", "stranger"
	s := &databaseSite{db: db, site: newSite(t, append([]client.Object{
		db, openvoxtest.MakeCA("main"), config, other, openvoxtest.MakeServer("catalogs"), stranger,
		certificates.MakeCertificate("db", "db.example.com").Obj(), certificates.MakeCertificate("web", "web.example.com").Obj(), certificates.MakeCertificate("stranger", "stranger.example.com").Obj(),
		openvoxtest.MakeSecret("db-tls", pair), openvoxtest.MakeSecret("main-ca", map[string][]byte{layout.CAFile: fake.Bundle()}), openvoxtest.MakeSecret("main-ca-crl", map[string][]byte{layout.CRLFile: fake.List(1)}),
		openvoxtest.MakeSecret("postgres", map[string][]byte{"username": []byte("u"), "password": []byte(`p"\ ;#`)}),
	}, objects...)...)}
	require.True(t, s.Get("db", db))
	return s
}

// run reconciles the Database, and says what its status is.
func (s *databaseSite) run() string {
	s.T.Helper()
	r := &DatabaseReconciler{
		client: s.Client, secrets: secrets{s.Client, s.Client}, applier: s.Applier, events: s.Events, fsGroup: new(int64(1001)), externalOnly: s.externalOnly, outdated: s.outdated,
		admit: func(context.Context, builtin.Object) (builtin.Verdict, error) {
			return openvoxtest.Verdict(s.refused), s.err
		},
	}
	_, err := r.Reconcile(s.T.Context(), object.Request("ns", "db")[0])
	require.ErrorIs(s.T, err, s.err)
	require.True(s.T, s.Get("db", s.db))
	for _, c := range s.db.Status.Conditions {
		return string(s.db.Status.Phase) + " " + string(c.Status) + " " + c.Reason + ": " + c.Message
	}
	return ""
}

func (s *databaseSite) change(change func(*v1alpha1.DatabaseSpec)) {
	s.T.Helper()
	require.True(s.T, s.Get("db", s.db))
	change(&s.db.Spec)
	s.db.Generation++
	require.NoError(s.T, s.Client.Update(s.T.Context(), s.db))
}

func (s *databaseSite) set() *appsv1.StatefulSet {
	s.T.Helper()
	set := &appsv1.StatefulSet{}
	if !s.Get("db", set) {
		return nil
	}
	return set
}

func (s *databaseSite) edit(name string, data map[string][]byte) {
	s.T.Helper()
	secret := &corev1.Secret{}
	require.True(s.T, s.Get(name, secret))
	maps.Copy(secret.Data, data)
	require.NoError(s.T, s.Client.Update(s.T.Context(), secret))
}

// TestDatabase covers the life of a Database, from the first object until all are deleted.
func TestDatabase(t *testing.T) {
	s := newDatabaseSite(t)
	require.Equal(t, "Pending False RollingOut: databases are being started or replaced: 0 of 1 are ready, 0 of them of the latest version", s.run())
	require.Equal(t, "https://db.ns.svc:8081", s.db.Status.URL)
	set := s.set()
	require.True(t, metav1.IsControlledBy(set, s.db))
	pod := set.Spec.Template.Spec
	require.Nil(t, pod.SecurityContext.RunAsUser, "any user does")
	require.Nil(t, pod.SecurityContext.FSGroup, "nothing of it is on a volume")
	require.True(t, *pod.Containers[0].SecurityContext.ReadOnlyRootFilesystem)
	require.Equal(t, "example.com/openvox-db:8", pod.Containers[0].Image)
	require.NotNil(t, pod.Containers[0].ReadinessProbe.HTTPGet)
	require.NotNil(t, pod.Containers[0].LivenessProbe.TCPSocket, "PostgreSQL that is down is no reason to start again")
	service := &corev1.Service{}
	require.True(t, s.Get("db", service))
	require.True(t, service.Spec.PublishNotReadyAddresses, "it keeps what it is told until PostgreSQL is back")
	files, secret := &corev1.ConfigMap{}, &corev1.Secret{}
	require.True(t, s.Get("db-config", files))
	require.Equal(t, "web.example.com\n", files.Data[configfiles.DatabaseAllowed], "the servers of its Configs, and no others")
	require.True(t, s.Get("db-db", secret))
	require.JSONEq(t, `{"database": {"subname": "//pg:5432/openvoxdb?sslmode=require", "username": "u", "password": "p\"\\ ;#"}}`, string(secret.Data[configfiles.DatabaseCredentials]))
	for _, text := range files.Data {
		require.NotContains(t, text, "p\"")
	}
	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, Replicas: 1, UpdatedReplicas: 1, CurrentReplicas: 1, ReadyReplicas: 1, CurrentRevision: "a", UpdateRevision: "a"}
	require.NoError(t, s.Client.Status().Update(t.Context(), set))
	require.Equal(t, "Running True Running: 1 of 1 databases are ready", s.run())
	s.Writes = 0
	s.run()
	require.Zero(t, s.Writes, "nothing changed, nothing written")

	s.change(func(spec *v1alpha1.DatabaseSpec) {
		spec.PDB, spec.NetworkPolicy = &v1alpha1.PDBSpec{Enabled: true}, &v1alpha1.NetworkPolicySpec{Enabled: true}
	})
	s.run()
	budget, policy := &policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{}
	require.True(t, s.Get("db", budget))
	require.True(t, s.Get("db-netpol", policy))
	require.Len(t, policy.Spec.Ingress, 1)
	require.Equal(t, []string{"c"}, policy.Spec.Ingress[0].From[0].PodSelector.MatchExpressions[0].Values, "of one Config the servers are its clients")
	s.change(func(spec *v1alpha1.DatabaseSpec) { spec.PDB, spec.NetworkPolicy = nil, nil })
	s.run()
	require.False(t, s.Get("db", budget))
	require.False(t, s.Get("db-netpol", policy))
	s.change(func(spec *v1alpha1.DatabaseSpec) { spec.Replicas = new(int32(0)) })
	s.run()
	set = s.set()
	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: set.Generation}
	require.NoError(t, s.Client.Status().Update(t.Context(), set))
	require.Equal(t, "Pending False ScaledToZero: no databases are wanted: spec.replicas is 0", s.run())
}

// TestDatabaseOfOpenVoxOperator: its Deployment is deleted when the StatefulSet is created,
// because the Service routes to both. A Deployment of another owner stays.
func TestDatabaseOfOpenVoxOperator(t *testing.T) {
	for _, of := range []string{"db", "another"} {
		former := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "ns", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Database", Name: of, UID: types.UID(of), Controller: new(true)},
		}}}
		s := newDatabaseSite(t, former)
		s.run()
		require.NotNil(t, s.set())
		require.Equal(t, of != "db", s.Get("db", former))
	}
}

// TestNobodyIsLetIn: a NetworkPolicy without clients does not allow all clients.
func TestNobodyIsLetIn(t *testing.T) {
	db := newDatabase()
	db.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Enabled: true}
	require.Empty(t, databaseFacts{db: db, ca: openvoxtest.MakeCA("main")}.networkPolicy().Spec.Ingress)
}

// TestWhatRollsADatabase: Pods are replaced when an input that they read at startup changes, and
// for no other reason.
func TestWhatRollsADatabase(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*databaseSite)
		rolls  bool
	}{
		"a password":          {func(s *databaseSite) { s.edit("postgres", map[string][]byte{"password": []byte("next")}) }, true},
		"another key of it":   {func(s *databaseSite) { s.edit("postgres", map[string][]byte{"other": []byte("next")}) }, false},
		"a CRL":               {func(s *databaseSite) { s.edit("main-ca-crl", map[string][]byte{layout.CRLFile: []byte("next")}) }, false},
		"a key beside a pair": {func(s *databaseSite) { s.edit("db-tls", map[string][]byte{"other": []byte("next")}) }, false},
		"how it is encrypted": {func(s *databaseSite) { s.change(func(d *v1alpha1.DatabaseSpec) { d.Postgres.SSLMode = "verify-full" }) }, true},
		"its memory":          {func(s *databaseSite) { s.change(func(d *v1alpha1.DatabaseSpec) { d.JavaArgs = "-Xmx1g" }) }, true},
		"who may ask besides": {func(s *databaseSite) {
			s.change(func(d *v1alpha1.DatabaseSpec) { d.AllowedCertnames = []string{"board"} })
		}, true},
		"replicas": {func(s *databaseSite) { s.change(func(d *v1alpha1.DatabaseSpec) { d.Replicas = new(int32(3)) }) }, false},
		"a budget": {func(s *databaseSite) {
			s.change(func(d *v1alpha1.DatabaseSpec) { d.PDB = &v1alpha1.PDBSpec{Enabled: true} })
		}, false},
		"a server of a Config": {func(s *databaseSite) { s.add("more", "c", "more.example.com") }, true},
		"one with its pair":    {func(s *databaseSite) { s.add("more", "c", "web.example.com") }, false},
		"another's server":     {func(s *databaseSite) { s.add("more", "other", "more.example.com") }, false},
	} {
		s := newDatabaseSite(t)
		s.run()
		before := s.set().Spec.Template
		c.change(s)
		s.run()
		require.Equal(t, c.rolls, !apiEqual(before, s.set().Spec.Template), name)
	}
}

// add makes a Server of a Config with a Certificate.
func (s *databaseSite) add(name, config, certname string) {
	s.T.Helper()
	server := openvoxtest.MakeServer(name)
	server.Spec.ConfigRef, server.Spec.CertificateRef = config, name
	for _, each := range []client.Object{server, certificates.MakeCertificate(name, certname).Obj()} {
		require.NoError(s.T, s.Client.Create(s.T.Context(), each))
	}
}

// TestDatabaseWaits: the status reports missing inputs, and existing objects stay.
func TestDatabaseWaits(t *testing.T) {
	for want, change := range map[string]func(*databaseSite){
		"Error False NotAdmitted: no": func(s *databaseSite) { s.refused = "no" },
		"Error False ExternalOnly":    func(s *databaseSite) { s.externalOnly = true },
		`WaitingForCert False WaitingForCertificate: spec.certificateRef: there is no Certificate "none"`: func(s *databaseSite) {
			s.change(func(d *v1alpha1.DatabaseSpec) { d.CertificateRef = "none" })
		},
		"WaitingForCert False WaitingForCertificate: Certificate web has no pair yet": func(s *databaseSite) {
			s.change(func(d *v1alpha1.DatabaseSpec) { d.CertificateRef = "web" })
		},
		"Error False CertificateMismatch: spec.certificateRef: Certificate main-server is that of the server": func(s *databaseSite) {
			require.NoError(s.T, s.Client.Create(s.T.Context(), certificates.MakeCertificate("main-server", "ca").Obj()))
			s.change(func(d *v1alpha1.DatabaseSpec) { d.CertificateRef = "main-server" })
		},
		"Error False CertificateMismatch: spec.certificateRef: Certificate main-operator-signing is the operator's own": func(s *databaseSite) {
			require.NoError(s.T, s.Client.Create(s.T.Context(), certificates.MakeCertificate("main-operator-signing", "main-operator").Obj()))
			s.change(func(d *v1alpha1.DatabaseSpec) { d.CertificateRef = "main-operator-signing" })
		},
		"Pending False CredentialsNotFound: spec.postgres.credentialsSecretRef: there is no Secret none": func(s *databaseSite) {
			s.change(func(d *v1alpha1.DatabaseSpec) { d.Postgres.CredentialsSecretRef = "none" })
		},
		"Pending False CredentialsNotFound: spec.postgres.credentialsSecretRef: there is no Secret postgres with a value of key \"password\"": func(s *databaseSite) {
			s.edit("postgres", map[string][]byte{"password": nil})
		},
		"Pending False CredentialsNotFound: spec.postgres.credentialsSecretRef: there is no Secret own with a value of key \"username\"": func(s *databaseSite) {
			own := openvoxtest.MakeSecret("own", map[string][]byte{"username": []byte("u"), "password": []byte("p")})
			own.Labels = map[string]string{layout.ManagedByLabel: layout.ManagedBy}
			require.NoError(s.T, s.Client.Create(s.T.Context(), own))
			s.change(func(d *v1alpha1.DatabaseSpec) { d.Postgres.CredentialsSecretRef = "own" })
		},
		"Pending False CredentialsNotFound: spec.postgres.caSecretRef: there is no Secret none": func(s *databaseSite) {
			s.change(func(d *v1alpha1.DatabaseSpec) {
				d.Postgres.CASecretRef = &v1alpha1.SecretKeyRef{Name: "none", Key: "ca"}
			})
		},
		`Pending False CredentialsNotFound: spec.postgres.caSecretRef: there is no Secret db-tls with a value of key "key.pem" that can be used here; its value must be certificates in PEM`: func(s *databaseSite) {
			s.change(func(d *v1alpha1.DatabaseSpec) {
				d.Postgres.CASecretRef = &v1alpha1.SecretKeyRef{Name: "db-tls", Key: "key.pem"}
			})
		},
		`Pending False CredentialsNotFound: spec.postgres.caSecretRef: there is no Secret postgres with a value of key "password" that can be used here; its value must be certificates in PEM`: func(s *databaseSite) {
			s.change(func(d *v1alpha1.DatabaseSpec) {
				d.Postgres.CASecretRef = &v1alpha1.SecretKeyRef{Name: "postgres", Key: "password"}
			})
		},
		"Error False NotRendered: the password of PostgreSQL has more than one line": func(s *databaseSite) {
			s.edit("postgres", map[string][]byte{"password": []byte("a\nb")})
		},
		"Pending False WaitingForCertificateAuthority: the CRL of CertificateAuthority main has not been read yet": func(s *databaseSite) {
			s.edit("main-ca-crl", map[string][]byte{layout.CRLFile: nil})
		},
		"": func(s *databaseSite) { s.err = errors.New("down") },
	} {
		s := newDatabaseSite(t)
		change(s)
		require.Contains(t, s.run(), want)
		require.Nil(t, s.set(), want)
	}

	s := newDatabaseSite(t)
	s.run()
	before := s.set()
	s.edit("postgres", map[string][]byte{"username": nil})
	require.Contains(t, s.run(), "Pending False CredentialsNotFound")
	require.Equal(t, before.ResourceVersion, s.set().ResourceVersion, "it runs on")

	s = newDatabaseSite(t)
	s.change(func(d *v1alpha1.DatabaseSpec) {
		d.Postgres.SSLMode, d.Postgres.CASecretRef = "verify-full", &v1alpha1.SecretKeyRef{Name: "main-ca", Key: layout.CAFile}
	})
	s.run()
	secret := &corev1.Secret{}
	require.True(t, s.Get("db-db", secret))
	require.Contains(t, string(secret.Data[configfiles.DatabasePostgresCA]), "-----BEGIN CERTIFICATE-----")

	s = newDatabaseSite(t)
	require.NoError(t, s.Client.Create(t.Context(), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "ns"}}))
	require.Contains(t, s.run(), "Error False NotOwned: StatefulSet db does not belong to this object")
}

// TestCertificateOfADatabase is waited for until it is for the name that servers know it by.
func TestCertificateOfADatabase(t *testing.T) {
	s := newDatabaseSite(t)
	fake := openvoxtest.NewCA(t)
	s.edit("db-tls", openvoxtest.NewPair(t, fake, &x509.Certificate{Subject: pkix.Name{CommonName: "db.example.com"}}))
	s.edit("main-ca", map[string][]byte{layout.CAFile: fake.Bundle()})
	require.Contains(t, s.run(), "WaitingForCert False WaitingForCertificate: Certificate db is not for db.ns.svc yet")
}

// TestDatabaseOnAVolume: received data survives a restart.
func TestDatabaseOnAVolume(t *testing.T) {
	db := newDatabase()
	db.Spec.Storage = &v1alpha1.StorageSpec{Size: resource.MustParse("2Gi"), StorageClass: "fast"}
	set := databaseFacts{db: db, ca: openvoxtest.MakeCA("main"), fsGroup: new(int64(1001))}.statefulSet()
	require.Len(t, set.Spec.VolumeClaimTemplates, 1)
	require.Equal(t, "fast", *set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName)
	require.EqualValues(t, 1001, *set.Spec.Template.Spec.SecurityContext.FSGroup)
	require.False(t, slices.ContainsFunc(set.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == queueVolume }))
	require.True(t, slices.ContainsFunc(set.Spec.Template.Spec.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool {
		return m.Name == queueVolume && m.MountPath == configfiles.DatabaseDataFolder
	}))
}
