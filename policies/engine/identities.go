package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/lintel-policy/lintel/policies/exception"
)

// SourceIdentities identifies the policies, the settings and, at a time, the exceptions of each
// source that has policies: replicas with equal identities of a source report the same findings of
// it for an object.
func (s *Snapshot) SourceIdentities(now time.Time) map[string]string {
	exceptions := map[string][]*exception.Exception{}
	for _, one := range s.ExceptionsInForce(now) {
		exceptions[one.Source] = append(exceptions[one.Source], one)
	}
	identities := map[string]string{}
	for _, p := range s.policies {
		name := p.source.Name
		if _, known := identities[name]; known {
			continue
		}
		text, err := json.Marshal(exceptions[name])
		if err != nil {
			panic("exceptions always have JSON: " + err.Error())
		}
		sum := sha256.Sum256(append([]byte(p.source.Identity()), text...))
		identities[name] = hex.EncodeToString(sum[:8])
	}
	return identities
}
