package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/policies/record"
)

// written returns all files below a folder, as they are and decompressed.
func written(t *testing.T, dir string) string {
	t.Helper()
	var all bytes.Buffer
	decoder, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer decoder.Close()
	require.NoError(t, filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		all.WriteString(name)
		all.Write(text)
		if plain, errPlain := decoder.DecodeAll(text, nil); errPlain == nil {
			all.Write(plain)
		}
		return err
	}))
	return all.String()
}

const canary = "canary-7f3a"

// importedLog has a Secret, a Pod and a message with a canary, and entries that cannot be imported.
func importedLog() string {
	request := func(uid, kind, resource, object string) string {
		return `{"request":{"uid":"` + uid + `","kind":{"group":"","version":"v1","kind":"` + kind + `"},"resource":{"group":"","version":"v1","resource":"` + resource +
			`"},"operation":"CREATE","name":"web","namespace":"shop","userInfo":{"username":"jane"},"object":` + object + `}}`
	}
	entry := func(input, result string) string {
		return `{"decision_id":"d","path":"k8s/deny","timestamp":"2026-11-20T12:00:00Z","input":` + input + `,"result":` + result + "}\n"
	}
	secret := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"web","namespace":"shop","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"stringData\":{\"k\":\"` + canary + `\"}}"}},"stringData":{"k":"` + canary + `"}}`
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop"},"spec":{"containers":[{"name":"web","image":"web:latest","env":[{"name":"K","value":"` + canary + `"}]}]}}`
	token := `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"t","stage":"ResponseComplete","verb":"create","user":{"username":"jane"},"requestURI":"/x",` +
		`"objectRef":{"resource":"serviceaccounts","namespace":"shop","name":"a","apiVersion":"v1","subresource":"token"},"requestReceivedTimestamp":"2026-11-20T12:00:00Z","responseStatus":{"code":201},` +
		`"requestObject":{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest"},"responseObject":{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","status":{"token":"` + canary + `"}}}` + "\n"
	read := strings.Replace(strings.Replace(token, `"create"`, `"get"`, 1), `,"subresource":"token"`, "", 1)
	update := strings.Replace(token, `"create"`, `"update"`, 1)
	return entry(request("s", "Secret", "secrets", secret), `[{"msg":"the value is `+canary+`"}]`) + entry(request("p", "Pod", "pods", pod), "[]") + token + read + update + update + "{}\n"
}

// TestImportedRecordsAreMasked and replayed; entries that are not imported are counted.
func TestImportedRecordsAreMasked(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"policies/images.rego": replayPolicy})
	records := filepath.Join(dir, "records")
	got := lintel(t, importedLog(), "record", "import", "--to", records, "-")
	require.Equal(t, 0, got.code, got.stderr)
	require.Equal(t, `3 records imported
2 entries not imported: an audit log lacks the object before an UPDATE (first standard input, entry 5)
1 entry not imported: it is neither a decision of OPA nor an audit.k8s.io/v1 Event (first standard input, entry 7)
1 entry without a request to admission: a read
`, got.stdout)
	text := written(t, records)
	require.Contains(t, text, `"image":"web:latest"`)
	require.NotContains(t, text, canary)

	got = lintel(t, "", "record", "ls", "--since", "2026-11-20T00:00:00Z", records)
	require.Equal(t, 0, got.code, got.stderr)
	require.Equal(t, `TIME                  OUTCOME  OPERATION  KIND                                      OBJECT    USER  UID
2026-11-20T12:00:00Z  denied   CREATE     Secret                                    shop/web  jane  s
2026-11-20T12:00:00Z  allowed  CREATE     Pod                                       shop/web  jane  p
2026-11-20T12:00:00Z  allowed  CREATE     TokenRequest.authentication.k8s.io/token  shop/a    jane  t
`, got.stdout)
	got = lintel(t, "", "record", "ls", "--since", "2026-11-20T00:00:00Z", "--denied", "-o", "json", records)
	require.Equal(t, 0, got.code, got.stderr)
	var listed []map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &listed))
	require.Len(t, listed, 1)
	require.Equal(t, []any{"k8s.deny"}, listed[0]["policies"])
	got = lintel(t, "", "record", "ls", "--since", "2026-11-20T00:00:00Z", "--limit", "1", records)
	require.Contains(t, got.stderr, "there are more than 1 records")

	got = lintel(t, "", "record", "show", "p", "--since", "2026-11-20T00:00:00Z", records)
	require.Equal(t, 0, got.code, got.stderr)
	require.Contains(t, got.stdout, `"value": "masked"`)
	require.Contains(t, got.stdout, `"/object/spec/containers/0/env/0/value"`)
	got = lintel(t, "", "record", "show", "x", "--since", "2026-11-20T00:00:00Z", records)
	require.Equal(t, 2, got.code)
	require.Contains(t, got.stderr, `there is no record of request "x"`)

	got = lintel(t, "", replayArgs("--against", filepath.Join(dir, "policies"), records)...)
	require.Equal(t, 1, got.code, got.stderr)
	require.Contains(t, got.stdout, "3 requests from 2026-11-20T00:00:00Z to 2026-11-21T00:00:00Z: 1 newly denied, 2 the same")

	got = lintel(t, "{}", "record", "import", "--to", records, "-")
	require.Equal(t, 2, got.code)
	require.Contains(t, got.stderr, "no record was imported")
	require.Contains(t, got.stdout, "1 entry not imported")
}

