package engine

import (
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/test/cases"
	"github.com/open-policy-agent/opa/v1/test/cases/testdata"
	"github.com/open-policy-agent/opa/v1/util"
	"github.com/stretchr/testify/require"
)

// TestRuleCacheConforms asks every case of OPA's conformance tests with OPA's own cache
// and with ours.
func TestRuleCacheConforms(t *testing.T) {
	compared := 0
	err := fs.WalkDir(testdata.V1, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := testdata.V1.ReadFile(path)
		require.NoError(t, err)
		var set cases.Set
		require.NoError(t, util.Unmarshal(text, &set), path)
		for _, one := range set.Cases {
			if query, ok := conformanceCase(t, one); ok {
				want, wantErr := query.Eval(t.Context(), conformanceOptions(one)...)
				cache := newRuleCache()
				got, gotErr := query.Eval(t.Context(), append(conformanceOptions(one), rego.EvalVirtualCache(cache))...)
				cache.release()
				require.Equal(t, wantErr, gotErr, "%s: %s", path, one.Note)
				require.Equal(t, want, got, "%s: %s", path, one.Note)
				compared++
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, compared, 1500)
}

// conformanceCase is false for what does not compile, and what answers otherwise each
// time.
func conformanceCase(t *testing.T, one cases.TestCase) (rego.PreparedEvalQuery, bool) {
	options := []func(*rego.Rego){rego.Query(one.Query), rego.StrictBuiltinErrors(one.StrictError)}
	for i, module := range one.Modules {
		for _, changing := range []string{"http.send", "rand.", "uuid.", "opa.runtime", "net.lookup"} {
			if strings.Contains(module, changing) {
				return rego.PreparedEvalQuery{}, false
			}
		}
		options = append(options, rego.Module(one.Note+string(rune('a'+i)), module))
	}
	if one.Data != nil {
		options = append(options, rego.Store(inmem.NewFromObject(*one.Data)))
	}
	query, err := rego.New(options...).PrepareForEval(t.Context())
	return query, err == nil
}

func conformanceOptions(one cases.TestCase) []rego.EvalOption {
	options := []rego.EvalOption{
		rego.EvalTime(time.Unix(1_700_000_000, 0)),
		rego.EvalSeed(rand.NewChaCha8([32]byte{})),
	}
	switch {
	case one.InputTerm != nil:
		options = append(options, rego.EvalParsedInput(ast.MustParseTerm(*one.InputTerm).Value))
	case one.Input != nil:
		options = append(options, rego.EvalInput(*one.Input))
	}
	return options
}
