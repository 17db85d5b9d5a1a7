package openvox

import (
	"fmt"
	"net/url"

	"github.com/lintel-policy/lintel/controllers/openvox/layout"
)

// protects is why a certname is not changed without --force: "" where no object protects it.
func (s *session) protects(name string) string {
	if certificate := s.certificates[name]; certificate != nil {
		return fmt.Sprintf("the certname belongs to Certificate %s; %s (--force acts at the CA all the same)", certificate.Name, s.instead(name))
	}
	if s.ca.Spec.External != nil {
		if server, err := url.Parse(s.ca.Spec.External.URL); err == nil && server.Hostname() == name {
			return "it is the name of the CA's own server, in spec.external.url; --force acts all the same"
		}
	}
	return ""
}

// instead is what to do about the certificate of a Certificate.
func (s *session) instead(name string) string {
	certificate := s.certificates[name]
	if certificate == nil {
		return "replace the Secret that spec.external.tlsSecretRef names first"
	}
	return fmt.Sprintf("kubectl delete certificates.openvox.voxpupuli.org %s -n %s revokes it, and kubectl delete secret %s -n %s replaces it",
		certificate.Name, s.ca.Namespace, layout.TLSSecret(certificate.Name), s.ca.Namespace)
}
