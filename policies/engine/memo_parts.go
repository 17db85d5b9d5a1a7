package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// decisive are the parts of a request that decide what a policy says of requests with
// one operation.
type decisive struct {
	// parts are named as in input of Lintel's own policies: request, name, namespace,
	// facts. What is the same for all requests is not among them.
	parts *demand
	// kinds are those of cluster objects that it reads.
	kinds []GroupVersionKind
	// reason is why nothing can be said of it: empty where something can.
	reason string
}

// operationsKnown are those that the parts are derived for.
var operationsKnown = []string{"CREATE", "UPDATE", "DELETE", "CONNECT"}

// readsCache keeps what has been derived.
type readsCache struct {
	mu   sync.Mutex
	done map[string]*decisive // by operation
	all  *readFinder          // of a policy that does not ask for the operation
}

// documentsOnce are those of a source, once they are asked for.
type documentsOnce struct {
	once      sync.Once
	documents *documents
}

func (s *PolicySet) rulesByDocument() *documents {
	s.arranged.once.Do(func() { s.arranged.documents = documentsOf(s.compiler) })
	return s.arranged.documents
}

// decisiveFor derives, once, what decides about requests with an operation.
func (p *policy) decisiveFor(operation string) *decisive {
	p.known.mu.Lock()
	defer p.known.mu.Unlock()
	if known := p.known.done[operation]; known != nil {
		return known
	}
	if p.known.done == nil {
		p.known.done = map[string]*decisive{}
	}
	p.known.done[operation] = p.derive(operation)
	return p.known.done[operation]
}

func (p *policy) derive(operation string) (found *decisive) {
	defer func() {
		if cause := recover(); cause != nil { // which costs this policy alone
			found = &decisive{reason: fmt.Sprintf("internal error: %v", cause)}
		}
	}()
	if p.meta.clock {
		return &decisive{reason: "it reads the clock"}
	}
	f := p.known.all
	if f == nil {
		f = newReadFinder(p, operation)
		f.find()
		if !f.asked {
			p.known.all = &readFinder{input: f.input, data: f.data, reason: f.reason}
		}
	}
	if f.reason != "" {
		return &decisive{reason: f.reason}
	}
	d := &decisive{parts: &demand{}}
	if p.constraint == nil {
		d.fromInput(f.input)
	} else {
		d.fromTemplate(f.input, operation)
	}
	d.parts.add(wholeDemand().at("request", "operation"), 0, nil)
	switch {
	case !f.data:
	case p.constraint != nil:
		d.kinds = p.meta.requires
	default:
		d.kinds = p.set.Requires()
	}
	return d
}

// fromInput leaves out what never changes, and takes input.csr for the object that it
// is made of.
func (d *decisive) fromInput(input *demand) {
	for _, name := range []string{"request", "name", "namespace", "facts"} {
		d.want(input, name, name)
	}
	if input.whole || input.each != nil || input.fields["csr"] != nil {
		d.parts.add(wholeDemand().at("request", "object"), 0, nil)
		d.parts.add(wholeDemand().at("request", "resource"), 0, nil)
	}
}

// fromTemplate translates input.review.
func (d *decisive) fromTemplate(input *demand, operation string) {
	review := input.fields["review"]
	if input.whole || input.each != nil {
		review = wholeDemand()
	}
	if review == nil {
		return
	}
	if review.whole || review.each != nil || review.said {
		d.parts.add(wholeDemand().at("request"), 0, nil)
		d.parts.add(wholeDemand().at("namespace"), 0, nil)
		return
	}
	for name, field := range review.fields {
		switch {
		case name == "namespaceObject":
			d.parts.add(field.at("namespace"), 0, nil)
		case name == "_unstable":
			d.parts.add(wholeDemand().at("namespace"), 0, nil)
		case name == "object" && operation != "CREATE" && operation != "UPDATE":
			d.parts.add(field.at("request", "oldObject"), 0, nil)
			d.parts.add(field.at("request", "object"), 0, nil)
		default:
			d.parts.add(field.at("request", name), 0, nil)
		}
	}
}

// want takes a field of the input for a part.
func (d *decisive) want(input *demand, field, part string) {
	wanted := &demand{}
	switch {
	case input.whole || input.each != nil || input.said:
		wanted = wholeDemand()
	case input.fields[field] != nil:
		wanted = input.fields[field]
	default:
		return
	}
	d.parts.add(wanted.at(part), 0, nil)
}

// changing are the parts that differ between requests which are alike in all that
// their authors wrote. Volumes are among them because a Pod's token is in one with a
// random name.
var changing = []string{
	"request.uid", "request.name", "name", "request.object.status", "request.oldObject.status", "request.object.spec.volumes[_].name",
	"request.object.spec.containers[_].volumeMounts[_].name", "request.object.spec.initContainers[_].volumeMounts[_].name",
}

var changingMetadata = []string{"name", "generateName", "uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"}

// isStable says that the policy reads nothing that differs between near-copies.
func (d *decisive) isStable() bool {
	for _, path := range changing {
		if d.parts.wants(strings.Split(strings.ReplaceAll(path, "[_]", "._"), ".")) {
			return false
		}
	}
	for _, object := range []string{"object", "oldObject"} {
		for _, name := range changingMetadata {
			if d.parts.wants([]string{"request", object, "metadata", name}) {
				return false
			}
		}
	}
	return true
}

// wants says whether the value at a path, or some of it, is wanted, and not only said.
func (d *demand) wants(path []string) bool {
	switch {
	case d == nil:
		return false
	case d.whole:
		return true
	case len(path) == 0:
		return d.each != nil || len(d.fields) > 0
	case path[0] == "_":
		return d.each.wants(path[1:])
	}
	return d.fields[path[0]].wants(path[1:]) || d.each.wants(path[1:])
}

// keyNode is a demand made ready to write keys by.
type keyNode struct {
	whole, said bool
	each        *keyNode
	fields      []keyField
}

type keyField struct {
	name *ast.Term
	node *keyNode
}

func newKeyNode(d *demand) *keyNode {
	if d == nil {
		return nil
	}
	node := &keyNode{whole: d.whole, said: d.said, each: newKeyNode(d.each)}
	for _, name := range sortedKeys(d.fields) {
		node.fields = append(node.fields, keyField{ast.StringTerm(name), newKeyNode(d.fields[name])})
	}
	return node
}

// PolicyReads says what decides the verdict of a policy.
type PolicyReads struct {
	Source, Package string
	// Paths are those of the input of Lintel's own policies, as far as requests with the
	// operation are concerned: request, name, namespace and facts. One that ends in ? is
	// read for whether it is there, and one that ends in ~ for a message alone.
	Paths []string
	// Cluster are the kinds of cluster objects.
	Cluster []GroupVersionKind
	// Reason is why the verdict cannot be reused: empty where it can.
	Reason string
}

// Reads lists what decides the verdicts of the policies that deny or warn about requests
// with an operation, in the order of Policies.
func (s *Snapshot) Reads(operation string) []PolicyReads {
	var out []PolicyReads
	for _, p := range s.policies {
		if p.validate == nil {
			continue
		}
		d := p.decisiveFor(operation)
		reads := PolicyReads{Source: p.set.source.Name, Package: p.name, Cluster: d.kinds, Reason: d.reason}
		if d.parts != nil {
			for _, path := range d.parts.paths("") {
				reads.Paths = append(reads.Paths, strings.TrimPrefix(path, "."))
			}
			slices.Sort(reads.Paths)
		}
		out = append(out, reads)
	}
	return out
}
