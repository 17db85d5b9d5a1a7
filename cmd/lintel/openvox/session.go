package openvox

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/cmd/lintel/cluster"
	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	"github.com/lintel-policy/lintel/controllers/openvox/puppet"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
	"github.com/lintel-policy/lintel/policies/rules/openvox/signing"
)

// requestTimeout is for one request to a CA: the list of one with many certificates takes long.
const requestTimeout = 2 * time.Minute

// options are the flags of all commands.
type options struct {
	connection cluster.Options
	namespace  string
	authority  string
	address    string
	// pause is confirmAfter.
	pause time.Duration
}

func (o *options) addFlags(cmd *cobra.Command) {
	o.connection.AddConnectionFlags(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&o.namespace, "namespace", "n", "", "`namespace` of the CertificateAuthority; that of the kubeconfig's context if empty")
	flags.StringVar(&o.authority, "ca", "", "`name` of the CertificateAuthority; may be left out where the namespace has one")
	flags.StringVar(&o.address, "address", "", "`host:port` at which the CA answers, in place of a port that is forwarded to its Pod, or of the URL of a CA that runs elsewhere")
	usage.CompleteFlagBy(cmd, "namespace", func(typed string) []string { return o.connection.CompleteNamespaces(typed) })
	usage.CompleteFlagBy(cmd, "ca", func(string) []string {
		namespace, err := o.namespaceOr()
		if err != nil {
			return nil
		}
		return o.connection.CompleteNamesIn(namespace, v1alpha1.SchemeGroupVersion.WithKind("CertificateAuthority"))
	})
}

func (o *options) namespaceOr() (string, error) {
	if o.namespace != "" {
		return o.namespace, nil
	}
	return o.connection.Namespace()
}

// session is a CA that can be asked, as the user of the kubeconfig.
type session struct {
	kube   client.Client
	ca     *v1alpha1.CertificateAuthority
	bundle []byte
	// admin administers the CA with the certificate of a Secret, which is own.
	admin *puppet.Client
	own   *x509.Certificate
	// certificates are the Certificates of the CA, by certname.
	certificates map[string]*v1alpha1.Certificate
	forwarded    *forward
	pause        time.Duration
}

// open reads from the cluster how the CA is administered, and connects to it.
func open(ctx context.Context, o options) (*session, error) {
	config, err := o.connection.Config()
	if err != nil {
		return nil, err
	}
	namespace, err := o.namespaceOr()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	s := &session{pause: o.pause}
	if s.kube, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	if s.ca, err = findAuthority(ctx, s.kube, namespace, o.authority); err != nil {
		return nil, err
	}
	if s.certificates, err = certificatesOf(ctx, s.kube, s.ca); err != nil {
		return nil, err
	}
	server, err := s.credentials(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case o.address != "":
		server.Dial = func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "tcp", o.address) }
	case s.ca.Spec.External == nil:
		if err := s.forward(ctx, config, &server); err != nil {
			return nil, err
		}
	}
	if s.admin, err = puppet.NewClient(server); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *session) close() {
	if s.admin != nil {
		s.admin.Close()
	}
	if s.forwarded != nil {
		s.forwarded.close()
	}
}

// findAuthority is the CertificateAuthority of a name, or the only one of the namespace.
func findAuthority(ctx context.Context, reader client.Reader, namespace, name string) (*v1alpha1.CertificateAuthority, error) {
	if name != "" {
		ca := &v1alpha1.CertificateAuthority{}
		if err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, ca); apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("there is no CertificateAuthority %s in namespace %s", name, namespace)
		} else if err != nil {
			return nil, fmt.Errorf("reading CertificateAuthority %s: %w", name, err)
		}
		return ca, nil
	}
	var list v1alpha1.CertificateAuthorityList
	if err := reader.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the CertificateAuthorities of namespace %s: %w", namespace, err)
	}
	var names []string
	for _, ca := range list.Items {
		names = append(names, ca.Name)
	}
	switch len(names) {
	case 0:
		return nil, fmt.Errorf("there is no CertificateAuthority in namespace %s; give its namespace with -n", namespace)
	case 1:
		return &list.Items[0], nil
	}
	return nil, fmt.Errorf("namespace %s has %d CertificateAuthorities; give one with --ca: %s", namespace, len(names), strings.Join(names, ", "))
}

