package openzro

import (
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
)

// storedKey is as it is answered, but for its state and its text.
type storedKey struct{ SetupKey }

func (k *storedKey) key() string { return k.ID }

// The states of a key. One that is in several has the first of these.
const (
	StateExpired  = "expired"
	StateRevoked  = "revoked"
	StateOverused = "overused"
	StateValid    = "valid"
)

var keyRoutes = map[string]handler{
	"GET /api/setup-keys": func(r *request) (any, error) {
		return never(transform(r.account.keys, (*storedKey).masked)), nil
	},
	"POST /api/setup-keys":        createKey,
	"GET /api/setup-keys/{id}":    getting((*request).keyNamed, func(_ *Account, k *storedKey) SetupKey { return k.masked() }),
	"PUT /api/setup-keys/{id}":    updateKey,
	"DELETE /api/setup-keys/{id}": deleting((*request).keyNamed, func(a *Account, k *storedKey) { a.keys = without(a.keys, k.ID) }),
}

// show is a key with its text, as only its creation answers it.
func (k *storedKey) show() SetupKey {
	shown := k.SetupKey
	switch {
	case !k.Expires.IsZero() && time.Now().After(k.Expires):
		shown.State = StateExpired
	case k.Revoked:
		shown.State = StateRevoked
	case k.UsageLimit > 0 && k.UsedTimes >= k.UsageLimit:
		shown.State = StateOverused
	default:
		shown.State = StateValid
	}
	shown.Valid = shown.State == StateValid
	return shown
}

func (k *storedKey) masked() SetupKey {
	shown := k.show()
	shown.Key = shown.Key[:5] + "****"
	return shown
}

// keyNamed is the one that the path names.
func (r *request) keyNamed() (*storedKey, error) {
	return named(r, r.account.keys, "setup key", "id")
}

func createKey(r *request) (any, error) {
	var body struct {
		Name                string   `json:"name"`
		Type                string   `json:"type"`
		ExpiresIn           int      `json:"expires_in"` // seconds
		AutoGroups          []string `json:"auto_groups"`
		UsageLimit          int      `json:"usage_limit"`
		Ephemeral           bool     `json:"ephemeral"`
		AllowExtraDNSLabels bool     `json:"allow_extra_dns_labels"`
	}
	if err := r.decode(&body); err != nil {
		return nil, err
	}
	switch {
	case body.Name == "":
		return nil, invalid("a setup key needs a name")
	case body.Type != "reusable" && body.Type != "one-off":
		return nil, invalid("there is no type %q of setup keys", body.Type)
	case body.ExpiresIn < 0:
		return nil, invalid("a setup key cannot expire %d s ago", -body.ExpiresIn)
	}
	if err := r.account.mayAdd(body.AutoGroups); err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	added := &storedKey{SetupKey{
		ID: newID(), Key: strings.ToUpper(uuid.NewString()), Name: body.Name, Type: body.Type, AutoGroups: never(body.AutoGroups),
		UpdatedAt: now, UsageLimit: body.UsageLimit, Ephemeral: body.Ephemeral, AllowExtraDNSLabels: body.AllowExtraDNSLabels,
	}}
	if body.Type == "one-off" {
		added.UsageLimit = 1
	}
	if body.ExpiresIn > 0 {
		added.Expires = now.Add(time.Duration(body.ExpiresIn) * time.Second)
	}
	r.account.keys = append(r.account.keys, added)
	return added.show(), nil
}

// mayAdd says whether peers may be added to groups as they enrol.
func (a *Account) mayAdd(groups []string) error {
	for _, id := range groups {
		found, ok := find(a.groups, id)
		if !ok {
			return invalid("there is no group %s", id)
		}
		if found.name == allPeersGroup {
			return invalid("every peer is in the group %s anyway", allPeersGroup)
		}
	}
	return nil
}

// updateKey changes the groups of a key, or revokes it for ever.
func updateKey(r *request) (any, error) {
	var body struct {
		AutoGroups []string `json:"auto_groups"`
		Revoked    bool     `json:"revoked"`
	}
	if err := r.decode(&body); err != nil {
		return nil, err
	}
	if body.AutoGroups == nil {
		return nil, invalid("the groups of the setup key are missing")
	}
	if err := r.account.mayAdd(body.AutoGroups); err != nil {
		return nil, err
	}
	found, err := r.keyNamed()
	if err != nil {
		return nil, err
	}
	if found.Revoked && !body.Revoked {
		return nil, invalid("a revoked setup key stays revoked")
	}
	found.AutoGroups, found.Revoked, found.UpdatedAt = body.AutoGroups, body.Revoked, time.Now().UTC()
	return found.masked(), nil
}

// ErrKeyRefused is the error of an enrolment with an unknown or invalid key.
var ErrKeyRefused = errors.New("the setup key is not known or not valid")

// Enrol lets a machine enrol with the text of a key, as a client does by another protocol.
func (a *Account) Enrol(text, name string) (id string, err error) {
	a.server.mu.Lock()
	defer a.server.mu.Unlock()
	for _, k := range a.keys {
		if k.Key == strings.ToUpper(text) && k.show().Valid {
			k.UsedTimes++
			k.LastUsed = time.Now().UTC()
			return a.addPeer(name, k.AutoGroups), nil
		}
	}
	return "", ErrKeyRefused
}
