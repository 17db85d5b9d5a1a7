package engine

import (
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/eval"
)

// evaluation is what all policies share while one review is decided. One goroutine asks
// them one after the other.
type evaluation struct {
	review    *admission.Review
	options   Options
	now       time.Time
	namespace *admission.Object                  // nil where unknown or cluster-scoped
	used      map[string]time.Duration           // by each source below the enterprise
	waited    time.Duration                      // for other reviews, by options.Pacer
	generated bool                               // the review is about what another object would create
	covered   map[*compiledPolicy]*eval.Coverage // not nil where what evaluations reach is recorded
	// original is the review as it came; review may be about a changed object, or about the
	// Pod that a workload would create.
	original *admission.Review

	inputs map[*PolicySet]*ast.Term
	csr    *ast.Term // once a policy reads it
	// forConstraints is input.review of templates; nil until one is asked.
	forConstraints *ast.Term
	ofConstraints  []definition.Subject // nil until one is asked
}

func newEvaluation(review *admission.Review, options Options) *evaluation {
	if options.Clock == nil {
		options.Clock = time.Now
	}
	return &evaluation{review: review, options: options, now: options.Clock(), namespace: options.Namespace.object, used: map[string]time.Duration{}, original: review, inputs: map[*PolicySet]*ast.Term{}}
}

// with is the same evaluation of another review.
func (e *evaluation) with(review *admission.Review) *evaluation {
	other := &evaluation{review: review, options: e.options, now: e.now, namespace: e.namespace, used: e.used, original: e.original, inputs: map[*PolicySet]*ast.Term{}}
	if e.covered != nil {
		other.covered = map[*compiledPolicy]*eval.Coverage{}
	}
	return other
}

// InputFields are all that the input document can have.
var InputFields = []string{"apiVersion", "kind", "request", "name", "namespace", "scope", "parameters", "facts", "csr"}

// input is the document a policy of the set sees: apiVersion and kind of the
// review, request, name, namespace, scope, parameters, csr where the object has a
// certificate request, and facts for built-in rules.
func (e *evaluation) input(set *PolicySet) *ast.Term {
	if input, ok := e.inputs[set]; ok {
		return input
	}
	items := [][2]*ast.Term{
		ast.Item(ast.InternedTerm("apiVersion"), ast.InternedTerm("admission.k8s.io/v1")),
		ast.Item(ast.InternedTerm("kind"), ast.InternedTerm("AdmissionReview")),
		ast.Item(ast.InternedTerm("request"), ast.NewTerm(e.review.Request())),
		ast.Item(ast.InternedTerm("name"), ast.InternedTerm(e.review.DisplayName())),
		ast.Item(ast.InternedTerm("scope"), set.scope),
		ast.Item(ast.InternedTerm("parameters"), set.parameters),
	}
	if e.namespace != nil {
		items = append(items, ast.Item(ast.InternedTerm("namespace"), ast.NewTerm(e.namespace.Value())))
	}
	if set.readsRequest {
		if e.csr == nil {
			e.csr = e.review.CertificateRequest()
		}
		if e.csr != nil {
			items = append(items, ast.Item(ast.InternedTerm("csr"), e.csr))
		}
	}
	if e.options.Facts != nil {
		items = append(items, ast.Item(ast.InternedTerm("facts"), e.options.Facts))
	}
	input := ast.ObjectTerm(items...)
	e.inputs[set] = input
	return input
}

// data is the set's own data with the cluster objects that it requires.
func (e *evaluation) data(set *PolicySet) eval.Document {
	return clusterdata.Document(set.data, e.options.Cluster, set.required, set.sees())
}

// sees says which namespaces of a kind of cluster objects a source may read; nil is all.
func (s *PolicySet) sees() func(kind admission.GroupVersionKind, namespace string) bool {
	if !s.place.Below {
		return nil
	}
	return s.place.Sees
}
