package review

import (
	"context"
	"fmt"
)

// userNotes are about the policies that read the user of a request that has none: their verdict is
// that for a request without a user, which no API server sends.
func (c *checker) userNotes(ctx context.Context) (notes []string) {
	noted := map[string]bool{}
	for _, a := range c.arrivals {
		if a.isDecided() || a.review == nil || a.review.Username != "" {
			continue
		}
		for _, p := range c.snapshot.Selected(ctx, a.review, c.optionsFor(a)) {
			name := p.Source + "/" + p.Package
			if p.UserRead == nil || noted[name] {
				continue
			}
			noted[name] = true
			notes = append(notes, fmt.Sprintf("policy %s reads the user of the request (%s), and the request has none: see --as and --as-group", p.Package, p.UserRead))
		}
	}
	return notes
}
