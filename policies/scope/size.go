package scope

// perDecision is more bytes than Compose generates for one decision of one policy,
// beside names.
const perDecision = 700

// Size is the number of bytes that the policy adds to a composition, at most.
func (p *Policy) Size() int {
	named := len(p.Name) + len(p.Domain.Name)
	size := len(p.isolated) + named + perDecision
	for _, decision := range p.Decisions {
		size += 6*len(decision) + 2*named + perDecision
	}
	return size
}
