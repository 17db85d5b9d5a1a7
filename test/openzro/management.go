package openzro

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

// Management is a management server to test against: the real one that OPENZRO_URL and
// OPENZRO_TOKEN name, or a Double. What a real one has before stays there.
type Management struct {
	URL string
	// Token is one of an administrator.
	Token string
	// UserToken is one of a person with the role user, and OtherToken one of an
	// administrator of another account. For a real server they are OPENZRO_USER_TOKEN and
	// OPENZRO_OTHER_TOKEN, and may be missing.
	UserToken, OtherToken string
	// Double is nil where a real server is tested against, and so are its accounts.
	Double       *Server
	Account      *Account
	OtherAccount *Account
}

// Open starts a double with two accounts, unless there is a real server.
func Open() (*Management, error) {
	m := &Management{
		URL: os.Getenv("OPENZRO_URL"), Token: os.Getenv("OPENZRO_TOKEN"),
		UserToken: os.Getenv("OPENZRO_USER_TOKEN"), OtherToken: os.Getenv("OPENZRO_OTHER_TOKEN"),
	}
	if (m.URL == "") != (m.Token == "") {
		return nil, errors.New("OPENZRO_URL and OPENZRO_TOKEN are the address of a server and the token of its administrator: set both, or none")
	}
	if m.URL != "" {
		return m, nil
	}
	var err error
	if m.Double, err = Start(); err != nil {
		return nil, err
	}
	m.Account, m.OtherAccount = m.Double.AddAccount("acme"), m.Double.AddAccount("globex")
	m.URL, m.Token, m.OtherToken = m.Double.URL, m.Account.Token, m.OtherAccount.Token
	m.UserToken = m.Account.AddToken(RoleUser, false)
	return m, nil
}

// Close ends a double.
func (m *Management) Close() {
	if m.Double != nil {
		m.Double.Stop()
	}
}

// Answer is what came back of a call.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Into reads the JSON of an answer.
func (a Answer) Into(into any) error {
	if err := json.Unmarshal(a.Body, into); err != nil {
		return fmt.Errorf("reading the answer %d %q: %w", a.Status, a.Body, err)
	}
	return nil
}

// Send sends a request to the server with a token. The path is relative to /api/. A body that is
// a string is sent unchanged, and any other as JSON.
func (m *Management) Send(ctx context.Context, token, method, path string, body any) (Answer, error) {
	content, err := encoded(body)
	if err != nil {
		return Answer{}, err
	}
	request, err := http.NewRequestWithContext(ctx, method, m.URL+prefix+path, bytes.NewReader(content))
	if err != nil {
		return Answer{}, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Token "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, response.Header, text}, err
}

func encoded(body any) ([]byte, error) {
	switch body := body.(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(body), nil
	}
	return json.Marshal(body)
}
