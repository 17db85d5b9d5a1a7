package scope

import (
	"cmp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
)

// writtenPath is a path that a policy changes, as far as its text says: an empty segment
// stands for what is computed.
type writtenPath struct {
	segments []string
	// made says that a map is put there, if there is none: what is below it stays as it
	// is, but for what other paths tell.
	made     bool
	location definition.Location
}

// String writes what is computed as *.
func (w writtenPath) String() string {
	segments := slices.Clone(w.segments)
	for i, segment := range segments {
		segments[i] = cmp.Or(segment, "*")
	}
	return jsonpatch.Pointer(segments)
}

// overlaps says whether one path may be the other, or within it.
func (w writtenPath) overlaps(other writtenPath) bool {
	switch {
	case w.made && other.made && len(w.segments) == len(other.segments),
		w.made && len(w.segments) < len(other.segments),
		other.made && len(other.segments) < len(w.segments):
		return false
	}
	for i := range min(len(w.segments), len(other.segments)) {
		if a, b := w.segments[i], other.segments[i]; a != b && a != "" && b != "" {
			return false
		}
	}
	return true
}

// patches is about paths that a patch of a scope above sets. A path that is computed is
// judged when the patch is made.
func (c *candidateCheck) patches(parent *engine.PolicySet) []Violation {
	theirs := patchPaths(parent, false)
	var out []Violation
	for _, policy := range engine.Describe(c.set) {
		for _, above := range engine.Describe(parent) {
			if !policy.Mutates || !above.Mutates || !sameKinds(policy.Match, above.Match) {
				continue
			}
			for _, own := range c.written()[policy.Package] {
				i := slices.IndexFunc(theirs[above.Package], own.overlaps)
				if i >= 0 {
					out = append(out, Violation{ReasonPatchesParent, own.location.Errorf(
						"policy %s changes %s, which policy %s of source %s sets (%s): what a scope above sets stays; take the change out",
						policy.Package, own, above.Package, parent.Name(), theirs[above.Package][i].location)})
				}
			}
		}
	}
	return out
}

// sameKinds says whether two matches may be about one object.
func sameKinds(a, b definition.Match) bool {
	if len(a.Kinds) == 0 || len(b.Kinds) == 0 {
		return true
	}
	names := func(mine, its string) bool { return mine == its || mine == "*" || its == "*" }
	return slices.ContainsFunc(a.Kinds, func(x admission.GroupVersionKind) bool {
		return slices.ContainsFunc(b.Kinds, func(y admission.GroupVersionKind) bool {
			return names(x.Group, y.Group) && names(x.Kind, y.Kind)
		})
	})
}

// patchPaths are the paths that the patch and defaults rules of each package write. Those
// of the narrower scope tell of a map that is added as a whole that it may replace one,
// unless it is empty, as a map that is only made sure of is.
func patchPaths(set *engine.PolicySet, narrower bool) map[string][]writtenPath {
	out := map[string][]writtenPath{}
	for _, module := range modulesOf(set) {
		name := definition.PackageName(module)
		ast.WalkTerms(module, func(term *ast.Term) bool {
			if operation, ok := term.Value.(ast.Object); ok {
				out[name] = append(out[name], operationPaths(operation, term.Location, narrower)...)
			}
			return false
		})
		for _, rule := range module.Rules {
			out[name] = append(out[name], defaultPaths(rule)...)
		}
	}
	return out
}

// operationPaths reads an object that looks like an operation of JSON Patch.
func operationPaths(operation ast.Object, at *ast.Location, narrower bool) []writtenPath {
	op, ok := member[ast.String](operation, "op")
	if !ok || op == "test" {
		return nil
	}
	var out []writtenPath
	for _, key := range []string{"path", "from"} {
		term := operation.Get(ast.StringTerm(key))
		if term == nil || key == "from" && op != "move" {
			continue
		}
		segments, ok := pointerOf(term)
		if !ok {
			continue
		}
		location := definition.LocationOf(at)
		value, isMap := member[ast.Object](operation, "value")
		if isMap && op == "add" && (value.Len() == 0 || !narrower) {
			out = append(out, mapPaths(segments, value, location)...)
		} else {
			out = append(out, writtenPath{segments: segments, location: location})
		}
	}
	return out
}

// member is what stands at a key of an object, if it is of a type.
func member[T ast.Value](object ast.Object, key string) (value T, ok bool) {
	if term := object.Get(ast.StringTerm(key)); term != nil {
		value, ok = term.Value.(T)
	}
	return value, ok
}

// mapPaths are those of a map that is put at a path: the map itself, and its leaves as
// far as its keys are constant.
func mapPaths(path []string, object ast.Object, at definition.Location) []writtenPath {
	out := []writtenPath{{slices.Clone(path), true, at}}
	object.Foreach(func(key, value *ast.Term) {
		name, constant := key.Value.(ast.String)
		below := append(slices.Clone(path), string(name))
		inner, isMap := value.Value.(ast.Object)
		switch {
		case !constant:
			out[0].made = false // any member of it may be set
		case isMap:
			out = append(out, mapPaths(below, inner, at)...)
		default:
			out = append(out, writtenPath{segments: below, location: at})
		}
	})
	return out
}

// pointerOf reads a constant pointer, or a sprintf with a constant format.
func pointerOf(term *ast.Term) ([]string, bool) {
	pointer := ""
	switch value := term.Value.(type) {
	case ast.String:
		pointer = string(value)
	case ast.Call:
		format, ok := value[len(value)-min(2, len(value)-1)].Value.(ast.String)
		if value[0].String() != ast.Sprintf.Name || !ok {
			return nil, false
		}
		pointer = string(format)
	default:
		return nil, false
	}
	if !strings.HasPrefix(pointer, "/") {
		return nil, false
	}
	_, computed := term.Value.(ast.Call)
	segments := strings.Split(pointer[1:], "/")
	for i, segment := range segments {
		if computed && strings.Contains(segment, "%") || segment == "-" {
			segments[i] = ""
			continue
		}
		segments[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
	}
	return segments, true
}

// defaultPaths are the leaves of what a defaults rule gives, as far as its keys are
// constant.
func defaultPaths(rule *ast.Rule) []writtenPath {
	ref := rule.Head.Ref()
	name, _ := ref[0].Value.(ast.Var)
	if name != "defaults" {
		return nil
	}
	var prefix []string
	for _, term := range ref[1:] {
		key, ok := term.Value.(ast.String)
		if !ok {
			return nil
		}
		prefix = append(prefix, string(key))
	}
	at := definition.LocationOf(rule.Location)
	var out []writtenPath
	var descend func(path []string, term *ast.Term)
	descend = func(path []string, term *ast.Term) {
		object, isObject := term.Value.(ast.Object)
		if !isObject || object.Len() == 0 {
			if len(path) > 0 {
				out = append(out, writtenPath{slices.Clone(path), isObject, at})
			}
			return
		}
		object.Foreach(func(key, value *ast.Term) {
			if name, ok := key.Value.(ast.String); ok {
				descend(append(slices.Clone(path), string(name)), value)
			}
		})
	}
	if rule.Head.Value != nil {
		descend(prefix, rule.Head.Value)
	}
	return out
}
