package openclaw

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDomains(t *testing.T) {
	assert.Len(t, AllDomains, 7)
	seen := map[string]bool{}
	for _, d := range AllDomains {
		assert.Equal(t, "openclaw.enterprise."+strings.ReplaceAll(d.Name, "-", "_"), d.Packages[0])
		for _, name := range d.Packages {
			assert.False(t, seen[name], name)
			seen[name] = true
		}
		found, ok := Domain(d.Name)
		assert.True(t, ok)
		assert.Equal(t, d, found)
	}
	_, ok := Domain("agent_to_agent")
	assert.False(t, ok)
}
