package replay

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-policy/lintel/policies/jsonpatch"
	"github.com/lintel-policy/lintel/policies/record"
)

// maxAttempts bounds the evaluations of Minimize.
const maxAttempts = 500

// required are the fields of a request that Minimize keeps.
var required = map[string]bool{
	"/uid": true, "/operation": true, "/kind": true, "/resource": true, "/namespace": true, "/name": true, "/subResource": true, "/object/apiVersion": true, "/object/kind": true,
	"/object/metadata/name": true, "/object/metadata/generateName": true, "/object/metadata/namespace": true,
	"/oldObject/apiVersion": true, "/oldObject/kind": true, "/oldObject/metadata/name": true, "/oldObject/metadata/namespace": true,
}

// Minimize returns a validate record of a result without the fields of the request that do not
// matter for the outcome and the policies that make the difference. It is nil if no validate
// entry was recorded.
func (r *Replayer) Minimize(ctx context.Context, result *Result) *record.Record {
	records := result.Request.of(validatePrefix)
	if len(records) == 0 {
		return nil
	}
	least := *records[0]
	attempts := 0
	same := func(request map[string]any, masked []string) bool {
		if attempts++; attempts > maxAttempts || ctx.Err() != nil {
			return false
		}
		text, err := json.Marshal(request)
		if err != nil {
			return false
		}
		others := append([]*record.Record{}, records...)
		changed := least
		changed.Request, changed.Masked = text, masked
		others[0] = &changed
		got, err := r.Evaluate(ctx, &Request{result.UID, others})
		if err != nil || got.Outcome != result.Outcome || !slices.Equal(got.Policies(), result.Policies()) || !slices.Equal(got.failed(), result.failed()) {
			return false
		}
		least = changed
		return true
	}
	var request map[string]any
	if decodeNumbers(least.Request, &request) != nil {
		return &least
	}
	m := minimizer{request: request, masked: least.Masked, same: same}
	m.fields(request, nil)
	return &least
}

// failed are the policies that fail for a request. Without a field that it reads, a policy may fail,
// which denies as well.
func (r *Result) failed() (names []string) {
	for _, f := range slices.Concat(r.Before.Denials, r.Before.Warnings, r.After.Denials, r.After.Warnings) {
		if f.Error {
			names = append(names, f.Source+"/"+f.Policy)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// minimizer removes fields while the result is the same.
type minimizer struct {
	request map[string]any
	masked  []string
	same    func(request map[string]any, masked []string) bool
}

// fields removes fields of an object, each as a whole if possible.
func (m *minimizer) fields(object map[string]any, path []string) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		at := append(slices.Clone(path), name)
		pointer := jsonpatch.Pointer(at)
		value := object[name]
		if required[pointer] || name == "metadata" && len(at) == 2 {
			if inner, ok := value.(map[string]any); ok && name == "metadata" {
				m.fields(inner, at)
			}
			continue
		}
		delete(object, name)
		masked := slices.DeleteFunc(slices.Clone(m.masked), func(other string) bool {
			return other == pointer || strings.HasPrefix(other, pointer+"/")
		})
		if m.same(m.request, masked) {
			m.masked = masked
			continue
		}
		object[name] = value
		m.value(value, at)
	}
}

func (m *minimizer) value(value any, path []string) {
	switch value := value.(type) {
	case map[string]any:
		m.fields(value, path)
	case []any:
		for i, element := range value {
			m.value(element, append(slices.Clone(path), strconv.Itoa(i)))
		}
	}
}
