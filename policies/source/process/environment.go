package process

import (
	"fmt"
	"os"
)

// runtimeVariables configure the Go runtime and temporary files.
var runtimeVariables = []string{"GODEBUG", "GOMAXPROCS", "GORACE", "GOTRACEBACK", "GOCOVERDIR", "TMPDIR"}

// NetworkVariables configure proxies and certificate authorities.
var NetworkVariables = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "SSH_KNOWN_HOSTS", "HOME",
}

// environment is the environment of a child: its memory limit in bytes, the variables of the
// Go runtime, and additional variables by name. All other variables of this process are
// omitted: those of a manager hold credentials of databases and stores, which a fault in a
// parser must not reveal.
func environment(memoryBytes int64, more ...string) []string {
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
