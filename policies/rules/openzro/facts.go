package openzro

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/lintel-policy/lintel/api/openzro/v1"
)

// Facts are the facts about an object that Go collects for the rules, which read them as
// input.facts.
type Facts struct {
	// Taken is another object of the namespace with the same name at the server.
	Taken *Reference `json:"taken,omitempty"`
	// PodTemplates is whether the namespace has a grant for any podTemplate.
	PodTemplates bool `json:"podTemplates"`
	// SidecarProfiles is whether the namespace has a grant for OZSidecarProfiles.
	SidecarProfiles bool `json:"sidecarProfiles"`
}

// Reference names an object in the namespace of the one under review.
type Reference struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// RemoteName is the name that an object has at the server, which no other of its kind and
// tenant may have; "" where it has none.
func RemoteName(object v1.Object) string {
	switch object := object.(type) {
	case *v1.OZGroup:
		return object.Spec.Name
	case *v1.OZPolicy:
		return object.Spec.Name
	case *v1.OZResource:
		return object.Spec.Name
	case *v1.OZSetupKey:
		return object.KeyName()
	case *v1.OZHTTPRoute:
		return object.Spec.Domain
	}
	return ""
}

// kindNames are the kinds of openZro by their resources.
var kindNames = map[string]string{
	"ozgroups": "OZGroup", "ozhttproutes": "OZHTTPRoute", "oznetworkresources": "OZNetworkResource", "ozpolicies": "OZPolicy",
	"ozresources": "OZResource", "ozroutingpeers": "OZRoutingPeer", "ozsetupkeys": "OZSetupKey", "ozsidecarprofiles": "OZSidecarProfile",
}

// Resources are the resources of the kinds, in order.
func Resources() []string { return slices.Sorted(maps.Keys(kindNames)) }

// ResourceOf returns the resource of a kind; empty for kinds of other groups.
func ResourceOf(kind string) string {
	for resource, known := range kindNames {
		if known == kind {
			return resource
		}
	}
	return ""
}

// PodFacts are the facts about a Pod that requests a client.
type PodFacts struct {
	SetupKey SetupKey `json:"setupKey"`
	// Profile is the OZSidecarProfile that selects the Pod, if there is one.
	Profile *Profile `json:"profile,omitempty"`
	// ClientImage is the image of the client.
	ClientImage string `json:"clientImage"`
}

// Profile contains the fields of the selecting OZSidecarProfile that the rules read.
type Profile struct {
	Name string `json:"name"`
	// Denied is the denial of the stored profile by the rules: "" if they allow it.
	Denied         string                  `json:"denied"`
	Mode           v1.InjectionMode        `json:"mode"`
	ExtraDNSLabels []string                `json:"extraDNSLabels"`
	Image          string                  `json:"image"`
	Env            []corev1.EnvVar         `json:"env"`
	Security       *corev1.SecurityContext `json:"securityContext,omitempty"`
}

// FactsOfProfile are those of an OZSidecarProfile.
func FactsOfProfile(of *v1.OZSidecarProfile, denied string) *Profile {
	facts := &Profile{
		Name: of.Name, Denied: denied, Mode: cmp.Or(of.Spec.InjectionMode, v1.InjectionModeSidecar),
		ExtraDNSLabels: append([]string{}, of.Spec.ExtraDNSLabels...), Env: []corev1.EnvVar{}, // never null in JSON
	}
	if override := of.Spec.ContainerOverride; override != nil {
		facts.Image, facts.Security = override.Image, override.SecurityContext
		facts.Env = append(facts.Env, override.Env...)
	}
	return facts
}

// SetupKey contains the fields of the Pod's OZSetupKey that the rules read.
type SetupKey struct {
	Name  string `json:"name"`
	Found bool   `json:"found"`
	// Ready reports whether peers can enrol with the key; Reason and Message explain why not.
	Ready   bool   `json:"ready"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Secret is where the key is stored.
	Secret        SecretKey            `json:"secret"`
	ManagementURL string               `json:"managementURL"`
	Volumes       []corev1.Volume      `json:"volumes"`
	VolumeMounts  []corev1.VolumeMount `json:"volumeMounts"`
	// ExtraDNSLabels is false if the server is known to reject peers with extra labels.
	ExtraDNSLabels bool `json:"extraDNSLabels"`
}

// SecretKey is a key of a Secret of the namespace.
type SecretKey struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// FactsOfSetupKey returns the facts about an existing OZSetupKey. managementURL is the default
// server for the peers of its namespace.
func FactsOfSetupKey(key *v1.OZSetupKey, managementURL string) SetupKey {
	selector := key.SecretKey()
	facts := SetupKey{
		Name: key.Name, Found: true, Secret: SecretKey{Name: selector.Name, Key: selector.Key},
		ManagementURL: cmp.Or(key.Spec.ManagementURL, managementURL),
		// Never null in JSON.
		Volumes: append([]corev1.Volume{}, key.Spec.Volumes...), VolumeMounts: append([]corev1.VolumeMount{}, key.Spec.VolumeMounts...),
		ExtraDNSLabels: allowsExtraDNSLabels(key),
	}
	facts.Ready, facts.Reason, facts.Message = readiness(key)
	return facts
}

// readiness reports whether peers can enrol, and otherwise the reason and message of the status.
func readiness(key *v1.OZSetupKey) (ready bool, reason, message string) {
	condition := meta.FindStatusCondition(key.Status.Conditions, v1.ConditionReady)
	switch {
	case !key.DeletionTimestamp.IsZero():
		return false, "Deleted", "it is being deleted"
	case condition == nil || condition.ObservedGeneration < key.Generation:
		return false, "Pending", "the object has not been reconciled yet"
	case condition.Status != "True" && condition.Reason != v1.ReasonServerUnavailable: // peers enrol at a server that answers them
		return false, condition.Reason, condition.Message
	case key.Status.State != "" && key.Status.State != v1.KeyStateValid:
		return false, v1.ReasonInvalidSetupKey, "the server says that the key is " + string(key.Status.State)
	}
	return true, "", ""
}

// allowsExtraDNSLabels reports whether a key may allow extra DNS labels. It returns true for a
// foreign key, whose setting is unknown.
func allowsExtraDNSLabels(key *v1.OZSetupKey) bool {
	allows := key.Spec.AllowExtraDNSLabels
	return key.Status.Adopted || key.Status.SetupKeyID == "" || allows != nil && *allows
}
