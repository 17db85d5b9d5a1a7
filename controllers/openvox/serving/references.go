package serving

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

// unrendered is an error that a user has to fix in the object or in one that it refers to. All
// other errors are transient, and the status does not report them.
type unrendered struct{ message string }

// Error is the message.
func (u *unrendered) Error() string { return u.message }

// The files of servers, which any endpoint may be shown.
var serverSSL = endpoints.SSL{
	CertFile: "/etc/puppetlabs/puppet/ssl/certs/puppet.pem",
	KeyFile:  "/etc/puppetlabs/puppet/ssl/private_keys/puppet.pem",
	CAFile:   "/etc/puppetlabs/puppet/ssl/certs/ca.pem",
}

// secrets reads Secrets that Lintel does not manage, from the cache and at the API server.
type secrets struct {
	client client.Reader
	live   client.Reader
}

// references reads what the objects of a namespace name, at the API server.
type references struct {
	secrets   secrets
	namespace string
}

// secretValue returns a value of a Secret without the end of its line, which files have: "" if
// there is none.
func (r references) secretValue(ctx context.Context, name, key string) (*corev1.Secret, string, error) {
	secret, err := layout.ReadSecret(ctx, r.secrets.live, r.namespace, name)
	if err != nil || secret == nil {
		return nil, "", err
	}
	return secret, strings.TrimRight(string(secret.Data[key]), "\r\n"), nil
}

// noValue is the error about a value of a Secret that cannot be used.
func noValue(field, name, key, needs string) error {
	return &unrendered{fmt.Sprintf("%s: %v", field, layout.NoSecretValue(name, key, needs))}
}

// credential returns a value that is sent to an endpoint. It rejects the keys of CAs and
// certificates: a user who sets the endpoint need not have permission to read them.
func (r references) credential(ctx context.Context, field, name, key string) (string, error) {
	secret, value, err := r.secretValue(ctx, name, key)
	if err != nil {
		return "", err
	}
	what := ""
	if secret != nil {
		if what, err = layout.KeyIn(ctx, r.secrets.client, secret); err != nil {
			return "", err
		}
	}
	if what != "" || value == "" {
		return "", noValue(field, name, key, layout.OfItsOwn)
	}
	return value, nil
}

// authorities returns the CA certificates of a Secret and nothing else: they are mounted into
// Pods in which the user who names the Secret may run any code.
func (r references) authorities(ctx context.Context, field, name, key string) ([]byte, error) {
	_, text, err := r.secretValue(ctx, name, key)
	if err != nil {
		return nil, err
	}
	var out []byte
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, noValue(field, name, key, layout.CertificatesOnly)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil, noValue(field, name, key, layout.CertificatesOnly)
		}
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
	}
	if out == nil {
		return nil, noValue(field, name, key, layout.CertificatesOnly)
	}
	return out, nil
}

func (r references) configMapValue(ctx context.Context, field, name, key string) (string, error) {
	have := &corev1.ConfigMap{}
	err := r.secrets.live.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, have)
	if apierrors.IsNotFound(err) {
		return "", &unrendered{fmt.Sprintf("%s: there is no ConfigMap %s", field, name)}
	}
	if err != nil {
		return "", fmt.Errorf("reading ConfigMap %s: %w", name, err)
	}
	value := strings.TrimRight(have.Data[key], "\r\n")
	if value == "" {
		return "", &unrendered{fmt.Sprintf("%s: the ConfigMap %s has no key %q", field, name, key)}
	}
	return value, nil
}

// endpoint is what NodeClassifiers and ReportProcessors have in common.
func (r references) endpoint(ctx context.Context, url string, timeoutSeconds int32, auth *v1alpha1.HTTPAuth, tls *v1alpha1.EndpointTLS) (endpoints.Endpoint, error) {
	out := endpoints.Endpoint{URL: url, TimeoutSeconds: timeoutSeconds, SSL: serverSSL}
	if tls != nil && tls.CASecretRef != nil {
		ca, err := r.authorities(ctx, "spec.tls.caSecretRef", tls.CASecretRef.Name, tls.CASecretRef.Key)
		if err != nil {
			return out, err
		}
		out.SSL.CA = strings.TrimSpace(string(ca))
	}
	if auth == nil {
		return out, nil
	}
	var err error
	out.Auth, err = r.auth(ctx, auth)
	return out, err
}

func (r references) auth(ctx context.Context, auth *v1alpha1.HTTPAuth) (*endpoints.Auth, error) {
	var err error
	out := &endpoints.Auth{}
	switch {
	case auth.MTLS:
		out.Type = endpoints.AuthMTLS
	case auth.Token != nil:
		out.Type, out.Header = endpoints.AuthToken, auth.Token.Header
		out.Token, err = r.credential(ctx, "spec.auth.token.secretKeyRef", auth.Token.SecretKeyRef.Name, auth.Token.SecretKeyRef.Key)
	case auth.Bearer != nil:
		out.Type = endpoints.AuthBearer
		out.Token, err = r.credential(ctx, "spec.auth.bearer.secretKeyRef", auth.Bearer.SecretKeyRef.Name, auth.Bearer.SecretKeyRef.Key)
	case auth.Basic != nil:
		ref := auth.Basic.SecretRef
		out.Type = endpoints.AuthBasic
		if out.Username, err = r.credential(ctx, "spec.auth.basic.secretRef", ref.Name, ref.UsernameKey); err == nil {
			out.Password, err = r.credential(ctx, "spec.auth.basic.secretRef", ref.Name, ref.PasswordKey)
		}
	default:
		return nil, nil
	}
	return out, err
}

// admitted is an *unrendered where the rules refuse an object that was stored before.
func admitted(ctx context.Context, admit builtin.Admitter, object builtin.Object) error {
	answer, err := admit(ctx, object)
	if err != nil {
		return err
	}
	if answer.Denied() {
		return &unrendered{answer.Message()}
	}
	return nil
}

// secretsOf are the Secrets that an endpoint names.
func secretsOf(auth *v1alpha1.HTTPAuth, tls *v1alpha1.EndpointTLS) (names []string) {
	if tls != nil && tls.CASecretRef != nil {
		names = append(names, tls.CASecretRef.Name)
	}
	switch {
	case auth == nil:
	case auth.Token != nil:
		names = append(names, auth.Token.SecretKeyRef.Name)
	case auth.Bearer != nil:
		names = append(names, auth.Bearer.SecretKeyRef.Name)
	case auth.Basic != nil:
		names = append(names, auth.Basic.SecretRef.Name)
	}
	return names
}
