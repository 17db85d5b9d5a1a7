package stores

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsouza/fake-gcs-server/fakestorage"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/record"
	"github.com/lintel-policy/lintel/policies/record/stores"
)

var start = time.Date(2026, 11, 27, 16, 0, 0, 0, time.UTC)

func numbered(n int, at time.Time) *record.Record {
	return &record.Record{
		Schema: record.Schema, Time: at, Entry: "validate/policies-fail", Decision: record.Decision{Allowed: true},
		Request: json.RawMessage(fmt.Sprintf(`{"uid":"%d","operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"object":{"apiVersion":"v1","kind":"Pod"}}`, n)),
	}
}

// faults is a server that answers in place of the store, or not at all.
type faults struct {
	next   http.Handler
	status atomic.Int64
	code   string
	stall  atomic.Bool
}

func (f *faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.stall.Load() {
		<-r.Context().Done()
		return
	}
	if status := f.status.Load(); status != 0 {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(int(status))
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>refused</Message></Error>", f.code)
		return
	}
	f.next.ServeHTTP(w, r)
}

func startS3(t *testing.T) (*faults, string) {
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("records"))
	f := &faults{next: gofakes3.New(backend).Server()}
	server := httptest.NewServer(f)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	return f, "s3://records/team/a?region=eu-central-1&use_path_style=true&endpoint=" + url.QueryEscape(server.URL)
}

func startGCS(t *testing.T) string {
	listening := httptest.NewUnstartedServer(nil)
	address := listening.Listener.Addr().String()
	server, err := fakestorage.NewServerWithOptions(fakestorage.Options{NoListener: true, PublicHost: address, ExternalURL: "http://" + address})
	require.NoError(t, err)
	listening.Config.Handler = server.HTTPHandler()
	listening.Start()
	t.Cleanup(listening.Close)
	server.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: "records"})
	t.Setenv("STORAGE_EMULATOR_HOST", address)
	return "gs://records/team/a"
}

