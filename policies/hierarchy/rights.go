package hierarchy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/policies/admission"
)

// This file lists the kinds that carry rights. The API server authorizes a write by the
// user who requests it and then stores what webhooks make of the object: a policy that
// mutates such an object acts with the rights of that user. Policies of scopes below the
// enterprise mutate these kinds only by grant.
//
// Kinds of workloads are not listed: docs/concepts/security-model.md gives the reason and the limit.

// rightsGroups are the API groups all kinds of which carry rights, Lintel's own and those
// of other policy engines included.
var rightsGroups = []string{
	"admissionregistration.k8s.io",
	"authentication.k8s.io",
	"authorization.k8s.io",
	"authorization.openshift.io",
	"certificates.k8s.io",
	"kyverno.io",
	"policies.kyverno.io",
	"policy.lintel.dev",
	"rbac.authorization.k8s.io",
}

// identityGroups is how the names of groups begin whose kinds are roles and permissions at
// a cloud provider, such as iam.services.k8s.aws and iam.cnrm.cloud.google.com.
const identityGroups = "iam."

// otherRightsKinds are the kinds of other groups that carry rights.
var otherRightsKinds = []admission.GroupVersionKind{
	// Identities: keys, tokens, image pull secrets, roles at a cloud provider.
	{Kind: "Secret"},
	{Kind: "ServiceAccount"},
	// The limits of a namespace.
	{Kind: "LimitRange"},
	{Kind: "ResourceQuota"},
	// Decisions of controllers, which the roles edit and admin of Kubernetes do not permit:
	// the node of a Pod, and the addresses behind a Service.
	{Kind: "Binding"},
	{Kind: "Endpoints"},
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"},
	// What the systems of Lintel decide by.
	{Group: "openclaw.enterprise.io", Kind: "PolicyBundle"},
	{Group: "openvox.voxpupuli.org", Kind: "CertificateAuthority"},
	{Group: "openvox.voxpupuli.org", Kind: "SigningPolicy"},
	{Group: "openzro.io", Kind: "OZPolicy"},
	{Group: "openzro.io", Kind: "OZSetupKey"},
	{Group: "orloj.dev", Kind: "AgentPolicy"},
	{Group: "orloj.dev", Kind: "Secret"},
}

// anything stands for any group or kind in the match of a policy.
const anything = "*"

// CarriesRights reports whether objects of a kind, in any version, grant permissions.
func CarriesRights(kind admission.GroupVersionKind) bool {
	return isRightsGroup(kind.Group) || slices.Contains(otherRightsKinds, kind.WithoutVersion())
}

func isRightsGroup(group string) bool {
	return slices.Contains(rightsGroups, group) || strings.HasPrefix(group, identityGroups)
}

// MayMutate reports whether policies of a scope below the enterprise may mutate objects of
// a kind: nil, or why not.
func (g Grants) MayMutate(kind admission.GroupVersionKind) error {
	if !CarriesRights(kind) || containsKind(g.Mutates, kind) {
		return nil
	}
	return fmt.Errorf("mutates %s, which carries rights: a scope below the enterprise may do so only where every scope above grants it (spec.scope.grants.mutates of their PolicySources)", kind.WithoutVersion())
}

// MatchesRightsKind reports whether the kinds of a match name a kind that carries rights: by its
// kind, or by a group of which all kinds do. Other wildcards leave such kinds out.
func MatchesRightsKind(kinds []admission.GroupVersionKind, kind admission.GroupVersionKind) bool {
	return CarriesRights(kind) && slices.ContainsFunc(kinds, func(named admission.GroupVersionKind) bool {
		switch {
		case named.Kind == anything:
			return named.Group == kind.Group && isRightsGroup(kind.Group)
		case named.Group == anything:
			return named.Kind == kind.Kind
		default:
			return named.WithoutVersion() == kind.WithoutVersion()
		}
	})
}

// RightsKinds lists the kinds that carry rights and that the kinds of a match name: those
// written out, and of the others those that the cluster serves in namespaces.
func RightsKinds(kinds []admission.GroupVersionKind, resources *admission.Resources) (named []admission.GroupVersionKind) {
	add := func(kind admission.GroupVersionKind) {
		if kind = kind.WithoutVersion(); MatchesRightsKind(kinds, kind) && !slices.Contains(named, kind) {
			named = append(named, kind)
		}
	}
	for _, kind := range kinds {
		if kind.Group != anything && kind.Kind != anything {
			add(kind)
		}
	}
	for _, resource := range resources.All() {
		if resource.Namespaced {
			add(admission.GroupVersionKind{Group: resource.Group, Kind: resource.Kind})
		}
	}
	return named
}
