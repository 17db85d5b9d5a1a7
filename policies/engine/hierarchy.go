package engine

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// ScopeKey tells scopes apart. The enterprise is one, whatever its sources call it.
type ScopeKey struct {
	Level ScopeLevel
	Name  string
}

// String is such as team payments.
func (k ScopeKey) String() string {
	if k.Level == Enterprise {
		return "the enterprise"
	}
	return string(k.Level) + " " + k.Name
}

// Key is the scope's.
func (s Scope) Key() ScopeKey {
	if s.Level == Enterprise || s.Level == "" {
		return ScopeKey{Level: Enterprise}
	}
	return ScopeKey{s.Level, s.Name}
}

// Hierarchy is how the scopes of several sources stand to each other. It is immutable.
type Hierarchy struct {
	scopes map[ScopeKey]*scopeNode
}

// scopeNode is one scope, as its sources declare it together.
type scopeNode struct {
	key        ScopeKey
	names      []string // what the enterprise is called
	everywhere bool     // some source names no namespaces
	namespaces []string
	parents    []string // more than one only while sources disagree
	grants     []Grants
}

// NewHierarchy arranges the scopes of sources.
func NewHierarchy(scopes ...Scope) *Hierarchy {
	h := &Hierarchy{scopes: map[ScopeKey]*scopeNode{}}
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
func (h *Hierarchy) Parent(scope Scope) (ScopeKey, error) {
	if scope.Parent == "" {
		return ScopeKey{Level: Enterprise}, nil
	}
	var found []ScopeKey
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
		return ScopeKey{}, fmt.Errorf("no live source declares a scope named %q that is broader than %s; apply that source first, or correct spec.scope.parent", scope.Parent, scope.Level)
	}
	return ScopeKey{}, fmt.Errorf("%q names several scopes that are broader than %s; give them names of their own", scope.Parent, scope.Level)
}

// Above are all scopes that bind a scope beside its own, broadest first. What has no
// source, or is not found, is left out.
func (h *Hierarchy) Above(scope Scope) []ScopeKey {
	if scope.Key().Level == Enterprise {
		return nil
	}
	found := map[ScopeKey]bool{}
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
	climb(Scope{Level: scope.Level}) // the enterprise binds all, whatever is missing in between
	keys := make([]ScopeKey, 0, len(found))
	for key := range found {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b ScopeKey) int {
		if a.Level != b.Level {
			return a.Level.Rank() - b.Level.Rank()
		}
		return strings.Compare(a.Name, b.Name)
	})
	return keys
}

// Namespaces are the names and globs of a scope, of all its sources together: nil
// stands for every namespace.
func (h *Hierarchy) Namespaces(key ScopeKey) []string {
	node := h.scopes[key]
	if node == nil || node.everywhere || slices.Contains(node.namespaces, "*") {
		return nil
	}
	return slices.Clone(node.namespaces)
}

// Parents are the names that the sources of a scope give as its parent.
func (h *Hierarchy) Parents(key ScopeKey) []string {
	if node := h.scopes[key]; node != nil {
		return slices.Clone(node.parents)
	}
	return nil
}

// GrantsTo is what all scopes above a scope let it use: what only some of them grant
// stops on its way down. The enterprise itself may use everything; a scope without any
// source above it has nobody to grant it anything.
func (h *Hierarchy) GrantsTo(scope Scope) Grants {
	var granted Grants
	for i, key := range h.Above(scope) {
		own := h.scopes[key].granted()
		if i == 0 {
			granted = own
			continue
		}
		granted.Clock = granted.Clock && own.Clock
		granted.Requires = slices.DeleteFunc(slices.Clone(granted.Requires), func(kind GroupVersionKind) bool { return !own.Reads(kind) })
	}
	return granted
}

// granted is what any source of the scope grants.
func (n *scopeNode) granted() Grants {
	var all Grants
	for _, grants := range n.grants {
		all.Clock = all.Clock || grants.Clock
		all.Requires = append(all.Requires, grants.Requires...)
	}
	return all
}

// Grants are what a scope lets the scopes below it use beyond the objects of their own
// namespaces.
type Grants struct {
	// Requires are kinds that scopes below may require although they are cluster-scoped,
	// or Secrets: without version.
	Requires []GroupVersionKind `json:"requires,omitempty"`
	// Clock says that policies below may read the time.
	Clock bool `json:"clock,omitempty"`
}

// Reads says whether a kind is granted.
func (g Grants) Reads(kind GroupVersionKind) bool {
	return slices.ContainsFunc(g.Requires, func(granted GroupVersionKind) bool {
		return granted.Group == kind.Group && granted.Kind == kind.Kind
	})
}

