package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/jsonpatch"
	"github.com/lintel-policy/lintel/policies/sandbox"
)

// maxRounds bounds how often patches may follow from each other.
const maxRounds = 10

// member is a unit that is applied or dropped as a whole: a member of a patch set, or all
// defaults of one policy.
type member struct {
	policy *compiledPolicy
	rule   definition.Rule
	ops    []jsonpatch.Step
}

// Mutate applies patch and defaults until nothing changes. A patch that does not
// apply, conflicts with another policy's or never settles is an error of its policy:
// a denial under Fail; under Ignore a warning, and the policy is left out.
func (s *Snapshot) Mutate(ctx context.Context, review *admission.Review, options Options) *Mutation {
	mutation := &Mutation{Review: review}
	if review.New == nil || !s.Concerns(review) || review.SubResource != "" || review.OnlyRemovesFinalizers() {
		return mutation
	}
	e := newEvaluation(review, options)
	m := newMutator(ctx, s, e, mutation)
	for {
		left := len(m.left)
		m.converge(e)
		if len(m.left) == left || len(mutation.Patch) == 0 || !mutation.Allowed() {
			break
		}
		// A policy that failed after its first round has changed the object by then: what
		// the others make of it is found without that one.
		mutation.Patch, mutation.Review, m.protected = nil, review, nil
	}
	mutation.sort()
	if !mutation.Allowed() {
		mutation.Patch, mutation.Review = nil, review
	}
	return mutation
}

// mutator is one run of Mutate.
type mutator struct {
	snapshot *Snapshot
	ctx      context.Context
	// evaluation is that of the object as it came.
	evaluation *evaluation
	result     *Mutation
	left       map[*compiledPolicy]bool // policies left out after an error
	// protected is what broader scopes have set in earlier rounds, and overwritten how many
	// places that hold something each policy of a narrower one has changed.
	protected   []protectedPlace
	overwritten map[*compiledPolicy]int
}

func newMutator(ctx context.Context, s *Snapshot, e *evaluation, result *Mutation) *mutator {
	return &mutator{snapshot: s, ctx: ctx, evaluation: e, result: result, left: map[*compiledPolicy]bool{}, overwritten: map[*compiledPolicy]int{}}
}

// converge repeats rounds until one changes nothing.
func (m *mutator) converge(e *evaluation) {
	for range maxRounds {
		members := m.members(e)
		if len(members) == 0 || !m.result.Allowed() {
			return
		}
		after, applied := m.round(e.review, members)
		if after == nil || after.Compare(e.review.New.Value()) == 0 {
			return
		}
		m.protect(toJSON(e.review.New.Value()), members)
		m.result.Patch = append(m.result.Patch, applied...)
		m.result.Review = e.review.WithObject(after)
		e = e.with(m.result.Review)
	}
	members := m.members(e)
	after, applied := m.round(e.review, members)
	if after == nil || after.Compare(e.review.New.Value()) == 0 {
		return
	}
	narrowest := 0
	for _, member := range members {
		narrowest = max(narrowest, member.policy.rank())
	}
	for _, member := range members {
		if member.policy.rank() < narrowest {
			continue // it may settle without those
		}
		m.fail(member.policy, member.rule, fmt.Sprintf(
			"it never settles: after %d rounds it still changes the object (%s); guard the rule so that it finds nothing to do on an object it has patched",
			maxRounds, describe(applied)))
	}
}

// members evaluates every policy that mutates, and returns the members that are disjoint from
// those of policies evaluated before (broader scopes first).
func (m *mutator) members(e *evaluation) []member {
	policies := m.policies(e)
	if len(policies) == 0 {
		m.result.Policies = 0
		return nil // most reviews: no policy needs the converted object
	}
	var members []member
	root := sync.OnceValue(func() any { return toJSON(e.review.New.Value()) }) // most reviews: no member asks
	claims, above := newClaims(root), m.parentsOf(e, root)
	m.result.Policies = 0
	for _, answer := range m.ask(policies, e, root) {
		m.result.add(&answer.found)
		if answer.failed {
			m.left[answer.policy] = true
			continue
		}
		for _, member := range answer.members {
			conflict, later := claims.claim(member)
			switch {
			case later:
			case conflict != nil:
				m.fail(member.policy, member.rule, conflict.reason())
			default:
				if conflict := m.overrides(member, above); conflict != nil {
					m.fail(member.policy, member.rule, conflict.reason())
					continue
				}
				members = append(members, member)
			}
		}
	}
	return slices.DeleteFunc(members, func(member member) bool { return m.left[member.policy] })
}

// mutationAnswer is the result of one policy.
type mutationAnswer struct {
	policy  *compiledPolicy
	found   Decision
	members []member
	failed  bool // the policy is left out from now on
}

// policies are those that may mutate the object, and are not left out.
func (m *mutator) policies(e *evaluation) []*compiledPolicy {
	var policies []*compiledPolicy
	for _, p := range m.snapshot.candidates(e.review.Kind) {
		if p.mutate != nil && p.asked(e.options) && !m.left[p] {
			policies = append(policies, p)
		}
	}
	return policies
}

// ask evaluates policies and returns the members of their patches.
func (m *mutator) ask(policies []*compiledPolicy, e *evaluation, root func() any) []mutationAnswer {
	questions := make([]question, len(policies))
	for i, p := range policies {
		questions[i] = question{policy: p, evaluation: e}
	}
	return askEach(questions, func(q question) mutationAnswer {
		answer := mutationAnswer{policy: q.policy}
		answer.members, answer.failed = q.policy.mutateOne(m.ctx, m.snapshot, e, root, &answer.found)
		return answer
	}, func(q question, err evalError) mutationAnswer {
		answer := mutationAnswer{policy: q.policy, failed: true}
		q.policy.report(e, &answer.found, q.policy.errorFinding(definition.EntryPatch, err))
		return answer
	})
}

