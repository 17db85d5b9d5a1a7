package origin

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/test/gitserver"
)

// sshServer lets one key run git-upload-pack.
type sshServer struct {
	address string
	host    ssh.Signer
}

func startSSH(t *testing.T, folder string, client ssh.PublicKey) *sshServer {
	t.Helper()
	_, host := newSSHKey(t)
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(client.Marshal()) {
			return nil, io.EOF
		}
		return nil, nil
	}}
	config.AddHostKey(host)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go serveSSH(connection, config, folder)
		}
	}()
	return &sshServer{listener.Addr().String(), host}
}

func serveSSH(connection net.Conn, config *ssh.ServerConfig, folder string) {
	defer connection.Close()
	_, channels, requests, err := ssh.NewServerConn(connection, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, asked, err := offered.Accept()
		if err != nil {
			return
		}
		for request := range asked {
			_ = request.Reply(request.Type == "exec", nil)
			if request.Type != "exec" {
				continue
			}
			var command struct{ Text string }
			_ = ssh.Unmarshal(request.Payload, &command)
			name := strings.Trim(strings.TrimPrefix(command.Text, "git-upload-pack "), "'/")
			git := exec.Command("git", "upload-pack", name)
			git.Dir, git.Stdout, git.Stderr = folder, channel, channel.Stderr()
			// Not as Stdin: git would be waited for until the client ends.
			if stdin, err := git.StdinPipe(); err == nil {
				go func() { _, _ = io.Copy(stdin, channel) }()
			}
			status := []byte{0, 0, 0, 0}
			if git.Run() != nil {
				status[3] = 128
			}
			_, _ = channel.SendRequest("exit-status", false, status)
			_ = channel.Close()
		}
	}
}

func newSSHKey(t *testing.T) (private []byte, signer ssh.Signer) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(key, "")
	require.NoError(t, err)
	signer, err = ssh.NewSignerFromKey(key)
	require.NoError(t, err)
	return pem.EncodeToMemory(block), signer
}

func TestSSH(t *testing.T) {
	folder := t.TempDir()
	made, err := gitserver.NewRepository(t.Context(), folder, "policies")
	require.NoError(t, err)
	hash, err := made.Push(t.Context(), map[string]string{"a.rego": module})
	require.NoError(t, err)
	identity, client := newSSHKey(t)
	stranger, other := newSSHKey(t)
	server := startSSH(t, folder, client.PublicKey())
	known := knownhosts.Line([]string{server.address}, server.host.PublicKey())
	request := Request{Git: &v1alpha1.GitOrigin{URL: "ssh://git@" + server.address + "/policies.git"}}
	for name, c := range map[string]struct {
		credentials map[string]string
		reason      string
		message     string
	}{
		"the right keys":        {map[string]string{"identity": string(identity), "known_hosts": known}, "", ""},
		"a changed host key":    {map[string]string{"identity": string(identity), "known_hosts": knownhosts.Line([]string{server.address}, other.PublicKey())}, ReasonHostKeyChanged, "shows another host key than known_hosts has"},
		"an unknown host":       {map[string]string{"identity": string(identity), "known_hosts": knownhosts.Line([]string{"git.example.com"}, other.PublicKey())}, ReasonHostKeyUnknown, "has no key of"},
		"a stranger's identity": {map[string]string{"identity": string(stranger), "known_hosts": known}, ReasonAuthenticationFailed, "refuses the credentials"},
		"no known hosts":        {map[string]string{"identity": string(identity)}, ReasonCredentialsInvalid, "known_hosts is missing"},
		"no identity":           {map[string]string{"known_hosts": known}, ReasonCredentialsInvalid, "identity is missing"},
		"a broken identity":     {map[string]string{"identity": "x", "known_hosts": known}, ReasonCredentialsInvalid, "is not a readable private key"},
		"broken known hosts":    {map[string]string{"identity": string(identity), "known_hosts": "x"}, ReasonCredentialsInvalid, "known_hosts in the Secret cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			request.Credentials = secretData(c.credentials)
			got, err := fetchApart(t, request)
			if c.reason == "" {
				require.NoError(t, err)
				require.Equal(t, "main@sha1:"+hash, got.Revision)
				require.Equal(t, map[string]string{"a.rego": module}, got.Files)
				return
			}
			requireRefused(t, err, c.reason, c.message)
		})
	}
	t.Run("no such repository", func(t *testing.T) {
		missing := Request{Git: &v1alpha1.GitOrigin{URL: "ssh://git@" + server.address + "/nothing.git"}}
		missing.Credentials = secretData(map[string]string{"identity": string(identity), "known_hosts": known})
		_, err := fetch(t.Context(), withLimits(missing))
		requireRefused(t, err, ReasonNotFound, "is not a repository")
	})
}
