package source

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
	"github.com/lintel-policy/lintel/policies/sandbox"
)

// maxTogether is the number of packages that are checked together: their dependencies are
// compiled together, which takes memory.
const maxTogether = 64

// referenceRequest names the checks of a compiled source.
type referenceRequest struct {
	Checks []ReferenceCheck `json:"checks"`
	// Clean are the keys of earlier checks.
	Clean []string `json:"clean"`
	// Whole says that all packages have to be at hand, and not only those that are named.
	Whole bool `json:"whole"`
}

// names says whether one of some packages, which are sorted, is to be checked.
func (r referenceRequest) names(packages []string) bool {
	for _, check := range r.Checks {
		for _, name := range check.Packages {
			if _, named := slices.BinarySearch(packages, name); named {
				return true
			}
		}
	}
	return false
}

// referenceAnswer is the result of the checks. Clean are the keys of the packages that, by
// themselves, have no wrong reference: they need no further check while their dependencies do
// not change.
type referenceAnswer struct {
	Errors definition.CompileErrorList `json:"errors"`
	Clean  []cleanPackage              `json:"clean"`
}

// cleanPackage is a package with its key.
type cleanPackage struct {
	Package string `json:"package"`
	Key     string `json:"key"`
}

// checkReferences finds the references that no matched object can have. Policies that no check
// names are not checked, nor are the rules that only they use.
//
// OPA's own type checker checks the rules, once for each check, and so follows variables to
// their values. A rule that several policies use is wrong if it is wrong for all of them.
func checkReferences(set *engine.PolicySet, policies []matched, request referenceRequest) (referenceAnswer, error) {
	graph := newRuleGraph(set)
	unchecked := graph.replaced()
	for rule := range policyset.ReachableRules(graph.without(policies, request.Checks), graph.graph) {
		unchecked[rule] = true
	}
	answer := referenceAnswer{}
	users := map[*ast.Rule][]int{} // the checks that come to a rule
	found := map[place]*suspect{}
	for i, check := range request.Checks {
		reached, failures, err := graph.check(check, request.Clean, &answer)
		if err != nil {
			return answer, err
		}
		for rule := range reached {
			users[rule] = append(users[rule], i)
		}
		for _, failure := range failures {
			if unchecked[failure.rule] || failure.isForOtherHosts() {
				continue
			}
			if found[failure.place] == nil {
				found[failure.place] = &suspect{failure: failure}
			}
			found[failure.place].checks = append(found[failure.place].checks, i)
		}
	}
	for _, one := range found {
		if len(one.checks) == len(users[one.rule]) {
			answer.Errors = append(answer.Errors, one.error(request.Checks))
		}
	}
	slices.SortFunc(answer.Errors, definition.CompileError.Compare)
	return answer, nil
}

// check gives the rules that the packages of a check come to, and the failures in them.
func (g *ruleGraph) check(check ReferenceCheck, clean []string, answer *referenceAnswer) (map[*ast.Rule]bool, []failure, error) {
	known := map[string]bool{}
	for _, key := range clean {
		known[key] = true
	}
	all := map[*ast.Rule]bool{}
	var left []*extent
	for _, name := range check.Packages {
		one := g.extent(name, check.Input)
		maps.Copy(all, one.reached)
		if known[one.key] {
			answer.Clean = append(answer.Clean, cleanPackage{name, one.key})
		} else {
			left = append(left, one)
		}
	}
	var failures []failure
	seen := map[place]bool{}
	for batch := range slices.Chunk(left, maxTogether) {
		found, err := g.typeErrors(batch, check.Input)
		if err != nil {
			return nil, nil, err
		}
		wrong := map[*ast.Rule]bool{}
		for _, one := range found {
			wrong[one.rule] = true
			if !seen[one.place] && all[one.rule] {
				seen[one.place] = true
				failures = append(failures, one)
			}
		}
		for _, one := range batch {
			if !one.reaches(wrong) {
				answer.Clean = append(answer.Clean, cleanPackage{one.name, one.key})
			}
		}
	}
	return all, failures, nil
}

// extent is a package with all that it comes to.
type extent struct {
	name    string
	reached map[*ast.Rule]bool
	files   []string // with all that is needed to compile them
	key     string   // is the same for the same files and the same input
}

func (s *extent) reaches(rules map[*ast.Rule]bool) bool {
	for rule := range rules {
		if s.reached[rule] {
			return true
		}
	}
	return false
}

func (g *ruleGraph) extent(name string, input json.RawMessage) *extent {
	one := &extent{name: name, reached: policyset.ReachableRules(g.byPackage[name], g.graph)}
	one.files = g.files(one.reached)
	h := sha256.New()
	fmt.Fprintf(h, "%q %x", name, sha256.Sum256(input))
	for _, file := range one.files {
		fmt.Fprintf(h, " %q %x", file, g.sums[file])
	}
	one.key = hex.EncodeToString(h.Sum(nil)[:16])
	return one
}

// suspect is a reference that fails in some checks.
type suspect struct {
	failure
	checks []int
}

// failure is a reference that OPA cannot resolve.
type failure struct {
	place
	at   *ast.Location
	rule *ast.Rule
	// parent and key are the reference as the author wrote it.
	parent, key string
	// scalar and list describe the parent if it is not an object; fields are those of an object.
	scalar, list bool
	fields       []string
	// envelope says that the parent is part of neither object.
	envelope bool
}

