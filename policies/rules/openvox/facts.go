package openvox

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/policies/csr"
	"github.com/lintel-policy/lintel/policies/rules/openvox/signing"
)

// SignerPrefix begins the signerName of a CertificateSigningRequest to a
// CertificateAuthority; <namespace>.<name> follows.
const SignerPrefix = "certificateauthorities.openvox.voxpupuli.org/"

// ParseSigner is the CertificateAuthority that a signerName names.
func ParseSigner(signer string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(signer, SignerPrefix)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ".")
	return namespace, name, ok && namespace != "" && name != ""
}

// RequestFacts are what the rules read as input.facts about a request for a certificate.
type RequestFacts struct {
	// Authority says whether the CertificateAuthority exists.
	Authority bool `json:"authority"`
	// MayReference says whether the requester may name the signer.
	MayReference bool `json:"mayReference"`
	signing.Rendered
}

// PolicyFacts are what the rules read as input.facts about a SigningPolicy.
type PolicyFacts struct {
	// OIDs are by the names of extensions and attributes that there are.
	OIDs map[string]string `json:"oids"`
}

// SigningPolicyFacts are what the rules read as input.facts about a SigningPolicy that is to be
// stored.
type SigningPolicyFacts struct {
	PolicyFacts
	// AutosignConfigs are the Configs of the server of its CertificateAuthority with a program of
	// their own in place of SigningPolicies.
	AutosignConfigs []string `json:"autosignConfigs"`
	PolicySizes
}

// PolicySizes are how many bytes SigningPolicies of one CertificateAuthority take up where they are
// rendered, at least: the values of Secrets are not counted.
type PolicySizes struct {
	// Bytes are those of the policy, and FormerBytes those that it took up before.
	Bytes       int `json:"bytes"`
	FormerBytes int `json:"formerBytes"`
	// OtherBytes are those of the other policies.
	OtherBytes int `json:"otherBytes"`
}

// ConfigFacts are what the rules read as input.facts about a Config.
type ConfigFacts struct {
	// SigningPolicies are those of the CertificateAuthority of a Config that has a program in
	// place of them.
	SigningPolicies []string `json:"signingPolicies,omitempty"`
	// Unreadable are objects that Servers of a Config read by programs that the request changes, and
	// that the requester may neither read nor have in a Pod.
	Unreadable []UnreadableObject `json:"unreadable,omitempty"`
}

// UnreadableObject is an object that a Server adds to its Pods.
type UnreadableObject struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Server string `json:"server"`
}

// AutosignConfigs are the Configs of a CertificateAuthority with a program of their own in place
// of SigningPolicies. Only those of its own server count: no other server signs.
func AutosignConfigs(ca string, configs []v1alpha1.Config, servers []v1alpha1.Server) (names []string) {
	for i := range configs {
		config := &configs[i]
		if config.Spec.AuthorityRef != ca || config.Spec.Puppet.AutosignCommand == "" || !config.DeletionTimestamp.IsZero() {
			continue
		}
		if slices.ContainsFunc(servers, func(s v1alpha1.Server) bool {
			return s.Spec.CA && s.Spec.ConfigRef == config.Name && s.DeletionTimestamp.IsZero()
		}) {
			names = append(names, config.Name)
		}
	}
	slices.Sort(names)
	return names
}

// KnownNames are the same facts for all.
func KnownNames() PolicyFacts { return PolicyFacts{OIDs: csr.OIDsByName()} }

// CertificateFacts are what the rules read as input.facts about a Certificate.
type CertificateFacts struct {
	PolicyFacts
	// ClaimedBy are other Certificates with its certname at its CertificateAuthority.
	ClaimedBy []string `json:"claimedBy"`
	// OtherNames is how many bytes the names of other Certificates at its CertificateAuthority
	// take up where they are rendered.
	OtherNames int `json:"otherNames"`
	// OfServer says whether it is that of the CA's own server: nil where the
	// CertificateAuthority is not known yet.
	OfServer *bool `json:"ofServer,omitempty"`
}

// At adds what the CertificateAuthority of a Certificate says of it.
func (f CertificateFacts) At(ca *v1alpha1.CertificateAuthority, certificate *v1alpha1.Certificate) CertificateFacts {
	f.OfServer = new(ServerCertificate(ca) == certificate.Name)
	return f
}

// AuthorityFacts are what the rules read as input.facts about a CertificateAuthority.
type AuthorityFacts struct {
	// IntermediateFor is whom the Secret of spec.intermediateCA is marked for: nil where
	// there is no such Secret yet.
	IntermediateFor *string `json:"intermediateFor,omitempty"`
}

// IntermediateAnnotation marks a Secret for the CertificateAuthority that it names. A user who
// may write a CertificateAuthority need not have permission to read the Secret.
const IntermediateAnnotation = v1alpha1.GroupName + "/intermediate-ca"

