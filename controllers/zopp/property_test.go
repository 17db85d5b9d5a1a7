package zopp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/controllers/zopp/store"
	rules "github.com/lintel-policy/lintel/policies/rules/zopp"
)

// randomSnapshot returns a snapshot of an environment that was read, was not read yet, or was
// deleted.
func randomSnapshot(r *rand.Rand, id string) *snapshot {
	var all []string
	for i := range 6 {
		switch key := fmt.Sprint("KEY_", i); r.IntN(4) {
		case 0:
			all = append(all, key)
		case 1, 2:
			all = append(all, fmt.Sprint(key, "=", id, r.IntN(3)))
		}
	}
	s := having(id, int64(r.IntN(5)), all...)
	reasons := []store.Reason{store.ReasonNotFound, store.ReasonDenied, store.ReasonUnreachable, store.ReasonUndecryptable}
	switch r.IntN(4) {
	case 0:
		return broken(s, reasons[r.IntN(len(reasons))])
	case 1:
		return broken(nil, reasons[r.IntN(len(reasons))])
	}
	return s
}

// TestNoKeyLeavesForWhatCannotBeRead holds a Secret against random environments: a key that was
// zopp's leaves only where every source was read once and none has it, and every value is a
// source's or was there before.
func TestNoKeyLeavesForWhatCannotBeRead(t *testing.T) {
	for seed := range uint64(20000) {
		r := rand.New(rand.NewPCG(seed, 0))
		request := asking("sources=acme/shared/production, acme/backend/production")
		if r.IntN(3) == 0 {
			request.Keys = rules.KeyList{{Key: "KEY_1"}, {Name: "KEY_2", Key: "KEY_3"}, {Key: "KEY_4*"}}
		}
		snapshots := []*snapshot{randomSnapshot(r, "s"), randomSnapshot(r, "b")}
		before := values{}
		for i := range 6 {
			if r.IntN(2) == 0 {
				before[fmt.Sprint("KEY_", i)] = fmt.Sprint("before", i)
			}
		}
		actual := filledFor(request, before, having("s", 1), having("b", 1))
		desired := desiredOf(request, snapshots, actual)

		has, readable := values{}, map[string]bool{}
		var offered []string
		for _, s := range snapshots {
			if s.contents == nil {
				continue
			}
			for _, value := range s.contents.Values {
				has[value.Key], readable[value.Key] = string(value.Value), value.Err == nil
				offered = append(offered, value.Key)
			}
		}
		slices.Sort(offered)
		selected, _ := request.Keys.Select(slices.Compact(offered))
		for key := range before {
			if _, kept := desired.data[key]; kept {
				continue
			}
			_, wanted := selected[key]
			require.True(t, known(snapshots), "seed %d: %s left, and not all sources are known", seed, key)
			require.False(t, wanted, "seed %d: %s left, and a source has it", seed, key)
		}
		for key, value := range desired.data {
			source, wanted := selected[key]
			isNew := known(snapshots) && wanted && readable[source] && has[source] == string(value)
			require.True(t, isNew || before[key] == string(value), "seed %d: %s is nobody's value", seed, key)
		}
		if failure, _ := failing(snapshots); failure != nil {
			require.True(t, desired.outcome.failed(), "seed %d", seed)
		}
	}
}

// FuzzAnnotations reads annotations that users may write instead of the controllers.
func FuzzAnnotations(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"environments":["a"],"versions":[1]}`, `{"app":1}`, "[", `{"versions":[1e99]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := readRecord(map[string]string{recordAnnotation: text})
		require.Len(t, r.Versions, len(r.Environments))
		require.Equal(t, r.String(), readRecord(map[string]string{recordAnnotation: r.String()}).String())
		_ = r.isAhead(asking(), []*snapshot{having("a", 1)})
		deployment := deploymentOf("app", using["env"], values{appliedAnnotation: text})
		next, _ := due(appliedChangesOf(deployment), appliedChanges{"app-secrets": 1}, referencedSecrets(&deployment.Spec.Template).Has)
		require.Equal(t, appliedChanges{"app-secrets": 1}, next)
	})
}

// FuzzManagedFields reads the record of fields.
func FuzzManagedFields(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"f:data":{".":{},"f:KEY":{}}}`, `{"f:data":[]}`, `{"f:data":{"k:{}":null}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(_ *testing.T, text []byte) {
		fields := &metav1.FieldsV1{}
		fields.SetRawBytes(text)
		_ = dataKeys(&metav1.ManagedFieldsEntry{FieldsV1: fields})
	})
}
