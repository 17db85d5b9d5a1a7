package openzro

import (
	"net/http"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTokensAndSchemes(t *testing.T) {
	for authorization, status := range map[string]int{
		"":                                http.StatusUnauthorized,
		"Token":                           http.StatusUnauthorized,
		"Token nbp_wrong":                 http.StatusUnauthorized,
		"Token " + management.Token + "x": http.StatusUnauthorized,
		"Bearer wrong":                    http.StatusUnauthorized,
		"Basic " + management.Token:       http.StatusUnauthorized,
		"Token " + management.Token:       http.StatusOK,
		"token " + management.Token:       http.StatusOK,
		"Bearer " + management.Token:      http.StatusOK,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, management.URL+"/api/groups", nil)
		require.NoError(t, err)
		request.Header.Set("Authorization", authorization)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, status, response.StatusCode, regexp.MustCompile("nbp_.*").ReplaceAllString(authorization, "nbp_…"))
	}
	message(t, http.StatusUnauthorized, sendAs(t, "", http.MethodGet, "groups", nil), "no token")
}

// TestWhatTheServerDoesNotHave checks that the response for an unknown path is not JSON, and
// does not depend on the caller.
func TestWhatTheServerDoesNotHave(t *testing.T) {
	for _, token := range []string{"", management.Token} {
		for _, path := range []string{"services", "services/" + unknown, "reverse-proxies"} {
			answer := sendAs(t, token, http.MethodGet, path, nil)
			require.Equal(t, http.StatusNotFound, answer.Status, path)
			require.Error(t, answer.Into(new(Refused)), path)
		}
	}
	require.Equal(t, http.StatusNotFound, send(t, http.MethodPost, "services", fields{"name": "s"}).Status)
	require.Equal(t, http.StatusMethodNotAllowed, send(t, http.MethodPatch, "groups", nil).Status)
}

// lists are all collections that can be listed.
var lists = []string{
	"groups", "setup-keys", "policies", "networks", "networks/resources", "networks/routers", "dns/zones", "accounts", "users", "peers",
}

// makeServiceUser makes one with a token.
func makeServiceUser(t *testing.T, role string, groups ...string) (User, string) {
	t.Helper()
	user := create[User](t, "users", fields{"name": unique("user"), "role": role, "is_service_user": true, "auto_groups": never(groups)})
	return user, ask[NewToken](t, http.MethodPost, "users/"+user.ID+"/tokens", fields{"name": "t", "expires_in": 1}).PlainToken
}

// TestAServiceReadsAndDoesNotWrite unless it is an administrator.
func TestAServiceReadsAndDoesNotWrite(t *testing.T) {
	_, token := makeServiceUser(t, "user")
	for _, path := range lists {
		require.Equal(t, http.StatusOK, sendAs(t, token, http.MethodGet, path, nil).Status, path)
	}
	mayNotWrite(t, token)
	_, admin := makeServiceUser(t, "admin")
	require.Equal(t, http.StatusOK, sendAs(t, admin, http.MethodPut, "networks/"+makeNetwork(t).ID, fields{"name": "n"}).Status)
}

// TestAPersonWithoutARoleReadsNothing of what an administrator reads.
func TestAPersonWithoutARoleReadsNothing(t *testing.T) {
	if management.UserToken == "" {
		t.Log("OPENZRO_USER_TOKEN is not set: no person to ask as")
		return
	}
	for _, path := range lists {
		if path != "peers" && path != "users" { // of which they see their own
			message(t, http.StatusForbidden, sendAs(t, management.UserToken, http.MethodGet, path, nil), path)
		}
	}
	mayNotWrite(t, management.UserToken)
}

func mayNotWrite(t *testing.T, token string) {
	t.Helper()
	group, network := makeGroup(t), makeNetwork(t)
	resource := makeResource(t, network)
	account := get[[]AccountAnswer](t, "accounts")[0]
	policy := policyOf(unique("policy"), accept([]string{group.ID}, []string{group.ID}))
	for _, call := range []struct {
		method, path string
		body         any
	}{
		{http.MethodPost, "groups", fields{"name": unique("group")}},
		{http.MethodPut, "groups/" + group.ID, fields{"name": group.Name}},
		{http.MethodDelete, "groups/" + group.ID, nil},
		{http.MethodPost, "setup-keys", reusable("k")},
		{http.MethodPost, "policies", policy},
		{http.MethodPost, "networks", fields{"name": "n"}},
		{http.MethodPut, "networks/" + network.ID, fields{"name": "n"}},
		{http.MethodDelete, "networks/" + network.ID, nil},
		{http.MethodPost, "networks/" + network.ID + "/resources", host(unique("resource"))},
		{http.MethodDelete, "networks/" + network.ID + "/resources/" + resource.ID, nil},
		{http.MethodPost, "networks/" + network.ID + "/routers", fields{"metric": 1}},
		{http.MethodPost, "dns/zones", zoneOf(group.ID)},
		{http.MethodPost, "users", fields{"name": "u", "role": "user", "is_service_user": true, "auto_groups": []string{}}},
		{http.MethodPut, "accounts/" + account.ID, fields{"settings": account.Settings}},
	} {
		message(t, http.StatusForbidden, sendAs(t, token, call.method, call.path, call.body), call.method+" "+call.path)
	}
	require.Equal(t, account, get[[]AccountAnswer](t, "accounts")[0])
}

