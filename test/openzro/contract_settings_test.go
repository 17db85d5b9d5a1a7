package openzro

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// keepSettings returns the account, and restores its current settings after the test.
func keepSettings(t *testing.T) AccountAnswer {
	t.Helper()
	whole := get[[]fields](t, "accounts")[0] // a real server has more settings than the double
	account := again[AccountAnswer](t, whole)
	t.Cleanup(func() {
		answer, err := management.Send(context.Background(), management.Token, http.MethodPut, "accounts/"+account.ID, fields{"settings": whole["settings"]})
		assert.NoError(t, err)
		assert.Equal(t, http.StatusOK, answer.Status, "%s", answer.Body)
	})
	return account
}

// TestSettings: defect Z25 of the original. A write replaces all of them.
func TestSettings(t *testing.T) {
	require.Len(t, get[[]AccountAnswer](t, "accounts"), 1)
	account := keepSettings(t)
	path := "accounts/" + account.ID
	full := account.Settings
	full.AdmissionExemptGroups = []string{unknown}
	full.GroupsPropagationEnabled, full.JWTGroupsClaimName, full.JWTAllowGroups = true, "claim", []string{"g"}
	full.DNSDomain, full.PeerLoginExpiration, full.RegularUsersViewBlocked = "peers.example", 3600, true
	full.Extra = &ExtraSettings{NetworkTrafficDisableDefaultPortFilter: new(true), NetworkTrafficLogsEnabled: true}
	full.ClientUpdateTargetVersion = "v1.2.3"
	written := ask[AccountAnswer](t, http.MethodPut, path, fields{"settings": full})
	full.ClientUpdateTargetVersion = "1.2.3"
	require.Equal(t, full, written.Settings)
	require.Equal(t, full, get[[]AccountAnswer](t, "accounts")[0].Settings)

	ask[AccountAnswer](t, http.MethodPut, path, fields{"settings": fields{"peer_login_expiration": 7200, "mfa_enforce_local": true, "extra": fields{}}})
	bare := get[[]AccountAnswer](t, "accounts")[0].Settings
	require.Equal(t, Settings{
		PeerLoginExpiration: 7200, JWTAllowGroups: []string{}, AdmissionPostureChecks: []string{}, AdmissionExemptGroups: []string{}, ClientUpdateTargetGroups: []string{},
		ClientUpdateTargetPeers: []string{}, ClientUpdateExcludeGroups: []string{}, MFAEnforceLocal: new(true), MFAEnforceFederated: full.MFAEnforceFederated,
		Extra: &ExtraSettings{NetworkTrafficDisableDefaultPortFilter: new(true)},
	}, bare, "what is left out is reset")
	ask[AccountAnswer](t, http.MethodPut, path, fields{"settings": fields{"peer_login_expiration": 7200, "extra": fields{}}})
	require.Equal(t, new(true), get[[]AccountAnswer](t, "accounts")[0].Settings.MFAEnforceLocal, "but for MFA and the filter of ports")

	for what, settings := range map[string]fields{
		"nothing":         {},
		"below an hour":   {"peer_login_expiration": 3599},
		"above 180 days":  {"peer_login_expiration": 180*24*3600 + 1},
		"a wrong domain":  {"peer_login_expiration": 7200, "dns_domain": "no domain"},
		"one label":       {"peer_login_expiration": 7200, "dns_domain": "example"},
		"upper case":      {"peer_login_expiration": 7200, "dns_domain": "Peers.example"},
		"a rollout below": {"peer_login_expiration": 7200, "client_update_rollout_percent": -1},
		"a rollout above": {"peer_login_expiration": 7200, "client_update_rollout_percent": 101},
	} {
		t.Run(what, func(t *testing.T) {
			refused(t, http.StatusUnprocessableEntity, http.MethodPut, path, fields{"settings": settings.with("extra", fields{})})
		})
	}
	refused(t, http.StatusForbidden, http.MethodPut, "accounts/"+unknown, fields{"settings": full})
	require.Equal(t, 7200, get[[]AccountAnswer](t, "accounts")[0].Settings.PeerLoginExpiration)
	require.False(t, slices.Contains(get[[]AccountAnswer](t, "accounts")[0].Settings.AdmissionExemptGroups, unknown))
}
