package management

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const key = "nbp_0123456789abcdefghijklmnopqrstuvwxyz"

// tenantOf is one whose server is a handler.
func tenantOf(t *testing.T, handler http.HandlerFunc) *Tenant {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	tenant, err := newTenant(Credentials{URL: server.URL, Key: key, Quoted: true}, nil, time.Now)
	require.NoError(t, err)
	t.Cleanup(tenant.Close)
	return tenant
}

// answer is a handler that answers everything in one way.
func answer(code int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func said(message string) string { return fmt.Sprintf(`{"message":%q,"code":1}`, message) }

// TestErrorsAreToldApartByTheirCodes is Z23: nothing is decided by the words of the server.
func TestErrorsAreToldApartByTheirCodes(t *testing.T) {
	for name, c := range map[string]struct {
		code   int
		body   string
		cause  Cause
		unsure bool
		pauses bool
	}{
		"no such key":        {401, said("token invalid"), Unauthorized, false, true},
		"a plain user":       {403, said("permission denied"), Forbidden, false, false},
		"gone":               {404, said("group: x not found"), NotFound, false, false},
		"nothing there":      {404, "404 page not found\n", NotServed, false, false},
		"a page":             {404, "<html>", NotServed, false, false},
		"taken":              {409, said("group with name x already exists"), AlreadyExists, false, false},
		"linked":             {400, said("group has been linked to policy: p"), Invalid, false, false},
		"refused":            {422, said("not found, linked and already exists"), Invalid, false, false},
		"too many":           {429, said("slow down"), RateLimited, false, true},
		"could not":          {500, said("internal server error"), ServerError, false, false},
		"broke":              {500, "", Unavailable, true, true},
		"a proxy":            {502, "<html>Bad Gateway</html>", Unavailable, true, true},
		"a proxy with words": {503, said("no upstream"), Unavailable, true, true},
		"teapot":             {418, "", Unavailable, false, true},
		"a page for success": {200, "<!DOCTYPE html>", Unavailable, true, true},
		"another shape":      {200, `["a"]`, Unavailable, true, true},
		"no id":              {200, `{}`, Unavailable, true, false},
	} {
		tenant := tenantOf(t, answer(c.code, c.body))
		_, err := tenant.Groups.Create(t.Context(), GroupRequest{Name: "x"})
		require.True(t, Is(err, c.cause), "%s: %v", name, err)
		require.Equal(t, c.unsure, Unsure(err), name)
		require.Equal(t, c.pauses, tenant.Outage() != nil, name)
		require.False(t, Is(nil, c.cause))
	}
}

// TestNamesThatAreTaken: 422 is all that the server says of a resource's name.
func TestNamesThatAreTaken(t *testing.T) {
	for code, taken := range map[int]bool{422: true, 400: false, 500: false} {
		_, err := tenantOf(t, answer(code, said("in any words"))).Resources("n").Create(t.Context(), ResourceRequest{Name: "db"})
		require.Equal(t, taken, IsNameTaken(err))
	}
	require.False(t, IsNameTaken(nil))
}

// TestTheKeyIsToldNobody: a server may say anything.
func TestTheKeyIsToldNobody(t *testing.T) {
	for _, body := range []string{said("token " + key + " is bad"), key} {
		for _, code := range []int{200, 401, 500} {
			err := tenantOf(t, answer(code, body, "Content-Type", key)).Groups.Load(t.Context())
			require.Error(t, err)
			require.NotContains(t, err.Error(), key)
		}
	}
	// Neither in another case, nor cut where the message ends.
	for before := maxMessage - len(key); before < maxMessage; before++ {
		body := said(strings.Repeat("x", before) + key)
		err := tenantOf(t, answer(401, body)).Groups.Load(t.Context())
		require.NotContains(t, err.Error(), key[:8])
	}
	err := tenantOf(t, answer(401, said("token "+strings.ToUpper(key)+" is bad"))).Groups.Load(t.Context())
	require.NotContains(t, strings.ToLower(err.Error()), key)
	_, err = newTenant(Credentials{URL: "https://a", Key: strings.Repeat("k", 1<<20)}, nil, time.Now)
	require.EqualError(t, err, "the key is longer than 1024 bytes, which no key is; copy it again")
	for _, bad := range []string{key + "\nX-Header: 1", "a b", "schlüssel"} {
		_, err := newTenant(Credentials{URL: "https://a", Key: bad}, nil, time.Now)
		require.ErrorContains(t, err, "the key has characters")
		require.NotContains(t, err.Error(), bad)
	}
}

func TestTheKeyGoesNowhereElse(t *testing.T) {
	var reached []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached = append(reached, r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	err := tenantOf(t, answer(302, "", "Location", elsewhere.URL+"/api/groups")).Groups.Load(t.Context())
	require.True(t, Is(err, Unavailable))
	require.ErrorContains(t, err, "redirects elsewhere")
	require.Empty(t, reached)

	asked := []string{}
	moved := tenantOf(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		if r.URL.Path == "/api/groups" {
			http.Redirect(w, r, "/api/moved", http.StatusMovedPermanently)
			return
		}
		answer(200, `[]`)(w, r)
	})
	require.NoError(t, moved.Groups.Load(t.Context()))
	_, err = moved.Groups.Create(t.Context(), GroupRequest{Name: "x"})
	require.Error(t, err, "what was to be written may not become a read")
	require.Equal(t, []string{"GET /api/groups", "GET /api/moved", "POST /api/groups"}, asked)
}

func TestAnswersAreBounded(t *testing.T) {
	tenant := tenantOf(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk := make([]byte, 1<<20)
		for range maxAnswer>>20 + 1 {
			_, _ = w.Write(chunk)
		}
	})
	require.ErrorContains(t, tenant.Policies.Load(t.Context()), "longer than 16 MiB")
	err := tenantOf(t, answer(400, said(strings.Repeat("世", 1000)))).Groups.Delete(t.Context(), "x")
	require.Less(t, len(err.Error()), 600)
}