func open(t *testing.T, location string) *record.Store {
	t.Helper()
	store, err := stores.Open(t.Context(), location)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func uids(t *testing.T, store *record.Store) (found []string) {
	t.Helper()
	for r, err := range store.Records(t.Context(), time.Time{}, time.Time{}) {
		require.NoError(t, err)
		var request struct{ UID string }
		require.NoError(t, json.Unmarshal(r.Request, &request))
		found = append(found, request.UID)
	}
	return found
}

// TestContract: all stores keep records alike.
func TestContract(t *testing.T) {
	for name, begin := range map[string]func(*testing.T) string{
		"folder": func(t *testing.T) string { return "file://" + t.TempDir() },
		"S3":     func(t *testing.T) string { _, location := startS3(t); return location },
		"GCS":    startGCS,
		"Azure":  func(t *testing.T) string { azure.reset(); return azureLocation },
	} {
		t.Run(name, func(t *testing.T) {
			store := open(t, begin(t))
			require.Empty(t, uids(t, store))
			w, err := record.NewWriter(store, record.WriterOptions{SegmentBytes: 1})
			require.NoError(t, err)
			for n := range 3 { // one segment each
				require.NoError(t, w.Write(t.Context(), numbered(n, start.Add(time.Duration(n)*24*time.Hour))))
				require.NoError(t, w.Flush(t.Context()))
			}
			require.NoError(t, w.Close(t.Context()))
			require.Equal(t, []string{"0", "1", "2"}, uids(t, store))
			segments, err := store.Segments(t.Context(), start.Add(12*time.Hour), start.Add(36*time.Hour))
			require.NoError(t, err)
			require.Len(t, segments, 1)
			require.EqualValues(t, 1, segments[0].Records)
			require.Positive(t, segments[0].Bytes)

			// A spool is moved, with the same names.
			spool := open(t, "file://"+t.TempDir())
			w, err = record.NewWriter(spool, record.WriterOptions{})
			require.NoError(t, err)
			require.NoError(t, w.Write(t.Context(), numbered(3, start.Add(72*time.Hour))))
			require.NoError(t, w.Close(t.Context()))
			moved, err := spool.Move(t.Context(), store, start)
			require.NoError(t, err)
			require.EqualValues(t, 1, moved.Records)
			require.Empty(t, uids(t, spool))
			require.Equal(t, []string{"0", "1", "2", "3"}, uids(t, store))

			deleted, err := store.Retain(t.Context(), 48*time.Hour, 0, start.Add(73*time.Hour))
			require.NoError(t, err)
			require.EqualValues(t, 2, deleted)
			require.Equal(t, []string{"2", "3"}, uids(t, store))

			// Results of parts are not records.
			require.NoError(t, store.WriteFile(t.Context(), "results/a/0.json", strings.NewReader("{}")))
			require.NoError(t, store.WriteFile(t.Context(), "results/a/0.json", strings.NewReader("{1}")))
			text, err := store.ReadFile(t.Context(), "results/a/0.json", 10)
			require.NoError(t, err)
			require.Equal(t, "{1}", string(text))
			_, err = store.ReadFile(t.Context(), "results/a/0.json", 2)
			require.ErrorContains(t, err, "more than 2 bytes")
			_, err = store.ReadFile(t.Context(), "results/a/1.json", 10)
			require.ErrorIs(t, err, fs.ErrNotExist)
			require.Equal(t, []string{"2", "3"}, uids(t, store))

			// Objects of several parts of an upload.
			big := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
			require.NoError(t, store.WriteFile(t.Context(), "results/big", bytes.NewReader(big)))
			text, err = store.ReadFile(t.Context(), "results/big", 1<<30)
			require.NoError(t, err)
			require.True(t, bytes.Equal(big, text))
		})
	}
}

// TestFailingStore: nothing in a spool is lost while the store refuses, and all of it is moved
// afterwards.
func TestFailingStore(t *testing.T) {
	server, location := startS3(t)
	store := open(t, location)
	spool := open(t, "file://"+t.TempDir())
	w, err := record.NewWriter(spool, record.WriterOptions{})
	require.NoError(t, err)
	require.NoError(t, w.Write(t.Context(), numbered(1, start)))
	require.NoError(t, w.Close(t.Context()))
	for _, c := range []struct {
		status int64
		code   string
	}{{http.StatusForbidden, "AccessDenied"}, {http.StatusInsufficientStorage, "XMinioStorageFull"}, {http.StatusNotFound, "NoSuchBucket"}} {
		server.code = c.code
		server.status.Store(c.status)
		_, err := spool.Move(t.Context(), store, start)
		require.ErrorContains(t, err, c.code)
		require.Equal(t, []string{"1"}, uids(t, spool))
		_, err = store.Segments(t.Context(), time.Time{}, time.Time{})
		require.ErrorContains(t, err, c.code)
		if c.code == "AccessDenied" {
			require.ErrorIs(t, err, fs.ErrPermission)
		}
	}
	server.status.Store(0)
	moved, err := spool.Move(t.Context(), store, start)
	require.NoError(t, err)
	require.EqualValues(t, 1, moved.Records)
	require.Equal(t, []string{"1"}, uids(t, store))
}

// TestStalledStore: a call ends with its context.
func TestStalledStore(t *testing.T) {
	server, location := startS3(t)
	store := open(t, location)
	server.stall.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := store.Segments(ctx, time.Time{}, time.Time{})
	require.Error(t, err)
	require.True(t, errors.Is(err, ctx.Err()), err)
}

// TestHostileNames: objects with names that are not those of segments are not read.
func TestHostileNames(t *testing.T) {
	azure.reset()
	store := open(t, azureLocation)
	for _, name := range []string{"2026-11-27/../../etc/passwd", "2026-11-27/x.jsonl.zst", "2026-11-27/20261127T160000.000000000Z_w/x.open.jsonl.zst", "../2026-11-27/20261127T160000.000000000Z_w.open.jsonl.zst", "2026-99-27/20261127T160000.000000000Z_w.open.jsonl.zst"} {
		azure.blobs["team/a/"+name] = []byte("x")
	}
	require.Empty(t, uids(t, store))
	azure.blobs["team/a/2026-11-27/20261127T160000.000000000Z_w.open.jsonl.zst"] = []byte("x")
	var skipped *record.SkippedError
	for _, err := range store.Records(t.Context(), time.Time{}, time.Time{}) {
		require.ErrorAs(t, err, &skipped)
	}
	require.NotNil(t, skipped)
}
