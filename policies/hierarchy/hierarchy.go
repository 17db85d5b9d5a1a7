package hierarchy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/lintel-policy/lintel/policies/admission"
)

// Key identifies a scope. The enterprise is one scope, under any name in its sources.
type Key struct {
	Level Level
	Name  string
}

// String is such as team payments.
func (k Key) String() string {
	if k.Level == Enterprise {
		return "the enterprise"
	}
	return string(k.Level) + " " + k.Name
}

var label = regexp.MustCompile(`^[a-z][-a-z0-9]{0,61}[a-z0-9]$`)

// ID is the key as one lower-case word of at most 63 characters, such as team-payments. It
// is a valid label value, and a valid part of the name of an object.
func (k Key) ID() string {
	if k.Level == Enterprise {
		return string(Enterprise)
	}
	id := string(k.Level) + "-" + k.Name
	if label.MatchString(id) {
		return id
	}
	// No name contains a dot, so no other scope has this ID.
	sum := sha256.Sum256([]byte(k.Name))
	return string(k.Level) + "." + hex.EncodeToString(sum[:10])
}

// Key is the scope's.
func (s Scope) Key() Key {
	if s.Level == Enterprise || s.Level == "" {
		return Key{Level: Enterprise}
	}
	return Key{s.Level, s.Name}
}

// Tree is how the scopes of several sources stand to each other. It is immutable.
type Tree struct {
	scopes map[Key]*scopeNode
}

// scopeNode is one scope, as its sources declare it together.
type scopeNode struct {
	key        Key
	names      []string // what the enterprise is called
	everywhere bool     // some source names no namespaces
	namespaces []string
	parents    []string // more than one only while sources disagree
	grants     []Grants
}

// New arranges the scopes of sources.
func New(scopes ...Scope) *Tree {
	h := &Tree{scopes: map[Key]*scopeNode{}}
	for _, scope := range scopes {
		node := h.scopes[scope.Key()]
		if node == nil {
			node = &scopeNode{key: scope.Key()}
			h.scopes[node.key] = node
		}
		if node.key.Level == Enterprise {
			node.names = append(node.names, scope.Name)
		} else {
			node.parents = append(node.parents, scope.Parent)
		}
		node.everywhere = node.everywhere || len(scope.Namespaces) == 0
		node.namespaces = append(node.namespaces, scope.Namespaces...)
		node.grants = append(node.grants, scope.Grants)
	}
	for _, node := range h.scopes {
		for _, list := range []*[]string{&node.namespaces, &node.parents} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
	}
	return h
}

// Parent is the scope that a scope names as its parent; no name is the enterprise,
// which need not have a source. The error says why there is none.
func (h *Tree) Parent(scope Scope) (Key, error) {
	if scope.Parent == "" {
		return Key{Level: Enterprise}, nil
	}
	var found []Key
	for key, node := range h.scopes {
		named := key.Name == scope.Parent || slices.Contains(node.names, scope.Parent)
		if named && key.Level.Rank() < scope.Level.Rank() {
			found = append(found, key)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Key{}, fmt.Errorf("no live source declares a scope named %q that is broader than %s; apply that source first, or correct spec.scope.parent", scope.Parent, scope.Level)
	}
	return Key{}, fmt.Errorf("%q names several scopes that are broader than %s; give them names of their own", scope.Parent, scope.Level)
}

// Above returns all other scopes that bind a scope, broadest first. Scopes without a source, or
// that are not found, are omitted.
func (h *Tree) Above(scope Scope) []Key {
	if scope.Key().Level == Enterprise {
		return nil
	}
	found := map[Key]bool{}
	var climb func(Scope)
	climb = func(scope Scope) {
		key, err := h.Parent(scope)
		node := h.scopes[key]
		if err != nil || node == nil || found[key] {
			return
		}
		found[key] = true
		for _, parent := range node.parents {
			climb(Scope{Level: key.Level, Name: key.Name, Parent: parent})
		}
	}
	climb(scope)
	climb(Scope{Level: scope.Level}) // the enterprise binds all, also if scopes in between are missing
	return slices.SortedFunc(maps.Keys(found), func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Level.Rank(), b.Level.Rank()), cmp.Compare(a.Name, b.Name))
	})
}