func TestAServerThatHangs(t *testing.T) {
	done := make(chan struct{})
	var requests atomic.Int32
	tenant := tenantOf(t, func(_ http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-done:
		}
	})
	defer close(done)
	tenant.client.timeout = 300 * time.Millisecond
	_, err := tenant.Groups.Create(t.Context(), GroupRequest{Name: "x"})
	require.True(t, Is(err, Unavailable))
	require.True(t, Unsure(err), "it may have been carried out")
	require.ErrorContains(t, err, "POST /api/groups: no answer within 300ms")
	require.True(t, Is(tenant.Policies.Load(t.Context()), Unavailable))
	require.LessOrEqual(t, requests.Load(), int32(1), "no other request is sent")

	given, cancel := context.WithCancel(t.Context())
	cancel()
	fresh := tenantOf(t, answer(200, `[]`))
	_, err = fresh.Groups.Read(given, "x")
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, fresh.Outage(), "who gives up says nothing of the server")
}

// TestWhatWasNeverSent was not carried out, which is not known of what got no answer.
func TestWhatWasNeverSent(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	tenant, err := newTenant(Credentials{URL: server.URL, Key: key, Quoted: true}, nil, time.Now)
	require.NoError(t, err)
	_, err = tenant.Groups.Create(t.Context(), GroupRequest{Name: "g"})
	require.True(t, Is(err, Unavailable) && Unsure(err), "%v", err)
	server.Close()
	tenant, err = newTenant(Credentials{URL: server.URL, Key: key, Quoted: true}, nil, time.Now)
	require.NoError(t, err)
	_, err = tenant.Groups.Create(t.Context(), GroupRequest{Name: "g"})
	require.True(t, Is(err, Unavailable) && !Unsure(err), "%v", err)
}

