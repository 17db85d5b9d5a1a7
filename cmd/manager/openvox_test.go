package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/policies/engine"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// TestTwoCertificatesOfOneCertname: where both were created at once, the older one keeps
// the certname, and the other is told who has it.
func TestTwoCertificatesOfOneCertname(t *testing.T) {
	set, err := rules.Set()
	require.NoError(t, err)
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	certificate := func(name string, created int64) *v1alpha1.Certificate {
		return &v1alpha1.Certificate{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name), CreationTimestamp: metav1.Unix(created, 0)},
			Spec:       v1alpha1.CertificateSpec{AuthorityRef: "main", Certname: "web"},
		}
	}
	older, younger := certificate("z", 1), certificate("a", 2)
	s := &openVox{
		cached:   fake.NewClientBuilder().WithScheme(scheme).WithObjects(older, younger).Build(),
		snapshot: engine.NewSnapshot(engine.BuiltinResources(), set),
	}
	denied, err := s.admitCertificate(t.Context(), older)
	require.NoError(t, err)
	require.Empty(t, denied)
	denied, err = s.admitCertificate(t.Context(), younger)
	require.NoError(t, err)
	require.Equal(t, `spec.certname: Certificate "z" has "web" at CertificateAuthority "main" already; take another, or delete that one`, denied)

	// A Config that is older than a rule is told, too.
	config := &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns", UID: "c"}}
	denied, err = s.admitConfig(t.Context(), config)
	require.NoError(t, err)
	require.Empty(t, denied)
	config.Spec.Puppet.ExtraConfig = &v1alpha1.ExtraConfig{Server: map[string]string{"autosign": "true"}}
	denied, err = s.admitConfig(t.Context(), config)
	require.NoError(t, err)
	require.Contains(t, denied, "this setting is rendered from")
}
