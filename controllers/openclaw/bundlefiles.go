package openclaw

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
	rules "github.com/lintel-policy/lintel/policies/rules/openclaw"
)

const (
	// maxKey is the length of the longest key of a ConfigMap.
	maxKey = 253
	// maxConfigMap is how many bytes a ConfigMap holds.
	maxConfigMap = 1 << 20

	policySuffix = ".rego"
)

// policyFiles are the policies of a bundle by the keys of its ConfigMap. Two that have
// one key are an error, for one of them would be lost.
func policyFiles(bundle *v1.PolicyBundle) (map[string]string, error) {
	files, names := map[string]string{}, map[string]string{}
	for _, policy := range bundle.Spec.Policies {
		key := policyKey(policy)
		if other, taken := names[key]; taken {
			return nil, fmt.Errorf("policies %q and %q of scope %s and domain %q both become file %s; rename one of them",
				other, policy.Name, policy.Scope, policy.Domain, key)
		}
		files[key], names[key] = policy.Content, policy.Name
	}
	return files, nil
}

// policyKey is the key of a policy: <scope>-<domain>-<name>.rego.
func policyKey(policy v1.Policy) string {
	prefix := policyPrefix(string(policy.Scope), policy.Domain)
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("-_", r) || 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(policy.Name))
	if longest := maxKey - len(prefix) - len(policySuffix); len(name) > longest {
		short := "-" + hashOf(map[string]string{"name": policy.Name})[:12]
		name = name[:longest-len(short)] + short
	}
	return prefix + name + policySuffix
}

func policyPrefix(level, domain string) string {
	return level + "-" + strings.ReplaceAll(domain, "-", "_") + "-"
}

// sources reads the files of a bundle back into policies. name is put before theirs.
func sources(name string, files map[string]string) ([]sidecar.Source, error) {
	var out []sidecar.Source
	for _, key := range slices.Sorted(maps.Keys(files)) {
		source, err := sourceOf(key)
		if err != nil {
			return nil, err
		}
		source.Name = name + "/" + source.Name
		source.Content = files[key]
		out = append(out, source)
	}
	return out, nil
}

// sourceOf is the scope, domain and name that a key says.
func sourceOf(key string) (sidecar.Source, error) {
	for _, level := range []v1.Scope{v1.ScopeEnterprise, v1.ScopeOrg, v1.ScopeTeam, v1.ScopeUser} {
		for _, domain := range rules.AllDomains {
			rest, found := strings.CutPrefix(key, policyPrefix(string(level), domain.Name))
			if !found {
				continue
			}
			parsed, err := sidecar.ParseLevel(string(level))
			return sidecar.Source{Level: parsed, Domain: domain, Name: strings.TrimSuffix(rest, policySuffix)}, err
		}
	}
	return sidecar.Source{}, fmt.Errorf("file %s names no scope and domain", key)
}

// sizeOf is the number of bytes that data takes in a ConfigMap.
func sizeOf(data map[string]string) (size int) {
	for key, value := range data {
		size += len(key) + len(value)
	}
	return size
}

// hashOf returns the digest of data.
func hashOf(data map[string]string) string {
	hash := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(hash, "%d:%s%d:%s", len(key), key, len(data[key]), data[key])
	}
	return hex.EncodeToString(hash.Sum(nil))
}