// certificatesOf are the Certificates of a CA, by certname. Where two claim one, the older has it.
func certificatesOf(ctx context.Context, reader client.Reader, ca *v1alpha1.CertificateAuthority) (map[string]*v1alpha1.Certificate, error) {
	var list v1alpha1.CertificateList
	if err := reader.List(ctx, &list, client.InNamespace(ca.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the Certificates of namespace %s, whose certnames are protected: %w", ca.Namespace, err)
	}
	certificates := map[string]*v1alpha1.Certificate{}
	for i := range list.Items {
		certificate := &list.Items[i]
		if certificate.Spec.AuthorityRef != ca.Name {
			continue
		}
		had := certificates[certificate.Spec.Certname]
		if had == nil || certificate.CreationTimestamp.Before(&had.CreationTimestamp) {
			certificates[certificate.Spec.Certname] = certificate
		}
	}
	return certificates, nil
}

// credentials are the address of the CA and the certificate that administers it.
func (s *session) credentials(ctx context.Context) (puppet.Server, error) {
	var err error
	if s.bundle, err = s.value(ctx, layout.CASecret(s.ca), layout.CAFile); err != nil {
		return puppet.Server{}, fmt.Errorf("the CA's certificate: %w", err)
	}
	server := puppet.Server{CA: s.bundle, Quoted: true, Timeout: requestTimeout}
	if external := s.ca.Spec.External; external != nil {
		if external.TLSSecretRef == "" {
			return server, fmt.Errorf("the CertificateAuthority %s has no spec.external.tlsSecretRef, the Secret with the certificate that administers the CA; use puppetserver ca where the CA runs, or set the field", s.ca.Name)
		}
		server.URL = external.URL
		if server.Certificate, err = s.value(ctx, external.TLSSecretRef, corev1.TLSCertKey); err == nil {
			server.Key, err = s.value(ctx, external.TLSSecretRef, corev1.TLSPrivateKeyKey)
		}
		if err != nil {
			return server, fmt.Errorf("the certificate that administers the CA: %w", err)
		}
		pair, err := tls.X509KeyPair(server.Certificate, server.Key)
		if err != nil {
			return server, fmt.Errorf("the certificate that administers the CA, in Secret %s: %w", external.TLSSecretRef, err)
		}
		s.own = pair.Leaf
		return server, nil
	}
	server.URL = fmt.Sprintf("https://%s-internal.%s.svc:%s", s.ca.Name, s.ca.Namespace, strconv.Itoa(layout.Port))
	var problems []error
	for _, certificate := range []string{layout.SigningCertificate(s.ca.Name), layout.StandbyCertificate(s.ca.Name)} {
		pair, err := s.administrator(ctx, layout.TLSSecret(certificate))
		if err == nil {
			server.Certificate, server.Key = pair[layout.CertificateFile], pair[layout.KeyFile]
			return server, nil
		}
		problems = append(problems, err)
		if apierrors.IsForbidden(err) {
			break
		}
	}
	return server, fmt.Errorf("the certificate that administers the CA: %w; the conditions of CertificateAuthority %s say whether the CA is set up", errors.Join(problems...), s.ca.Name)
}

// administrator is the pair of a Secret by which a CA in the cluster is administered.
func (s *session) administrator(ctx context.Context, name string) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	if err := s.kube.Get(ctx, client.ObjectKey{Namespace: s.ca.Namespace, Name: name}, secret); err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	s.own = layout.StoredPair(secret.Data)
	switch {
	case s.own == nil:
		return nil, fmt.Errorf("the Secret %s holds no certificate with its key", name)
	case !layout.IssuedBy(s.own, s.bundle):
		return nil, fmt.Errorf("the certificate of Secret %s is of another CA", name)
	case time.Now().After(s.own.NotAfter):
		return nil, fmt.Errorf("the certificate of Secret %s has expired", name)
	}
	return secret.Data, nil
}

