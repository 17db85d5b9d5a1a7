package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/exception"
	"github.com/lintel-policy/lintel/policies/hierarchy"
	"github.com/lintel-policy/lintel/policies/record"
	"github.com/lintel-policy/lintel/policies/source/process"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == Argument {
		os.Exit(Child(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

var epoch = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// policySource is a source with rules about ConfigMaps in package p.
func policySource(rules string) definition.Source {
	return definition.Source{Name: "team", Files: map[string]string{
		"p.rego": "# METADATA\n# scope: package\n# custom:\n#   match: {kinds: [{group: \"\", kind: ConfigMap}]}\npackage p\n\nimport rego.v1\n\n" + rules + "\n",
	}}
}

func deny(names ...string) string {
	text, _ := json.Marshal(names)
	return fmt.Sprintf("deny contains \"no\" if input.name in %s", text)
}

// recordOf is the record of a request to create a ConfigMap that was admitted.
func recordOf(uid, namespace, name string, at time.Time) *record.Record {
	return &record.Record{
		Schema: record.Schema, Time: at, Entry: "validate/policies-fail",
		Request: json.RawMessage(fmt.Sprintf(`{"uid":%q,"operation":"CREATE","kind":{"group":"","version":"v1","kind":"ConfigMap"},
			"resource":{"group":"","version":"v1","resource":"configmaps"},"userInfo":{"username":"jane"},"name":%[2]q,"namespace":%[3]q,
			"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%[2]q,"namespace":%[3]q},"data":{"secret":"masked"}},"oldObject":null,"dryRun":false,"options":null}`, uid, name, namespace)),
		Masked:   []string{"/object/data/secret"},
		Decision: record.Decision{Allowed: true},
	}
}

// storeOf stores records, and returns the URL of the store.
func storeOf(t *testing.T, records ...*record.Record) string {
	t.Helper()
	folder := t.TempDir()
	store, err := record.OpenFolder(folder)
	require.NoError(t, err)
	defer store.Close()
	writer, err := record.NewWriter(store, record.WriterOptions{FrameBytes: 512})
	require.NoError(t, err)
	for _, r := range records {
		require.NoError(t, writer.Write(t.Context(), r))
	}
	require.NoError(t, writer.Close(t.Context()))
	return "file://" + filepath.ToSlash(folder)
}

// manyRecords are requests for the names a0, b1, c2, a3 and so on, in two namespaces.
func manyRecords(count int) (records []*record.Record) {
	for i := range count {
		records = append(records, recordOf(fmt.Sprint("uid-", i), []string{"shop", "pay"}[i%2], fmt.Sprintf("%c%d", 'a'+i%3, i), epoch.Add(time.Duration(i)*time.Minute)))
	}
	return records
}

func requestOf(records string, candidate string, live *definition.Source) Request {
	return Request{
		Records: records, Since: epoch, Until: epoch.Add(24 * time.Hour), Candidate: policySource(candidate), Live: live,
		Resources: ResourcesOf(admission.BuiltinResources()),
	}
}

// evaluated is the last state of a rehearsal in one part.
func evaluated(t *testing.T, request Request) (last *Tally) {
	t.Helper()
	require.NoError(t, evaluate(t.Context(), request, limits{time.Hour, time.Hour}, func(tally *Tally) error {
		last = tally
		return nil
	}))
	require.True(t, last.Complete)
	return last
}

func TestARevisionIsComparedWithTheOneInForce(t *testing.T) {
	t.Parallel()
	records := storeOf(t, manyRecords(12)...)
	live := policySource(deny("a0", "a3"))
	reads := `deny contains "secret" if input.request.object.data.secret == "x"`
	withMore := func(source definition.Source, rule string) definition.Source {
		files := map[string]string{"q.rego": strings.ReplaceAll(source.Files["p.rego"], "package p", "package q")}
		files["p.rego"] = policySource(rule).Files["p.rego"]
		source.Files = files
		return source
	}
	readsToo := withMore(policySource(reads), deny("a0"))
	exempt, err := exception.Exception{
		Name: "e", Scope: hierarchy.Key{Level: hierarchy.Enterprise}, Source: "team", Policy: "p", Namespaces: []string{"pay"}, Expires: time.Now().Add(time.Hour),
	}.Compiled()
	require.NoError(t, err)
	for name, test := range map[string]struct {
		request Request
		change  func(*Request)
		want    Tally
	}{
		"more is denied": {
			request: requestOf(records, deny("a0", "a3", "b1", "c2"), &live),
			want:    Tally{NewDenials: 2, Policies: map[string]int64{"p": 2}, Namespaces: map[string]int64{"pay": 1, "shop": 1}},
		},
		"the first revision": {
			request: requestOf(records, deny("a0", "a3", "b1"), nil),
			want:    Tally{NewDenials: 3, Policies: map[string]int64{"p": 3}, Namespaces: map[string]int64{"pay": 2, "shop": 1}},
		},
		"less is denied": {request: requestOf(records, deny("a0"), &live)},
		"new warnings":   {request: requestOf(records, deny("a0", "a3")+"\nwarn contains \"hm\" if input.name == \"b1\"", &live), want: Tally{NewWarnings: 1}},
		"a masked value": {request: requestOf(records, reads, nil), want: Tally{Undecided: 12}},
		"a masked value that a policy in force reads": {
			request: requestOf(records, "", &readsToo),
			change:  func(r *Request) { r.Candidate = withMore(policySource(reads), deny("a0", "b1")) },
			want:    Tally{NewDenials: 1, Policies: map[string]int64{"p": 1}, Namespaces: map[string]int64{"pay": 1}},
		},
		"a masked value that another rule reads than before": {
			request: requestOf(records, "", &readsToo),
			change: func(r *Request) {
				r.Candidate = withMore(policySource(strings.ReplaceAll(reads, `"x"`, `"y"`)), deny("a0"))
			},
			want: Tally{Undecided: 11}, // a0 is denied in any case
		},
		"an exception": {
			request: requestOf(records, deny("a0", "a3", "b1", "c2"), nil),
			change:  func(r *Request) { r.Exceptions = []*exception.Exception{exempt} },
			want:    Tally{NewDenials: 2, Policies: map[string]int64{"p": 2}, Namespaces: map[string]int64{"shop": 2}},
		},
		"a scope below another": {
			request: requestOf(records, deny("a0", "b1"), nil),
			change: func(r *Request) {
				r.Candidate.Scope = hierarchy.Scope{Level: "team", Name: "t", Parent: "o", Namespaces: []string{"*"}}
				r.Others = []definition.Source{{Name: "parent", Scope: hierarchy.Scope{Level: "org", Name: "o", Namespaces: []string{"shop"}}}}
			},
			want: Tally{NewDenials: 1, Policies: map[string]int64{"p": 1}, Namespaces: map[string]int64{"shop": 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.change != nil {
				test.change(&test.request)
			}
			// As the child receives it.
			text, err := json.Marshal(test.request)
			require.NoError(t, err)
			var request Request
			require.NoError(t, json.Unmarshal(text, &request))
			got := evaluated(t, request)
			require.EqualValues(t, 12, got.Requests)
			require.Equal(t, epoch.Add(11*time.Minute), got.Newest)
			if test.want.Undecided > 0 {
				require.Contains(t, got.FirstUndecided, "is masked")
			}
			got.Requests, got.Seen, got.Last, got.Newest, got.FirstUndecided, got.Complete = 0, 0, "", time.Time{}, "", false
			require.Equal(t, &test.want, got)
		})
	}
}

// TestAnInterruptedRehearsalContinues pauses after each request.
func TestAnInterruptedRehearsalContinues(t *testing.T) {
	t.Parallel()
	request := requestOf(storeOf(t, manyRecords(7)...), deny("a0", "a3", "a6"), nil)
	whole := evaluated(t, request)
	parts := 0
	for request.Tally == nil || !request.Tally.Complete {
		require.NoError(t, evaluate(t.Context(), request, limits{0, time.Hour}, func(tally *Tally) error {
			request.Tally = tally
			return nil
		}))
		parts++
		require.Less(t, parts, 10)
	}
	require.Equal(t, 8, parts)
	require.Equal(t, whole, request.Tally)
}

func TestRecordsThatChangeBeginAgain(t *testing.T) {
	t.Parallel()
	request := requestOf(storeOf(t, manyRecords(4)...), deny("a0"), nil)
	for name, tally := range map[string]Tally{"fewer": {Seen: 9, Last: "uid-3"}, "others": {Seen: 2, Last: "uid-9"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := request
			request.Tally = &tally
			require.ErrorIs(t, evaluate(t.Context(), request, limits{time.Hour, time.Hour}, func(*Tally) error { return nil }), ErrChanged)
		})
	}
}

func TestDamagedRecordsAreCounted(t *testing.T) {
	t.Parallel()
	unreadable := recordOf("uid-9", "shop", "z", epoch)
	unreadable.Request = json.RawMessage(`{"uid":"uid-9","operation":7}`)
	records := storeOf(t, append(manyRecords(3), unreadable)...)
	tally := evaluated(t, requestOf(records, deny("a0"), nil))
	require.EqualValues(t, 1, tally.Unreadable)
	require.NotEmpty(t, tally.FirstUnreadable)
	require.EqualValues(t, 3, tally.Requests)
}

func TestGroupsAreBounded(t *testing.T) {
	t.Parallel()
	var groups map[string]int64
	for i := range 3 * maxGroups {
		increment(&groups, fmt.Sprint(i), 1)
	}
	require.Len(t, groups, maxGroups+1)
	require.Equal(t, []Count{{otherGroups, 2 * maxGroups}, {"0", 1}}, Top(groups, 2))
}

func TestTheChild(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	require.NoError(t, err)
	request := requestOf(storeOf(t, manyRecords(5)...), deny("a0"), nil)
	tally, err := NewRunner(program).Run(t.Context(), request, func(*Tally) {})
	require.NoError(t, err)
	require.True(t, tally.Complete)
	require.EqualValues(t, 1, tally.NewDenials)

	request.Tally = &Tally{Seen: 9, Last: "uid-3"}
	_, err = NewRunner(program).Run(t.Context(), request, func(*Tally) {})
	require.ErrorIs(t, err, ErrChanged)

	request = requestOf("file:///none", deny("a0"), nil)
	_, err = NewRunner(program).Run(t.Context(), request, func(*Tally) {})
	require.ErrorContains(t, err, "opening the folder of records")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = NewRunner(program).Run(ended, request, func(*Tally) {})
	require.ErrorIs(t, err, context.Canceled)
}

func TestTheChildReceivesTheVariablesOfItsStore(t *testing.T) {
	t.Parallel()
	environment := []string{"AWS_REGION=a", "ORLOJ_POSTGRES_DSN=secret", "PATH=/bin"}
	require.Empty(t, storeVariables("file:///records", environment))
	names := storeVariables("s3://bucket", environment)
	require.Contains(t, names, "AWS_REGION")
	require.NotContains(t, names, "ORLOJ_POSTGRES_DSN")
	require.Subset(t, names, process.NetworkVariables)
}
