package management

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

const (
	exemptGroups  = "admission_exempt_groups"
	extraSettings = "extra"
)

// accountSettings is the state of an account that is read and written: all its settings, including
// unknown ones.
type accountSettings struct {
	ID         string                     `json:"id"`
	Settings   map[string]json.RawMessage `json:"settings"`
	Onboarding json.RawMessage            `json:"onboarding,omitempty"`
}

// isExempt reports whether a group is known to be exempt from admission.
func (t *Tenant) isExempt(group string) bool {
	for _, a := range t.Accounts.All() {
		if slices.Contains(a.Settings.AdmissionExemptGroups, group) {
			return true
		}
	}
	return false
}

// Exempt adds or removes a group's exemption from admission. It changes no other setting: it
// reads the settings just before it writes them, and reads them again afterwards.
func (t *Tenant) Exempt(ctx context.Context, group string, exempt bool) (changed bool, err error) {
	if err := t.Accounts.Load(ctx); err != nil || t.isExempt(group) == exempt {
		return false, err
	}
	defer t.Accounts.Forget()
	t.settings.Lock()
	defer t.settings.Unlock()
	for range maxSettings {
		now, groups, err := t.exempted(ctx)
		if err != nil || slices.Contains(groups, group) == exempt {
			return changed, err
		}
		next := slices.DeleteFunc(groups, func(other string) bool { return other == group })
		if exempt {
			next = append(next, group)
		}
		if now.Settings[exemptGroups], err = json.Marshal(next); err != nil {
			return changed, err
		}
		request := accountSettings{ID: now.ID, Settings: now.Settings}
		if extra := now.Settings[extraSettings]; len(extra) == 0 || string(extra) == "null" {
			// Without them the server breaks, and no longer responds to any client.
			now.Settings[extraSettings] = json.RawMessage("{}")
		}
		if err := t.ask(ctx, false, http.MethodPut, "accounts", "/accounts/"+url.PathEscape(now.ID), request, nil); err != nil {
			return changed, err
		}
		changed = true
	}
	return changed, &Error{Cause: ServerError, Asked: "PUT /api/accounts", Message: "another client keeps writing the settings of the account: " + exemptGroups + " differs from the written value"}
}

// maxSettings is how often settings are written that others write, too.
const maxSettings = 3

func (t *Tenant) exempted(ctx context.Context) (accountSettings, []string, error) {
	var all []accountSettings
	if err := t.ask(ctx, false, http.MethodGet, "accounts", "/accounts", nil, &all); err != nil {
		return accountSettings{}, nil, err
	}
	if len(all) != 1 || all[0].Settings == nil {
		return accountSettings{}, nil, &Error{Cause: ServerError, Asked: "GET /api/accounts", Message: fmt.Sprintf("there are %d accounts for this key, and not one with settings", len(all))}
	}
	groups := []string{}
	if text, has := all[0].Settings[exemptGroups]; has {
		if err := json.Unmarshal(text, &groups); err != nil {
			return accountSettings{}, nil, &Error{Cause: ServerError, Asked: "GET /api/accounts", Message: exemptGroups + " is no list of groups"}
		}
	}
	return all[0], groups, nil
}
