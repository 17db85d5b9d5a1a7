package admission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/terms"
)

// eagerReview is DecodeReview without laziness, the reference for DecodeReview.
func eagerReview(body []byte) (ast.Object, error) {
	term, err := terms.DecodeUpTo(body, terms.MaxValues)
	if err != nil {
		return nil, fmt.Errorf("the AdmissionReview cannot be read: %w", err)
	}
	root, _ := term.Value.(ast.Object)
	request, _ := terms.Lookup(root, "request").(ast.Object)
	if request == nil || terms.Text(root, "kind") != "AdmissionReview" || terms.Text(root, "apiVersion") != "admission.k8s.io/v1" {
		return nil, nil // these errors do not depend on the contents
	}
	review, err := reviewOf(request, requestObjects{})
	if err == nil {
		err = review.check()
	}
	if err != nil {
		return nil, fmt.Errorf("the AdmissionReview cannot be used: %w", err)
	}
	return request, nil
}

func requireLikeEager(t *testing.T, body []byte) {
	t.Helper()
	want, wantErr := eagerReview(body)
	got, err := DecodeReview(body)
	if wantErr != nil {
		require.EqualError(t, err, wantErr.Error())
		return
	}
	if want == nil {
		require.Error(t, err)
		return
	}
	require.NoError(t, err)
	for _, field := range []struct {
		name string
		got  *Object
	}{{"object", got.New}, {"oldObject", got.Old}} {
		object, _ := terms.Lookup(want, field.name).(ast.Object)
		require.Equal(t, object != nil, field.got != nil)
		if object != nil {
			require.Zero(t, object.Compare(field.got.Value()))
		}
	}
	require.Zero(t, want.Compare(got.Request()))
	require.Equal(t, want.Hash(), got.Request().Hash())
}

// TestDecodeReviewChecksWhatItLeaves has everything that makes a review unreadable in
// the objects, which are not decoded: at each limit, and one beyond it.
func TestDecodeReviewChecksWhatItLeaves(t *testing.T) {
	const values = 14 // of the review without its object
	list := func(n int) string { return `{"a":[` + strings.Repeat("0,", n-3) + "0]}" }
	nested := func(n int) string { return strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1) }
	digits := func(n int) string { return `{"a":` + strings.Repeat("9", n) + "}" }
	cases := map[string]struct {
		object string
		code   int
	}{
		"empty":                  {`{}`, 0},
		"all kinds of value":     {`{"a":[true,false,null,-1.5e+3,"\"}],:{[",{},[[]]], "b\\" : { "c" : "ä\u00e4" } }`, 0},
		"as many values":         {list(terms.MaxValues - values), 0},
		"one value more":         {list(terms.MaxValues - values + 1), 413},
		"as deep":                {nested(terms.MaxNesting - 1), 0},
		"one deeper":             {nested(terms.MaxNesting), 400},
		"as deep, with a scalar": {strings.Replace(nested(terms.MaxNesting-3), "{}", `{"a":[0]}`, 1), 0},
		"a scalar one deeper":    {strings.Replace(nested(terms.MaxNesting-3), "{}", `{"a":[[0]]}`, 1), 400},
		"a long number":          {digits(terms.MaxNumberDigits), 0},
		"a longer number":        {digits(terms.MaxNumberDigits + 1), 400},
		"a large exponent":       {`{"a":[1e1000,1E-1000]}`, 0},
		"a larger exponent":      {`{"a":[1e1001]}`, 400},
		"a smaller exponent":     {`{"a":{"b":-0.1E-1001}}`, 400},
		"a duplicate key":        {`{"a":[{"b":1,"c":2,"b":3}]}`, 400},
		"an escaped duplicate":   {`{"a":[{"b":1,"c":2,"\u0062":3}]}`, 400},
		"invalid UTF-8":          {"{\"a\":[\"\xff\"]}", 400},
		"invalid UTF-8 in a key": {"{\"a\":[{\"\xff\":1}]}", 400},
		"half a surrogate":       {`{"a":"\ud800"}`, 400},
		"no JSON":                {`{"a":tru}`, 400},
		"a leading zero":         {`{"a":01}`, 400},
		"cut":                    {`{"a":[`, 400},
		"a second object":        {`{},"object":{}`, 400},
		"a second one, escaped":  {`{},"\u006fbject":{}`, 400},
		"an object elsewhere":    {`{"object":{"oldObject":{}}},"options":{"object":{"a":1}}`, 0},
		"both":                   {`{"a":1},"oldObject":{"a":2}`, 0},
		"more side by side":      {`{"a":[` + strings.Repeat("{},", terms.MaxNesting) + `[]]}`, 0},
		"null":                   {`null`, 0},
		"a list":                 {`[]`, 400},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			body := []byte(admissionReview(strings.Replace(request, `{"metadata":{}}`, c.object, 1)))
			requireLikeEager(t, body)
			review, err := DecodeReview(body)
			if c.code == 0 {
				require.NoError(t, err)
				// Close to the size limit it may be decoded immediately.
				require.Equal(t, name != "null" && name != "as deep", review.New != nil && review.New.text != nil)
				return
			}
			var refused *ReviewError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, c.code, refused.Code)
			require.Equal(t, "0001", refused.UID)
		})
	}
}

// TestTheObjectIsThatOfTheRequest: a field "object" next to the request is not the object under
// review.
func TestTheObjectIsThatOfTheRequest(t *testing.T) {
	const other = `"other":{"object":{"other":1},"oldObject":{"other":2}}`
	body := admissionReview(request)
	requireLikeEager(t, []byte(`{`+other+`,`+body[1:]))
	requireLikeEager(t, []byte(strings.TrimSuffix(body, "}")+`,`+other+`}`))
}

func FuzzDecodeReviewLazily(f *testing.F) {
	f.Add([]byte(admissionReview(request)))
	f.Add([]byte("00"))
	f.Add([]byte(admissionReview("")))
	f.Add([]byte(admissionReview(request + `,"oldObject":{"a":[{"b":1,"b":2}]}`)))
	f.Add([]byte(admissionReview(request + `,"oldObject":{"a":["\"",1e1001,[],{}]}`)))
	f.Fuzz(func(t *testing.T, body []byte) { requireLikeEager(t, body) })
}

const webPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"nginx"}]}}`

// BenchmarkDecodeReview is what a review costs that concerns no policy, and one that does.
func BenchmarkDecodeReview(b *testing.B) {
	body := []byte(admissionReview(strings.Replace(request, `{"metadata":{}}`, webPod, 1)))
	for name, use := range map[string]func(*Review){
		"unmatched": func(*Review) {},
		"matched":   func(review *Review) { review.Request() },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				review, err := DecodeReview(body)
				require.NoError(b, err)
				use(review)
			}
		})
	}
}
