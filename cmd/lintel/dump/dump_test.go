package dump

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
)

// found are the objects and problems of a dump.
type found struct{ objects, problems []string }

func (f *found) visitor() Visitor {
	return Visitor{
		Object: func(o manifests.Object) error {
			f.objects = append(f.objects, o.Title())
			return nil
		},
		Unreadable: func(err error) { f.problems = append(f.problems, err.Error()) },
	}
}

func read(t *testing.T, stdin string, paths ...string) (f found) {
	t.Helper()
	d, err := Open(paths, strings.NewReader(stdin))
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	require.NoError(t, d.Each(t.Context(), f.visitor()))
	var again found
	require.NoError(t, d.Each(t.Context(), again.visitor()))
	require.Equal(t, f, again, "a dump can be read twice")
	return f
}

func configMap(namespace, name string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":%q}}`, name, namespace)
}

// backupFiles are the files of a backup of Velero.
func backupFiles() map[string]string {
	return map[string]string{
		"metadata/version": "1.1.0",
		"resources/configmaps/namespaces/shop/web.json":                     configMap("shop", "web"),
		"resources/configmaps/v1-preferredversion/namespaces/shop/web.json": configMap("shop", "web"),
		"resources/configmaps/v1-preferredversion/namespaces/shop/new.json": configMap("shop", "new"),
		"resources/namespaces/cluster/shop.json":                            `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`,
		"resources/namespaces/v1-preferredversion/cluster/shop.json":        `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`,
	}
}

var backupObjects = []string{"ConfigMap shop/web", "ConfigMap shop/new", "Namespace shop"}

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return dir
}

type entry struct {
	name, text string
	kind       byte
}

func archive(t *testing.T, entries ...entry) string {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: 0o600, Size: int64(len(e.text)), Typeflag: e.kind}
		if e.kind == tar.TypeSymlink {
			header.Linkname, header.Size = "/etc/passwd", 0
		}
		require.NoError(t, w.WriteHeader(header))
		_, err := io.WriteString(w, e.text[:header.Size])
		require.NoError(t, err)
	}
	require.NoError(t, errors.Join(w.Close(), zipped.Close()))
	return out.String()
}

func TestBackups(t *testing.T) {
	t.Parallel()
	dir := folder(t, backupFiles())
	got := read(t, "", dir)
	require.ElementsMatch(t, backupObjects, got.objects)
	require.Empty(t, got.problems)

	var entries []entry
	files := backupFiles()
	for _, name := range []string{
		"metadata/version", "resources/namespaces/cluster/shop.json", "resources/namespaces/v1-preferredversion/cluster/shop.json",
		"resources/configmaps/namespaces/shop/web.json", "resources/configmaps/v1-preferredversion/namespaces/shop/web.json", "resources/configmaps/v1-preferredversion/namespaces/shop/new.json",
	} {
		entries = append(entries, entry{name, files[name], tar.TypeReg})
	}
	zipped := archive(t, entries...)
	for name, f := range map[string]found{
		"standard input": read(t, zipped, "-"),
		"a file":         read(t, "", filepath.Join(folder(t, map[string]string{"backup.tar.gz": zipped}), "backup.tar.gz")),
		"in a folder":    read(t, "", folder(t, map[string]string{"nightly/nightly.tar.gz": zipped, "nightly/nightly-logs.gz": "not JSON"})),
	} {
		require.ElementsMatch(t, backupObjects, f.objects, name)
		require.Empty(t, f.problems, name)
	}
}

// TestTwoBackups in one call both count: they may be of two clusters.
func TestTwoBackups(t *testing.T) {
	t.Parallel()
	dir := folder(t, backupFiles())
	require.Len(t, read(t, "", dir, dir).objects, 2*len(backupObjects))
	both := t.TempDir()
	require.NoError(t, errors.Join(os.CopyFS(filepath.Join(both, "a"), os.DirFS(dir)), os.CopyFS(filepath.Join(both, "b"), os.DirFS(dir))))
	require.Len(t, read(t, "", both).objects, 2*len(backupObjects))
}

