package openclaw

import (
	"maps"
	"slices"
	"strings"
)

// configMapData is files under keys that a ConfigMap may have. OPA loads them from one
// folder: what is asked for is by package, not by path.
func configMapData(files map[string]string) map[string]string {
	data := map[string]string{}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		key := strings.ReplaceAll(path, "/", ".")
		if _, taken := data[key]; taken || len(key) > maxKey {
			key = "policy-" + hashOf(map[string]string{"path": path}) + policySuffix
		}
		data[key] = files[path]
	}
	return data
}
