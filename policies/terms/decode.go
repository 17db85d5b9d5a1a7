package terms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/open-policy-agent/opa/v1/ast"
)

// MaxNesting is how deep JSON may nest.
const MaxNesting = 1000

// MaxValues is how many values a review may hold, those of object and oldObject
// together: OPA takes a stack frame for each where it unifies two of them, and a
// process cannot recover from a stack that is full.
const MaxValues = 200_000

// MaxNumberDigits is the longest number, and its largest exponent.
const MaxNumberDigits = 1000

// MaxAlike is how many names of an object's fields may have the same hash.
const MaxAlike = 64

var errNoObject = errors.New("not an object")

var errNesting = fmt.Errorf("objects and lists nest deeper than %d", MaxNesting)

// Decode turns JSON straight into an OPA term, without a Go value between.
// Duplicate keys, invalid UTF-8, nesting over MaxNesting and anything behind the
// first value are errors: two readers must never see different objects.
func Decode(text []byte) (*ast.Term, error) {
	return DecodeUpTo(text, math.MaxInt)
}

// ErrValues is the refusal of DecodeUpTo.
var ErrValues = fmt.Errorf("it holds more than %d values", MaxValues)

// DecodeUpTo is Decode for texts of at most that many values.
func DecodeUpTo(text []byte, values int) (*ast.Term, error) {
	d := NewDecoder(text, values)
	defer d.Release()
	return d.whole()
}

// StreamDecoder reads terms.
type StreamDecoder struct {
	*jsontext.Decoder
	text []byte
	// pairs are those of the objects that are being read, one object behind the other:
	// a list of its own for each would be thrown away with it.
	pairs [][2]*ast.Term
	// values is how many more there may be.
	values int
}

// termDecoders are pooled to reuse their memory for names and members.
var termDecoders = sync.Pool{New: func() any { return &StreamDecoder{Decoder: &jsontext.Decoder{}} }}

// NewDecoder reads a text of at most that many values. It is to be released.
func NewDecoder(text []byte, values int, options ...jsontext.Options) *StreamDecoder {
	d := termDecoders.Get().(*StreamDecoder)
	d.Reset(bytes.NewBuffer(text), options...)
	d.text, d.values = text, values
	return d
}

// Release keeps the decoder for another text, and nothing of this one.
func (d *StreamDecoder) Release() {
	const maxKept = 256
	if cap(d.pairs) > maxKept {
		d.pairs = nil
	}
	clear(d.pairs[:cap(d.pairs)])
	d.Reset(strings.NewReader(""))
	d.text, d.pairs = nil, d.pairs[:0]
	termDecoders.Put(d)
}

// whole reads the only term of the text.
func (d *StreamDecoder) whole() (*ast.Term, error) {
	term, err := d.Term(0)
	if err != nil {
		return nil, err
	}
	return term, d.End()
}

// End refuses content after the first value.
func (d *StreamDecoder) End() error {
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more than one JSON value, at byte %d", d.InputOffset())
	}
	return nil
}

// enter counts a value before it is read.
func (d *StreamDecoder) enter(depth int) error {
	if depth > MaxNesting {
		return errNesting
	}
	if d.values--; d.values < 0 {
		return ErrValues
	}
	return nil
}

// Term reads a value within as many others.
func (d *StreamDecoder) Term(depth int) (*ast.Term, error) {
	if err := d.enter(depth); err != nil {
		return nil, err
	}
	if d.PeekKind() == '"' {
		return decodeString(d.Decoder)
	}
	token, err := d.ReadToken()
	if err != nil {
		return nil, readError(err)
	}
	switch token.Kind() {
	case 'n':
		return ast.InternedNullTerm, nil
	case 't', 'f':
		return ast.InternedTerm(token.Bool()), nil
	case '0':
		text := token.String()
		return ast.NumberTerm(json.Number(text)), CheckNumber(text)
	case '[':
		var terms []*ast.Term
		for d.PeekKind() != ']' {
			term, err := d.Term(depth + 1)
			if err != nil {
				return nil, err
			}
			terms = append(terms, term)
		}
		_, err := d.ReadToken()
		return ast.ArrayTerm(terms...), readError(err)
	default: // '{': the decoder yields no other kind
		return d.members(func(string) (*ast.Term, error) { return d.Term(depth + 1) })
	}
}

