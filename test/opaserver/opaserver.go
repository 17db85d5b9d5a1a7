// Package opaserver runs the OPA of OpenClaw's gateways, which test/opa builds, for tests.
package opaserver

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Build builds the program, which must be of a version, for tests of a package three
// folders below the checkout. It stays in the user's cache folder, so that it is linked again only
// where it would be another.
func Build(t *testing.T, version string) string {
	t.Helper()
	binary := buildProgram(t, version, "opa", "github.com/open-policy-agent/opa")
	built, err := exec.CommandContext(t.Context(), binary, "version").Output()
	require.NoError(t, err)
	require.Contains(t, string(built), "Version: "+version+"\n", "test/opa builds another version than gateways run")
	return binary
}

// BuildAnswers builds test/opa/answers, as Build does.
func BuildAnswers(t *testing.T, version string) string {
	t.Helper()
	_, err := os.ReadFile(filepath.Join(module, "answers", "main.go"))
	require.NoError(t, err)
	return buildProgram(t, version, "answers", "./answers")
}

var module = filepath.Join("..", "..", "..", "test", "opa")

func buildProgram(t *testing.T, version, name, program string) string {
	t.Helper()
	for _, name := range []string{"go.mod", "go.sum"} { // so that Go's test cache sees a change of them
		_, err := os.ReadFile(filepath.Join(module, name))
		require.NoError(t, err)
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	binary := filepath.Join(cache, "lintel", "opa-"+version, name)
	build := exec.CommandContext(t.Context(), "go", "build", "-C", module, "-ldflags", "-s -w", "-o", binary, program)
	// Of all checkouts it is the same only without their paths and commits.
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return binary
}

// FreeAddress is an address of this machine without a listener.
func FreeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// Log is the output of a program that still runs.
type Log struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(text)
}

func (l *Log) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// Start runs OPA until the test ends, and returns when it is healthy at an address.
func Start(t *testing.T, binary, health string, arguments ...string) *Log {
	t.Helper()
	log := &Log{}
	server := exec.Command(binary, arguments...)
	server.Stdout, server.Stderr = log, log
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		if err := server.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = server.Wait() // killed
	})
	require.Eventually(t, func() bool { return Status(health, "/health") == http.StatusOK }, 2*time.Minute, 20*time.Millisecond, "OPA is not healthy: %s", log)
	return log
}

// Status is the status code of a GET: 0 where there is no answer.
func Status(address, path string) int {
	response, err := http.Get("http://" + address + path)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	return response.StatusCode
}

// Ask returns the value at a path of data for an input in JSON: nothing if it is undefined.
func Ask(t *testing.T, address, path, input string) json.RawMessage {
	t.Helper()
	response, err := http.Post("http://"+address+"/v1/data/"+path, "application/json", strings.NewReader(`{"input": `+input+`}`))
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	var answer struct{ Result json.RawMessage }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	return answer.Result
}
