// Command endpoint is an HTTP endpoint for Puppet servers in tests: it classifies each node by
// its facts, and lists the reports that it has received.
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
	var reports []string
	mux := http.NewServeMux()
	mux.HandleFunc("POST /node/{certname}", func(w http.ResponseWriter, r *http.Request) {
		var node struct {
			Certname string
			Facts    struct{ OS struct{ Family string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&node); err != nil || node.Certname != r.PathValue("certname") || node.Facts.OS.Family == "" {
			http.Error(w, "facts.os.family of the node is missing", http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, "classes: [classified]\nparameters: {role: role of %s on %s}\nenvironment: production\n", node.Certname, node.Facts.OS.Family)
	})
	mux.HandleFunc("POST /reports", func(w http.ResponseWriter, r *http.Request) {
		var report struct{ Host, Status string }
		if err := json.NewDecoder(r.Body).Decode(&report); err != nil || report.Host == "" {
			http.Error(w, "not a report: host is missing", http.StatusBadRequest)
			return
		}
		mutex.Lock()
		defer mutex.Unlock()
		reports = append(reports, report.Host+" "+report.Status)
	})
	mux.HandleFunc("GET /reports", func(w http.ResponseWriter, _ *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		if err := json.NewEncoder(w).Encode(reports); err != nil {
			log.Print(err)
		}
	})
	server := &http.Server{Addr: ":8080", Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
