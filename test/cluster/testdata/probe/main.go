// Program probe is what the Pods of the tests run: it looks at its container from
// inside, and answers as a server or as a webhook.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var what, first, second string
	for i, to := range []*string{&what, &first, &second} {
		if i < len(args) {
			*to = args[i]
		}
	}
	switch what {
	case "serve":
		return http.ListenAndServe(":8080", http.HandlerFunc(greet))
	case "deny":
		return http.ListenAndServeTLS(":8443", first+"/tls.crt", first+"/tls.key", http.HandlerFunc(deny))
	case "id":
		groups, err := os.Getgroups()
		fmt.Println(os.Getuid(), groups)
		return err
	case "cat":
		content, err := os.ReadFile(first)
		_, _ = os.Stdout.Write(content)
		return err
	case "write":
		return os.WriteFile(first, []byte(second), 0o600)
	case "get":
		client := http.Client{Timeout: 5 * time.Second}
		response, err := client.Get(first)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		_, err = io.Copy(os.Stdout, response.Body)
		return err
	case "eat":
		for eaten := [][]byte{}; ; {
			piece := make([]byte, 1<<20)
			for i := range piece {
				piece[i] = 1
			}
			eaten = append(eaten, piece)
		}
	}
	return fmt.Errorf("%q is nothing to do", what)
}

func greet(w http.ResponseWriter, r *http.Request) {
	name, _ := os.Hostname()
	fmt.Println("greeting at", r.URL.Path)
	_, _ = fmt.Fprintf(w, "hello from %s", name)
}

// deny answers an AdmissionReview.
func deny(w http.ResponseWriter, r *http.Request) {
	var review struct {
		Request struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": "admission.k8s.io/v1",
		"kind":       "AdmissionReview",
		"response": map[string]any{
			"uid": review.Request.UID, "allowed": false, "status": map[string]any{"message": "denied by a Pod"},
		},
	})
}
