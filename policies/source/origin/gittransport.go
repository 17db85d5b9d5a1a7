package origin

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"github.com/skeema/knownhosts"
)

// The entries of a Secret with credentials.
const (
	usernameKey    = "username"
	passwordKey    = "password"
	bearerTokenKey = "bearerToken"
	authorityKey   = "ca.crt"
	identityKey    = "identity"
	knownHostsKey  = "known_hosts"
)

func newSession(request Request, budget *budget) (transport.UploadPackSession, error) {
	endpoint, err := transport.NewEndpoint(request.Git.URL)
	if err != nil {
		return nil, refuse(ReasonFetchFailed, "spec.git.url: %v", err)
	}
	if endpoint.Protocol == "ssh" {
		return newSSHSession(endpoint, request.Credentials)
	}
	client, err := httpClient(request.Credentials, budget)
	if err != nil {
		return nil, err
	}
	authentication, err := httpAuthentication(request.Credentials)
	if err != nil {
		return nil, err
	}
	// Credentials do not follow a redirect to another host.
	return githttp.NewClient(client).NewUploadPackSession(endpoint, authentication)
}

// httpClient trusts a Secret's ca.crt in addition to the system's authorities, and reads no more
// than the budget.
func httpClient(credentials map[string][]byte, budget *budget) (*http.Client, error) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	if authority := credentials[authorityKey]; len(authority) > 0 {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		if !roots.AppendCertsFromPEM(authority) {
			return nil, refuse(ReasonCredentialsInvalid, "ca.crt in the Secret holds no certificate in PEM")
		}
		base.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: budgetTransport{base, budget}}, nil
}

// httpAuthentication is nil where there are no credentials.
func httpAuthentication(credentials map[string][]byte) (transport.AuthMethod, error) {
	text := func(key string) string { return strings.TrimSpace(string(credentials[key])) }
	switch {
	case text(bearerTokenKey) != "":
		return &githttp.TokenAuth{Token: text(bearerTokenKey)}, nil
	case text(passwordKey) != "":
		// Hosts that take a token as password take any user name.
		return &githttp.BasicAuth{Username: cmp.Or(text(usernameKey), "git"), Password: text(passwordKey)}, nil
	case len(credentials) > 0 && len(credentials[authorityKey]) == 0:
		return nil, refuse(ReasonCredentialsInvalid, "the Secret has neither password (with username) nor bearerToken nor ca.crt: add what the server asks for")
	}
	return nil, nil
}

// newSSHSession always checks the server's key.
func newSSHSession(endpoint *transport.Endpoint, credentials map[string][]byte) (transport.UploadPackSession, error) {
	gitssh.DefaultSSHConfig = nil // the user's own settings are not this process's
	for _, key := range []string{identityKey, knownHostsKey} {
		if len(credentials[key]) == 0 {
			return nil, refuse(ReasonCredentialsInvalid, "SSH needs a Secret with identity (a private key) and known_hosts (the lines of ssh-keyscan, checked): %s is missing", key)
		}
	}
	endpoint.User = cmp.Or(endpoint.User, "git")
	authentication, err := gitssh.NewPublicKeys(endpoint.User, credentials[identityKey], string(credentials[passwordKey]))
	if err != nil {
		return nil, refuse(ReasonCredentialsInvalid, "identity in the Secret is not a readable private key (with password as its passphrase, if it has one): %v", err)
	}
	hosts, err := knownHosts(credentials[knownHostsKey])
	if err != nil {
		return nil, err
	}
	port := endpoint.Port
	if port <= 0 {
		port = gitssh.DefaultPort
	}
	authentication.HostKeyCallback = hosts.HostKeyCallback()
	authentication.HostKeyAlgorithms = hosts.HostKeyAlgorithms(net.JoinHostPort(endpoint.Host, strconv.Itoa(port)))
	return gitssh.NewClient(nil).NewUploadPackSession(endpoint, authentication)
}

