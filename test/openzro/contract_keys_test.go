package openzro

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSetupKeys(t *testing.T) {
	group := makeGroup(t)
	name := unique("key")
	key := create[SetupKey](t, "setup-keys", reusable(name, group.ID).with("ephemeral", true).with("allow_extra_dns_labels", true).with("usage_limit", 5))
	require.Regexp(t, `^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$`, key.Key, "the only time that it is shown")
	require.True(t, key.Expires.IsZero())
	masked := key
	masked.Key = key.Key[:5] + "****"
	masked.UpdatedAt = get[SetupKey](t, "setup-keys/"+key.ID).UpdatedAt
	require.WithinDuration(t, time.Now(), key.UpdatedAt, time.Hour)
	require.Equal(t, SetupKey{
		ID: key.ID, Name: name, Key: masked.Key, Type: "reusable", Valid: true, State: "valid", AutoGroups: []string{group.ID},
		UpdatedAt: masked.UpdatedAt, UsageLimit: 5, Ephemeral: true, AllowExtraDNSLabels: true,
	}, masked)
	require.Equal(t, masked, get[SetupKey](t, "setup-keys/"+key.ID))
	require.Contains(t, get[[]SetupKey](t, "setup-keys"), masked)
	again := create[SetupKey](t, "setup-keys", reusable(name))
	require.NotEqual(t, key.Key, again.Key, "names need not be unique")

	for _, wrong := range []fields{
		reusable(""), reusable("k").with("type", "eternal"), reusable("k").without("type"), reusable("k").with("expires_in", -1), reusable("k", unknown),
	} {
		refused(t, http.StatusUnprocessableEntity, http.MethodPost, "setup-keys", wrong)
	}
	defaults := create[SetupKey](t, "setup-keys", fields{"name": "k", "type": "one-off", "usage_limit": 7})
	require.Empty(t, defaults.AutoGroups)
	require.Equal(t, 1, defaults.UsageLimit, "a key for once")
	require.False(t, defaults.Ephemeral)
	require.False(t, defaults.AllowExtraDNSLabels)
}

// TestASetupKeyChangesItsGroups and nothing else.
func TestASetupKeyChangesItsGroups(t *testing.T) {
	first, second := makeGroup(t), makeGroup(t)
	key := create[SetupKey](t, "setup-keys", reusable(unique("key"), first.ID))
	path := "setup-keys/" + key.ID
	changed := ask[SetupKey](t, http.MethodPut, path, fields{"auto_groups": []string{second.ID}, "revoked": false, "name": "other", "usage_limit": 9})
	require.Equal(t, []string{second.ID}, changed.AutoGroups)
	require.Equal(t, key.Name, changed.Name)
	require.Equal(t, key.UsageLimit, changed.UsageLimit)
	require.Equal(t, key.Key[:5]+"****", changed.Key)
	refused(t, http.StatusUnprocessableEntity, http.MethodPut, path, fields{"revoked": false})
	refused(t, http.StatusUnprocessableEntity, http.MethodPut, path, fields{"auto_groups": []string{unknown}})
	require.Equal(t, changed.AutoGroups, get[SetupKey](t, path).AutoGroups)
}

func TestARevokedSetupKeyStaysRevoked(t *testing.T) {
	key := create[SetupKey](t, "setup-keys", reusable(unique("key")))
	path := "setup-keys/" + key.ID
	revoked := ask[SetupKey](t, http.MethodPut, path, fields{"auto_groups": []string{}, "revoked": true})
	require.Equal(t, "revoked", revoked.State)
	require.False(t, revoked.Valid)
	require.True(t, revoked.Revoked)
	refused(t, http.StatusUnprocessableEntity, http.MethodPut, path, fields{"auto_groups": []string{}, "revoked": false})
	refused(t, http.StatusUnprocessableEntity, http.MethodPut, path, fields{"auto_groups": []string{}})
	require.Equal(t, "revoked", get[SetupKey](t, path).State)
}

// TestASetupKeyExpires: being expired comes before being revoked.
func TestASetupKeyExpires(t *testing.T) {
	key := create[SetupKey](t, "setup-keys", reusable(unique("key")).with("expires_in", 1))
	require.WithinDuration(t, key.UpdatedAt.Add(time.Second), key.Expires, time.Second)
	path := "setup-keys/" + key.ID
	ask[SetupKey](t, http.MethodPut, path, fields{"auto_groups": []string{}, "revoked": true})
	require.Eventually(t, func() bool { return get[SetupKey](t, path).State == "expired" }, time.Minute, 50*time.Millisecond)
	require.False(t, get[SetupKey](t, path).Valid)
	listed := get[[]SetupKey](t, "setup-keys")
	at := slices.IndexFunc(listed, func(k SetupKey) bool { return k.ID == key.ID })
	require.Equal(t, "expired", listed[at].State)
}
