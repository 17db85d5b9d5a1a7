package openzro

import (
	"net/http"
	"regexp"
	"strings"
)

var accountRoutes = map[string]handler{
	"GET /api/accounts":      listAccounts,
	"PUT /api/accounts/{id}": updateAccount,
}

// listAccounts lists one: the caller's.
func listAccounts(r *request) (any, error) {
	return []AccountAnswer{r.account.show()}, nil
}

func (a *Account) show() AccountAnswer {
	return AccountAnswer{ID: a.ID, Settings: a.settings, Domain: a.Name}
}

// The limits of a login, in seconds.
const (
	shortestLogin = 60 * 60
	longestLogin  = 180 * 24 * 60 * 60
)

// domainPattern is at least two labels in lower case, the last without digits.
var domainPattern = regexp.MustCompile(`^(?:[0-9a-z]+(?:-[0-9a-z]+)*[.])+[a-z][a-z]+$`)

func updateAccount(r *request) (any, error) {
	var body struct {
		Settings Settings `json:"settings"`
	}
	if err := r.decode(&body); err != nil {
		return nil, err
	}
	if r.PathValue("id") != r.account.ID {
		return nil, refuse(http.StatusForbidden, "the account is another's")
	}
	if err := body.Settings.check(); err != nil {
		return nil, err
	}
	if body.Settings.Extra == nil {
		panic(http.ErrAbortHandler) // as the real server does; with SQLite, it then stops responding to all clients
	}
	if body.Settings.MFAEnforceLocal == nil {
		body.Settings.MFAEnforceLocal = r.account.settings.MFAEnforceLocal
	}
	if body.Settings.MFAEnforceFederated == nil {
		body.Settings.MFAEnforceFederated = r.account.settings.MFAEnforceFederated
	}
	if body.Settings.Extra.NetworkTrafficDisableDefaultPortFilter == nil {
		body.Settings.Extra.NetworkTrafficDisableDefaultPortFilter = r.account.settings.Extra.NetworkTrafficDisableDefaultPortFilter
	}
	body.Settings.ClientUpdateTargetVersion = strings.TrimPrefix(body.Settings.ClientUpdateTargetVersion, "v")
	r.account.settings = body.Settings.complete()
	return r.account.show(), nil
}

func (s Settings) check() error {
	if percent := s.ClientUpdateRolloutPercent; percent != nil && (*percent < 0 || *percent > 100) {
		return invalid("a rollout is to 0 to 100 percent, not %d", *percent)
	}
	if s.PeerLoginExpiration < shortestLogin || s.PeerLoginExpiration > longestLogin {
		return invalid("a login is good for an hour to 180 days, not %d s", s.PeerLoginExpiration)
	}
	if s.DNSDomain != "" && !domainPattern.MatchString(s.DNSDomain) {
		return invalid("%q is no domain", s.DNSDomain)
	}
	return nil
}

// complete has empty lists in place of none.
func (s Settings) complete() Settings {
	for _, list := range []*[]string{
		&s.JWTAllowGroups, &s.AdmissionPostureChecks, &s.AdmissionExemptGroups,
		&s.ClientUpdateTargetGroups, &s.ClientUpdateTargetPeers, &s.ClientUpdateExcludeGroups,
	} {
		*list = never(*list)
	}
	return s
}