// knownHosts goes through a file, because the library reads nothing else.
func knownHosts(lines []byte) (*knownhosts.HostKeyDB, error) {
	file, err := os.CreateTemp("", "known_hosts-")
	if err != nil {
		return nil, refuse(ReasonFetchFailed, "writing known_hosts for SSH: %v", err)
	}
	defer os.Remove(file.Name())
	_, err = file.Write(lines)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, refuse(ReasonFetchFailed, "writing known_hosts for SSH: %v", err)
	}
	hosts, err := knownhosts.NewDB(file.Name())
	if err != nil {
		return nil, refuse(ReasonCredentialsInvalid, "known_hosts in the Secret cannot be read: %s", strings.ReplaceAll(err.Error(), file.Name(), "known_hosts"))
	}
	return hosts, nil
}

// budget is how much may still be read.
type budget struct {
	left  int64
	spent bool
	// progress learns when something is read.
	progress *progress
}

var errBudget = errors.New("the server sends too much")

func (b *budget) reader(r io.Reader) io.Reader { return &budgetReader{r, b} }

type budgetReader struct {
	reader io.Reader
	budget *budget
}

func (r *budgetReader) Read(p []byte) (int, error) {
	if r.budget.left <= 0 {
		r.budget.spent = true
		return 0, errBudget
	}
	n, err := r.reader.Read(p[:min(int64(len(p)), r.budget.left)])
	r.budget.left -= int64(n)
	if n > 0 {
		r.budget.progress.reach(phaseReceiving)
	}
	return n, err
}

// budgetTransport is a transport whose answers count against a budget.
type budgetTransport struct {
	base   http.RoundTripper
	budget *budget
}

// RoundTrip implements http.RoundTripper.
func (f budgetTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := f.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	f.budget.progress.reach(phaseReceiving)
	response.Body = struct {
		io.Reader
		io.Closer
	}{f.budget.reader(response.Body), response.Body}
	return response, nil
}

// describe gives an error of a library its reason, and says what to do.
func describe(err error, request Request, budget *budget) error {
	var (
		known     *Error
		authority x509.UnknownAuthorityError
	)
	address := addressOf(request)
	switch {
	case errors.As(err, &known):
		return known
	case budget.spent, errors.Is(err, errBudget):
		return refuse(ReasonTooLarge, "%s sends more than %d bytes: keep policies in a repository of their own", address, request.Limits.TransferBytes)
	case errors.Is(err, context.DeadlineExceeded):
		return tooSlow(request, request.progress.phase())
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed), strings.Contains(err.Error(), "ssh: unable to authenticate"):
		return refuse(ReasonAuthenticationFailed, "%s refuses the credentials (%v): correct the Secret that secretRef names", address, err)
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return refuse(ReasonNotFound, "%s is not a repository, or these credentials have no access to it: correct the url, or the Secret that secretRef names", address)
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return refuse(ReasonNotFound, "%s is empty: push a commit", address)
	case knownhosts.IsHostKeyChanged(err):
		return refuse(ReasonHostKeyChanged, "%s shows another host key than known_hosts has: the connection may be intercepted; if the server has a new key, verify it and add it to the Secret", address)
	case knownhosts.IsHostUnknown(err):
		return refuse(ReasonHostKeyUnknown, "known_hosts in the Secret has no key of %s: check its key and add it", address)
	case errors.As(err, &authority):
		return refuse(ReasonFetchFailed, "%s has a certificate of an authority that is not trusted: put the authority's certificate into the Secret as ca.crt", address)
	}
	return refuse(ReasonFetchFailed, "fetching from %s: %s", address, ownAddress.ReplaceAllString(err.Error(), ""))
}

// ownAddress is this side's of a connection, in the text of an error. Its port is
// another each time: a status that named it would change with every try.
var ownAddress = regexp.MustCompile(`\S+:\d+->`)

// addressOf is the address of the origin for messages, without the parts of a URL that may be
// secret.
func addressOf(request Request) string {
	text := ""
	if request.Git != nil {
		text = request.Git.URL
	} else if request.OCI != nil {
		text = request.OCI.URL
	} else if request.HTTPS != nil {
		text = request.HTTPS.URL
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return "the origin"
	}
	parsed.RawQuery = ""
	return parsed.Redacted()
}
