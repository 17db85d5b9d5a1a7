package dump

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
)

// lists are texts that are read alike as a whole and as a stream.
var lists = []string{
	"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: b}\nkind: List\nmetadata:\n  resourceVersion: \"\"\n",
	"apiVersion: v1\nkind: List\nitems:\n  # first\n  - apiVersion: v1\n    kind: ConfigMap\n    data:\n      text: |\n        - no item\n\n        items:\n    metadata: {name: a}\n",
	"kind: PodList\napiVersion: v1\nitems:\n- metadata: {name: a, namespace: x}\n  spec:\n    containers:\n    - name: c\n",
	"apiVersion: v1\nitems: []\nkind: List\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n# nothing\n",
	"apiVersion: v1\nitems:\nkind: List\n",
	"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: List\n  items: [{apiVersion: v1, kind: Secret, metadata: {name: s}}]\nkind: List\n",
	`{"apiVersion":"v1","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"n":12345678901234567890}],"kind":"List"}` + "\n" + `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"},"items":1}`,
	`{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"x"},"items":[{"metadata":{"name":"a"}}]}`,
	`{"kind":"Foo","apiVersion":"a.b/v1","items":[{"metadata":{"name":"a"}}]}`,
}

// refused are texts of which a stream reports a problem.
var refused = []string{
	"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  data: {a: \"x\n- apiVersion: v1\n  kind: Pod\"}\nkind: List\n",
	"apiVersion: v1\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\nkind: List\nitems:\n- x\n",
	"apiVersion: v1\nkind: Foo\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n",
	"apiVersion: v1\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n- 1\nkind: List\n",
	"apiVersion: v1\nitems:\n  kind: x\nkind: List\n",
	"apiVersion: a/b/c\nitems:\nkind: List\n",
	"items:\nkind: List\n",
	"apiVersion: v1\nitems:\nkind: PodList\n",
	"apiVersion: v1\nitems:\nkind: List\nmetadata: 1\n",
	`{"apiVersion":"v1","kind":"List","items":[],"metadata":1}`,
	"apiVersion: v1\nkind: List\nitems:\n  - apiVersion: v1\n    kind: Pod\n    metadata: {name: a}\n text: x\n",
	"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\r- x\nkind: List\n",
	"apiVersion: v1\nkind: List\nitems:\n# a\x00\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n",
	"apiVersion: v1\nkind: List\nitems:\n\t# a\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n",
	"--- x\na: b\n",
	`{"apiVersion":"v1","kind":"List","items":[],"items":[]}`,
	`{"items":[],"a":1}`,
	`{"apiVersion":"v1"`,
	`[]`,
}

func streamed(t *testing.T, text string) (objects []string, problems []error) {
	t.Helper()
	r := &reader{ctx: t.Context(), backup: newBackup(), visitor: Visitor{
		Object: func(o manifests.Object) error {
			json, err := o.JSON()
			objects = append(objects, string(json))
			return err
		},
		Unreadable: func(err error) { problems = append(problems, err) },
	}}
	require.NoError(t, r.notify(r.stream("list", "list", strings.NewReader(text))))
	return objects, problems
}

// checkStream: a stream without problems gives the objects of the whole text.
func checkStream(t *testing.T, text string) bool {
	t.Helper()
	objects, problems := streamed(t, text)
	for _, problem := range problems {
		require.Regexp(t, `^list:\d+|^reading list`, problem.Error())
	}
	if len(problems) > 0 {
		return false
	}
	whole, err := manifests.Parse("list", []byte(text))
	require.NoError(t, err)
	var want []string
	for _, o := range whole {
		json, err := o.JSON()
		require.NoError(t, err)
		want = append(want, string(json))
	}
	require.Equal(t, want, objects)
	return true
}

func TestStream(t *testing.T) {
	t.Parallel()
	for _, text := range lists {
		require.True(t, checkStream(t, text), text)
		require.True(t, checkStream(t, "\uFEFF"+strings.ReplaceAll(text, "\n", "\r\n")), text)
	}
	for _, text := range refused {
		require.False(t, checkStream(t, text), text)
	}
}

func FuzzStream(f *testing.F) {
	for _, text := range append(lists, refused...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\n...") || strings.HasPrefix(text, "...") {
			return // what follows the end of a document is read as another one
		}
		checkStream(t, text)
	})
}

// FuzzArchive reads any bytes as a file.
func FuzzArchive(f *testing.F) {
	f.Add([]byte("\x1f\x8b\x08"))
	f.Add([]byte(lists[0]))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Open([]string{"-"}, strings.NewReader(string(text)))
		require.NoError(t, err)
		defer d.Close()
		var got found
		require.NoError(t, d.Each(t.Context(), got.visitor()))
	})
}
