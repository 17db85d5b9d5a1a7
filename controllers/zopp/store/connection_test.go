package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAddresses: of a server.
func TestAddresses(t *testing.T) {
	for server, c := range map[string]struct {
		address string
		secure  bool
		err     string
	}{
		"http://127.0.0.1:50051":        {address: "127.0.0.1:50051"},
		"http://zopp-server:50051/":     {address: "zopp-server:50051"},
		"http://zopp-server":            {address: "zopp-server:80"},
		"https://zopp.example.com":      {address: "zopp.example.com:443", secure: true},
		"https://[::1]:50051":           {address: "[::1]:50051", secure: true},
		"HTTPS://zopp.example.com:1":    {address: "zopp.example.com:1", secure: true},
		"zopp-server:50051":             {err: "the address of the zopp server has no scheme; write it as http://zopp-server:50051, or https:// with TLS"},
		"127.0.0.1:50051":               {err: "the address of the zopp server has no scheme; write it as http://zopp-server:50051, or https:// with TLS"},
		"zopp-server":                   {err: "the address of the zopp server has no scheme; write it as http://zopp-server:50051, or https:// with TLS"},
		"":                              {err: `the address of the zopp server has no scheme; write it as http://zopp-server:50051, or https:// with TLS`},
		"grpc://zopp-server:50051":      {err: `the address of the zopp server begins with "grpc://"; write it as http://zopp-server:50051, or https:// with TLS`},
		"http://":                       {err: "the address of the zopp server names no host; write it as http://zopp-server:50051, or https:// with TLS"},
		"http://zopp:port":              {err: "the address of the zopp server is not a URL; write it as http://zopp-server:50051, or https:// with TLS"},
		"http://:50051":                 {err: "the address of the zopp server names no host; write it as http://zopp-server:50051, or https:// with TLS"},
		"http://zopp-server:50051/path": {err: "the address of the zopp server has more than a scheme, a host and a port; write it as http://zopp-server:50051, or https:// with TLS"},
		"http://a:secret@zopp:50051":    {err: "the address of the zopp server has more than a scheme, a host and a port; write it as http://zopp-server:50051, or https:// with TLS"},
	} {
		t.Run(server, func(t *testing.T) {
			address, secure, err := parseServer(server)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.address, address)
			require.Equal(t, c.secure, secure)
		})
	}
}

// TestCACertificates: of which each error is one of the settings.
func TestCACertificates(t *testing.T) {
	folder := t.TempDir()
	empty := filepath.Join(folder, "empty.pem")
	require.NoError(t, os.WriteFile(empty, []byte("no certificate"), 0o600))
	for name, c := range map[string]struct{ server, caFile, err string }{
		"without TLS": {"http://zopp:50051", empty, "there is a CA certificate for the zopp server (" + empty + "), and its address begins with http://, which is without TLS: write https://, or leave the certificate out"},
		"not there":   {"https://zopp:50051", filepath.Join(folder, "none.pem"), "reading the CA certificate for the zopp server: open " + folder + "/none.pem: no such file or directory"},
		"empty":       {"https://zopp:50051", empty, empty + ", the CA certificate for the zopp server, has no certificate in PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(Options{Server: c.server, CAFile: c.caFile, Credentials: fixed{knownPrincipal(t)}})
			require.EqualError(t, err, c.err)
		})
	}
}
