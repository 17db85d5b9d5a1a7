package definition

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/policies/hierarchy"
)

// FailurePolicy is the result of a request if a policy returns an error (not a denial).
type FailurePolicy string

const (
	// Fail denies the request. It is the default.
	Fail FailurePolicy = "Fail"
	// Ignore admits the request with a warning.
	Ignore FailurePolicy = "Ignore"
)

// Source is one source of policy at one revision.
type Source struct {
	// Name is the PolicySource's name, or the folder's base name.
	Name string
	// Revision is the source's name of this state: a commit or a digest. If empty, Compile uses
	// Digest.
	Revision string
	// Files maps slash-separated relative paths to contents.
	Files map[string]string
	// FailurePolicy defaults to Fail.
	FailurePolicy FailurePolicy
	// Scope defaults to the level enterprise.
	Scope hierarchy.Scope
	// Parameters is a JSON object, handed to policies as input.parameters.
	Parameters []byte
	// AdmissionPolicies evaluates ValidatingAdmissionPolicies in the files. Clusters enforce these
	// themselves: only programs without a cluster set it.
	AdmissionPolicies bool
	// Partial leaves out files that do not compile, instead of refusing the revision.
	Partial bool
	// Created is when the PolicySource was created; zero for one that is not stored. It is
	// not part of the identity.
	Created time.Time
}

// OlderThan puts the sources of one scope in order: by creation, and then by name. One that
// is not stored is the youngest.
func (s Source) OlderThan(other Source) bool {
	switch {
	case s.Created.Equal(other.Created):
		return s.Name < other.Name
	case s.Created.IsZero() || other.Created.IsZero():
		return other.Created.IsZero()
	}
	return s.Created.Before(other.Created)
}

// BuiltInFiles are the rules in a folder that a program embeds, by name, for Files: all
// that the folder has but tests.
func BuiltInFiles(folder embed.FS) (map[string]string, error) {
	entries, err := folder.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("reading the embedded rules: %w", err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		text, err := folder.ReadFile(entry.Name())
		if err != nil {
			return nil, fmt.Errorf("reading the embedded rules: %w", err)
		}
		if Classify(entry.Name()) != FileTest {
			files[entry.Name()] = string(text)
		}
	}
	return files, nil
}

// Digest is "sha256:" and the hex SHA-256 over the sorted paths and contents,
// each preceded by its length, so that no two sets of files share it.
func (s Source) Digest() string {
	h := sha256.New()
	var buffer []byte
	write := func(text string) {
		buffer = binary.BigEndian.AppendUint64(buffer[:0], uint64(len(text)))
		buffer = append(buffer, text...)
		h.Write(buffer)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		write(name)
		write(s.Files[name])
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Pinned is a source with all that it left open filled in, and the digest of its files.
type Pinned struct {
	Source
	FilesDigest string
}

// Pin sets the defaults of a source.
func (s Source) Pin() Pinned {
	digest := s.Digest()
	s.FailurePolicy = cmp.Or(s.FailurePolicy, Fail)
	s.Scope.Level = cmp.Or(s.Scope.Level, hierarchy.Enterprise)
	s.Revision = cmp.Or(s.Revision, digest)
	return Pinned{s, digest}
}

// Identity is equal for sources that compile to the same set: the same files at the
// same revision under the same settings.
func (s Source) Identity() string { return s.Pin().Identity() }

// Settings is equal for sources that differ in their files alone.
func (s Source) Settings() string { return s.Pin().Settings() }

// Identity returns the identity of the source.
func (p Pinned) Identity() string { return IdentityOf(p) }

// Settings are those of the source.
func (p Pinned) Settings() string {
	p.FilesDigest = ""
	return p.Identity()
}

// IdentityOf covers all of some sources that decides: files, settings, names.
func IdentityOf(sources ...Pinned) string {
	type identity struct {
		Name, Digest  string
		Revision      string
		FailurePolicy FailurePolicy
		Scope         hierarchy.Scope
		Parameters    string

		AdmissionPolicies bool `json:",omitempty"`
		Partial           bool `json:",omitempty"`
	}
	identities := make([]identity, len(sources))
	for i, s := range sources {
		identities[i] = identity{s.Name, s.FilesDigest, s.Revision, s.FailurePolicy, s.Scope, string(s.Parameters), s.AdmissionPolicies, s.Partial}
	}
	slices.SortFunc(identities, func(a, b identity) int { return cmp.Compare(a.Name, b.Name) })
	text, err := json.Marshal(identities)
	if err != nil {
		panic("a list of strings always has JSON: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ShortRevision is the form for messages: the last part of the revision (the hex of
// "main@sha1:<hex>" and "sha256:<hex>"), at most 12 characters.
func ShortRevision(revision string) string {
	short := revision[strings.LastIndexAny(revision, ":@")+1:]
	return short[:min(12, len(short))]
}

// fileClass is the loader's class of a file in a source.
type fileClass int

const (
	fileIgnored fileClass = iota
	FileRego
	FileTest
	FileData
)

// IsPolicyFile reports whether a file of this name belongs to a source: a module, a test, data,
// or YAML, which may contain policies in another form and the objects of their tests.
func IsPolicyFile(name string) bool {
	extension := path.Ext(name)
	return Classify(name) != fileIgnored || extension == ".yaml" || extension == ".yml"
}

// Classify follows the file names of OPA bundles: modules end in .rego, their
// tests in _test.rego, data is in files named data.yaml, data.yml or data.json.
func Classify(name string) fileClass {
	switch base := path.Base(name); {
	case strings.HasSuffix(base, "_test.rego"):
		return FileTest
	case strings.HasSuffix(base, ".rego"):
		return FileRego
	case base == "data.yaml", base == "data.yml", base == "data.json":
		return FileData
	default:
		return fileIgnored
	}
}
