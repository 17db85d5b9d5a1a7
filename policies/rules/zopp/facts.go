package zopp

import (
	"fmt"
	"strings"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
)

// Mapping is the default read permission for Namespaces without the annotation.
type Mapping string

const (
	// Restricted permits nothing. It is the default.
	Restricted Mapping = "Restricted"
	// Open permits everything.
	Open Mapping = "Open"
)

// ParseMapping reads a mode.
func ParseMapping(text string) (Mapping, error) {
	for _, mapping := range []Mapping{Restricted, Open} {
		if strings.EqualFold(text, string(mapping)) {
			return mapping, nil
		}
	}
	return "", fmt.Errorf("%q is not one of %s, %s", text, Restricted, Open)
}

// The limits of a request, as in the schema of ZoppSecretSyncs. Rules deny larger ones: one
// annotation has room for tens of thousands of environments, and the hub would follow each of
// them.
const (
	maxSources     = 16
	maxKeys        = 1024
	maxNameLength  = 253
	maxEntryLength = 512
)

// Facts are the facts about a Secret or a ZoppSecretSync that Go collects for the rules, which
// read them as input.facts.
type Facts struct {
	// Mapping is the mode.
	Mapping Mapping `json:"mapping"`
	// Sources and Keys are the request; without a request, there are no sources. Beyond the
	// limits, they contain only enough entries to show the violation.
	Sources []Source `json:"sources"`
	Keys    KeyList  `json:"keys"`
	// Entries are Sources as an annotation lists them.
	Entries []string `json:"entries"`
	// Claims are others that fill the same Secret: of each namespace one of them.
	Claims []Reference `json:"claims"`
	// Target is the namespace of the Secret, where it is another one.
	Target *Target `json:"target,omitempty"`
	// Off reports that the manager does not reconcile ZoppSecretSyncs.
	Off bool `json:"off,omitempty"`
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
	// Served reports whether the manager covers the namespace.
	Served bool `json:"served"`
	// Exists reports whether the Namespace exists, and Annotations are its annotations.
	Exists      bool              `json:"exists"`
	Annotations map[string]string `json:"annotations"`
}

// SecretFacts returns the facts about a Secret alone. A Secret that is not synced has an empty
// request.
func SecretFacts(annotations map[string]string, mapping Mapping) Facts {
	request := Read(annotations)
	if !request.Sync {
		return factsOf(Request{}, mapping)
	}
	facts := factsOf(request, mapping)
	for _, entry := range oneMore(list(annotations[v1alpha1.SourcesAnnotation]), maxSources) {
		facts.Entries = append(facts.Entries, begin(entry, maxEntryLength))
	}
	return facts
}

// SyncFacts are the facts of a ZoppSecretSync by itself, suspended or not.
func SyncFacts(sync *v1alpha1.ZoppSecretSync, mapping Mapping) Facts {
	return factsOf(ReadSync(sync), mapping)
}

// factsOf returns empty lists instead of null, since rules iterate over them.
func factsOf(request Request, mapping Mapping) Facts {
	facts := Facts{Mapping: mapping, Sources: []Source{}, Keys: KeyList{}, Entries: []string{}, Claims: []Reference{}}
	for _, s := range oneMore(request.Sources, maxSources) {
		facts.Sources = append(facts.Sources, Source{
			Workspace: begin(s.Workspace, maxNameLength), Project: begin(s.Project, maxNameLength), Environment: begin(s.Environment, maxNameLength),
		})
	}
	for _, k := range oneMore(request.Keys, maxKeys) {
		facts.Keys = append(facts.Keys, Key{Name: begin(k.Name, maxEntryLength), Key: begin(k.Key, maxEntryLength)})
	}
	return facts
}

// oneMore is as much of a list as may be, and one more.
func oneMore[T any](list []T, most int) []T { return list[:min(len(list), most+1)] }

// begin is as much of a text as may be, and one character more.
func begin(text string, most int) string {
	for at := range text {
		if most < 0 {
			return text[:at]
		}
		most--
	}
	return text
}