// isForOtherHosts says whether a rule is written for an input that is not Lintel's: it
// requires that there is no input.request, or reads Gatekeeper's review in a module that
// reads input.request, too. Libraries are written for both.
func (f failure) isForOtherHosts() bool {
	found := false
	if f.parent == "input" && f.key == "review" {
		ast.WalkRefs(f.rule.Module, func(ref ast.Ref) bool {
			found = found || ref.HasPrefix(requestRef)
			return found
		})
	}
	ast.WalkExprs(f.rule.Body, func(expr *ast.Expr) bool {
		if term, ok := expr.Terms.(*ast.Term); ok && expr.Negated {
			ref, isRef := term.Value.(ast.Ref)
			found = found || isRef && ref.Equal(requestRef)
		}
		return found
	})
	return found
}

var requestRef = ast.MustParseRef("input.request")

type place struct {
	file           string
	line, column   int
	reference, key string
}

// typeErrors are the references in the modules of extents that an input cannot have.
func (g *ruleGraph) typeErrors(extents []*extent, input json.RawMessage) ([]failure, error) {
	files := map[string]string{}
	for _, one := range extents {
		for _, file := range one.files {
			files[file] = g.set.Files()[file]
		}
	}
	modules, err := definition.Modules(definition.Source{Files: files})
	if err != nil {
		return nil, err
	}
	var document any
	if err := json.Unmarshal(input, &document); err != nil {
		return nil, fmt.Errorf("reading the schema of the input: %w", err)
	}
	schemas := ast.NewSchemaSet()
	schemas.Put(ast.SchemaRootRef, document)
	compiler := ast.NewCompiler().WithCapabilities(sandbox.Capabilities()).
		WithSchemas(schemas).WithOnlyStagesUpTo(ast.StageCheckTypes).SetErrorLimit(0)
	compiler.Compile(modules)
	var out []failure
	for _, err := range compiler.Errors {
		if one, ok := readFailure(err); ok {
			if one.rule = g.ruleAt(one.at); one.rule != nil {
				out = append(out, one)
			}
		}
	}
	return out, nil
}

// readFailure reads an error about a key that is text. An index of another type is not a
// misspelled name.
func readFailure(err *ast.Error) (failure, bool) {
	if err.Location == nil {
		return failure{}, false
	}
	one := failure{at: err.Location}
	var ref ast.Ref
	var position int
	switch detail := err.Details.(type) {
	case *ast.RefErrInvalidDetail:
		ref, position = detail.Ref, detail.Pos
		for _, value := range detail.OneOf {
			if name, ok := value.(ast.String); ok {
				one.fields = append(one.fields, string(name))
			}
		}
		one.list = types.Compare(detail.Want, types.N) == 0
	case *ast.RefErrUnsupportedDetail:
		ref, position = detail.Ref, detail.Pos+1
		one.scalar = true
	default:
		return failure{}, false
	}
	if position >= len(ref) {
		return failure{}, false
	}
	key, isText := ref[position].Value.(ast.String)
	if !isText {
		return failure{}, false
	}
	one.parent, one.key = ref[:position].String(), string(key)
	one.envelope = outsideObjects(ref, position)
	one.place = place{one.at.File, one.at.Row, one.at.Col, ref.String(), one.key}
	return one, true
}

// outsideObjects says whether a position is in the input but in neither object.
func outsideObjects(ref ast.Ref, position int) bool {
	if !ref[0].Equal(ast.InputRootDocument) {
		return false
	}
	return position < 3 || !ref[2].Equal(ast.StringTerm("object")) && !ref[2].Equal(ast.StringTerm("oldObject"))
}

func (s *suspect) error(checks []ReferenceCheck) definition.CompileError {
	err := definition.CompileError{File: s.at.File, Line: s.at.Row, Column: s.at.Col}
	whole := s.parent + "." + s.key
	if strings.Contains(s.parent, "__local") { // OPA's own name for an unnamed value
		whole = s.key
	}
	where := s.kinds(checks)
	switch {
	case s.envelope:
		err.Message = fmt.Sprintf("%s is not available to policies; %s", whole, s.instead())
	case s.list:
		err.Message = fmt.Sprintf("%s is in none of the kinds %s: %s is a list; take its elements, with %s[_] or `some element in %s`", whole, where, s.parent, s.parent, s.parent)
	case s.scalar:
		err.Message = fmt.Sprintf("%s is in none of the kinds %s: its parent is a single value without fields; remove .%s", whole, where, s.key)
	default:
		err.Message = fmt.Sprintf("%s is in none of the kinds %s; %s", whole, where, s.instead())
	}
	return err
}

// kinds says what the policies match that come to the rule.
func (s *suspect) kinds(checks []ReferenceCheck) string {
	own := definition.PackageName(s.rule.Module)
	var all []string
	for _, i := range s.checks {
		all = append(all, checks[i].Kinds...)
		if slices.Contains(checks[i].Packages, own) {
			return fmt.Sprintf("that policy %s matches (%s)", own, strings.Join(checks[i].Kinds, ", "))
		}
	}
	slices.Sort(all)
	return fmt.Sprintf("that the policies match which use package %s (%s)", own, strings.Join(slices.Compact(all), ", "))
}

// instead says what to write: the field whose name is nearest, where one is near.
func (s *suspect) instead() string {
	if s.parent == "input" && s.key == "review" {
		return definition.InsteadOfReview
	}
	best, least := "", max(2, len(s.key)/4)+1
	for _, name := range slices.Sorted(slices.Values(s.fields)) {
		if distance := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(s.key)); distance < least {
			best, least = name, distance
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("did you mean %s?", best)
	case s.parent == "input":
		return fmt.Sprintf("%s: write input.request.object.%s", definition.InsteadOfObject, s.key)
	}
	return fmt.Sprintf("correct it, or write object.get(%s, %q, null) where it is meant to be absent", s.parent, s.key)
}