// TestBadFiles are reported with their place, and do not hide the others.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	good := entry{"good.json", configMap("shop", "good"), tar.TypeReg}
	big := strings.Repeat(" ", maxWholeBytes+1)
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"YAML":              {map[string]string{"bad.yaml": "apiVersion: v1\nkind: [\n"}, "bad.yaml:"},
		"no kind":           {map[string]string{"bad.yaml": "apiVersion: v1\n"}, "bad.yaml:1: document 1 has no kind"},
		"an item":           {map[string]string{"bad.json": `{"apiVersion":"v1","kind":"List","items":[1]}`}, "bad.json:1: document 1, items[0] is not a Kubernetes object"},
		"an archive":        {map[string]string{"bad.tar.gz": "\x1f\x8bnot"}, "bad.tar.gz: "},
		"a short archive":   {map[string]string{"bad.tar.gz": archive(t, entry{"x.json", configMap("a", "x"), tar.TypeReg})[:60]}, "bad.tar.gz: the rest of the archive cannot be read: "},
		"leaves the root":   {map[string]string{"bad.tgz": archive(t, entry{"../x.json", configMap("a", "x"), tar.TypeReg}, good)}, "bad.tgz: ../x.json: the path leaves the archive"},
		"an absolute path":  {map[string]string{"bad.tgz": archive(t, entry{"/etc/x.json", configMap("a", "x"), tar.TypeReg}, good)}, "bad.tgz: /etc/x.json: the path leaves the archive"},
		"a link":            {map[string]string{"bad.tgz": archive(t, entry{"x.json", "", tar.TypeSymlink}, good)}, "bad.tgz: x.json: is not a regular file"},
		"in an archive":     {map[string]string{"bad.tgz": archive(t, entry{"x.json", "{", tar.TypeReg}, good)}, "bad.tgz: x.json:1: "},
		"a bomb":            {map[string]string{"bad.tgz": archive(t, entry{"x.json", strings.Repeat(" ", 40<<20), tar.TypeReg})}, "expands to more than 500 times its size"},
		"a stream":          {map[string]string{"bad.json": configMap("a", "first") + big + "\n{\"a\": 1}\n{\"apiVersion\"; 1}"}, "bad.json:3: the rest of the file cannot be read"},
		"a number":          {map[string]string{"bad.json": configMap("a", "first") + big + "1"}, "the rest of the file cannot be read: not a JSON object"},
		"a kustomization":   {map[string]string{"kustomization.yaml": "x"}, "build it first"},
		"a large object":    {map[string]string{"bad.json": `{"a":"` + strings.Repeat("x", maxObjectBytes+1<<20) + `"}`}, "an object is larger than 16 MiB"},
		"a large YAML line": {map[string]string{"bad.yaml": "a: " + strings.Repeat("x", maxObjectBytes+1<<20)}, "an object is larger than 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.files["z.json"] = configMap("shop", "after")
			got := read(t, "", folder(t, c.files))
			require.NotEmpty(t, got.problems)
			require.Contains(t, strings.Join(got.problems, "\n"), c.want)
			if name != "a kustomization" {
				require.Contains(t, got.objects, "ConfigMap shop/after")
			}
			if strings.Contains(fmt.Sprint(c.files), good.text) {
				require.Contains(t, got.objects, "ConfigMap shop/good")
			}
		})
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	_, err := Open([]string{"-", "-"}, strings.NewReader(""))
	require.ErrorContains(t, err, "-f - occurs twice")
	_, err = Open([]string{"nowhere"}, nil)
	require.ErrorContains(t, err, "reading objects: ")
	d, err := Open([]string{"-"}, strings.NewReader(configMap("a", "b")))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, d.Each(ctx, (&found{}).visitor()), context.Canceled)
	refuse := errors.New("stop")
	require.ErrorIs(t, d.Each(t.Context(), Visitor{Object: func(manifests.Object) error { return refuse }}), refuse)
	require.NoError(t, d.Close())
	require.NoFileExists(t, d.spool.Name())
}

// TestMemoryIsBounded reads a list of 20,000 objects in each format.
func TestMemoryIsBounded(t *testing.T) {
	const count, allowed = 20_000, 4 << 20
	payload := strings.Repeat("x", 1000)
	for name, c := range map[string]struct{ head, item, tail string }{
		"YAML": {"apiVersion: v1\nitems:\n", "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c-%d, namespace: a}\n  data: {key: " + payload + "}\n", "kind: List\n"},
		"JSON": {`{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}`, `,{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c-%d","namespace":"a"},"data":{"key":"` + payload + `"}}`, `],"kind":"List"}`},
	} {
		t.Run(name, func(t *testing.T) {
			reads, write := io.Pipe()
			go func() {
				_, _ = io.WriteString(write, c.head)
				for i := range count {
					_, _ = fmt.Fprintf(write, c.item, i)
				}
				_, _ = io.WriteString(write, c.tail)
				_ = write.Close()
			}()
			seen, first, last := 0, uint64(0), uint64(0)
			r := &reader{ctx: t.Context(), backup: newBackup(), visitor: Visitor{
				Object: func(manifests.Object) error {
					switch seen++; seen {
					case 100:
						first = heap()
					case count:
						last = heap()
					}
					return nil
				},
				Unreadable: func(err error) { t.Error(err) },
			}}
			require.NoError(t, r.stream("list", "list", reads))
			require.GreaterOrEqual(t, seen, count)
			require.Less(t, last, first+allowed, "%d bytes for %d objects", last-first, count)
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
