package engine

import (
	"math/rand/v2"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/stretchr/testify/require"
)

// TestRuleCacheIsOPAs does the same to both, with few and with many results in a frame.
func TestRuleCacheIsOPAs(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		names := 2 + random.IntN(6)
		part := func() *ast.Term {
			switch random.IntN(4) {
			case 0:
				return ast.IntNumberTerm(random.IntN(names * names))
			case 1:
				return ast.ObjectTerm(ast.Item(ast.StringTerm("a"), ast.IntNumberTerm(random.IntN(names))))
			default:
				return ast.StringTerm(string(rune('a' + random.IntN(names))))
			}
		}
		reference := func() ast.Ref {
			ref := ast.Ref{ast.DefaultRootDocument}
			for range 1 + random.IntN(3) {
				ref = append(ref, part())
			}
			return ref
		}
		cache, want := newRuleCache(), topdown.NewVirtualCache()
		depth := 1
		for range 400 {
			ref := reference()
			switch choice := random.IntN(40); {
			case choice == 0:
				cache.Push()
				want.Push()
				depth++
			case choice == 1 && depth > 1:
				cache.Pop()
				want.Pop()
				depth--
			case choice < 12:
				var value *ast.Term
				if random.IntN(4) > 0 {
					value = ast.IntNumberTerm(random.IntN(100))
				}
				given := append(ast.Ref{}, ref...)
				cache.Put(given, value)
				want.Put(ref, value)
				for i := range given { // its caller does as it likes with it
					given[i] = ast.InternedNullTerm
				}
			default:
				value, undefined := cache.Get(ref)
				wantValue, wantUndefined := want.Get(ref)
				require.Equal(t, wantUndefined, undefined, "seed %d: %s", seed, ref)
				if !undefined { // OPA's may give the value there was before it was undefined
					require.Equal(t, wantValue, value, "seed %d: %s", seed, ref)
				}
			}
		}
		require.Len(t, cache.Keys(), len(keysWithValue(want)), "seed %d", seed)
		cache.release()
	}
}

// keysWithValue leaves out what has become undefined, which OPA's cache lists.
func keysWithValue(cache topdown.VirtualCache) []ast.Ref {
	var keys []ast.Ref
	for _, key := range cache.Keys() {
		if value, undefined := cache.Get(key); value != nil && !undefined {
			keys = append(keys, key)
		}
	}
	return keys
}

func TestRuleCacheKeepsNothing(t *testing.T) {
	cache := newRuleCache()
	ref := ast.Ref{ast.DefaultRootDocument, ast.StringTerm("a")}
	for i := range 100 {
		cache.Push()
		cache.Put(append(ref, ast.IntNumberTerm(i)), ast.InternedEmptyObject)
	}
	cache.release()
	for _, result := range cache.results[:cap(cache.results)] {
		require.Zero(t, result)
	}
	for _, term := range cache.terms[:cap(cache.terms)] {
		require.Nil(t, term)
	}
	fresh := newRuleCache()
	value, undefined := fresh.Get(append(ref, ast.IntNumberTerm(1)))
	require.Nil(t, value)
	require.False(t, undefined)
}