func (s *session) value(ctx context.Context, name, key string) ([]byte, error) {
	secret := &corev1.Secret{}
	if err := s.kube.Get(ctx, client.ObjectKey{Namespace: s.ca.Namespace, Name: name}, secret); err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	value := secret.Data[key]
	if len(value) == 0 {
		return nil, fmt.Errorf("the Secret %s has no key %q", name, key)
	}
	return value, nil
}

// policies are those that the CA's autosign hook reads.
func (s *session) policies(ctx context.Context) (signing.Rendered, error) {
	configs, err := layout.ConfigsIn(ctx, s.kube, s.ca.Namespace)
	if err != nil {
		return signing.Rendered{}, err
	}
	servers, err := layout.ServersIn(ctx, s.kube, s.ca.Namespace)
	if err != nil {
		return signing.Rendered{}, err
	}
	if replacing := rules.AutosignConfigs(s.ca.Name, configs, servers); len(replacing) > 0 {
		return signing.Rendered{}, fmt.Errorf("the Config %s has spec.puppet.autosignCommand, which decides in place of the SigningPolicies", replacing[0])
	}
	name := layout.AutosignSecret(s.ca.Name)
	text, err := s.value(ctx, name, layout.PolicyFile)
	if err != nil {
		return signing.Rendered{}, fmt.Errorf("the signing policies: %w", err)
	}
	rendered, err := signing.Read(text)
	if err != nil {
		return signing.Rendered{}, fmt.Errorf("the signing policies: Secret %s: %w", name, err)
	}
	return rendered, nil
}

// forward has the server of a CA in the cluster reached through the API server.
func (s *session) forward(ctx context.Context, config *rest.Config, server *puppet.Server) error {
	s.forwarded = newForward(config, s.pod, layout.Port)
	if _, err := s.forwarded.connected(ctx); err != nil {
		return err
	}
	server.Dial = s.forwarded.dial
	return nil
}

// pod is the Pod of the CA's server: a ready one that belongs to a Server of the CA, and of several
// the oldest. Labels are not sufficient: any user who creates Pods can set them.
func (s *session) pod(ctx context.Context) (client.ObjectKey, error) {
	var list corev1.PodList
	labels := client.MatchingLabels{layout.CALabel: s.ca.Name, layout.CAServerLabel: "true"}
	if err := s.kube.List(ctx, &list, client.InNamespace(s.ca.Namespace), labels); err != nil {
		return client.ObjectKey{}, fmt.Errorf("looking for the CA's Pod: %w", err)
	}
	servers, err := s.servers(ctx)
	unknown := apierrors.IsForbidden(err) // of Servers or Configs, without which only the labels are left
	if err != nil && !unknown {
		return client.ObjectKey{}, err
	}
	state := "there is no Pod with these labels"
	var ready []*corev1.Pod
	for i := range list.Items {
		pod := &list.Items[i]
		owned := unknown
		if !unknown {
			if owned, err = s.ownedByServer(ctx, pod, servers); err != nil {
				return client.ObjectKey{}, err
			}
		}
		switch {
		case !owned:
			state = fmt.Sprintf("Pod %s belongs to no Server with spec.ca of this CertificateAuthority", pod.Name)
		case !isReady(pod) || !pod.DeletionTimestamp.IsZero():
			state = fmt.Sprintf("Pod %s is %s and not ready", pod.Name, cmp.Or(string(pod.Status.Phase), "unknown"))
		default:
			ready = append(ready, pod)
		}
	}
	if len(ready) == 0 {
		return client.ObjectKey{}, fmt.Errorf("the server of CertificateAuthority %s does not run: %s (kubectl get pods -n %s -l %s=%s,%s=true)",
			s.ca.Name, state, s.ca.Namespace, layout.CALabel, s.ca.Name, layout.CAServerLabel)
	}
	oldest := slices.MinFunc(ready, func(a, b *corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return client.ObjectKeyFromObject(oldest), nil
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
