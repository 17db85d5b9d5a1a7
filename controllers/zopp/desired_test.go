package zopp

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/zopp/store"
	rules "github.com/lintel-policy/lintel/policies/rules/zopp"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// asking returns a request with the annotations.
func asking(annotations ...string) rules.Request {
	all := map[string]string{v1alpha1.SyncAnnotation: "true", v1alpha1.SourcesAnnotation: "acme/backend/production"}
	for _, annotation := range annotations {
		name, value, _ := strings.Cut(annotation, "=")
		all[v1alpha1.GroupName+"/"+name] = value
	}
	return rules.Read(all)
}

// having returns a snapshot with values as KEY=value; one without = cannot be decrypted.
func having(id string, version int64, values ...string) *snapshot {
	contents := &store.Contents{ID: id, Version: version}
	for _, one := range values {
		key, value, readable := strings.Cut(one, "=")
		if readable {
			contents.Values = append(contents.Values, store.Value{Key: key, Value: []byte(value)})
		} else {
			contents.Values = append(contents.Values, store.Value{Key: key, Err: errors.New("wrong key")})
		}
	}
	return &snapshot{contents: contents, began: noon}
}

func broken(s *snapshot, reason store.Reason) *snapshot {
	next := snapshot{}
	if s != nil {
		next = *s
	}
	next.failure = &failure{reason: string(reason), message: "something is wrong", since: noon}
	return &next
}

func texts(data map[string][]byte) map[string]string {
	out := map[string]string{}
	for key, value := range data {
		out[key] = string(value)
	}
	return out
}

func bytesOf(data map[string]string) map[string][]byte {
	out := map[string][]byte{}
	for key, value := range data {
		out[key] = []byte(value)
	}
	return out
}

// filledFor is a Secret that was filled for a request.
func filledFor(request rules.Request, data map[string]string, snapshots ...*snapshot) actualSecret {
	return actualSecret{ours: bytesOf(data), record: record{}.of(request, snapshots)}
}

type values = map[string]string

