package record

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// change returns a valid record as a line, with one text replaced.
func change(t *testing.T, replaced, with string) string {
	t.Helper()
	line, err := Encode(numbered(1, start))
	require.NoError(t, err)
	require.Contains(t, string(line), replaced)
	return strings.Replace(string(line), replaced, with, 1)
}

// TestIncompleteRecordsAreSkipped: with their line, for each missing field. They would count as
// requests that were denied, or that no API server sends.
func TestIncompleteRecordsAreSkipped(t *testing.T) {
	t.Parallel()
	const object = `"object":{"apiVersion":"v1","kind":"Pod"}`
	for name, c := range map[string]struct{ replaced, with, want string }{
		"time":               {`"time":"2026-11-27T16:00:00Z",`, "", `field "time" is missing`},
		"decision":           {`"decision"`, `"decisions"`, `field "decision" is missing`},
		"null decision":      {`"decision":{"allowed":true,"snapshot":"","policies":0}`, `"decision":null`, `field "decision" is missing`},
		"allowed":            {`"allowed":true,`, "", `field "decision.allowed" is missing`},
		"entry":              {"validate/policies-fail", "policies-fail", `field "entry": Invalid value "policies-fail"`},
		"request":            {`"request"`, `"requests"`, `field "request" is missing`},
		"uid":                {`"uid":"1"`, `"uid":""`, `field "request.uid" is missing`},
		"operation":          {"CREATE", "PATCH", `field "request.operation": Invalid value "PATCH"`},
		"kind":               {`"version":"v1","kind":"Pod"},"res`, `"version":"v1"},"res`, `field "request.kind.kind" is missing`},
		"version":            {`"version":"v1","kind":"Pod"},"res`, `"kind":"Pod"},"res`, `field "request.kind.version" is missing`},
		"resource":           {`"resource":"pods"`, `"resource":""`, `field "request.resource.resource" is missing`},
		"object":             {object, `"object":null`, `field "request.object" is missing, which an API server sends on CREATE`},
		"UPDATE":             {"CREATE", "UPDATE", `field "request.oldObject" is missing, which an API server sends on UPDATE`},
		"DELETE":             {`"CREATE",`, `"DELETE","name":"web",`, `field "request.oldObject" is missing, which an API server sends on DELETE`},
		"CONNECT":            {`"CREATE",` + "", `"CONNECT","subResource":"exec",`, ""},
		"another kind":       {object, `"object":{"apiVersion":"v1","kind":"Secret"}`, `field "request.object" is of kind "Secret" in apiVersion "v1", and request.kind is Pod in v1`},
		"another version":    {object, `"object":{"apiVersion":"v2","kind":"Pod"}`, `field "request.object" is of kind "Pod" in apiVersion "v2"`},
		"another old kind":   {object, object + `,"oldObject":{"apiVersion":"v1","kind":"pod"}`, `field "request.oldObject" is of kind "pod"`},
		"a subresource":      {object, `"subResource":"scale","object":{"apiVersion":"autoscaling/v1","kind":"Scale"}`, ""},
		"a whole collection": {`"CREATE",`, `"DELETE",`, ""},
		"a request's type":   {`"uid":"1"`, `"uid":1`, `field "request": field "uid": json: cannot unmarshal number`},
	} {
		line := change(t, c.replaced, c.with)
		var got []*Record
		for r, err := range ReadLines("records.jsonl", strings.NewReader("\n"+line), time.Time{}, time.Time{}) {
			if c.want == "" {
				require.NoError(t, err, name)
				got = append(got, r)
				continue
			}
			require.ErrorContains(t, err, "records.jsonl:2: 1 records are skipped: the record is damaged: "+c.want, name)
			var skipped *SkippedError
			require.True(t, errors.As(err, &skipped), name)
			require.EqualValues(t, 1, skipped.Records)
		}
		require.Equal(t, c.want == "", len(got) == 1, name)
	}
	denied := change(t, `"allowed":true`, `"allowed":false,"denials":[{"policy":"p","msg":"no"}]`)
	for r, err := range ReadLines("x", strings.NewReader(denied), time.Time{}, time.Time{}) {
		require.NoError(t, err)
		require.False(t, r.Decision.Allowed)
		require.Equal(t, []Finding{{Policy: "p", Msg: "no"}}, r.Decision.Denials)
	}
}

// TestASegmentWithAnIncompleteRecord: the error has the line in the segment.
func TestASegmentWithAnIncompleteRecord(t *testing.T) {
	t.Parallel()
	store, path := openFolder(t)
	w := newWriter(t, store, WriterOptions{})
	incomplete := numbered(2, start)
	incomplete.Request = json.RawMessage(`{}`)
	for _, r := range []*Record{numbered(1, start), incomplete, numbered(3, start)} {
		require.NoError(t, w.Write(t.Context(), r))
	}
	require.NoError(t, w.Close(t.Context()))
	uids, errs := readAll(t, store, time.Time{}, time.Time{})
	require.Equal(t, []string{"1", "3"}, uids)
	require.Len(t, errs, 1)
	require.Contains(t, files(t, path)[0]+":2", strings.Split(errs[0].Error(), ": ")[0])
}