// Namespaces are the names and globs of a scope, of all its sources together: nil
// stands for every namespace.
func (h *Tree) Namespaces(key Key) []string {
	node := h.scopes[key]
	if node == nil || node.everywhere || slices.Contains(node.namespaces, "*") {
		return nil
	}
	return slices.Clone(node.namespaces)
}

// Parents are the names that the sources of a scope give as its parent.
func (h *Tree) Parents(key Key) []string {
	if node := h.scopes[key]; node != nil {
		return slices.Clone(node.parents)
	}
	return nil
}

// GrantsTo is what all scopes above a scope let it use: grants of only some of them do not
// count. The enterprise itself may use everything; a scope without any source above it has no
// grants.
func (h *Tree) GrantsTo(scope Scope) Grants {
	var granted Grants
	for i, key := range h.Above(scope) {
		own := h.scopes[key].granted()
		if i == 0 {
			granted = own
			continue
		}
		granted.Clock = granted.Clock && own.Clock
		granted.Wildcards = granted.Wildcards && own.Wildcards
		granted.Requires = intersection(granted.Requires, own.Requires)
		granted.Mutates = intersection(granted.Mutates, own.Mutates)
		granted.External = slices.DeleteFunc(granted.External, func(name string) bool { return !slices.Contains(own.External, name) })
	}
	return granted
}

// granted is what any source of the scope grants.
func (n *scopeNode) granted() Grants {
	var all Grants
	for _, grants := range n.grants {
		all.Clock = all.Clock || grants.Clock
		all.Wildcards = all.Wildcards || grants.Wildcards
		all.Requires = append(all.Requires, grants.Requires...)
		all.Mutates = append(all.Mutates, grants.Mutates...)
		all.External = append(all.External, grants.External...)
	}
	return all
}

// Grants are what a scope lets the scopes below it use beyond the objects of their own
// namespaces.
type Grants struct {
	// Requires are kinds that scopes below may require although they are cluster-scoped,
	// or Secrets: without version.
	Requires []admission.GroupVersionKind `json:"requires,omitempty"`
	// Mutates are kinds that scopes below may mutate although they carry rights: without
	// version.
	Mutates []admission.GroupVersionKind `json:"mutates,omitempty"`
	// External are the DataSources that policies below may read.
	External []string `json:"external,omitempty"`
	// Clock says that policies below may read the time.
	Clock bool `json:"clock,omitempty"`
	// Wildcards says that policies below may match kinds that they do not name.
	Wildcards bool `json:"wildcards,omitempty"`
}

// Allows says whether policies of scopes below may require a kind.
func (g Grants) Allows(kind admission.GroupVersionKind) bool { return containsKind(g.Requires, kind) }

func containsKind(kinds []admission.GroupVersionKind, kind admission.GroupVersionKind) bool {
	return slices.ContainsFunc(kinds, func(one admission.GroupVersionKind) bool {
		return one.WithoutVersion() == kind.WithoutVersion()
	})
}

// intersection lists the kinds of a that b has, too.
func intersection(a, b []admission.GroupVersionKind) []admission.GroupVersionKind {
	return slices.DeleteFunc(slices.Clone(a), func(kind admission.GroupVersionKind) bool { return !containsKind(b, kind) })
}

// MayReadExternal returns why policies of a scope below the enterprise must not read the data of a
// DataSource; nil if they may.
func (g Grants) MayReadExternal(name string) error {
	if slices.Contains(g.External, name) {
		return nil
	}
	return fmt.Errorf("reads DataSource %s: a scope below the enterprise may do so only where every scope above grants it (spec.scope.grants.external of their PolicySources)", name)
}

