package webhooks

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/terms"
)

// repeatKey is equal for requests to an entry that differ only in what no policy reads.
type repeatKey [sha256.Size]byte

// inputReader knows what the policies read of a request: an *engine.Snapshot.
type inputReader interface {
	InputRead(review *admission.Review) *clusterdata.Fields
}

// maxReadKinds bounds the cache of readFields.
const maxReadKinds = 1024

// readFields caches what the policies of a snapshot read, by kind.
type readFields struct {
	mutex sync.Mutex
	cache map[readKind]*clusterdata.Fields
}

type readKind struct {
	digest      string
	kind        admission.GroupVersionKind
	resource    admission.GroupVersionResource
	subresource string
}

func (c *readFields) of(digest string, reader inputReader, review *admission.Review) *clusterdata.Fields {
	if reader == nil {
		return nil
	}
	key := readKind{digest, review.Kind, review.Resource, review.SubResource}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	fields, ok := c.cache[key]
	if !ok {
		if len(c.cache) >= maxReadKinds || c.cache == nil {
			c.cache = map[readKind]*clusterdata.Fields{}
		}
		fields = reader.InputRead(review)
		c.cache[key] = fields
	}
	return fields
}

// maxKeyObjects bounds the cluster objects of a request that is compared with others.
const maxKeyObjects = 64

// keyOf returns the key of a review. ok is false if it is compared with no other, because its policies
// read many cluster objects.
func (r *Recorder) keyOf(from *recording, review *admission.Review, a *answer) (key repeatKey, ok bool) {
	digest := sha256.New()
	w := keyWriter{bufio.NewWriter(digest), digest}
	// What selects policies, and what reports name.
	w.add(from.entry, a.digest, review.Operation, review.Kind.String(), fmt.Sprint(review.Resource), review.SubResource,
		review.Namespace, review.Username, fmt.Sprint(review.DryRun), string(from.namespace))
	fields := r.reads.of(a.digest, from.reader, review)
	name, generated := generatedName(review)
	for _, object := range []*admission.Object{review.New, review.Old} {
		w.object(object.Value(), name, generated)
	}
	// Constraints read the old object of a deletion as the object.
	either := fieldsAt(fields, "object").Union(fieldsAt(fields, "oldObject"))
	w.parts(either, review.New, generated)
	w.parts(either, review.Old, generated)
	w.rest(fields, review)
	if !w.cluster(&from.reads) {
		return key, false
	}
	for _, findings := range [][]engine.Finding{a.denials, a.warnings, a.audits, a.exempted} {
		w.add(fmt.Sprint(len(findings)))
		for _, f := range findings {
			words := f.Words
			if generated != "" && name != "" {
				words = strings.ReplaceAll(words, name, generated)
			}
			w.add(f.Policy, f.Rule, f.Source, f.Field, words, f.Exception)
		}
	}
	w.add(string(a.patch), fmt.Sprint(a.failure))
	_ = w.Flush() // a hash never fails
	digest.Sum(key[:0])
	return key, true
}

// fieldsAt returns the fields of a member of the request: nil means all.
func fieldsAt(request *clusterdata.Fields, member string) *clusterdata.Fields {
	if request.IsWhole() {
		return nil
	}
	if fields, ok := request.At(member); ok {
		return fields
	}
	return &clusterdata.Fields{}
}

// generatedName returns the name of an object and the prefix from which an API server generated it:
// "" if the user chose the name.
func generatedName(review *admission.Review) (name, generated string) {
	metadata, _ := terms.Lookup(review.New.Value(), "metadata").(ast.Object)
	if metadata == nil {
		metadata, _ = terms.Lookup(review.Old.Value(), "metadata").(ast.Object)
	}
	name, generated = terms.Text(metadata, "name"), terms.Text(metadata, "generateName")
	if generated == "" || !strings.HasPrefix(name, generated) && name != "" {
		return name, ""
	}
	return name, generated
}

// keyWriter writes the parts of a key.
type keyWriter struct {
	*bufio.Writer
	digest hash.Hash
}

func (w keyWriter) add(parts ...string) {
	for _, part := range parts {
		fmt.Fprintf(w, "%d %s", len(part), part) // a hash never fails
	}
}

// object adds what selects policies and names the workload: labels, the name and the controller.
func (w keyWriter) object(object ast.Object, name, generated string) {
	metadata, _ := terms.Lookup(object, "metadata").(ast.Object)
	whole := (*clusterdata.Fields)(nil)
	if labels, ok := terms.Lookup(metadata, "labels").(ast.Object); ok {
		whole.WriteParts(w, labels, nil, nil)
	}
	if owners, ok := terms.Lookup(metadata, "ownerReferences").(*ast.Array); ok && owners.Len() > 0 {
		whole.WriteParts(w, owners, nil, nil)
		return
	}
	if generated != "" {
		name = generated
	}
	w.add(name)
}

// volatile are the fields of metadata that differ between equal objects.
var volatile = []string{"uid", "creationTimestamp", "deletionTimestamp", "resourceVersion", "managedFields"}

// parts adds the parts of an object that policies read. A generated name is its prefix.
func (w keyWriter) parts(fields *clusterdata.Fields, object *admission.Object, generated string) {
	value := object.Value()
	if value == nil {
		w.add("none")
		return
	}
	fields.WriteParts(w, value, nil, func(path []string, value ast.Value) (ast.Value, bool) {
		if len(path) != 2 || path[0] != "metadata" {
			return value, true
		}
		if path[1] == "name" && generated != "" {
			return ast.String(generated), true
		}
		return value, !slices.Contains(volatile, path[1])
	})
}

// rest adds the other members of the request that policies read.
func (w keyWriter) rest(fields *clusterdata.Fields, review *admission.Review) {
	fields.WriteParts(w, review.Request(), nil, func(path []string, value ast.Value) (ast.Value, bool) {
		return value, len(path) > 1 || !slices.Contains([]string{"uid", "name", "object", "oldObject"}, path[0])
	})
}

// cluster adds the cluster objects that policies read. It returns false if these are many.
func (w keyWriter) cluster(reads *clusterdata.Reads) bool {
	var texts []string
	few := true
	reads.Kinds(func(kind admission.GroupVersionKind, read *clusterdata.KindReads) {
		if !few {
			return
		}
		few = read.Each(func(object *clusterdata.DecodedObject) bool {
			text, err := object.Recorded()
			texts = append(texts, kind.String()+string(text))
			return err == nil && len(texts) <= maxKeyObjects
		})
		for key, object := range read.Objects {
			if object == nil {
				texts = append(texts, fmt.Sprint("absent ", kind, key))
			}
		}
		texts = append(texts, fmt.Sprint("complete ", kind, read.All, len(read.Namespaces)))
	})
	slices.Sort(texts)
	w.add(texts...)
	return few
}