var tokenForm = regexp.MustCompile(`^nbp_[0-9A-Za-z]{36}$`)

func TestTokens(t *testing.T) {
	user, token := makeServiceUser(t, "admin")
	path := "users/" + user.ID + "/tokens"
	require.Regexp(t, tokenForm, token)
	for _, days := range []int{-1, 0, 366} {
		refused(t, http.StatusUnprocessableEntity, http.MethodPost, path, fields{"name": "t", "expires_in": days})
	}
	refused(t, http.StatusUnprocessableEntity, http.MethodPost, path, fields{"name": "", "expires_in": 1})
	refused(t, http.StatusNotFound, http.MethodPost, "users/"+unknown+"/tokens", fields{"name": "t", "expires_in": 1})
	refused(t, http.StatusNotFound, http.MethodGet, path+"/"+unknown, nil)

	second := ask[NewToken](t, http.MethodPost, path, fields{"name": "second", "expires_in": 365})
	require.NotEqual(t, token, second.PlainToken)
	require.Equal(t, http.StatusOK, sendAs(t, second.PlainToken, http.MethodGet, "groups", nil).Status)
	require.Len(t, get[[]Token](t, path), 2)
	answer := send(t, http.MethodGet, path+"/"+second.PersonalAccessToken.ID, nil)
	require.Equal(t, http.StatusOK, answer.Status)
	require.NotContains(t, string(answer.Body), second.PlainToken, "the text is in the first answer alone")

	ask[fields](t, http.MethodDelete, path+"/"+second.PersonalAccessToken.ID, nil)
	message(t, http.StatusUnauthorized, sendAs(t, second.PlainToken, http.MethodGet, "groups", nil), "a deleted token")
	require.Equal(t, http.StatusOK, sendAs(t, token, http.MethodGet, "groups", nil).Status, "the other goes on")
	ask[fields](t, http.MethodDelete, "users/"+user.ID, nil)
	message(t, http.StatusUnauthorized, sendAs(t, token, http.MethodGet, "groups", nil), "the token of a deleted user")
}

func TestUsers(t *testing.T) {
	refused(t, http.StatusUnprocessableEntity, http.MethodPost, "users", fields{"name": "u", "role": "king", "is_service_user": true, "auto_groups": []string{}})
	refused(t, http.StatusNotFound, http.MethodDelete, "users/"+unknown, nil)
	user, _ := makeServiceUser(t, "user")
	users := get[[]User](t, "users")
	at := slices.IndexFunc(users, func(u User) bool { return u.ID == user.ID })
	require.GreaterOrEqual(t, at, 0)
	require.True(t, users[at].IsServiceUser)
	require.Equal(t, "user", users[at].Role)
	self := slices.IndexFunc(users, func(u User) bool { return u.IsCurrent })
	require.GreaterOrEqual(t, self, 0)
	refused(t, http.StatusUnprocessableEntity, http.MethodDelete, "users/"+users[self].ID, nil)
}

// TestAccountsAreApart: an ID of one is unknown in another.
func TestAccountsAreApart(t *testing.T) {
	if management.OtherToken == "" {
		t.Log("OPENZRO_OTHER_TOKEN is not set: no other account to ask in")
		return
	}
	group, network := makeGroup(t), makeNetwork(t)
	resource := makeResource(t, network, group.ID)
	other := func(method, path string, body any) Answer {
		return sendAs(t, management.OtherToken, method, path, body)
	}
	for _, path := range []string{"groups/" + group.ID, "networks/" + network.ID, "networks/" + network.ID + "/resources/" + resource.ID} {
		message(t, http.StatusNotFound, other(http.MethodGet, path, nil), path)
		message(t, http.StatusNotFound, other(http.MethodPut, path, host("n")), path)
	}
	message(t, http.StatusBadRequest, other(http.MethodDelete, "groups/"+group.ID, nil), "group")
	message(t, http.StatusNotFound, other(http.MethodDelete, "networks/"+network.ID, nil), "network")
	require.NotContains(t, string(other(http.MethodGet, "groups", nil).Body), group.ID)
	require.NotContains(t, string(other(http.MethodGet, "groups?account="+get[[]AccountAnswer](t, "accounts")[0].ID, nil).Body), group.ID)
	account := get[[]AccountAnswer](t, "accounts")[0]
	message(t, http.StatusForbidden, other(http.MethodPut, "accounts/"+account.ID, fields{"settings": account.Settings}), "account")

	same := other(http.MethodPost, "groups", fields{"name": group.Name})
	require.Equal(t, http.StatusOK, same.Status, "names are each account's own")
	var theirs Group
	require.NoError(t, same.Into(&theirs))
	require.Equal(t, http.StatusOK, other(http.MethodDelete, "groups/"+theirs.ID, nil).Status)
}
