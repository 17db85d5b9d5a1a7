package v1alpha1

import (
	"bytes"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// CodeSource is an image or a claim with Puppet code, and where it is mounted.
type CodeSource struct {
	// image is an OCI image.
	// +optional
	Image string `json:"image,omitempty"`

	// claimName is a PersistentVolumeClaim.
	// +optional
	ClaimName string `json:"claimName,omitempty"`

	// imagePullPolicy is the pull policy of the image. The default is IfNotPresent.
	// +optional
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// imagePullSecret is the Secret for pulling the image.
	// +optional
	ImagePullSecret string `json:"imagePullSecret,omitempty"`

	// environment is the name of the single environment that the source contains.
	// +optional
	Environment string `json:"environment,omitempty"`

	// mountPath is a directory below /etc/puppetlabs/code, for example for global modules.
	// +optional
	MountPath string `json:"mountPath,omitempty"`
}

// PuppetCode lists the sources of Puppet code: a list, or one source as an object. A
// CustomResourceDefinition cannot describe both, so the rules check the fields.
//
// Invariant: any JSON value can be read. A value that is neither is written unchanged, so that
// one object with such a value does not stop a cache.
type PuppetCode struct {
	// List are the sources.
	List []CodeSource `json:"-"`
	// Unreadable is a value that is neither a list of sources nor a source.
	Unreadable json.RawMessage `json:"-"`
}

// IsZero reports whether there is no source.
func (s PuppetCode) IsZero() bool { return len(s.List) == 0 && len(s.Unreadable) == 0 }

// UnmarshalJSON implements json.Unmarshaler.
func (s *PuppetCode) UnmarshalJSON(text []byte) error {
	*s = PuppetCode{}
	if bytes.Equal(bytes.TrimSpace(text), []byte("null")) {
		return nil
	}
	if readStrictly(text, &s.List) == nil {
		return nil
	}
	var one CodeSource
	if readStrictly(text, &one) == nil {
		s.List = []CodeSource{one}
		return nil
	}
	s.List, s.Unreadable = nil, bytes.Clone(text)
	return nil
}

// readStrictly decodes JSON whose fields are all known.
func readStrictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// MarshalJSON implements json.Marshaler.
func (s PuppetCode) MarshalJSON() ([]byte, error) {
	if len(s.Unreadable) > 0 {
		return s.Unreadable, nil
	}
	return json.Marshal(s.List)
}
