package gatekeeper

import (
	"slices"
	"sync"

	"github.com/lintel-policy/lintel/policies/definition"
)

// maxKept limits the text of the files that a Reader keeps, in bytes. Parsed, they take several
// times as much memory.
const maxKept = 16 << 20

// Reader reads templates and constraints of sources that change often, as Dialect does. It keeps
// the parsed files until Forget, so that the change of one file does not parse the others again.
// It is safe for concurrent use.
type Reader struct {
	mu    sync.Mutex
	files map[keptFile]*readFile
	bytes int
}

// keptFile identifies a file and its content.
type keptFile struct{ name, text string }

// readFile is the result of readDocuments.
type readFile struct {
	documents []document
	errs      definition.CompileErrorList
}

// keptTemplate is a template that was read before: nil for objects that are not kept.
type keptTemplate struct {
	done     bool
	template *template
	errs     definition.CompileErrorList
}

// Dialect is the function Dialect.
func (r *Reader) Dialect(files map[string]string) ([]definition.Template, definition.CompileErrorList) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return read(files, mode{point: webhookPoint}, r.open)
}

// Forget drops all files.
func (r *Reader) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files, r.bytes = nil, 0
}

// open is readDocuments for files that were not read before.
func (r *Reader) open(name, text string) ([]document, definition.CompileErrorList) {
	at := keptFile{name, text}
	if known := r.files[at]; known != nil {
		return known.documents, known.errs
	}
	documents, errs := readDocuments(name, text)
	for i := range documents {
		documents[i].template = &keptTemplate{}
	}
	if r.bytes += len(text); r.files == nil || r.bytes > maxKept {
		r.files, r.bytes = map[keptFile]*readFile{}, len(text)
	}
	r.files[at] = &readFile{documents, errs}
	return documents, errs
}

// read is readTemplate. The caller adds constraints and warnings to the template, so it gets a copy.
func (k *keptTemplate) read(d document, m mode) (*template, definition.CompileErrorList) {
	if k == nil {
		return readTemplate(d, m)
	}
	if !k.done {
		k.template, k.errs = readTemplate(d, m)
		k.done = true
	}
	t := *k.template
	t.constraints, t.warnings = nil, slices.Clip(t.warnings)
	return &t, k.errs
}