// MayRequire says whether policies of a scope below the enterprise may require a kind:
// nil, or why not.
func (g Grants) MayRequire(kind admission.GroupVersionKind, resources *admission.Resources) error {
	if g.Allows(kind) {
		return nil
	}
	what := ""
	if resource, known := resources.ByKind(kind.Group, kind.Kind); known && !resource.Namespaced {
		what = "is cluster-scoped"
	}
	if kind.Group == "" && kind.Kind == "Secret" {
		what = "contains confidential data"
	}
	if what == "" {
		return nil
	}
	return fmt.Errorf("requires %s, which %s: a scope below the enterprise may read it only where every scope above grants it (spec.scope.grants.requires of their PolicySources)", kind, what)
}

// Place is what the sources around it make of a source. The zero value is that of a
// source of the enterprise with no scope below it.
type Place struct {
	// Below says that the source is of a scope below the enterprise, and Parent that
	// there is a scope below its own.
	Below, Parent bool
	// Grants are what all scopes above let it use.
	Grants Grants
	// scope are the namespaces of its scope, and above those of each scope above that does
	// not have all.
	scope []string
	above [][]string
}

// PlacesOf are those of the scopes of sources, in their order: nil where none of them is
// below the enterprise.
func PlacesOf(scopes []Scope) []Place {
	if !slices.ContainsFunc(scopes, func(scope Scope) bool { return scope.Level != Enterprise }) {
		return nil
	}
	hierarchy := New(scopes...)
	parents := map[Key]bool{}
	for _, scope := range scopes {
		for _, key := range hierarchy.Above(scope) {
			parents[key] = true
		}
	}
	places := make([]Place, len(scopes))
	for i, scope := range scopes {
		places[i] = Place{Below: scope.Level != Enterprise, Parent: parents[scope.Key()], scope: scope.Namespaces}
		if !places[i].Below {
			continue
		}
		places[i].Grants = hierarchy.GrantsTo(scope)
		for _, key := range hierarchy.Above(scope) {
			if namespaces := hierarchy.Namespaces(key); namespaces != nil {
				places[i].above = append(places[i].above, namespaces)
			}
		}
	}
	return places
}

// Has says whether a namespace is one of the scope, and of all scopes above.
func (p *Place) Has(namespace string) bool {
	return admission.MatchesAny(p.scope, namespace) &&
		!slices.ContainsFunc(p.above, func(globs []string) bool { return !admission.MatchesAny(globs, namespace) })
}

// Namespaces are the names and globs of the source, and those of each scope above that does
// not have all namespaces: Has reports the names that match one of each list.
func (p *Place) Namespaces() (own []string, above [][]string) { return p.scope, p.above }

// Sees says whether policies of a place below the enterprise may read the cluster's
// objects of a kind in a namespace.
func (p *Place) Sees(kind admission.GroupVersionKind, namespace string) bool {
	if namespace == "" {
		return p.Grants.Allows(kind)
	}
	return p.Has(namespace)
}

// Level is a level of the scope hierarchy, broadest first.
type Level string

// The levels of the scope hierarchy.
const (
	Enterprise Level = "enterprise"
	Org        Level = "org"
	Team       Level = "team"
	User       Level = "user"
)

// AllLevels lists the levels from the broadest to the narrowest.
var AllLevels = []Level{Enterprise, Org, Team, User}

// Rank is the position of the level in the hierarchy: enterprise is 0. A level
// that is not known ranks behind all others.
func (l Level) Rank() int {
	if i := slices.Index(AllLevels, l); i >= 0 {
		return i
	}
	return len(AllLevels)
}

// Scope is the place of a source in the scope hierarchy.
type Scope struct {
	Level      Level    `json:"level"`
	Name       string   `json:"name,omitempty"`
	Parent     string   `json:"parent,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	Grants     Grants   `json:"grants,omitzero"`
}
