package openvox

import (
	"fmt"
	"net/url"
	"slices"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/policies/rules/openvox/signing"
)

// SecretValue reads a key of a Secret in the namespace of the policies. The error names the
// missing Secret or key.
type SecretValue func(name, key string) (string, error)

// The rendered data is in one Secret of 1 MiB. Names of Certificates have one part of it, and
// policies another, so that neither keeps the other out of force: entries beyond the limit are
// omitted, the newest first. The rule of Certificates has the same number.
const (
	namesRoom    = 256 << 10
	policiesRoom = 640 << 10
)

// Render makes of the policies of a CertificateAuthority what decides about requests to
// it. Policies and certificates of others are left out. A policy whose Secret cannot be
// read signs nothing, and says why; the others are not concerned.
func Render(ca *v1alpha1.CertificateAuthority, policies []v1alpha1.SigningPolicy, certificates []v1alpha1.Certificate, secret SecretValue) signing.Rendered {
	rendered := signing.Rendered{Policies: []signing.Policy{}, Reserved: reserved(ca, certificates)}
	var of []*v1alpha1.SigningPolicy
	for i := range policies {
		policy := &policies[i]
		if policy.Spec.CertificateAuthorityRef == ca.Name && policy.Namespace == ca.Namespace && policy.DeletionTimestamp.IsZero() {
			of = append(of, policy)
			rendered.Policies = append(rendered.Policies, renderPolicy(policy, secret))
		}
	}
	bound(of, rendered.Policies)
	return rendered
}

// bound disables policies that do not fit into their part next to older ones.
func bound(policies []*v1alpha1.SigningPolicy, rendered []signing.Policy) {
	order := make([]int, len(policies))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if Older(policies[a], policies[b]) {
			return -1
		}
		return 1
	})
	room := policiesRoom
	for _, i := range order {
		text, err := signing.Rendered{Policies: rendered[i : i+1]}.Write()
		if err == nil && len(text) <= room {
			room -= len(text)
			continue
		}
		rendered[i] = signing.Policy{Name: rendered[i].Name, Error: fmt.Sprintf("it takes up %d bytes, and the policies of the CertificateAuthority that are older leave %d; shorten or delete some", len(text), room)}
	}
}

// SizesOf are the sizes of a SigningPolicy and of the others at its CertificateAuthority. former is
// nil if the policy is created.
func SizesOf(policy, former *v1alpha1.SigningPolicy, all []v1alpha1.SigningPolicy) (sizes PolicySizes) {
	sizes.Bytes = policyBytes(policy)
	if former != nil && former.Spec.CertificateAuthorityRef == policy.Spec.CertificateAuthorityRef {
		sizes.FormerBytes = policyBytes(former)
	}
	for i := range all {
		if other := &all[i]; other.Name != policy.Name && other.DeletionTimestamp.IsZero() && other.Spec.CertificateAuthorityRef == policy.Spec.CertificateAuthorityRef {
			sizes.OtherBytes += policyBytes(other)
		}
	}
	return sizes
}

func policyBytes(policy *v1alpha1.SigningPolicy) int {
	rendered := renderPolicy(policy, func(string, string) (string, error) { return "-", nil })
	text, err := signing.Rendered{Policies: []signing.Policy{rendered}}.Write()
	if err != nil {
		return 0 // the controller reports it
	}
	return len(text)
}

func renderPolicy(policy *v1alpha1.SigningPolicy, secret SecretValue) signing.Policy {
	out := signing.Policy{Name: policy.Name}
	if policy.Spec.Any {
		out.Any = true
		return out
	}
	out.Pattern, out.DNSAltNames = allow(policy.Spec.Pattern), allow(policy.Spec.DNSAltNames)
	for _, attribute := range policy.Spec.CSRAttributes {
		value, err := valueOf(attribute, secret)
		if err != nil {
			return signing.Policy{Name: policy.Name, Error: err.Error()}
		}
		out.CSRAttributes = append(out.CSRAttributes, signing.Attribute{Name: attribute.Name, Value: value})
	}
	return out
}

func allow(list *v1alpha1.AllowList) *signing.Allow {
	if list == nil {
		return nil
	}
	return &signing.Allow{Allow: append([]string{}, list.Allow...)}
}

func valueOf(attribute v1alpha1.CSRAttribute, secret SecretValue) (string, error) {
	switch {
	case attribute.Value != nil && attribute.ValueFrom == nil:
		return *attribute.Value, nil
	case attribute.ValueFrom != nil && attribute.Value == nil:
		ref := attribute.ValueFrom.SecretKeyRef
		value, err := secret(ref.Name, ref.Key)
		if err != nil {
			return "", fmt.Errorf("the value of %s: %w", attribute.Name, err)
		}
		if value == "" {
			return "", fmt.Errorf("the value of %s: key %q of Secret %s is empty", attribute.Name, ref.Key, ref.Name)
		}
		return value, nil
	}
	return "", fmt.Errorf("the value of %s: give exactly one of value and valueFrom", attribute.Name)
}

// OperatorCertname is by what the operator signs at a CA.
func OperatorCertname(ca string) string { return ca + "-operator" }

// StandbyCertname is the certname with which the operator signs at a CA if it cannot use
// OperatorCertname. It is below that name, where all names are reserved.
func StandbyCertname(ca string) string { return "standby." + OperatorCertname(ca) }

// SetupCertname is by what the operator signs where its own certificates are lost.
func SetupCertname(ca string) string { return ca + "-setup" }

// ServerCertificate is the name of the Certificate of a CA's own server: empty for an
// external CA.
func ServerCertificate(ca *v1alpha1.CertificateAuthority) string {
	switch {
	case ca.Spec.External != nil:
		return ""
	case ca.Spec.ServerCertificateRef != "":
		return ca.Spec.ServerCertificateRef
	case ca.Status.ServerCertificateName != "":
		return ca.Status.ServerCertificateName
	}
	return OwnServerCertificate(ca.Name)
}

// OwnServerCertificate is the name of the Certificate that is created for the server of a CA in
// the cluster if no object names one, derived from the CA's name.
func OwnServerCertificate(ca string) string { return ca + "-server" }

// reserved are the names that no request from elsewhere gets: a CA trusts some of them
// as administrators, and agents trust others as servers.
func reserved(ca *v1alpha1.CertificateAuthority, certificates []v1alpha1.Certificate) []string {
	operator := OperatorCertname(ca.Name)
	names := []string{operator, "." + operator}
	if ca.Spec.External == nil {
		service := ca.Name + "-internal"
		names = append(names, service, service+"."+ca.Namespace+".svc", SetupCertname(ca.Name))
	} else if server, err := url.Parse(ca.Spec.External.URL); err == nil && server.Hostname() != "" {
		names = append(names, server.Hostname())
	}
	var of []*v1alpha1.Certificate
	room := namesRoom
	for i := range certificates {
		if certificate := &certificates[i]; certificate.Spec.AuthorityRef == ca.Name && certificate.Namespace == ca.Namespace {
			of = append(of, certificate)
			room -= namesBytes(certificate)
		}
	}
	if room < 0 { // some are stored from before there was a bound, and are not admitted
		slices.SortFunc(of, func(a, b *v1alpha1.Certificate) int {
			if Older(a, b) {
				return -1
			}
			return 1
		})
		room = namesRoom
		for i, certificate := range of {
			if room -= namesBytes(certificate); room < 0 {
				of = of[:i]
				break
			}
		}
	}
	for _, certificate := range of {
		names = append(names, certificate.Spec.Certname)
		names = append(names, certificate.Spec.DNSAltNames...)
	}
	return names
}
