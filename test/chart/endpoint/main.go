// Command endpoint is an HTTP endpoint for Puppet servers in tests: it classifies each node,
// and tells whose reports it has got.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"sync"
	"time"
)

func main() {
	var mutex sync.Mutex
	var hosts []string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /node/{certname}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "classes: {}\nparameters: {role: role of %s}\n", r.PathValue("certname"))
	})
	mux.HandleFunc("POST /reports", func(w http.ResponseWriter, r *http.Request) {
		var report struct{ Host string }
		if err := json.NewDecoder(r.Body).Decode(&report); err != nil || report.Host == "" {
			http.Error(w, "this is no report", http.StatusBadRequest)
			return
		}
		mutex.Lock()
		defer mutex.Unlock()
		hosts = append(hosts, report.Host)
	})
	mux.HandleFunc("GET /reports", func(w http.ResponseWriter, _ *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		if err := json.NewEncoder(w).Encode(hosts); err != nil {
			log.Print(err)
		}
	})
	server := &http.Server{Addr: ":8080", Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