func TestBuild(t *testing.T) {
	two := asking("sources=acme/shared/production, acme/backend/production")
	for name, c := range map[string]struct {
		request   rules.Request
		snapshots []*snapshot
		have      actualSecret
		data      values
		status    v1alpha1.SyncStatus
		reason    string
		message   []string
	}{
		"everything": {
			request: asking(), snapshots: []*snapshot{having("a", 1, "KEY=one", "OTHER=two")},
			data: values{"KEY": "one", "OTHER": "two"}, status: "Synced", reason: "SyncSuccess", message: []string{"acme/backend/production"},
		},
		"D1: a key that zopp has no more leaves": {
			request: asking(), snapshots: []*snapshot{having("a", 2, "KEY=one")}, have: filledFor(asking(), values{"KEY": "one", "OLD": "two"}, having("a", 1)),
			data: values{"KEY": "one"}, status: "Synced", reason: "SyncSuccess",
		},
		"D1: the keys of another environment leave": {
			request: asking(), snapshots: []*snapshot{having("a", 2, "KEY=one")}, have: filledFor(two, values{"SHARED": "two"}, having("s", 1), having("a", 1)),
			data: values{"KEY": "one"}, status: "Synced", reason: "SyncSuccess",
		},
		"an empty environment is one": {
			request: asking(), snapshots: []*snapshot{having("a", 2)}, have: filledFor(asking(), values{"KEY": "one"}, having("a", 1)),
			data: values{}, status: "Synced", reason: "SyncSuccess",
		},
		"of equal keys that of the later source": {
			request: two, snapshots: []*snapshot{having("s", 1, "KEY=shared", "SHARED=yes"), having("a", 1, "KEY=own")},
			data: values{"KEY": "own", "SHARED": "yes"}, status: "Synced", reason: "SyncSuccess",
		},
		"filtered and renamed": {
			request: asking("keys=API_*, db.password=DB_PASSWORD"), snapshots: []*snapshot{having("a", 1, "API_URL=u", "API_KEY=k", "DB_PASSWORD=p", "HIDDEN")},
			data: values{"API_URL": "u", "API_KEY": "k", "db.password": "p"}, status: "Synced", reason: "SyncSuccess",
		},
		"a key that is asked for and is not there is named": {
			request: asking("keys=KEY, GONE"), snapshots: []*snapshot{having("a", 2, "KEY=one")}, have: filledFor(asking("keys=KEY, GONE"), values{"GONE": "old"}, having("a", 1)),
			data: values{"KEY": "one"}, status: "Failed", reason: "Incomplete", message: []string{`"GONE" is asked for, and no source has it; the rest is in step with acme/backend/production (keys: 1)`},
		},
		"and so are several": {
			request: asking("keys=KEY, GONE, LOST"), snapshots: []*snapshot{having("a", 2, "KEY=one")},
			data: values{"KEY": "one"}, status: "Failed", reason: "Incomplete", message: []string{`"GONE", "LOST" are asked for, and no source has them`},
		},
		"D7: a value that cannot be decrypted is named, and the last good one stays": {
			request: asking(), snapshots: []*snapshot{having("a", 2, "BAD", "KEY=new", "WORSE")}, have: filledFor(asking(), values{"BAD": "good", "KEY": "old"}, having("a", 1)),
			data: values{"BAD": "good", "KEY": "new"}, status: "Failed", reason: "DecryptionFailed", message: []string{`"BAD", "WORSE" cannot be decrypted`},
		},
		"but not that of another environment": {
			request: asking(), snapshots: []*snapshot{having("a", 2, "BAD")}, have: filledFor(two, values{"BAD": "of shared"}, having("s", 1), having("a", 1)),
			data: values{}, status: "Failed", reason: "DecryptionFailed",
		},
		"nor is another source's taken instead": {
			request: two, snapshots: []*snapshot{having("s", 1, "KEY=shared"), having("a", 1, "KEY")},
			data: values{}, status: "Failed", reason: "DecryptionFailed",
		},
		"one that is filtered out is not named": {
			request: asking("keys=KEY"), snapshots: []*snapshot{having("a", 1, "KEY=one", "SECRET_NAME")},
			data: values{"KEY": "one"}, status: "Synced", reason: "SyncSuccess",
		},
		"keys that Kubernetes does not allow block no others": {
			request: asking(), snapshots: []*snapshot{having("a", 1, "KEY=one", "with space=two", "..=three", strings.Repeat("k", 254)+"=four", "schlüssel=five")},
			data: values{"KEY": "one"}, status: "Failed", reason: "Incomplete", message: []string{`"with space"`, "zopp.dev/keys"},
		},
		"and can have another name": {
			request: asking("keys=name=with space"), snapshots: []*snapshot{having("a", 1, "with space=two")},
			data: values{"name": "two"}, status: "Synced", reason: "SyncSuccess",
		},
		"what is no UTF-8 is named, and the last good one stays": {
			request: asking(), snapshots: []*snapshot{having("a", 2, "BYTES=\xff\xfe", "KEY=one")}, have: filledFor(asking(), values{"BYTES": "text"}, having("a", 1)),
			data: values{"KEY": "one", "BYTES": "text"}, status: "Failed", reason: "Incomplete", message: []string{`"BYTES" is no UTF-8, and stays as it was last`},
		},
		"an environment that is not found takes nothing away": {
			request: asking(), snapshots: []*snapshot{broken(nil, store.ReasonNotFound)}, have: filledFor(asking(), values{"KEY": "one"}, having("a", 1)),
			data: values{"KEY": "one"}, status: "Failed", reason: "NotFound", message: []string{"acme/backend/production cannot be read: something is wrong"},
		},
		"nor does a permission that is withdrawn": {
			request: asking(), snapshots: []*snapshot{broken(having("a", 2, "KEY=two"), store.ReasonDenied)}, have: filledFor(asking(), values{"KEY": "one"}, having("a", 1)),
			data: values{"KEY": "two"}, status: "Failed", reason: "Denied",
		},
		"a Secret that is new gets nothing from what is denied": {
			request: asking(), snapshots: []*snapshot{broken(having("a", 2, "KEY=two"), store.ReasonDenied)},
			data: values{}, status: "Failed", reason: "Denied",
		},
		"what was read of one source comes while another fails": {
			request: two, snapshots: []*snapshot{having("s", 2, "SHARED=new"), broken(having("a", 1, "KEY=one"), store.ReasonDenied)},
			have: filledFor(two, values{"SHARED": "old", "KEY": "one"}, having("s", 1), having("a", 1)),
			data: values{"SHARED": "new", "KEY": "one"}, status: "Failed", reason: "Denied",
		},
		"but not while it is unknown which of them has a key": {
			request: two, snapshots: []*snapshot{having("s", 2, "KEY=shared"), broken(nil, store.ReasonDenied)},
			have: filledFor(two, values{"KEY": "own"}, having("s", 1), having("a", 1)),
			data: values{"KEY": "own"}, status: "Failed", reason: "Denied",
		},
		"the keys of another request stay until there are better ones": {
			request: asking(), snapshots: []*snapshot{broken(nil, store.ReasonNotFound)}, have: filledFor(two, values{"SHARED": "one"}, having("s", 1), having("a", 1)),
			data: values{"SHARED": "one"}, status: "Failed", reason: "NotFound",
		},
		"unless they are to leave": {
			request: asking("cleanup=true"), snapshots: []*snapshot{broken(nil, store.ReasonNotFound)}, have: filledFor(two, values{"SHARED": "one"}, having("s", 1), having("a", 1)),
			data: values{}, status: "Failed", reason: "NotFound",
		},
		"an immutable Secret keeps its values": {
			request: asking(), snapshots: []*snapshot{having("a", 2, "KEY=two")}, have: actualSecret{ours: bytesOf(values{"KEY": "one"}), immutable: true},
			data: values{"KEY": "one"}, status: "Failed", reason: "Immutable", message: []string{"immutable"},
		},
		"and is in step where they are zopp's": {
			request: asking(), snapshots: []*snapshot{having("a", 2, "KEY=one")}, have: actualSecret{ours: bytesOf(values{"KEY": "one"}), immutable: true},
			data: values{"KEY": "one"}, status: "Synced", reason: "SyncSuccess",
		},
		"what is too large is not sent": {
			request: asking(), snapshots: []*snapshot{having("a", 2, "KEY="+strings.Repeat("x", 1<<20), "MORE=x")}, have: filledFor(asking(), values{"KEY": "one"}, having("a", 1)),
			data: values{"KEY": "one"}, status: "Failed", reason: "TooLarge", message: []string{"1048577 bytes", "1048576"},
		},
		"and others' keys count": {
			request: asking(), snapshots: []*snapshot{having("a", 2, "KEY="+strings.Repeat("x", 1<<20-10))}, have: actualSecret{others: map[string]int{"KEY": 100, "USERS": 11}},
			data: values{}, status: "Failed", reason: "TooLarge",
		},
		"as far as they are not replaced": {
			request: asking("keys=KEY"), snapshots: []*snapshot{having("a", 2, "KEY="+strings.Repeat("x", 10))}, have: actualSecret{others: map[string]int{"KEY": 1 << 20}},
			data: values{"KEY": "xxxxxxxxxx"}, status: "Synced", reason: "SyncSuccess",
		},
	} {
		t.Run(name, func(t *testing.T) {
			desired := desiredOf(c.request, c.snapshots, c.have)
			require.Equal(t, c.data, texts(desired.data))
			require.Equal(t, c.status, desired.outcome.status)
			require.Equal(t, c.reason, desired.outcome.reason)
			require.Equal(t, len(c.data), desired.outcome.keys)
			for _, part := range c.message {
				require.Contains(t, desired.outcome.message, part)
			}
			for _, key := range []string{"SECRET_NAME", "HIDDEN"} {
				require.NotContains(t, desired.outcome.message, key)
			}
		})
	}
}

