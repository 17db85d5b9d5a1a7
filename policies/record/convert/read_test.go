package convert

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/record"
)

const (
	pod     = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"},"spec":{}}`
	request = `{"uid":"1","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"operation":"CREATE","name":"web","namespace":"shop","userInfo":{"username":"jane"},"object":` + pod + `}`
)

func opaEntry(input, rest string) string {
	return `{"decision_id":"d","path":"kubernetes/admission/main","timestamp":"2026-11-27T16:00:00Z","input":` + input + rest + `}`
}

func auditEvent(verb, subresource, rest string) string {
	return `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"a","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/shop/pods","verb":"` + verb +
		`","user":{"username":"jane","groups":["dev"]},"objectRef":{"resource":"pods","namespace":"shop","name":"web","apiVersion":"v1","subresource":"` + subresource + `"},"requestReceivedTimestamp":"2026-11-27T16:00:00.5Z"` + rest + `}`
}

// read returns the records, and the texts of the errors.
func read(t *testing.T, text string) (records []*record.Record, errs []string) {
	t.Helper()
	for r, err := range Read("log", strings.NewReader(text)) {
		if err == nil {
			records = append(records, r)
			continue
		}
		errs = append(errs, err.Error())
	}
	return records, errs
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	require.NoError(t, err)
	_, err = w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// TestForms: an array and lines, compressed and not, and lists of events.
func TestForms(t *testing.T) {
	t.Parallel()
	one := opaEntry(`{"request":`+request+`}`, `,"result":{"response":{"allowed":true}}`)
	event := auditEvent("create", "", `,"responseStatus":{"code":201},"requestObject":`+pod+`,"responseObject":`+pod)
	for name, text := range map[string]string{
		"lines": one + "\n\n" + one, "array": " [" + one + "," + one + "]", "gzip": gzipped(t, "["+one+","+one+"]"), "gzip lines": gzipped(t, one+"\n"+one),
		"audit": event + "\n" + event, "list": `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[` + event + "," + event + "]}",
	} {
		records, errs := read(t, text)
		require.Empty(t, errs, name)
		require.Len(t, records, 2, name)
		require.True(t, records[1].Decision.Allowed)
		require.Equal(t, 2026, records[1].Time.Year())
	}
}

func TestDecisionsOfOPA(t *testing.T) {
	t.Parallel()
	whole := `{"request":` + request + `}`
	for name, c := range map[string]struct {
		entry, want string
		denials     []string
		masked      []string
	}{
		"denied":         {opaEntry(whole, `,"result":{"response":{"allowed":false,"status":{"message":"no"}}}`), "", []string{"no"}, nil},
		"short":          {opaEntry(whole, `,"result":{"allowed":false}`), "", []string{"denied"}, nil},
		"messages":       {opaEntry(whole, `,"result":["a",{"msg":"b"}]`), "", []string{"a", "b"}, nil},
		"no messages":    {opaEntry(whole, `,"result":[]`), "", nil, nil},
		"a review":       {opaEntry(`{"review":`+request+`}`, `,"result":[]`), "", nil, nil},
		"erased":         {opaEntry(whole, `,"result":[],"erased":["/input/request/object/spec/x"],"masked":["/input/request/userInfo/uid","/result/x"]`), "", nil, []string{"/object/spec/x", "/userInfo/uid"}},
		"all erased":     {opaEntry(whole, `,"result":[],"erased":["/input"]`), "the request of the decision is erased", nil, nil},
		"no input":       {`{"decision_id":"d"}`, "the decision has no input", nil, nil},
		"another input":  {opaEntry(`{"user":"x"}`, `,"result":[]`), "it lacks input.request", nil, nil},
		"no result":      {opaEntry(whole, ``), "not that of an admission policy", nil, nil},
		"other result":   {opaEntry(whole, `,"result":{"x":1}`), "lacks result.response.allowed", nil, nil},
		"no time":        {strings.Replace(opaEntry(whole, `,"result":[]`), `"timestamp":"2026-11-27T16:00:00Z",`, "", 1), `field "time" is missing`, nil, nil},
		"no uid":         {opaEntry(strings.Replace(whole, `"uid":"1",`, "", 1), `,"result":[]`), `field "request.uid" is missing`, nil, nil},
		"no JSON":        {`{"decision_id"`, "the entry is damaged", nil, nil},
		"another log":    {`{"level":"info"}`, "neither a decision of OPA nor", nil, nil},
		"Gatekeeper log": {`{"process":"admission","event_type":"violation"}`, "a line of Gatekeeper's log lacks the request", nil, nil},
	} {
		records, errs := read(t, c.entry)
		if c.want != "" {
			require.Empty(t, records, name)
			require.Len(t, errs, 1, name)
			require.Contains(t, errs[0], "log, entry 1: 1 records are skipped: ", name)
			require.Contains(t, errs[0], c.want, name)
			continue
		}
		require.Empty(t, errs, name)
		var messages []string
		for _, denial := range records[0].Decision.Denials {
			require.Equal(t, "kubernetes.admission.main", denial.Policy)
			messages = append(messages, denial.Msg)
		}
		require.Equal(t, c.denials, messages, name)
		require.Equal(t, len(messages) == 0, records[0].Decision.Allowed, name)
		require.Equal(t, c.masked, records[0].Masked, name)
	}
	records, errs := read(t, opaEntry(whole, `,"error":{"code":"eval_conflict_error"}`))
	require.Empty(t, errs)
	require.Contains(t, records[0].Decision.Error, "eval_conflict_error")
}

func TestEventsOfAnAuditLog(t *testing.T) {
	t.Parallel()
	const both = `,"responseStatus":{"code":201},"requestObject":` + pod + `,"responseObject":` + pod
	status := `,"responseObject":{"apiVersion":"v1","kind":"Status"}`
	for name, c := range map[string]struct{ entry, want, operation string }{
		"create":           {auditEvent("create", "", both), "", "CREATE"},
		"apply":            {auditEvent("patch", "", `,"responseStatus":{"code":201},"requestObject":{},"responseObject":`+pod), "", "CREATE"},
		"delete":           {auditEvent("delete", "", `,"responseStatus":{"code":200},"requestObject":{"kind":"DeleteOptions","apiVersion":"v1"},"responseObject":`+pod), "", "DELETE"},
		"eviction":         {auditEvent("create", "eviction", `,"responseStatus":{"code":201},"requestObject":{"apiVersion":"policy/v1","kind":"Eviction"}`+status), "", "CREATE"},
		"denied":           {auditEvent("create", "", `,"responseStatus":{"code":403,"message":"admission webhook \"x\" denied the request: no"},"requestObject":`+pod+status), "", "CREATE"},
		"a deleted Status": {auditEvent("delete", "", `,"responseStatus":{"code":200}`+status), "the event lacks the deleted object", ""},
		"update":           {auditEvent("update", "", strings.Replace(both, "201", "200", 1)), "lacks the object before an UPDATE", ""},
		"patch":            {auditEvent("patch", "", strings.Replace(both, "201", "200", 1)), "lacks the object before an UPDATE", ""},
		"exec":             {auditEvent("get", "exec", `,"responseStatus":{"code":101}`), "lacks its options", ""},
		"collection":       {auditEvent("deletecollection", "", ""), "the objects of a deletecollection", ""},
		"a level":          {strings.Replace(auditEvent("create", "", ""), "RequestResponse", "Metadata", 1), "of level Metadata", ""},
		"a panic":          {strings.Replace(auditEvent("create", "", both), "ResponseComplete", "Panic", 1), "ended in stage Panic", ""},
		"RBAC":             {auditEvent("create", "", `,"responseStatus":{"code":403,"message":"pods is forbidden"},"requestObject":`+pod), "status 403, and no webhook did", ""},
		"no object":        {auditEvent("create", "", `,"responseStatus":{"code":201}`), "the event lacks the object", ""},
		"a verb":           {auditEvent("bind", "", ""), `the verb "bind" is not known`, ""},
		"read":             {auditEvent("get", "", ""), "ignored: a read", ""},
		"stage":            {strings.Replace(auditEvent("create", "", both), "ResponseComplete", "RequestReceived", 1), "ignored: an earlier stage", ""},
		"not an object":    {strings.Replace(auditEvent("post", "", ""), `"objectRef":`, `"other":`, 1), "ignored: not about an object", ""},
	} {
		var records []*record.Record
		for r, err := range Read("log", strings.NewReader(c.entry)) {
			var ignored *IgnoredError
			var skipped *record.SkippedError
			switch {
			case err == nil:
				records = append(records, r)
			case errors.As(err, &ignored):
				require.Equal(t, c.want, "ignored: "+strings.TrimSuffix(ignored.Reason, " of a request"), name)
			default:
				require.ErrorAs(t, err, &skipped, name)
				require.NotEmpty(t, c.want, name+": "+err.Error())
				require.ErrorContains(t, err, c.want, name)
			}
		}
		if c.want != "" {
			require.Empty(t, records, name)
			continue
		}
		require.Len(t, records, 1, name)
		var request struct {
			Operation string
			UserInfo  struct{ Username string }
		}
		require.NoError(t, json.Unmarshal(records[0].Request, &request))
		require.Equal(t, c.operation, request.Operation, name)
		require.Equal(t, "jane", request.UserInfo.Username)
		require.Equal(t, name != "denied", records[0].Decision.Allowed, name)
	}
}

// TestHostileLogs: entries without end, bombs and damaged parts use the memory of one entry, and
// are reported.
func TestHostileLogs(t *testing.T) {
	t.Parallel()
	one := opaEntry(`{"request":`+request+`}`, `,"result":[]`)
	huge := strings.Repeat("x", record.MaxRecordBytes+1<<20)
	for name, c := range map[string]struct {
		text, want string
		records    int
	}{
		"a long line":         {one + "\n" + huge, "more than 33554432 bytes", 1},
		"a long element":      {"[" + one + `,"` + huge, "more than 33554432 bytes", 1},
		"a bomb":              {gzipped(t, one+"\n"+strings.Repeat(" ", record.MaxRecordBytes+1)+"x"), "more than 33554432 bytes", 1},
		"a truncated array":   {"[" + one + ",", "the rest is not read", 1},
		"an array of numbers": {"[1," + one + "]", "the entry is damaged", 1},
		"a truncated gzip":    {gzipped(t, one+"\n"+one)[:60], "unexpected EOF", 0},
		"no gzip":             {"\x1f\x8bx", "reading log: unexpected EOF", 0},
	} {
		records, errs := read(t, c.text)
		require.Len(t, records, c.records, name)
		require.NotEmpty(t, errs, name)
		require.Contains(t, strings.Join(errs, "\n"), c.want, name)
	}
	records, errs := read(t, "")
	require.Empty(t, records, fmt.Sprint(errs))
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(opaEntry(`{"request":`+request+`}`, `,"result":[]`)))
	f.Add([]byte(auditEvent("create", "", `,"responseStatus":{"code":201},"responseObject":`+pod)))
	f.Fuzz(func(t *testing.T, text []byte) {
		for r, err := range Read("log", bytes.NewReader(text)) {
			if err == nil && r.Validate() != nil {
				t.Error("a record is not valid")
			}
		}
	})
}
