package convert

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/yaml"

	"github.com/lintel-policy/lintel/policies/kyverno"
)

// scenario is a kind of request that both evaluate for each object.
type scenario struct {
	name      string
	operation string
	user      authenticationv1.UserInfo
	// old are the fields that differ before an update, by the key of the object.
	old map[string]map[string]any
}

// sender is the user of most requests, and administrator another one.
var (
	sender        = authenticationv1.UserInfo{Username: "system:serviceaccount:team-a:app", Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	administrator = authenticationv1.UserInfo{Username: "kubernetes-admin", Groups: []string{"system:masters", "system:authenticated"}}
)

// creation is the scenario of all policies.
var creation = scenario{name: "create", operation: "CREATE", user: sender}

// maxOthers bounds the objects of the requests other than creations.
const maxOthers = 16

// scenariosFor are the requests that a policy can tell apart: creations always, and the others if it
// reads the operation, the old object or the user.
func scenariosFor(policy kyverno.Policy, document map[string]any, objects map[string]map[string]any) []scenario {
	out := []scenario{creation}
	has := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(one string) bool { return strings.Contains(policy.Document, one) })
	}
	if has("userInfo", "subjects:", "serviceAccount", "userinfo") {
		out = append(out, scenario{name: "create by an administrator", operation: "CREATE", user: administrator})
		if named, ok := namedUser(document); ok {
			out = append(out, scenario{name: "create by a named user", operation: "CREATE", user: named})
		}
	}
	if has("request.operation", "operations:", "oldObject", "UPDATE", "DELETE", "nforce") {
		out = append(out, scenario{name: "update", operation: "UPDATE", user: sender}, scenario{name: "update of another object", operation: "UPDATE", user: sender, old: earlier(objects)})
	}
	if has("request.operation", "operations:", "oldObject", "DELETE") {
		out = append(out, scenario{name: "delete", operation: "DELETE", user: sender})
	}
	return out
}

// readsCluster reports whether a policy reads objects that the kyverno command does not have.
func readsCluster(policy kyverno.Policy) bool {
	return len(policy.Reads) > 0 || slices.ContainsFunc(policy.Notes, func(n kyverno.Note) bool {
		return strings.HasSuffix(n.Field, ".apiCall") || strings.HasSuffix(n.Field, ".configMap")
	})
}

// namedUser is a user or a group that the policy names under subjects.
func namedUser(value any) (authenticationv1.UserInfo, bool) {
	switch typed := value.(type) {
	case map[string]any:
		kind, _ := typed["kind"].(string)
		name, _ := typed["name"].(string)
		name = strings.NewReplacer("*", "a", "?", "b").Replace(name)
		switch {
		case kind == "User" && name != "":
			return authenticationv1.UserInfo{Username: name, Groups: []string{"system:authenticated"}}, true
		case kind == "Group" && name != "":
			return authenticationv1.UserInfo{Username: "someone", Groups: []string{name, "system:authenticated"}}, true
		case kind == "ServiceAccount" && name != "":
			namespace, _ := typed["namespace"].(string)
			return authenticationv1.UserInfo{Username: "system:serviceaccount:" + namespace + ":" + name, Groups: []string{"system:authenticated"}}, true
		}
		for _, key := range sortedKeys(typed) {
			if user, ok := namedUser(typed[key]); ok {
				return user, true
			}
		}
	case []any:
		for _, one := range typed {
			if user, ok := namedUser(one); ok {
				return user, true
			}
		}
	}
	return authenticationv1.UserInfo{}, false
}

// chosen are the objects of a scenario: all for creations by the usual user, and otherwise a bounded
// number whose names do not repeat, because Kyverno's values name objects without their namespace.
func (s scenario) chosen(objects map[string]map[string]any) map[string]map[string]any {
	if s.name == creation.name {
		return objects
	}
	out, names := map[string]map[string]any{}, map[string]bool{}
	for _, key := range slices.Sorted(mapKeys(objects)) {
		if name, _ := nameOf(objects[key]); !names[name] && len(out) < maxOthers {
			names[name] = true
			out[key] = objects[key]
		}
	}
	return out
}

// earlier gives each object the fields of another one of its kind.
func earlier(objects map[string]map[string]any) map[string]map[string]any {
	out, last := map[string]map[string]any{}, map[string]map[string]any{}
	for _, key := range slices.Sorted(mapKeys(objects)) {
		kind := kindOf(objects[key]).String()
		if other, ok := last[kind]; ok {
			fields := clone(other).(map[string]any)
			if metadata, ok := fields["metadata"].(map[string]any); ok {
				delete(metadata, "name")
				delete(metadata, "namespace")
			}
			delete(fields, "apiVersion")
			delete(fields, "kind")
			out[key] = fields
		}
		last[kind] = objects[key]
	}
	return out
}

// before is the object before an update. Kyverno merges the fields that differ into the object.
func (s scenario) before(key string, object map[string]any) map[string]any {
	out := clone(object).(map[string]any)
	mergeInto(out, s.old[key])
	return out
}

func mergeInto(into, fields map[string]any) {
	for key, value := range fields {
		inner, isMap := value.(map[string]any)
		existing, wasMap := into[key].(map[string]any)
		if isMap && wasMap {
			mergeInto(existing, inner)
		} else {
			into[key] = clone(value)
		}
	}
}

const valuesFile, userFile = "values.yaml", "user.yaml"

// write writes the files by which Kyverno knows the operation and the user.
func (s scenario) write(folder string, policy kyverno.Policy, objects map[string]map[string]any) error {
	user := map[string]any{"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "UserInfo", "metadata": map[string]any{"name": "sender"}, "userInfo": s.user}
	values := map[string]any{"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Values", "metadata": map[string]any{"name": "request"}, "globalValues": map[string]any{"request.operation": s.operation}}
	var resources []any
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		if fields, ok := s.old[key]; ok {
			name, _ := nameOf(objects[key])
			resources = append(resources, map[string]any{"name": name, "values": map[string]any{"request.oldObject": fields}})
		}
	}
	if len(resources) > 0 {
		values["policies"] = []any{map[string]any{"name": policy.Name, "resources": resources}}
	}
	for name, content := range map[string]any{userFile: user, valuesFile: values} {
		text, err := yaml.Marshal(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