// Object reads an object, and the values of its members by a function that may leave
// one out: then it gives no term.
func (d *StreamDecoder) Object(depth int, member func(name string) (*ast.Term, error)) (*ast.Term, error) {
	if err := d.enter(depth); err != nil {
		return nil, err
	}
	token, err := d.ReadToken()
	switch {
	case err != nil:
		return nil, readError(err)
	case token.Kind() != '{':
		return nil, errNoObject
	}
	return d.members(member)
}

// members reads an object after its opening brace.
func (d *StreamDecoder) members(member func(name string) (*ast.Term, error)) (*ast.Term, error) {
	start := len(d.pairs)
	for d.PeekKind() != '}' {
		name, err := decodeString(d.Decoder)
		if err != nil {
			return nil, err
		}
		value, err := member(string(name.Value.(ast.String)))
		if err != nil {
			return nil, err
		}
		if value != nil {
			d.pairs = append(d.pairs, [2]*ast.Term{name, value})
		}
	}
	_, err := d.ReadToken()
	if len(d.pairs) == start {
		return ast.InternedEmptyObject, readError(err) // managedFields are full of them
	}
	if keys := len(d.pairs) - start; keys > MaxAlike && Alike(keysOf(d.pairs[start:])) {
		return nil, ErrAlike
	}
	object := ast.ObjectTerm(d.pairs[start:]...)
	d.pairs = d.pairs[:start]
	return object, readError(err)
}

// ErrAlike is the refusal of names that OPA would take long to tell apart.
var ErrAlike = fmt.Errorf("more than %d fields of an object have names with the same hash", MaxAlike)

func keysOf(pairs [][2]*ast.Term) []*ast.Term {
	keys := make([]*ast.Term, len(pairs))
	for i, pair := range pairs {
		keys[i] = pair[0]
	}
	return keys
}

// Alike reports whether too many names have the same hash. OPA's hash has no secret, so that
// names with equal hashes can be computed: copying such an object takes time in the square of
// its size.
func Alike(names []*ast.Term) bool {
	if len(names) <= MaxAlike {
		return false
	}
	counts := make(map[int]int, len(names))
	for _, name := range names {
		hash := name.Hash()
		if counts[hash]++; counts[hash] > MaxAlike {
			return true
		}
	}
	return false
}

// decodeString reads a string, or a key, without a copy of its text where the term
// exists already.
func decodeString(decoder *jsontext.Decoder) (*ast.Term, error) {
	quoted, err := decoder.ReadValue()
	if err != nil {
		return nil, readError(err)
	}
	if text := quoted[1 : len(quoted)-1]; bytes.IndexByte(text, '\\') < 0 {
		if term, ok := fieldTerms[string(text)]; ok {
			return term, nil
		}
		return ast.StringTerm(string(text)), nil
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return nil, err
	}
	return ast.StringTerm(string(text)), nil
}

// readError makes a truncated text an error of its own: io.EOF must never look
// like the regular end.
func readError(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Encode is the reverse of Decode; numbers keep their text.
func Encode(term *ast.Term) ([]byte, error) {
	value, err := ast.JSON(term.Value)
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// CheckNumber refuses numbers whose arithmetic could take long. text is JSON.
func CheckNumber(text string) error {
	if len(text) > MaxNumberDigits {
		return fmt.Errorf("a number has more than %d digits", MaxNumberDigits)
	}
	i := strings.IndexAny(text, "eE")
	if i < 0 {
		return nil
	}
	exponent, err := strconv.Atoi(text[i+1:])
	if err != nil || exponent > MaxNumberDigits || exponent < -MaxNumberDigits {
		return fmt.Errorf("a number has an exponent beyond %d", MaxNumberDigits)
	}
	return nil
}
