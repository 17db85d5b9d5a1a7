package openvoxtest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

// Main is the request to look at CertificateAuthority main.
var Main = reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "main"}}

// MakeSecret is a Secret by its name.
func MakeSecret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}, Data: data}
}

// MakeCA is a CertificateAuthority in the cluster.
func MakeCA(name string) *v1alpha1.CertificateAuthority {
	return &v1alpha1.CertificateAuthority{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: "ca", Generation: 1},
		Spec:       v1alpha1.CertificateAuthoritySpec{TTL: "5y", Storage: v1alpha1.StorageSpec{Size: resource.MustParse("1Gi")}},
	}
}

// MakeExternalCA is CertificateAuthority main, which runs elsewhere.
func MakeExternalCA(url string) *v1alpha1.CertificateAuthority {
	return &v1alpha1.CertificateAuthority{
		ObjectMeta: metav1.ObjectMeta{Name: "main", Namespace: "ns", UID: "ca", Generation: 1},
		Spec:       v1alpha1.CertificateAuthoritySpec{CRLRefreshInterval: "1m", External: &v1alpha1.ExternalCA{URL: url}},
	}
}

// MakeConfig is Config c of a CertificateAuthority: of none where that is "".
func MakeConfig(ca string) *v1alpha1.Config {
	return &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns"}, Spec: v1alpha1.ConfigSpec{AuthorityRef: ca, Image: v1alpha1.ImageSpec{Repository: "r", Tag: "1"}}}
}

// Verdict denies with these words: it permits where there are none.
func Verdict(words string) builtin.Verdict {
	if words == "" {
		return builtin.Verdict{}
	}
	return builtin.Verdict{Denials: []string{words}}
}

// MakeServer is a Server of Config c, with Certificate web, that is in Pool puppet.
func MakeServer(name string) *v1alpha1.Server {
	return &v1alpha1.Server{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name), Generation: 1},
		Spec:       v1alpha1.ServerSpec{ConfigRef: "c", CertificateRef: "web", Replicas: new(int32(2)), MaxActiveInstances: 1, PoolRefs: []string{"puppet"}},
	}
}

// MakeCAServer is the Server ca that is the CA's, with Certificate main-server.
func MakeCAServer() *v1alpha1.Server {
	server := MakeServer("ca")
	server.Spec.CA, server.Spec.Replicas, server.Spec.CertificateRef = true, new(int32(1)), "main-server"
	return server
}

// MakePool is a Pool by its name.
func MakePool(name string) *v1alpha1.Pool {
	return &v1alpha1.Pool{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name), Generation: 1}}
}

// MakeRoutedPool is a Pool with a host name, created at a second since 1970.
func MakeRoutedPool(name, host string, second int64) *v1alpha1.Pool {
	pool := MakePool(name)
	pool.CreationTimestamp = metav1.Unix(second, 0)
	pool.Spec.Route = &v1alpha1.PoolRouteSpec{Enabled: true, Hostname: host, GatewayRef: &v1alpha1.GatewayRef{Name: "shared", Namespace: "gateways", SectionName: "tls"}}
	return pool
}
