package admission

import (
	"bytes"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lintel-policy/lintel/policies/terms"
)

// Object is the object or oldObject of a review. It becomes values when they are
// first asked for: most reviews concern no policy.
type Object struct {
	once   sync.Once
	text   []byte // JSON that has passed SkipObject, until it is decoded
	object ast.Object

	onceLabels sync.Once
	labels     labels.Set
}

// NewObject is an object that is decoded already.
func NewObject(object ast.Object) *Object { return &Object{object: object} }

// Value is nil if there is no object.
func (l *Object) Value() ast.Object {
	if l == nil {
		return nil
	}
	l.once.Do(func() {
		if l.text == nil {
			return
		}
		term, err := terms.DecodeChecked(l.text)
		if err != nil {
			panic("JSON that was checked cannot be decoded: " + err.Error())
		}
		l.object, l.text = term.Value.(ast.Object), nil
	})
	return l.object
}

// Labels are the labels of the object, for all selectors together: none where there
// is no object.
func (l *Object) Labels() labels.Set {
	if l == nil {
		return nil
	}
	l.onceLabels.Do(func() { l.labels = labelsOf(l.Value()) })
	return l.labels
}

// requestObjects are objects that were left out of a request; nil = not left out.
type requestObjects struct{ object, oldObject *Object }

// putBack is the whole request.
func (o requestObjects) putBack(request ast.Object) ast.Object {
	if o.object != nil {
		request = terms.With(request, "object", ast.NewTerm(o.object.Value()))
	}
	if o.oldObject != nil {
		request = terms.With(request, "oldObject", ast.NewTerm(o.oldObject.Value()))
	}
	return request
}

// place is nil where the member of a request is not an object under review.
func (o *requestObjects) place(name string) **Object {
	switch name {
	case "object":
		return &o.object
	case "oldObject":
		return &o.oldObject
	default:
		return nil
	}
}

// decodeEnvelope decodes an AdmissionReview except for the objects in its request, which it
// validates as strictly and returns separately. It may return an error where DecodeUpTo does
// not, and its error messages differ.
func decodeEnvelope(text []byte) (*ast.Term, requestObjects, error) {
	d := terms.NewDecoder(text, terms.MaxValues)
	defer d.Release()
	var objects requestObjects
	inRequest := func(name string) (*ast.Term, error) {
		place := objects.place(name)
		if place == nil || d.PeekKind() != '{' {
			return d.Term(2)
		}
		object, err := d.SkipObject(2)
		*place = &Object{text: object}
		if o := &objects; o.object != nil && o.oldObject != nil && bytes.Equal(o.object.text, o.oldObject.text) {
			o.oldObject = o.object // decoded once
		}
		return nil, err
	}
	inReview := func(name string) (*ast.Term, error) {
		if name != "request" || d.PeekKind() != '{' {
			return d.Term(1)
		}
		return d.Object(1, inRequest)
	}
	review, err := d.Object(0, inReview)
	if err == nil {
		err = d.End()
	}
	if err != nil {
		return nil, requestObjects{}, err
	}
	return review, objects, nil
}

// findUID reads request.uid from a review that does not decode, tolerating what
// the strict decoder refuses, so that the answer can name the request.
func findUID(text []byte) string {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(text),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if enterField(decoder, "request") && enterField(decoder, "uid") {
		if token, err := decoder.ReadToken(); err == nil && token.Kind() == '"' {
			return token.String()
		}
	}
	return ""
}

// enterField reads the start of an object up to the value of the named field.
func enterField(decoder *jsontext.Decoder, name string) bool {
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
		return false
	}
	for decoder.PeekKind() == '"' {
		key, err := decoder.ReadToken()
		if err != nil {
			return false
		}
		if key.String() == name {
			return true
		}
		if decoder.SkipValue() != nil {
			return false
		}
	}
	return false
}

func labelsOf(object ast.Object) labels.Set {
	metadata, _ := terms.Lookup(object, "metadata").(ast.Object)
	values, _ := terms.Lookup(metadata, "labels").(ast.Object)
	set := labels.Set{}
	if values == nil {
		return set
	}
	values.Foreach(func(key, value *ast.Term) {
		name, isName := key.Value.(ast.String)
		text, isText := value.Value.(ast.String)
		if isName && isText {
			set[string(name)] = string(text)
		}
	})
	return set
}