// Claims are the facts about a Certificate that is to be stored, among all of its
// namespace.
func Claims(certificate *v1alpha1.Certificate, all []v1alpha1.Certificate) CertificateFacts {
	facts := CertificateFacts{PolicyFacts: KnownNames(), ClaimedBy: []string{}}
	for i := range all {
		other := &all[i]
		if other.Name == certificate.Name || !other.DeletionTimestamp.IsZero() || other.Spec.AuthorityRef != certificate.Spec.AuthorityRef {
			continue
		}
		facts.OtherNames += namesBytes(other)
		if other.Spec.Certname == certificate.Spec.Certname {
			facts.ClaimedBy = append(facts.ClaimedBy, other.Name)
		}
	}
	slices.Sort(facts.ClaimedBy)
	return facts
}

// namesBytes is how much room the names of a Certificate take up: each with a line of its own.
func namesBytes(certificate *v1alpha1.Certificate) (n int) {
	const line = len("- \n")
	for _, name := range append([]string{certificate.Spec.Certname}, certificate.Spec.DNSAltNames...) {
		n += len(name) + line
	}
	return n
}

// OlderClaims are the facts about a stored Certificate: of two that were created at the same
// time, the older one keeps the certname.
func OlderClaims(certificate *v1alpha1.Certificate, all []v1alpha1.Certificate) CertificateFacts {
	var before []v1alpha1.Certificate
	for i := range all {
		if Older(&all[i], certificate) {
			before = append(before, all[i])
		}
	}
	return Claims(certificate, before)
}

// ServerFacts are what the rules read as input.facts about a Server.
type ServerFacts struct {
	// OtherCAServers are other Servers of the CertificateAuthority with the role of its CA: empty
	// for a Server without that role.
	OtherCAServers []string `json:"otherCAServers"`
	// ProtectedSecrets are the Secrets that it names and that no Server may have: what each is,
	// as the predicate of a sentence. One that may be had has no entry.
	ProtectedSecrets map[string]string `json:"protectedSecrets,omitempty"`
	// Unreadable are those whose use the request changes and that the requester may neither
	// read nor have in a Pod.
	Unreadable
	// AuthorityClaims are the claims that it names and that are volumes of CAs.
	AuthorityClaims []string `json:"authorityClaims,omitempty"`
}

// CAServers are the facts about a Server with ca, among those of its namespace that count.
func CAServers(server *v1alpha1.Server, servers []v1alpha1.Server, configs []v1alpha1.Config, counts func(other, of *v1alpha1.Server) bool) ServerFacts {
	facts, authorities := ServerFacts{OtherCAServers: []string{}}, map[string]string{}
	for i := range configs {
		authorities[configs[i].Name] = configs[i].Spec.AuthorityRef
	}
	ca := authorities[server.Spec.ConfigRef]
	for i := range servers {
		if other := &servers[i]; ca != "" && other.Spec.CA && other.DeletionTimestamp.IsZero() && authorities[other.Spec.ConfigRef] == ca && counts(other, server) {
			facts.OtherCAServers = append(facts.OtherCAServers, other.Name)
		}
	}
	slices.Sort(facts.OtherCAServers)
	return facts
}

// Older orders objects by their creation time, and then by their names.
func Older[T metav1.Object](a, b T) bool {
	at, its := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	return at.Before(&its) || at.Equal(&its) && a.GetName() < b.GetName()
}

// PoolFacts are what the rules read as input.facts about a Pool.
type PoolFacts struct {
	// HostTakenBy is another Pool with its host name: empty where there is none.
	HostTakenBy string `json:"hostTakenBy"`
}

// HostTaken is another Pool of the namespace with the host name of a Pool: empty where there
// is none. The first by name is named.
func HostTaken(pool *v1alpha1.Pool, all []v1alpha1.Pool) (by string) {
	for i := range all {
		if other := &all[i]; other.Name != pool.Name && sameHost(pool, other) && (by == "" || other.Name < by) {
			by = other.Name
		}
	}
	return by
}

// OlderHost is a Pool that has had the host name of another before: empty where there is none.
func OlderHost(pool *v1alpha1.Pool, all []v1alpha1.Pool) (by string) {
	var before []v1alpha1.Pool
	for i := range all {
		if Older(&all[i], pool) {
			before = append(before, all[i])
		}
	}
	return HostTaken(pool, before)
}

func sameHost(a, b *v1alpha1.Pool) bool {
	on := func(p *v1alpha1.Pool) bool {
		return p.Spec.Route != nil && p.Spec.Route.Enabled && p.DeletionTimestamp.IsZero()
	}
	return on(a) && on(b) && strings.EqualFold(a.Spec.Route.Hostname, b.Spec.Route.Hostname)
}
