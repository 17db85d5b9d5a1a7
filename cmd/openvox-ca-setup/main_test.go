package main

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// site is a Pod of the setup Job: its volume, its token and the API server.
type site struct {
	env     map[string]string
	written []string
	secrets map[string]map[string][]byte
	refuse  string // the Secret that cannot be written
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{secrets: map[string]map[string][]byte{}}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/ns/secrets/")
		var body struct{ Data map[string][]byte }
		if r.Method != http.MethodPatch || r.Header.Get("Content-Type") != "application/merge-patch+json" || r.Header.Get("Authorization") != "Bearer t0ken" ||
			json.NewDecoder(r.Body).Decode(&body) != nil {
			http.Error(w, "what is this?", http.StatusBadRequest)
			return
		}
		if name == s.refuse {
			http.Error(w, "not you", http.StatusForbidden)
			return
		}
		s.written, s.secrets[name] = append(s.written, name), body.Data
	}))
	t.Cleanup(server.Close)
	folder := t.TempDir()
	for name, text := range map[string]string{
		"ca.crt":    string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
		"namespace": "ns", "token": "t0ken",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	host, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	s.env = map[string]string{
		"CA_NAME": "main", "CA_TTL": "3600", "CA_DIR": filepath.Join(t.TempDir(), "ca"), "TOKEN_DIR": folder,
		"CERTNAME": "ca.example.com", "DNS_ALT_NAMES": "DNS:puppet,IP:::1",
		"CA_SECRET_NAME": "main-ca", "CA_KEY_SECRET_NAME": "main-ca-key", "CA_CRL_SECRET_NAME": "main-ca-crl", "SSL_SECRET_NAME": "main-ca-setup",
		"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port,
	}
	return s
}

func (s *site) run(t *testing.T) error {
	t.Helper()
	s.written = nil
	return run(t.Context(), func(name string) string { return s.env[name] })
}

func isFinal(err error) bool {
	_, ok := errors.AsType[finalError](err)
	return ok
}

// TestSetup: run again, it changes nothing; nor where it was broken off.
func TestSetup(t *testing.T) {
	s := newSite(t)
	s.refuse = "main-ca"
	err := s.run(t)
	require.ErrorContains(t, err, "writing Secret main-ca: 403 Forbidden: not you")
	require.False(t, isFinal(err))
	s.refuse = ""
	had := s.secrets["main-ca-setup"]
	require.NoError(t, s.run(t))
	require.Equal(t, []string{"main-ca-setup", "main-ca-key", "main-ca-crl", "main-ca"}, s.written, "by the last others know that there is a CA")
	require.Equal(t, had, s.secrets["main-ca-setup"])
	require.NotEmpty(t, s.secrets["main-ca-crl"]["infra_crl.pem"])

	// Other names are another pair, of the same CA; unless its server runs.
	ca := s.secrets["main-ca"]
	s.env["DNS_ALT_NAMES"] = "DNS:other"
	s.env["CA_SERVED"] = "true"
	require.NoError(t, s.run(t))
	require.Equal(t, had, s.secrets["main-ca-setup"])
	s.env["CA_SERVED"] = "false"
	s.env["CA_EXISTS"] = "true"
	require.NoError(t, s.run(t))
	require.NotEqual(t, had, s.secrets["main-ca-setup"])
	require.Equal(t, ca, s.secrets["main-ca"])

	had = s.secrets["main-ca-setup"]
	s.env["RESCUE_CERTNAME"] = "main-setup"
	require.NoError(t, s.run(t))
	require.NotEqual(t, had, s.secrets["main-ca-setup"])
	s.env["RESCUE_CERTNAME"] = ""
	require.NoError(t, s.run(t))
	require.Equal(t, had, s.secrets["main-ca-setup"], "the server's own stays")
}

// TestInterruptedImport: what Puppet's own command has begun is imported again, above its serials,
// and is not taken for a CA.
func TestInterruptedImport(t *testing.T) {
	from := newSite(t)
	require.NoError(t, from.run(t))
	s, folder := newSite(t), t.TempDir()
	volume := s.env["CA_DIR"]
	require.NoError(t, os.MkdirAll(filepath.Join(volume, pairFolder, "certs"), 0o700))
	for file, name := range map[string]string{"ca.pem": "ca_crt.pem", "key.pem": "ca_key.pem", "crl.pem": "ca_crl.pem"} {
		text, err := os.ReadFile(filepath.Join(from.env["CA_DIR"], name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), text, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(volume, name), text, 0o600))
	}
	marker := filepath.Join(volume, "import-unfinished")
	for name, text := range map[string]string{"serial": "0002", "import-unfinished": "0100\n", pairFolder + "/names": s.env["CERTNAME"] + "," + s.env["DNS_ALT_NAMES"]} {
		require.NoError(t, os.WriteFile(filepath.Join(volume, name), []byte(text), 0o600))
	}
	err := s.run(t)
	require.ErrorContains(t, err, "The import of the CA was interrupted")
	require.True(t, isFinal(err))
	require.FileExists(t, marker)
	s.env["INTERMEDIATE_DIR"] = folder
	require.NoError(t, s.run(t))
	require.NoFileExists(t, marker)
	serial, err := os.ReadFile(filepath.Join(volume, "serial"))
	require.NoError(t, err)
	require.Equal(t, "0101\n", string(serial), "the pair of the server has the first serial that is free")
	require.NotEmpty(t, s.secrets["main-ca-setup"]["cert.pem"])
}

func TestBadInput(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"the volume is another":    {map[string]string{"CA_EXISTS": "true"}, "The volume holds no CA, but Secret main-ca or main-ca-key has one"},
		"the certname is a path":   {map[string]string{"CERTNAME": "../../up"}, "is not a certname"},
		"the life is not a number": {map[string]string{"CA_TTL": "5y"}, "not a positive number of seconds"},
		"the life is over":         {map[string]string{"CA_TTL": "0"}, "not a positive number of seconds"},
		"the imported CA is none":  {map[string]string{"INTERMEDIATE_DIR": "testdata"}, "reading the key"},
	} {
		s := newSite(t)
		if c.env["INTERMEDIATE_DIR"] != "" {
			c.env["INTERMEDIATE_DIR"] = t.TempDir()
			for _, file := range []string{"ca.pem", "key.pem", "crl.pem"} {
				require.NoError(t, os.WriteFile(filepath.Join(c.env["INTERMEDIATE_DIR"], file), []byte("x"), 0o600))
			}
		}
		for key, value := range c.env {
			s.env[key] = value
		}
		err := s.run(t)
		require.ErrorContains(t, err, c.want, name)
		require.True(t, isFinal(err), name)
		require.Empty(t, s.written, name)
	}
}

// TestVolumeThatCannotBeWritten: the groups are what an administrator can change.
func TestVolumeThatCannotBeWritten(t *testing.T) {
	s := newSite(t)
	s.env["INTERMEDIATE_DIR"] = filepath.Join(t.TempDir(), "missing")
	err := s.run(t)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.False(t, isFinal(err))
	require.ErrorContains(t, explain(os.ErrPermission), "The volume cannot be written by user")
}
