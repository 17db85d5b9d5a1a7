package v1alpha1

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCodeSources: a list and an object are decoded, and other values stay unchanged for the
// rules.
func TestCodeSources(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		sources int
		written string
	}{
		`{"code":{"image":"a:1"}}`: {1, `{"code":[{"image":"a:1"}]}`},
		`{"code":[{"image":"a:1","environment":"e"},{"claimName":"b","mountPath":"/c"}]}`: {2, `{"code":[{"image":"a:1","environment":"e"},{"claimName":"b","mountPath":"/c"}]}`},
		`{"code":[]}`:              {0, `{}`},
		`{"code":null}`:            {0, `{}`},
		`{}`:                       {0, `{}`},
		`{"code":"x"}`:             {0, `{"code":"x"}`},
		`{"code":[{"imgae":"a"}]}`: {0, `{"code":[{"imgae":"a"}]}`},
		`{"code":{"image":1}}`:     {0, `{"code":{"image":1}}`},
	} {
		var object struct {
			Code PuppetCode `json:"code,omitzero"`
		}
		require.NoError(t, json.Unmarshal([]byte(text), &object), text)
		require.Len(t, object.Code.List, want.sources, text)
		written, err := json.Marshal(object)
		require.NoError(t, err)
		require.Equal(t, want.written, string(written), text)
	}
}
