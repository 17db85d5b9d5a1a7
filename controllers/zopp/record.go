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

// recordAnnotation is the controllers' own record on a Secret, as JSON.
const recordAnnotation = v1alpha1.GroupName + "/record"

// record describes the sources of the last write to a Secret. Its zero value is that of a Secret
// which was never written.
type record struct {
	// Request is a digest of the requested environments and keys.
	Request string `json:"request,omitempty"`
	// Environments are the ids of the environments, and Versions are theirs.
	Environments []string `json:"environments,omitempty"`
	Versions     []int64  `json:"versions,omitempty"`
	// Cleanup reports whether the keys are removed when the sync ends: the annotation that
	// requested it may already be gone.
	Cleanup bool `json:"cleanup,omitempty"`
	// Changed is when the values from zopp last changed, in nanoseconds since 1970. Workloads
	// compare it with the time of their own values. It reveals nothing about the values.
	Changed int64 `json:"changed,omitempty"`
}

// readRecord reads the annotations of a Secret. An invalid record counts as none.
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

// version returns the versions for users.
func (r record) version() string {
	texts := make([]string, len(r.Versions))
	for i, version := range r.Versions {
		texts[i] = strconv.FormatInt(version, 10)
	}
	return strings.Join(texts, ",")
}

// of returns the record of the snapshots. It keeps the old record where only versions differ,
// since those change together with the values.
func (r record) of(request rules.Request, snapshots []*snapshot) record {
	next := record{Request: digestOf(request), Cleanup: request.Cleanup, Changed: r.Changed}
	for _, s := range snapshots {
		next.Environments = append(next.Environments, s.contents.ID)
		next.Versions = append(next.Versions, s.contents.Version)
	}
	return next
}

// sameButVersions reports whether two records have the same environments.
func (r record) sameButVersions(other record) bool {
	return r.Request == other.Request && r.Cleanup == other.Cleanup && slices.Equal(r.Environments, other.Environments)
}

// isAhead reports whether a Secret may be newer than the snapshots of its sources: its record
// has a later version, or that of a re-created environment. A replica that has become the leader
// may have written it.
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

// digestOf returns a digest of the requested sources and keys.
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
		environments[i] = environmentFor(source)
	}
	return environments
}

func environmentFor(source rules.Source) store.Environment {
	return store.Environment{Workspace: source.Workspace, Project: source.Project, Name: source.Environment}
}
