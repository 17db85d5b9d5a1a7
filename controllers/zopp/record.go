package zopp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/zopp/store"
	rules "github.com/lintel-policy/lintel/policies/rules/zopp"
)

// recordAnnotation is what controllers note for one another on a Secret, as JSON.
const recordAnnotation = v1alpha1.GroupName + "/record"

// record says what a Secret was last filled from. Its zero value is that of a Secret which
// never was.
type record struct {
	// Request tells apart which environments and keys were asked for.
	Request string `json:"request,omitempty"`
	// Environments are the ids of the environments, and Versions are theirs.
	Environments []string `json:"environments,omitempty"`
	Versions     []int64  `json:"versions,omitempty"`
	// Cleanup says whether the keys go with the sync: the annotation that asked for it may
	// be gone by then.
	Cleanup bool `json:"cleanup,omitempty"`
	// Changed is when zopp's values in it became others, in nanoseconds since 1970. It tells
	// workloads whether theirs are older, and says nothing of the values.
	Changed int64 `json:"changed,omitempty"`
}

// readRecord reads the annotations of a Secret. One that somebody has spoilt says nothing.
func readRecord(annotations map[string]string) (r record) {
	if json.Unmarshal([]byte(annotations[recordAnnotation]), &r) != nil || len(r.Environments) != len(r.Versions) {
		return record{}
	}
	return r
}

func (r record) String() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // texts and numbers
	}
	return string(text)
}

// version is what people read of it.
func (r record) version() string {
	texts := make([]string, len(r.Versions))
	for i, version := range r.Versions {
		texts[i] = strconv.FormatInt(version, 10)
	}
	return strings.Join(texts, ",")
}

// of is the record of what snapshots have, as it was where nothing but versions differs:
// those move with what they describe.
func (r record) of(request rules.Request, snapshots []*snapshot) record {
	next := record{Request: digestOf(request), Cleanup: request.Cleanup, Changed: r.Changed}
	for _, s := range snapshots {
		next.Environments = append(next.Environments, s.contents.ID)
		next.Versions = append(next.Versions, s.contents.Version)
	}
	return next
}

// sameButVersions says whether two records are of the same environments.
func (r record) sameButVersions(other record) bool {
	return r.Request == other.Request && r.Cleanup == other.Cleanup && slices.Equal(r.Environments, other.Environments)
}

// isAhead says whether a Secret may have what is newer than snapshots of what it asks for: a
// later version, or that of an environment which was made anew. Another replica may have
// written it, which leads by now.
func (r record) isAhead(request rules.Request, snapshots []*snapshot) bool {
	if r.Request != digestOf(request) || len(r.Environments) != len(snapshots) {
		return false
	}
	for i, s := range snapshots {
		if s.contents != nil && (s.contents.ID != r.Environments[i] || s.contents.Version < r.Versions[i]) {
			return true
		}
	}
	return false
}

// digestOf tells apart what is asked for: sources and keys.
func digestOf(request rules.Request) string {
	text, err := json.Marshal([]any{request.Sources, request.Keys})
	if err != nil {
		panic(err) // texts
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// environmentsOf are the sources of a request.
func environmentsOf(request rules.Request) []store.Environment {
	environments := make([]store.Environment, len(request.Sources))
	for i, source := range request.Sources {
		environments[i] = environmentOf(source)
	}
	return environments
}

func environmentOf(source rules.Source) store.Environment {
	return store.Environment{Workspace: source.Workspace, Project: source.Project, Name: source.Environment}
}