// TestImportOfOldRecords: a reader finds records of years in any order.
func TestImportOfOldRecords(t *testing.T) {
	t.Parallel()
	records := t.TempDir()
	var log strings.Builder
	line := strings.Split(importedLog(), "\n")[1]
	for _, year := range []string{"2026", "2024", "2025"} {
		log.WriteString(strings.ReplaceAll(line, "2026-11", year+"-11") + "\n")
	}
	require.Equal(t, 0, lintel(t, log.String(), "record", "import", "--to", records, "-").code)
	got := lintel(t, "", "record", "ls", "--since", "2025-11-20T00:00:00Z", "--until", "2025-11-21T00:00:00Z", records)
	require.Contains(t, got.stdout, "2025-11-20T12:00:00Z")
	require.Len(t, strings.Split(strings.TrimSpace(got.stdout), "\n"), 2)
}

// TestUpload moves the segments of a spool, and deletes old ones of the store.
func TestUpload(t *testing.T) {
	t.Parallel()
	spool, to := t.TempDir(), t.TempDir()
	store, err := record.OpenFolder(spool)
	require.NoError(t, err)
	writer, err := record.NewWriter(store, record.WriterOptions{})
	require.NoError(t, err)
	fresh := replayRecord("1", "web:1")
	fresh.Time = time.Now()
	require.NoError(t, writer.Write(t.Context(), fresh))
	require.NoError(t, writer.Close(t.Context()))
	got := lintel(t, "", "record", "upload", "--once", "--to", "file://"+to, spool)
	require.Equal(t, 0, got.code, got.stderr)
	require.Contains(t, got.stdout, "moved 1 segment with 1 record")
	require.NotContains(t, written(t, spool), ".zst")
	require.Contains(t, lintel(t, "", "record", "ls", to).stdout, "shop/web")
	require.Equal(t, 0, lintel(t, "", "record", "upload", "--once", "--max-age", "1ns", "--to", "file://"+to, spool).code)
	require.NotContains(t, lintel(t, "", "record", "ls", to).stdout, "shop/web")

	got = lintel(t, "", "record", "upload", "--once", "--to", "s3://id:secret@bucket", spool)
	require.Equal(t, 2, got.code)
	require.Contains(t, got.stderr, "must not have credentials")
}

// TestUploadDrains: after SIGTERM, the command moves the segments that the manager completes when it
// ends.
func TestUploadDrains(t *testing.T) { // not in parallel: the signal is for the process
	spool, to := t.TempDir(), t.TempDir()
	store, err := record.OpenFolder(spool)
	require.NoError(t, err)
	write := func(uid string) *record.Writer {
		writer, err := record.NewWriter(store, record.WriterOptions{})
		require.NoError(t, err)
		one := replayRecord(uid, "web:1")
		one.Time = time.Now()
		require.NoError(t, writer.Write(t.Context(), one))
		require.NoError(t, writer.Flush(t.Context()))
		return writer
	}
	require.NoError(t, write("1").Close(t.Context()))
	last := write("2")
	done := make(chan result, 1)
	go func() {
		done <- lintel(t, "", "record", "upload", "--every", "10ms", "--drain", "1m", "--to", "file://"+to, spool)
	}()
	listed := func() string { return lintel(t, "", "record", "ls", "-o", "json", to).stdout }
	require.Eventually(t, func() bool { return strings.Contains(listed(), `"uid": "1"`) }, time.Minute, 10*time.Millisecond)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM)) // the command has its handler
	require.NoError(t, last.Close(t.Context()))
	got := <-done
	require.Equal(t, 0, got.code, got.stderr)
	require.Contains(t, listed(), `"uid": "2"`)
	require.NotContains(t, written(t, spool), ".zst")
}