// Defect D16: a version alone is not enough, since the versions of a re-created environment
// start at 0 again.
func TestRecordTellsWhatIsAhead(t *testing.T) {
	request := asking()
	written := record{}.of(request, []*snapshot{having("a", 5)})
	for name, c := range map[string]struct {
		now   *snapshot
		ahead bool
	}{
		"the same":               {having("a", 5), false},
		"a later version":        {having("a", 6), false},
		"an earlier version":     {having("a", 4), true},
		"another environment":    {having("b", 9), true},
		"nothing that was read":  {broken(nil, store.ReasonDenied), false},
		"an earlier one, failed": {broken(having("a", 4), store.ReasonDenied), true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.ahead, written.isAhead(request, []*snapshot{c.now}))
		})
	}
	require.False(t, written.isAhead(asking("keys=KEY"), []*snapshot{having("b", 1)}), "another request")
	require.Equal(t, written, readRecord(map[string]string{recordAnnotation: written.String()}))
	for _, spoilt := range []string{"", "{", "[]", `{"environments":["a"]}`, `{"versions":["a"]}`} {
		require.Zero(t, readRecord(map[string]string{recordAnnotation: spoilt}), spoilt)
	}
}

func TestMessagesNameNotTooManyKeys(t *testing.T) {
	var bad []string
	for i := range 1000 {
		bad = append(bad, fmt.Sprintf("KEY_%03d", i))
	}
	desired := desiredOf(asking(), []*snapshot{having("a", 1, bad...)}, actualSecret{})
	require.Contains(t, desired.outcome.message, "and 990 more")
	require.Less(t, len(desired.outcome.message), 500)
}

// Replicas detect an outage at different times: the time that the Secret already reports stays.
func TestMessageKeepsSince(t *testing.T) {
	o := outcome{status: "Failed", reason: "Unreachable", message: "the server is away", since: noon}
	first := messageOf(o, nil)
	require.Equal(t, "the server is away (since 2026-11-23T12:00:00Z)", first)
	o.since = noon.Add(time.Hour)
	before := values{v1alpha1.MessageAnnotation: first, v1alpha1.StatusAnnotation: "Failed"}
	require.Equal(t, first, messageOf(o, before))
	require.Nil(t, eventOf(o, before))
	o.message = "something else"
	require.Equal(t, "something else (since 2026-11-23T13:00:00Z)", messageOf(o, before))
	require.NotNil(t, eventOf(o, before))
}
