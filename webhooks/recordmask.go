package webhooks

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/lintel-policy/lintel/policies/admission"
)

// MaskEnv is the name of a mask of records: the values of environment variables in Pods and
// workloads, which often are passwords.
const MaskEnv = "env"

// ParseRecordMask is ParseMask for a list that may contain MaskEnv.
func ParseRecordMask(locations []string) (Mask, error) {
	var pointers []string
	for _, location := range locations {
		if location != MaskEnv {
			pointers = append(pointers, location)
			continue
		}
		for _, spec := range []string{"/spec", "/spec/template/spec", "/template/spec", "/spec/jobTemplate/spec/template/spec"} {
			for _, containers := range []string{"containers", "initContainers", "ephemeralContainers"} {
				pointers = append(pointers, spec+"/"+containers+"/*/env/*/value")
			}
		}
	}
	return ParseMask(pointers)
}

// recordMasks are the masks of records, by kind.
type recordMasks struct {
	configured Mask
	general    *maskTree            // of kinds without a mask of their own
	kinds      map[string]*maskTree // by the key in kindMasks
}

func newRecordMasks(configured Mask) *recordMasks {
	m := &recordMasks{configured: configured, general: newMaskTree(lastApplied, configured), kinds: map[string]*maskTree{}}
	for kind, mask := range kindMasks {
		m.kinds[kind] = newMaskTree(lastApplied, mask, configured)
	}
	for _, tree := range m.kinds {
		tree.at([]string{"metadata", "managedFields"}).drop = true
	}
	m.general.at([]string{"metadata", "managedFields"}).drop = true
	return m
}

// of returns the masks of an object.
func (m *recordMasks) of(kind admission.GroupVersionKind) *maskTree {
	key := admission.GroupVersionKind{Group: kind.Group, Kind: kind.Kind}.String()
	if kind.Kind == "Secret" {
		key = "Secret"
	}
	if tree := m.kinds[key]; tree != nil {
		return tree
	}
	return m.general
}

// paths are all locations that of(kind) masks.
func (m *recordMasks) paths(kind admission.GroupVersionKind) Mask {
	return append(append(append(Mask{}, lastApplied...), maskOf(kind)...), m.configured...)
}

// request returns the request of an AdmissionReview without masked values, and their locations.
func (m *recordMasks) request(body []byte, kind admission.GroupVersionKind, hidden *concealed) (json.RawMessage, []string, error) {
	request, err := requestIn(body)
	if err != nil {
		return nil, nil, err
	}
	object := m.of(kind)
	c := maskedCopy{out: make([]byte, 0, len(body)), removed: m.removed(kind, hidden)}
	if err := c.value(request, []*maskTree{{children: map[string]*maskTree{"object": object, "oldObject": object}}}, ""); err != nil {
		return nil, nil, err
	}
	return c.out, c.pointers, nil
}

// object returns an object without masked values.
func (m *recordMasks) object(text []byte, kind admission.GroupVersionKind, prefix string, hidden *concealed) (json.RawMessage, []string, error) {
	return copyMasked(text, m.of(kind), prefix, m.removed(kind, hidden))
}

// lastAppliedPointer is where the annotation of lastApplied is in an object.
const lastAppliedPointer = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"

// removed conceals masked values. A copy of the object in the annotation of kubectl is concealed
// as a whole, and its masked values are. Its other values are in the record, so that messages may
// quote them.
func (m *recordMasks) removed(kind admission.GroupVersionKind, hidden *concealed) func(jsontext.Value, string) {
	if hidden == nil {
		return nil
	}
	return func(value jsontext.Value, pointer string) {
		if value.Kind() != '"' || !strings.HasSuffix(pointer, lastAppliedPointer) {
			hidden.add(value)
			return
		}
		text, err := jsontext.AppendUnquote(nil, value)
		if err == nil {
			hidden.addForms(string(text))
			_, _, err = copyMasked(text, m.of(kind), "", func(value jsontext.Value, _ string) { hidden.add(value) })
		}
		if err != nil { // the text is not JSON
			hidden.add(value)
		}
	}
}

// patch returns a JSON Patch without masked values.
func (m *recordMasks) patch(patch json.RawMessage, kind admission.GroupVersionKind, hidden *concealed) (json.RawMessage, error) {
	if len(patch) == 0 {
		return nil, nil
	}
	var operations []map[string]json.RawMessage
	if err := json.Unmarshal(patch, &operations); err != nil {
		return nil, fmt.Errorf("reading the patch: %w", err)
	}
	for _, operation := range operations {
		value, ok := operation["value"]
		if !ok {
			continue
		}
		var path string
		if err := json.Unmarshal(operation["path"], &path); err != nil {
			return nil, fmt.Errorf("reading the patch: %w", err)
		}
		c := maskedCopy{removed: m.removed(kind, hidden)}
		if err := c.value(newDecoder(value), treesAt(m.of(kind), path), ""); err != nil {
			return nil, fmt.Errorf("masking the patch: %w", err)
		}
		operation["value"] = c.out
	}
	// Values in other locations may be copies of masked ones, also of later operations.
	for _, operation := range operations {
		for member, value := range operation {
			var node any
			if err := unmarshalNumbers(value, &node); err != nil {
				return nil, fmt.Errorf("masking the patch: %w", err)
			}
			if member == "op" {
				continue
			}
			text, err := json.Marshal(hidden.node(node))
			if err != nil {
				return nil, fmt.Errorf("masking the patch: %w", err)
			}
			operation[member] = text
		}
	}
	return json.Marshal(operations)
}

// treesAt are the masks of the value at a JSON pointer. In a masked value, all is masked.
func treesAt(tree *maskTree, pointer string) []*maskTree {
	trees := []*maskTree{tree}
	if pointer == "" {
		return trees
	}
	for _, segment := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		segment = strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
		if trees = belowStep(trees, segment); anyWhole(trees) {
			return []*maskTree{{whole: true}}
		}
	}
	return trees
}

// belowStep is below for a step of a patch. Operations move the elements of a list, so that each
// element may be at any index.
func belowStep(trees []*maskTree, step string) []*maskTree {
	isIndex := func(text string) bool { return text == "-" || strings.Trim(text, "0123456789") == "" }
	if !isIndex(step) {
		return below(trees, step)
	}
	found := below(trees, step)
	for _, tree := range trees {
		for key, child := range tree.children {
			if key != step && isIndex(key) {
				found = append(found, child)
			}
		}
	}
	return found
}

func unmarshalNumbers(text []byte, into any) error {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	return decoder.Decode(into)
}