func TestHowLongToWait(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "999999": maxRetryAfter,
		"Fri, 02 Jan 2026 03:04:35 GMT": 30 * time.Second, "Fri, 02 Jan 2026 03:00:00 GMT": 0,
	} {
		require.Equal(t, want, retryAfter(value, now), value)
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"https://api.openzro.io": "https://api.openzro.io/api", "https://a/": "https://a/api", "https://a/api": "https://a/api",
		"https://a/api/": "https://a/api", "http://a:8080/x": "http://a:8080/x/api",
		"ftp://a": "", "a:8080": "", "https://u:p@a": "", "https://a?x=1": "", "": "", "%": "",
	} {
		got, err := baseOf(text)
		require.Equal(t, want, got, text)
		require.Equal(t, want == "", err != nil, text)
	}
}

func TestSameServers(t *testing.T) {
	require.True(t, SameServer("https://a.example", "https://A.example/api/"))
	for _, other := range []string{"https://b.example", "http://a.example", "https://a.example/b", "a.example", ""} {
		require.False(t, SameServer("https://a.example", other), other)
		require.False(t, SameServer(other, "https://a.example"), other)
	}
}

func TestCertificatesOfATenant(t *testing.T) {
	server := httptest.NewTLSServer(answer(200, `[]`))
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	trusting, err := newTenant(Credentials{URL: server.URL, Key: key, CA: string(ca)}, nil, time.Now)
	require.NoError(t, err)
	require.NoError(t, trusting.Groups.Load(t.Context()))
	alone := x509.NewCertPool()
	alone.AddCert(server.Certificate())
	require.True(t, trusting.client.http.Transport.(*http.Transport).TLSClientConfig.RootCAs.Equal(alone), "the authorities of the system are none of these")
	other, err := newTenant(Credentials{URL: server.URL, Key: key, Quoted: true}, nil, time.Now)
	require.NoError(t, err)
	require.True(t, Is(other.Groups.Load(t.Context()), Unavailable))
	_, err = newTenant(Credentials{URL: server.URL, Key: key, CA: "none"}, nil, time.Now)
	require.ErrorContains(t, err, "ca.crt holds no certificate in PEM")
}

// TestSettingsChangeByOneField is Z25: unknown settings stay, and concurrent writes are not
// lost.
func TestSettingsChangeByOneField(t *testing.T) {
	settings := `{"admission_exempt_groups":["a"],"extra":null,"of_tomorrow":{"x":[1]},"peer_login_expiration":7}`
	var others, puts int
	tenant := tenantOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			answer(200, `[{"id":"acc","settings":`+settings+`}]`)(w, r)
			return
		}
		puts++
		require.Equal(t, "/api/accounts/acc", r.URL.Path)
		var written struct{ Settings json.RawMessage }
		require.NoError(t, json.NewDecoder(r.Body).Decode(&written))
		settings = string(written.Settings)
		if others > 0 {
			others--
			settings = `{"admission_exempt_groups":["b"],"of_tomorrow":8}`
		}
		answer(200, `{}`)(w, r)
	})
	changed, err := tenant.Exempt(t.Context(), "g", true)
	require.NoError(t, err)
	require.True(t, changed)
	require.JSONEq(t, `{"admission_exempt_groups":["a","g"],"extra":{},"of_tomorrow":{"x":[1]},"peer_login_expiration":7}`, settings)
	changed, err = tenant.Exempt(t.Context(), "g", true)
	require.NoError(t, err)
	require.False(t, changed)
	require.Equal(t, 1, puts, "nothing is written where nothing differs")

	others = 1
	_, err = tenant.Exempt(t.Context(), "h", true)
	require.NoError(t, err)
	require.JSONEq(t, `{"admission_exempt_groups":["b","h"],"extra":{},"of_tomorrow":8}`, settings)
	others = 100
	_, err = tenant.Exempt(t.Context(), "i", true)
	require.ErrorContains(t, err, "another client keeps writing")
	others = 0
	tenant.Accounts.Forget()
	_, err = tenant.Exempt(t.Context(), "b", false)
	require.NoError(t, err)
	require.NotContains(t, settings, `"b"`)

	settings = `null`
	_, err = tenant.Exempt(t.Context(), "b", true)
	require.ErrorContains(t, err, "must belong to one account with settings")
}

