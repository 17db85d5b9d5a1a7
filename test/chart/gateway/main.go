// Program gateway replaces the gateway of OpenClaw in the tests: it is ready as soon as it
// runs, and forwards every query to its OPA sidecar, which no other client reaches. With the
// path of a file, it writes 300 MiB there instead.
package main

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
)

func main() {
	serve := serveGateway
	if len(os.Args) > 1 {
		serve = func() error { return os.WriteFile(os.Args[1], make([]byte, 300<<20), 0o600) }
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serveGateway() error {
	opa, err := url.Parse(os.Getenv("OPA_URL"))
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("/v1/data/", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(opa) }})
	return http.ListenAndServe(":8080", mux)
}
