package v1

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OZSetupKey is a key by which new peers enrol, and the configuration of Pods that enrol with it.
//
// If its Secret contains no key, Lintel creates one at the server and stores it there. Otherwise,
// Lintel uses the key of the Secret.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Key",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.status.expires`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.setupKeyID) || (has(oldSelf.status.adopted) && oldSelf.status.adopted) || self.spec.type == oldSelf.spec.type",message="spec.type is immutable once the server has made the key: create another OZSetupKey",fieldPath=".spec.type"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.setupKeyID) || (has(oldSelf.status.adopted) && oldSelf.status.adopted) || self.spec.ephemeral == oldSelf.spec.ephemeral",message="spec.ephemeral is immutable once the server has made the key: create another OZSetupKey",fieldPath=".spec.ephemeral"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.setupKeyID) || (has(oldSelf.status.adopted) && oldSelf.status.adopted) || (has(self.spec.expiresIn) == has(oldSelf.spec.expiresIn) && (!has(self.spec.expiresIn) || self.spec.expiresIn == oldSelf.spec.expiresIn))",message="spec.expiresIn is immutable once the server has made the key: create another OZSetupKey",fieldPath=".spec.expiresIn"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.setupKeyID) || (has(oldSelf.status.adopted) && oldSelf.status.adopted) || self.spec.usageLimit == oldSelf.spec.usageLimit",message="spec.usageLimit is immutable once the server has made the key: create another OZSetupKey",fieldPath=".spec.usageLimit"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.setupKeyID) || (has(oldSelf.status.adopted) && oldSelf.status.adopted) || self.spec.allowExtraDNSLabels == oldSelf.spec.allowExtraDNSLabels",message="spec.allowExtraDNSLabels is immutable once the server has made the key: create another OZSetupKey",fieldPath=".spec.allowExtraDNSLabels"
type OZSetupKey struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the key that is wanted.
	// +required
	Spec OZSetupKeySpec `json:"spec"`

	// status is how the server has it.
	// +optional
	Status OZSetupKeyStatus `json:"status,omitzero"`
}

// CommonStatus implements Object.
func (o *OZSetupKey) CommonStatus() *Status { return &o.Status.Status }

// KeyName is the name of the key at the server.
func (o *OZSetupKey) KeyName() string {
	if o.Spec.Name != "" {
		return o.Spec.Name
	}
	return o.Name
}

// SecretKey is where the key is stored: spec.secretKeyRef, or setupKey in the Secret
// NAME-key.
func (o *OZSetupKey) SecretKey() corev1.SecretKeySelector {
	if o.Spec.SecretKeyRef != nil {
		return *o.Spec.SecretKeyRef
	}
	return corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: o.Name + "-key"}, Key: "setupKey"}
}

// OZSetupKeyList is a list of OZSetupKeys.
//
// +kubebuilder:object:root=true
type OZSetupKeyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []OZSetupKey `json:"items"`
}

// KeyType is how often a setup key enrols.
//
// +kubebuilder:validation:Enum=reusable;one-off
type KeyType string

const (
	// KeyTypeReusable is until it expires, or usageLimit times.
	KeyTypeReusable KeyType = "reusable"
	// KeyTypeOneOff is once.
	KeyTypeOneOff KeyType = "one-off"
)

// KeyState is what the server says of a setup key.
type KeyState string

// The states of keys, of which the first alone enrols.
const (
	KeyStateValid    KeyState = "valid"
	KeyStateExpired  KeyState = "expired"
	KeyStateRevoked  KeyState = "revoked"
	KeyStateOverused KeyState = "overused"
)

// Replacement is when a key is replaced by a new one.
//
// +kubebuilder:validation:Enum=Revoked;Expired;Overused
type Replacement string

// The times at which a key may be replaced.
const (
	ReplaceRevoked  Replacement = "Revoked"
	ReplaceExpired  Replacement = "Expired"
	ReplaceOverused Replacement = "Overused"
)

