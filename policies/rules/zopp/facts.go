package zopp

import (
	"fmt"
	"strings"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
)

// Mapping says who may read what, where the Namespace says nothing.
type Mapping string

const (
	// Open is everybody everything.
	Open Mapping = "Open"
	// Restricted is nobody anything.
	Restricted Mapping = "Restricted"
)

// ParseMapping reads a mode.
func ParseMapping(text string) (Mapping, error) {
	for _, mapping := range []Mapping{Open, Restricted} {
		if strings.EqualFold(text, string(mapping)) {
			return mapping, nil
		}
	}
	return "", fmt.Errorf("%q is none of %s, %s", text, Open, Restricted)
}

// Facts are what Go finds out about a Secret or a ZoppSecretSync for the rules, which read
// it as input.facts.
type Facts struct {
	// Mapping is the mode.
	Mapping Mapping `json:"mapping"`
	// Sources and Keys are what it asks for; no sources where it does not.
	Sources []Source `json:"sources"`
	Keys    Keys     `json:"keys"`
	// Claim is another object that fills the same Secret.
	Claim *Reference `json:"claim,omitempty"`
	// Target is the namespace of the Secret, where it is another one.
	Target *Target `json:"target,omitempty"`
}

// Reference names an object.
type Reference struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Target is another namespace that a ZoppSecretSync fills a Secret in.
type Target struct {
	Namespace string `json:"namespace"`
	// Served says whether the manager looks after the namespace.
	Served bool `json:"served"`
	// Exists says whether it is there, and Annotations are what it says.
	Exists      bool              `json:"exists"`
	Annotations map[string]string `json:"annotations"`
}

// SecretFacts are the facts of a Secret by itself. One that is not to be synced asks for
// nothing.
func SecretFacts(annotations map[string]string, mapping Mapping) Facts {
	request := Read(annotations)
	if !request.Sync {
		return factsOf(Request{}, mapping)
	}
	return factsOf(request, mapping)
}

// SyncFacts are the facts of a ZoppSecretSync by itself, suspended or not.
func SyncFacts(sync *v1alpha1.ZoppSecretSync, mapping Mapping) Facts {
	return factsOf(ReadSync(sync), mapping)
}

// factsOf has lists where there is nothing, which rules go through.
func factsOf(request Request, mapping Mapping) Facts {
	return Facts{
		Mapping: mapping,
		Sources: append([]Source{}, request.Sources...),
		Keys:    append(Keys{}, request.Keys...),
	}
}
