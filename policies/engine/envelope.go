package engine

import (
	"bytes"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"
	"k8s.io/apimachinery/pkg/labels"
)

// lazyObject is the object or oldObject of a review. It becomes values when they are
// first asked for: most reviews concern no policy.
type lazyObject struct {
	once   sync.Once
	text   []byte // JSON that has passed checkedObject, until it is decoded
	object ast.Object

	onceLabels sync.Once
	labels     labels.Set
}

func decodedObject(object ast.Object) *lazyObject { return &lazyObject{object: object} }

// value is nil where there is no object.
func (l *lazyObject) value() ast.Object {
	if l == nil {
		return nil
	}
	l.once.Do(func() {
		if l.text == nil {
			return
		}
		term, err := decodeChecked(l.text)
		if err != nil {
			panic("JSON that was checked cannot be decoded: " + err.Error())
		}
		l.object, l.text = term.Value.(ast.Object), nil
	})
	return l.object
}

// labelSet are the labels of the object, for all selectors together: none where there
// is no object.
func (l *lazyObject) labelSet() labels.Set {
	if l == nil {
		return nil
	}
	l.onceLabels.Do(func() { l.labels = labelsOf(l.value()) })
	return l.labels
}

// requestObjects are objects that were left out of a request; nil = not left out.
type requestObjects struct{ object, oldObject *lazyObject }

// putBack is the whole request.
func (o requestObjects) putBack(request ast.Object) ast.Object {
	if o.object != nil {
		request = replaceKey(request, "object", ast.NewTerm(o.object.value()))
	}
	if o.oldObject != nil {
		request = replaceKey(request, "oldObject", ast.NewTerm(o.oldObject.value()))
	}
	return request
}

// place is nil where the member of a request is not an object under review.
func (o *requestObjects) place(name string) **lazyObject {
	switch name {
	case "object":
		return &o.object
	case "oldObject":
		return &o.oldObject
	default:
		return nil
	}
}

// decodeEnvelope decodes an AdmissionReview but for the objects in its request, which
// it checks as strictly and returns beside it. It may refuse what decodeUpTo does
// not, and words its errors otherwise.
func decodeEnvelope(text []byte) (*ast.Term, requestObjects, error) {
	d := newTermDecoder(text, MaxReviewValues)
	defer d.release()
	var objects requestObjects
	inRequest := func(name string) (*ast.Term, error) {
		place := objects.place(name)
		if place == nil || d.PeekKind() != '{' {
			return d.term(2)
		}
		object, err := d.checkedObject(2)
		*place = &lazyObject{text: object}
		return nil, err
	}
	inReview := func(name string) (*ast.Term, error) {
		if name != "request" || d.PeekKind() != '{' {
			return d.term(1)
		}
		return d.object(1, inRequest)
	}
	review, err := d.object(0, inReview)
	if err == nil {
		err = d.end()
	}
	if err != nil {
		return nil, requestObjects{}, err
	}
	return review, objects, nil
}

// checkedObject reads an object without making terms of it, and refuses what term
// would, or a little more.
func (d *termDecoder) checkedObject(depth int) ([]byte, error) {
	value, err := d.ReadValue() // with duplicate names and invalid UTF-8 refused
	if err != nil {
		return nil, readError(err)
	}
	count, widest, err := countValues(value, MaxNesting-depth)
	if err != nil {
		return nil, err
	}
	if widest > maxAlike {
		return nil, errAlike // or maybe not: decoding tells
	}
	if d.values -= count; d.values < 0 {
		return nil, errValues
	}
	end := d.InputOffset()
	return d.text[end-int64(len(value)) : end], nil
}

// countValues counts the values of valid JSON, and the members of its widest object,
// and checks its numbers, and that it nests at most that deep.
func countValues(text []byte, nesting int) (count, widest int, err error) {
	var members []int // of the objects and lists around
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			count++
		case ':':
			count-- // the string before it was a name
			members[len(members)-1]++
			widest = max(widest, members[len(members)-1])
		case '{', '[':
			if nesting--; nesting < 0 {
				return 0, 0, errNesting
			}
			count++
			members = append(members, 0)
		case '}', ']':
			nesting++
			members = members[:len(members)-1]
		case 't', 'f', 'n': // true, false and null have none of these letters but the first
			count++
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			start := i
			for i+1 < len(text) && isInNumber(text[i+1]) {
				i++
			}
			if err := checkNumber(string(text[start : i+1])); err != nil {
				return 0, 0, err
			}
			count++
		}
	}
	return count, widest, nil
}

func isInNumber(c byte) bool {
	return '0' <= c && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
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
	metadata, _ := lookup(object, "metadata").(ast.Object)
	values, _ := lookup(metadata, "labels").(ast.Object)
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
