// Package process holds what the processes share that work on untrusted files: those that
// fetch, compile and test policies.
package process

import (
	"fmt"
	"os"
)

// runtimeVariables are those of the Go runtime and of temporary files.
var runtimeVariables = []string{"GODEBUG", "GOMAXPROCS", "GORACE", "GOTRACEBACK", "GOCOVERDIR", "TMPDIR"}

// NetworkVariables are those by which proxies and certificate authorities are found.
var NetworkVariables = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "SSH_KNOWN_HOSTS", "HOME",
}

// Environment is the environment of such a process: the limit of its memory in bytes, the
// variables of the Go runtime, and more by name, as far as this process has them. All other
// variables are left out: those of a manager hold credentials of databases and stores, which
// a fault in a parser must not reveal.
func Environment(memoryBytes int64, more ...string) []string {
	out := []string{fmt.Sprintf("GOMEMLIMIT=%d", memoryBytes)}
	for _, names := range [][]string{runtimeVariables, more} {
		for _, name := range names {
			if value, ok := os.LookupEnv(name); ok {
				out = append(out, name+"="+value)
			}
		}
	}
	return out
}