// OZSetupKeySpec is the desired key.
//
// The server fixes type, ephemeral, expiresIn, usageLimit and allowExtraDNSLabels when it creates
// the key: they are immutable from then on.
type OZSetupKeySpec struct {
	// secretKeyRef is the key of a Secret of this namespace that contains the setup key, or in
	// which Lintel stores a created one. Default: setupKey of the Secret NAME-key, where NAME is
	// the name of this object.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.name.size() > 0",reason="FieldValueRequired",message="secretKeyRef.name is needed: name the Secret",fieldPath=".name"
	SecretKeyRef *corev1.SecretKeySelector `json:"secretKeyRef,omitempty"`

	// managementURL is the URL of the server at which Pods enrol. Default: that of the namespace.
	// +optional
	ManagementURL string `json:"managementURL,omitempty"`

	// volumes are added to Pods that enrol with the key.
	// +optional
	// +listType=map
	// +listMapKey=name
	Volumes []corev1.Volume `json:"volumes,omitempty"`

	// volumeMounts are added to the client's container in these Pods.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`

	// name is the name of a created key at the server. Default: the name of this object.
	// +optional
	Name string `json:"name,omitempty"`

	// type is reusable or one-off: whether a created key enrols more than one peer.
	// +optional
	// +kubebuilder:default=reusable
	Type KeyType `json:"type,omitempty"`

	// autoGroupIDs are the IDs, at the server, of further groups that peers join.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:items:MinLength=1
	AutoGroupIDs []string `json:"autoGroupIDs,omitempty"`

	// autoGroups are the names, at the server, of the groups that peers join.
	// +optional
	// +listType=atomic
	AutoGroups []string `json:"autoGroups,omitempty"`

	// ephemeral makes the server delete peers of a created key that are offline for some time.
	// +optional
	// +kubebuilder:default=false
	Ephemeral *bool `json:"ephemeral,omitempty"`

	// expiresIn is the validity of a created key, such as 30d, 12h or 1h30m. Default: unlimited.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	ExpiresIn string `json:"expiresIn,omitempty"`

	// usageLimit is the number of peers that a created key enrols; 0: any number.
	// +optional
	// +kubebuilder:default=0
	UsageLimit int32 `json:"usageLimit,omitempty"`

	// allowExtraDNSLabels lets peers of a created key request further DNS names.
	// +optional
	// +kubebuilder:default=false
	AllowExtraDNSLabels *bool `json:"allowExtraDNSLabels,omitempty"`

	// replaceWhen lists the states in which Lintel replaces the key: Revoked, Expired, Overused.
	// Default: the key stays, and the status reports its state.
	// +optional
	// +listType=set
	ReplaceWhen []Replacement `json:"replaceWhen,omitempty"`
}

// OZSetupKeyStatus is how the server has a setup key.
type OZSetupKeyStatus struct {
	Status `json:",inline"`

	// setupKeyID is the ID of the key at the server.
	// +optional
	SetupKeyID string `json:"setupKeyID,omitempty"`

	// keysMade are the IDs of keys that were created for this object, and are deleted with it.
	// +optional
	// +listType=atomic
	KeysMade []string `json:"keysMade,omitempty"`

	// making is present while a key is being created, because the answer of the server may be
	// lost.
	// +optional
	Making *KeyMaking `json:"making,omitempty"`

	// state is the state of the key at the server: valid, expired, revoked or overused.
	// +optional
	State KeyState `json:"state,omitempty"`

	// expires is the time at which the key expires, if it does.
	// +optional
	Expires *metav1.Time `json:"expires,omitempty"`
}

// KeyMaking is a key that is being created.
type KeyMaking struct {
	// name is the name of the key at the server.
	// +required
	Name string `json:"name"`

	// before are the IDs of the keys that already had the name. They belong to other owners.
	// +optional
	// +listType=atomic
	Before []string `json:"before,omitempty"`
}

var expiryPart = regexp.MustCompile(`^([0-9]+)([smhd])`)

var expiryUnits = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

// Expiry is how long a key is to enrol; 0: for ever.
func (s OZSetupKeySpec) Expiry() (total time.Duration, err error) {
	for rest := s.ExpiresIn; rest != ""; {
		part := expiryPart.FindStringSubmatch(rest)
		if part == nil {
			return 0, fmt.Errorf("spec.expiresIn: %q is not a duration such as 30d, 12h or 1h30m", s.ExpiresIn)
		}
		amount, unit := int64(0), expiryUnits[part[2]]
		if amount, err = strconv.ParseInt(part[1], 10, 64); err != nil || amount > int64((math.MaxInt64-total)/unit) {
			return 0, fmt.Errorf("spec.expiresIn: %q is longer than durations can be, 106751d", s.ExpiresIn)
		}
		total += time.Duration(amount) * unit
		rest = rest[len(part[0]):]
	}
	return total, nil
}
