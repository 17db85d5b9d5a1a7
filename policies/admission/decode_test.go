package admission

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/terms"
)

const request = `"uid":"0001","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"operation":"CREATE","object":{"metadata":{}}`

func admissionReview(request string) string {
	return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{` + request + `}}`
}

func TestDecodeReviewRefuses(t *testing.T) {
	cases := map[string]struct{ body, uid, message string }{
		"nothing":           {"", "", "unexpected EOF"},
		"not JSON":          {"hello", "", "the AdmissionReview cannot be read"},
		"a list":            {"[]", "", "request body: must be an AdmissionReview as a JSON object"},
		"truncated":         {strings.TrimSuffix(admissionReview(request), "}}"), "0001", "unexpected EOF"},
		"cut before uid":    {admissionReview(request)[:80], "", "unexpected EOF"},
		"something behind":  {admissionReview(request) + "{}", "0001", "more than one JSON value"},
		"another version":   {strings.Replace(admissionReview(request), "/v1", "/v1beta1", 1), "0001", `apiVersion "admission.k8s.io/v1beta1"; only admission.k8s.io/v1 is served`},
		"another kind":      {strings.Replace(admissionReview(request), "AdmissionReview", "Pod", 1), "0001", `of kind "Pod", not AdmissionReview`},
		"no request":        {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, "", "has no request"},
		"a request of text": {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":"x"}`, "", "has no request"},
		"no uid":            {strings.Replace(admissionReview(request), "0001", "", 1), "", "request.uid is empty"},
		"no kind":           {strings.Replace(admissionReview(request), `"Pod"`, `""`, 1), "0001", "request.kind is empty"},
		"no resource":       {strings.Replace(admissionReview(request), `"pods"`, `""`, 1), "0001", "request.resource is empty"},
		"another operation": {strings.Replace(admissionReview(request), "CREATE", "PATCH", 1), "0001", `request.operation is "PATCH"`},
		"object of text":    {strings.Replace(admissionReview(request), `{"metadata":{}}`, `"x"`, 1), "0001", "request.object is not an object"},
		"duplicate keys":    {admissionReview(request + `,"name":"a","name":"b"`), "0001", "duplicate object member name"},
		"escaped duplicate": {admissionReview(request + `,"name":"a","n\u0061me":"b"`), "0001", "duplicate object member name"},
		"invalid UTF-8":     {admissionReview(request + ",\"name\":\"\xff\""), "0001", "invalid UTF-8"},
		"too deep":          {admissionReview(request + `,"options":` + strings.Repeat("[", 1001) + strings.Repeat("]", 1001)), "0001", "nest deeper than 1000"},
		"very deep":         {admissionReview(request + `,"options":` + strings.Repeat(`{"a":`, 1_000_000)), "0001", "nest deeper than 1000"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			review, err := DecodeReview([]byte(c.body))
			require.Nil(t, review)
			var reviewError *ReviewError
			require.ErrorAs(t, err, &reviewError)
			require.Contains(t, reviewError.Message, c.message)
			require.Equal(t, c.uid, reviewError.UID)
			require.Equal(t, 400, reviewError.Code)
		})
	}
}

func TestDecodeReviewBoundsTheValues(t *testing.T) {
	_, err := DecodeReview([]byte(admissionReview(request + `,"options":[` + strings.Repeat("[],", terms.MaxValues) + `[]]`)))
	var reviewError *ReviewError
	require.ErrorAs(t, err, &reviewError)
	require.Equal(t, 413, reviewError.Code)
	require.Equal(t, "0001", reviewError.UID)
	require.Contains(t, reviewError.Message, "it holds more than 200000 values")
}

// TestCheckValues: the same bound for a request without its envelope.
func TestCheckValues(t *testing.T) {
	filled := func(values int) string { return request + `,"options":[` + strings.Repeat("[],", values) + `[]]` }
	most := terms.MaxValues
	for most > 0 {
		if _, err := DecodeReview([]byte(admissionReview(filled(most)))); err == nil {
			break
		}
		most--
	}
	require.Positive(t, most)
	for _, values := range []int{most, most + 1} {
		_, refused := DecodeReview([]byte(admissionReview(filled(values))))
		review, err := NewReview([]byte(`{` + filled(values) + `}`))
		require.NoError(t, err)
		err = review.CheckValues()
		require.Equal(t, refused == nil, err == nil)
		if refused != nil {
			require.Equal(t, refused, err)
		}
	}
}

func TestDecodeReviewKeepsEveryDigit(t *testing.T) {
	review, err := DecodeReview([]byte(admissionReview(strings.Replace(request, `{"metadata":{}}`, `{"a":12345678901234567890,"b":1.0,"c":1e3}`, 1))))
	require.NoError(t, err)
	object, err := review.Object()
	require.NoError(t, err)
	require.Equal(t, `{"a":12345678901234567890,"b":1.0,"c":1e3}`, string(object))
}

func FuzzDecodeReview(f *testing.F) {
	f.Add([]byte(admissionReview(request)))
	f.Add([]byte(admissionReview(request)[:100]))
	f.Add([]byte(`{"request":{"uid":"x","a":[{}],"a":1e999}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		review, err := DecodeReview(body)
		require.NotEqual(t, review == nil, err == nil)
		if err != nil {
			require.IsType(t, &ReviewError{}, err)
			return
		}
		require.NotEmpty(t, review.UID)
		review.DisplayName()
		review.OnlyRemovesFinalizers()
	})
}

// TestNamesOfOneHash: of a name of 64 bytes, the hash takes bytes 0-7 and 32-39 together,
// and so on: all pairs of a row here give the same.
func TestNamesOfOneHash(t *testing.T) {
	rows := [4][3][2]string{
		{{`abdaaaaa`, "(r0eC$:7"}, {`ifgaaaaa`, "MM)qFp_&"}, {`fblbaaaa`, "6S]h+@Y1"}},
		{{`bjoaaaaa`, "3Nqcd~|R"}, {`pfobaaaa`, "QYlF2.mT"}, {`enicaaaa`, "[Zw&GPS7"}},
		{{`glcaaaaa`, "OFpC3.65"}, {`nlabaaaa`, "`Wb?]ELg"}, {`alfbaaaa`, "amPhfA0$"}},
		{{`jcmbaaaa`, "c0xRp84f"}, {`klidaaaa`, "/s]3lQ.w"}, {`nnceaaaa`, "e-Y>/QD["}},
	}
	fields := map[string]int{}
	for i := range 81 {
		first, second := "", ""
		for j, row := range rows {
			pair := row[i/[]int{1, 3, 9, 27}[j]%3]
			first, second = first+pair[0], second+pair[1]
		}
		fields[first+second] = i
	}
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	_, err = terms.Decode(text)
	require.ErrorIs(t, err, terms.ErrAlike)
	_, _, err = decodeEnvelope([]byte(`{"request":{"object":` + string(text) + `}}`))
	require.ErrorIs(t, err, terms.ErrAlike)
}