// mutateOne asks one policy; failed says that it is to be left out.
func (p *compiledPolicy) mutateOne(ctx context.Context, s *Snapshot, e *evaluation, root func() any, found *Decision) (members []member, failed bool) {
	kind := e.review.Kind
	if p.leavesRights(kind) {
		return nil, false
	}
	matches, reason := p.form.matches(p, s, e, p.matcher.Mutates(e.review))
	if err := p.forbidsMutation(kind); err != nil && matches {
		reason = "it " + err.Error()
	}
	if reason != "" {
		p.cannotAsk(e, found, reason)
		return nil, true
	}
	if !matches {
		return nil, false
	}
	found.Policies++
	given, errs := e.evaluate(ctx, p, p.mutate, definition.EntryPatch, e.input(p.set), e.data(p.set))
	for _, err := range errs {
		p.report(e, found, p.errorFinding(definition.EntryPatch, err))
	}
	if given == nil || len(errs) > 0 {
		return nil, true
	}
	for _, one := range p.givenValues(definition.EntryPatch, given[0]) {
		ops, err := readMember(one.value)
		if err != nil {
			p.report(e, found, p.mutationFailure(one.rule, err.Error()))
			return nil, true
		}
		members = append(members, member{p, one.rule, ops})
	}
	if len(given[1]) > 0 {
		rule := p.defaultsRule()
		ops, err := defaultOps(root, given[1][0].Value)
		if err != nil {
			p.report(e, found, p.mutationFailure(rule, err.Error()))
			return nil, true
		}
		if len(ops) > 0 {
			members = append(members, member{p, rule, ops})
		}
	}
	return members, false
}

// round applies the members, sorted by path, to the object. A member that does not
// apply leaves its policy out, and the round starts again without it.
func (m *mutator) round(review *admission.Review, members []member) (ast.Object, []jsonpatch.Operation) {
	slices.SortStableFunc(members, func(a, b member) int {
		return strings.Compare(jsonpatch.Pointer(a.ops[0].Path), jsonpatch.Pointer(b.ops[0].Path))
	})
	for {
		root, err := ast.JSON(review.New.Value())
		if err != nil {
			return nil, nil
		}
		doc := &jsonpatch.Document{Root: root}
		failed := m.applyAll(doc, members)
		if failed == nil {
			object, ok := fromJSON(doc.Root)
			if !ok {
				return nil, nil
			}
			return object, doc.Applied
		}
		members = slices.DeleteFunc(slices.Clone(members), func(member member) bool { return member.policy == failed })
	}
}

// applyAll is nil, or the policy whose member does not apply.
func (m *mutator) applyAll(doc *jsonpatch.Document, members []member) *compiledPolicy {
	for _, member := range members {
		for _, op := range member.ops {
			if err := doc.Apply(op); err != nil {
				m.fail(member.policy, member.rule, "its patch does not apply: "+err.Error())
				return member.policy
			}
		}
	}
	return nil
}

// fail leaves a policy out and reports why.
func (m *mutator) fail(p *compiledPolicy, rule definition.Rule, reason string) {
	m.left[p] = true
	p.report(m.evaluation, &m.result.Decision, p.mutationFailure(rule, reason))
}

func (p *compiledPolicy) mutationFailure(rule definition.Rule, reason string) Finding {
	finding := p.finding(rule.Entry, rule.Location)
	finding.Error = true
	finding.Words = fmt.Sprintf("policy %s cannot mutate the object: %s", p.name, reason)
	return finding
}

// defaultsRule is where the policy's defaults stand.
func (p *compiledPolicy) defaultsRule() definition.Rule {
	for _, rule := range p.rules {
		if rule.Entry == definition.EntryDefaults {
			return rule
		}
	}
	return definition.Rule{Entry: definition.EntryDefaults, Location: p.location}
}

// readMember reads one operation, or a list of them.
func readMember(term *ast.Term) ([]jsonpatch.Step, error) {
	value, err := sandbox.JSON(term)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var ops []jsonpatch.Step
	for _, item := range list {
		op, err := jsonpatch.ReadStep(item)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	if len(ops) == 0 {
		return nil, fmt.Errorf("a member of patch is an empty list; let the rule fail instead")
	}
	return ops, nil
}

// toJSON is an object that came as JSON.
func toJSON(object ast.Object) any {
	value, err := ast.JSON(object)
	if err != nil {
		panic("an object that came as JSON always has JSON: " + err.Error())
	}
	return value
}

// fromJSON is the reverse of toJSON.
func fromJSON(root any) (ast.Object, bool) {
	value, err := ast.InterfaceToValue(root)
	object, ok := value.(ast.Object)
	return object, ok && err == nil
}

// defaultOps are the additions that put defaults where the object has nothing or null.
func defaultOps(root func() any, defaults *ast.Term) ([]jsonpatch.Step, error) {
	value, err := sandbox.JSON(defaults)
	if err != nil {
		return nil, err
	}
	return jsonpatch.Defaults(root(), value)
}

// describe names the first paths that operations change.
func describe(ops []jsonpatch.Operation) string {
	var paths []string
	for _, op := range ops {
		if len(paths) == 3 {
			return strings.Join(paths, ", ") + ", …"
		}
		paths = append(paths, op.Path)
	}
	return strings.Join(paths, ", ")
}
