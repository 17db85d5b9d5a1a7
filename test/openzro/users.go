package openzro

import (
	"crypto/rand"
	"hash/crc32"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// UserRole is what a user may do.
type UserRole string

// The roles that the tests use.
const (
	RoleAdmin UserRole = "admin"
	RoleUser  UserRole = "user"
)

// tokenLifetime is how long tokens are good that tests did not ask for by a call.
const tokenLifetime = 365 * 24 * time.Hour

type storedUser struct {
	id, name   string
	role       UserRole
	service    bool
	autoGroups []string
	account    *Account
	tokens     []*storedToken
}

func (u *storedUser) key() string { return u.id }

type storedToken struct {
	id, name, text, createdBy string
	created, expires          time.Time
}

func (t *storedToken) key() string { return t.id }

func (a *Account) addUser(name string, role UserRole, service bool) *storedUser {
	added := &storedUser{id: uuid.NewString(), name: name, role: role, service: service, account: a}
	a.users = append(a.users, added)
	return added
}

func (u *storedUser) addToken(name, createdBy string, lifetime time.Duration) *storedToken {
	now := time.Now().UTC()
	added := &storedToken{newID(), name, generateToken(), createdBy, now, now.Add(lifetime)}
	u.tokens = append(u.tokens, added)
	return added
}

// generateToken is a text as the server makes them: a prefix, 30 characters, and their CRC-32
// in six more.
func generateToken() string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	text := make([]byte, 36)
	_, _ = rand.Read(text[:30])
	for i, value := range text[:30] {
		text[i] = digits[int(value)%len(digits)]
	}
	sum := crc32.ChecksumIEEE(text[:30])
	for i := len(text) - 1; i >= 30; i-- {
		text[i] = digits[sum%62]
		sum /= 62
	}
	return "nbp_" + string(text)
}

// may says whether the user is permitted a method.
func (u *storedUser) may(method string) bool {
	return u.role == RoleAdmin || u.service && method == http.MethodGet
}

// userOf is whom the token of a request belongs to, or nil. The lock is held.
func (s *Server) userOf(r *http.Request) *storedUser {
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Token") && !(strings.EqualFold(scheme, "Bearer") && strings.HasPrefix(text, "nbp_")) {
		return nil
	}
	for _, a := range s.accounts {
		for _, u := range a.users {
			if slices.ContainsFunc(u.tokens, func(t *storedToken) bool { return t.text == text && time.Now().Before(t.expires) }) {
				return u
			}
		}
	}
	return nil
}

var userRoutes = map[string]handler{
	"GET /api/users":                       func(r *request) (any, error) { return transform(r.account.users, r.showUser), nil },
	"POST /api/users":                      createUser,
	"DELETE /api/users/{id}":               deleteUser,
	"GET /api/users/{user}/tokens":         getting((*request).holder, func(_ *Account, u *storedUser) []Token { return transform(u.tokens, (*storedToken).show) }),
	"POST /api/users/{user}/tokens":        createToken,
	"GET /api/users/{user}/tokens/{id}":    getToken,
	"DELETE /api/users/{user}/tokens/{id}": deleteToken,
	"GET /api/peers":                       listPeers,
}

func (r *request) showUser(u *storedUser) User {
	return User{ID: u.id, Name: u.name, Role: string(u.role), Status: "active", AutoGroups: never(u.autoGroups), IsCurrent: u == r.user, IsServiceUser: u.service}
}

func createUser(r *request) (any, error) {
	var body struct {
		Name          string   `json:"name"`
		Role          UserRole `json:"role"`
		IsServiceUser bool     `json:"is_service_user"`
		AutoGroups    []string `json:"auto_groups"`
	}
	if err := r.decode(&body); err != nil {
		return nil, err
	}
	if body.Role != RoleAdmin && body.Role != RoleUser {
		return nil, invalid("there is no role %q", body.Role)
	}
	if !body.IsServiceUser {
		return nil, refuse(http.StatusPreconditionFailed, "people cannot be invited without an identity provider")
	}
	added := r.account.addUser(body.Name, body.Role, true)
	added.autoGroups = body.AutoGroups
	return r.showUser(added), nil
}

func deleteUser(r *request) (any, error) {
	found, err := r.userNamed("id")
	if err != nil {
		return nil, err
	}
	if found == r.user {
		return nil, invalid("nobody deletes themselves")
	}
	r.account.users = without(r.account.users, found.id)
	return empty{}, nil
}

// userNamed is the user whose ID is a part of the path.
func (r *request) userNamed(part string) (*storedUser, error) {
	return named(r, r.account.users, "user", part)
}

// holder is the user whose tokens are asked for: oneself, or a service.
func (r *request) holder() (*storedUser, error) {
	found, err := r.userNamed("user")
	if err == nil && found != r.user && !found.service {
		return nil, refuse(http.StatusForbidden, "tokens of other people are their own affair")
	}
	return found, err
}

func (t *storedToken) show() Token {
	return Token{ID: t.id, Name: t.name, CreatedAt: t.created, CreatedBy: t.createdBy, ExpirationDate: t.expires}
}

func getToken(r *request) (any, error) {
	_, found, err := r.token()
	if err != nil {
		return nil, err
	}
	return found.show(), nil
}

// token is the one that the path names, and who holds it.
func (r *request) token() (*storedUser, *storedToken, error) {
	holder, err := r.holder()
	if err != nil {
		return nil, nil, err
	}
	found, err := named(r, holder.tokens, "token", "id")
	return holder, found, err
}

func createToken(r *request) (any, error) {
	var body struct {
		Name      string `json:"name"`
		ExpiresIn int    `json:"expires_in"` // days
	}
	if err := r.decode(&body); err != nil {
		return nil, err
	}
	if body.Name == "" {
		return nil, invalid("a token needs a name")
	}
	if body.ExpiresIn < 1 || body.ExpiresIn > 365 {
		return nil, invalid("a token is good for 1 to 365 days, not %d", body.ExpiresIn)
	}
	holder, err := r.holder()
	if err != nil {
		return nil, err
	}
	added := holder.addToken(body.Name, r.user.id, time.Duration(body.ExpiresIn)*24*time.Hour)
	return NewToken{added.text, added.show()}, nil
}

func deleteToken(r *request) (any, error) {
	holder, found, err := r.token()
	if err != nil {
		return nil, err
	}
	holder.tokens = without(holder.tokens, found.id)
	return empty{}, nil
}

func listPeers(r *request) (any, error) {
	return never(transform(r.account.peers, func(p *storedPeer) Peer {
		shown := Peer{ID: p.id, Name: p.name}
		for _, g := range r.account.groups {
			if slices.Contains(g.peers, p.id) {
				shown.Groups = append(shown.Groups, g.size())
			}
		}
		return shown
	})), nil
}
