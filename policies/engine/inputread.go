package engine

import (
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
)

// InputRead returns the parts of the request that deny and warn of the policies can read, in any
// namespace, and those that select policies. Nil means all: of workloads, whose Pods are reviewed as
// well, and if a policy is not written in Rego or changes objects.
func (s *Snapshot) InputRead(review *admission.Review) *clusterdata.Fields {
	if _, isWorkload := admission.PodTemplatePath(review.Kind); isWorkload {
		return nil
	}
	read := &clusterdata.Fields{}
	seen := map[*clusterdata.Fields]bool{}
	for _, p := range s.candidatesFor(review) {
		switch {
		case p.Changes(), p.Evaluator != nil, p.InputRead.IsWhole():
			return nil
		case p.Validate == nil, seen[p.InputRead]:
			continue
		}
		seen[p.InputRead] = true
		document := "request"
		if p.Constraint != nil {
			document = "review"
		} else if _, ok := p.InputRead.At("csr"); ok {
			return nil
		}
		if request, ok := p.InputRead.At(document); ok {
			read = read.Union(request)
		}
	}
	return read
}