// MayRequire says whether policies of a scope below the enterprise may require a kind:
// nil, or why not.
func (g Grants) MayRequire(kind GroupVersionKind, resources *Resources) error {
	if g.Reads(kind) {
		return nil
	}
	what := ""
	if resource, known := resources.ByKind(kind.Group, kind.Kind); known && !resource.Namespaced {
		what = "is cluster-scoped"
	}
	if kind.Group == "" && kind.Kind == "Secret" {
		what = "holds what must stay secret"
	}
	if what == "" {
		return nil
	}
	return fmt.Errorf("requires %s, which %s: a scope below the enterprise may read it only where every scope above grants it (spec.scope.grants.requires of their PolicySources)", kind, what)
}

// place is what the sources around it make of a source.
type place struct {
	// below says that the source is of a scope below the enterprise, and parent that
	// there is a scope below its own.
	below, parent bool
	// both says that policies are asked in the entries of both failure policies.
	both bool
	// above are the namespaces of each scope above, where those do not have all.
	above  [][]string
	grants Grants
}

// enclosed says whether a namespace is one of all scopes above.
func (p *place) enclosed(namespace string) bool {
	return !slices.ContainsFunc(p.above, func(globs []string) bool { return !matchesAny(globs, namespace) })
}

func matchesAny(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		if glob != "" && name != "" && glob[0] != name[0] && !strings.ContainsRune(`*?[\`, rune(glob[0])) {
			return false // most, and path.Match reads a pattern to its end
		}
		ok, _ := path.Match(glob, name)
		return ok
	})
}

// forbids is why a policy must not be asked where it stands: its scope may not use, or
// not any more, what it reads.
func (p *policy) forbids(resources *Resources) error {
	if p.set.place == nil || !p.set.place.below {
		return nil
	}
	if p.meta.clock && !p.set.place.grants.Clock {
		return fmt.Errorf("reads the time: a scope below the enterprise may do so only where every scope above grants it (spec.scope.grants.clock of their PolicySources)")
	}
	for _, kind := range p.meta.requires {
		if err := p.set.place.grants.MayRequire(kind, resources); err != nil {
			return err
		}
	}
	return nil
}

// sees says whether the policies of a set may read the cluster's objects of a kind in a
// namespace.
func (s *PolicySet) sees(kind GroupVersionKind, namespace string) bool {
	if s.place == nil || !s.place.below {
		return true
	}
	if namespace == "" {
		return s.place.grants.Reads(kind)
	}
	return matchesAny(s.source.Scope.Namespaces, namespace) && s.place.enclosed(namespace)
}

// arrange gives the sets their places. Where there is no scope below the enterprise it
// gives them as they are; else copies, which share everything that changes.
func arrange(sets []*PolicySet) []*PolicySet {
	scopes := make([]Scope, len(sets))
	scoped := false
	for i, set := range sets {
		scopes[i] = set.source.Scope
		scoped = scoped || set.source.Scope.Level != Enterprise
	}
	if !scoped {
		return sets
	}
	hierarchy := NewHierarchy(scopes...)
	parents := map[ScopeKey]bool{}
	for _, scope := range scopes {
		for _, key := range hierarchy.Above(scope) {
			parents[key] = true
		}
	}
	placed := make([]*PolicySet, len(sets))
	for i, set := range sets {
		scope := set.source.Scope
		at := &place{below: scope.Level != Enterprise, parent: parents[scope.Key()]}
		if at.below {
			at.grants = hierarchy.GrantsTo(scope)
			for _, key := range hierarchy.Above(scope) {
				if namespaces := hierarchy.Namespaces(key); namespaces != nil {
					at.above = append(at.above, namespaces)
				}
			}
		}
		placed[i] = set.at(at)
	}
	return placed
}

// at is the set at a place. A parent that cannot decide denies, or what it guards
// against would pass.
func (s *PolicySet) at(place *place) *PolicySet {
	placed := *s
	placed.place = place
	if place.parent && placed.source.FailurePolicy == Ignore {
		// Until the registration has followed, the API server calls the other entry.
		placed.source.FailurePolicy, place.both = Fail, true
	}
	placed.policies = make([]*policy, len(s.policies))
	for i, p := range s.policies {
		own := *p
		own.set = &placed
		placed.policies[i] = &own
	}
	return &placed
}

// Tenant names the narrowest scope below the enterprise that an object belongs to: ""
// where it belongs to none.
func (s *Snapshot) Tenant(review *Review) string {
	tenant := ScopeKey{Level: Enterprise}
	for _, set := range s.scoped {
		if key := set.source.Scope.Key(); key.Level.Rank() > tenant.Level.Rank() && set.inScope(review) {
			tenant = key
		}
	}
	if tenant.Level == Enterprise {
		return ""
	}
	return tenant.String()
}