// TestThisMachineIsNotAsked checks that no name leads to this machine where the server is
// elsewhere.
func TestThisMachineIsNotAsked(t *testing.T) {
	for _, host := range []string{"127.0.0.1:9", "127.1.2.3:9", "[::1]:9", "[::ffff:127.0.0.1]:9", "localhost:9"} {
		tenant, err := newTenant(Credentials{URL: "http://" + host, Key: key, Elsewhere: true}, nil, time.Now)
		require.NoError(t, err)
		require.ErrorContains(t, tenant.Groups.Load(t.Context()), "is a loopback address", host)
		require.True(t, IsLocal("http://"+host), host)
	}
	for _, address := range []string{"https://api.openzro.io", "https://10.0.0.1", "https://127.0.0.1.example.com", ""} {
		require.False(t, IsLocal(address), address)
	}
}

// TestAddressesThatAreNeverAsked: the metadata of the machine, however it is written.
func TestAddressesThatAreNeverAsked(t *testing.T) {
	for _, host := range []string{"169.254.169.254", "[::ffff:169.254.169.254]", "[fe80::1]", "0.0.0.0:9", "[::]:9", "[fd00:ec2::254]", "[fd00:ec2::23]",
		"100.100.100.200", "168.63.129.16", "192.0.0.192", "[fd20:ce::254]", "[fd00:c1::a9fe:a9fe]", "[fd00:42::42]",
		"[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a9fe:a9fe]", "[2002:a9fe:a9fe::1]", "[::a9fe:a9fe]", "[64:ff9b::6464:64c8]", "255.255.255.255", "[ff02::1]",
	} {
		tenant, err := newTenant(Credentials{URL: "http://" + host + "/latest", Key: key}, nil, time.Now)
		require.NoError(t, err)
		require.ErrorContains(t, tenant.Groups.Load(t.Context()), "is not a valid address of a management server; check managementURL", host)
	}
}

// TestOtherServersAreNotQuoted: a tenant would read what the manager reaches and they do not.
func TestOtherServersAreNotQuoted(t *testing.T) {
	const secret = "internal-secret"
	for name, handler := range map[string]http.HandlerFunc{
		"a message": answer(http.StatusUnprocessableEntity, said(secret)),
		"an error":  answer(http.StatusInternalServerError, said(secret)),
		"a refusal": answer(http.StatusUnauthorized, said(secret)),
		"a page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", secret)
			_, _ = io.WriteString(w, secret)
		},
		"no HTTP at all": func(w http.ResponseWriter, _ *http.Request) {
			connection, _, _ := w.(http.Hijacker).Hijack()
			_, _ = io.WriteString(connection, secret+"\r\n\r\n")
			_ = connection.Close()
		},
		"a header": func(w http.ResponseWriter, _ *http.Request) {
			connection, _, _ := w.(http.Hijacker).Hijack()
			_, _ = io.WriteString(connection, "HTTP/1.1 200 OK\r\n"+secret+"\r\n\r\n")
			_ = connection.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			t.Cleanup(server.Close)
			quotes := map[bool]bool{}
			for _, quoted := range []bool{false, true} {
				tenant, err := newTenant(Credentials{URL: server.URL, Key: key, Quoted: quoted}, nil, time.Now)
				require.NoError(t, err)
				err = tenant.Policies.Load(t.Context())
				require.Error(t, err)
				quotes[quoted] = strings.Contains(err.Error(), secret)
			}
			require.Equal(t, map[bool]bool{false: false, true: true}, quotes)
		})
	}
}
