package openvoxtest

import (
	"testing"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// NewClient is of an API server that holds objects.
func NewClient(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	return NewClientWith(t, nil, objects...)
}

// NewClientWith is of an API server that has further kinds.
func NewClientWith(t *testing.T, kinds []schema.GroupVersionKind, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	// Not all of clientgoscheme: the client goes through the scheme at each write.
	for _, add := range []func(*runtime.Scheme) error{
		v1alpha1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, certificatesv1.AddToScheme,
		discoveryv1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme, cmapi.AddToScheme,
	} {
		require.NoError(t, add(scheme))
	}
	var versions []schema.GroupVersion
	for _, kind := range kinds {
		versions = append(versions, kind.GroupVersion())
	}
	mapper := meta.NewDefaultRESTMapper(versions)
	for _, kind := range kinds {
		mapper.Add(kind, meta.RESTScopeNamespace)
		scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &unstructured.UnstructuredList{})
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.Certificate{}, &v1alpha1.CertificateAuthority{}, &v1alpha1.SigningPolicy{}, &v1alpha1.Config{}, &v1alpha1.Server{}, &v1alpha1.Pool{}, &v1alpha1.NodeClassifier{}, &v1alpha1.ReportProcessor{}, &v1alpha1.Database{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, &cmapi.CertificateRequest{}).Build()
}
