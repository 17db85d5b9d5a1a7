package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
	"github.com/lintel-policy/lintel/test/installation"
)

// openVoxProgramTarget is the limit for a program without the network, in milliseconds.
const openVoxProgramTarget = 10

// openVoxEndpoints runs the programs that call endpoints as a Puppet server does, with an
// endpoint on loopback that answers immediately.
func (b *bench) openVoxEndpoints(ctx context.Context) error {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, "classes: {ntp: {servers: [pool.example.com]}}\nparameters: {site: here}\nenvironment: production\n")
	}))
	defer server.Close()
	endpoint := endpoints.Endpoint{URL: server.URL, TimeoutSeconds: 10}
	classifier, err := endpoints.Classifier{Endpoint: endpoint, Method: http.MethodGet, Path: "/node/{certname}", ResponseFormat: "yaml", Cache: endpoints.Cache{Enabled: true, Directory: b.folder}}.Write()
	if err != nil {
		return err
	}
	reports, err := endpoints.ReportEndpoints{Endpoints: []endpoints.Report{{Name: "bench", Processor: endpoints.ProcessorPuppetDB, Endpoint: endpoint}}}.Write()
	if err != nil {
		return err
	}
	report, err := os.ReadFile(filepath.Join(installation.Root(), "cmd/openvox-report/testdata/report.json"))
	if err != nil {
		return err
	}
	for _, program := range []struct {
		name        string
		file, stdin []byte
		args        []string
	}{
		{"openvox-enc", classifier, nil, []string{"web1.example.com"}},
		{"openvox-report", reports, report, []string{"--spool", b.folder}},
	} {
		file := filepath.Join(b.folder, program.name+".yaml")
		if err := os.WriteFile(file, program.file, 0o600); err != nil {
			return err
		}
		var taken samples
		for range 200 {
			command := exec.CommandContext(ctx, filepath.Join(b.folder, "bin", program.name), append([]string{"--config", file}, program.args...)...)
			command.Stdin = bytes.NewReader(program.stdin)
			start := time.Now()
			if output, err := command.CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w: %s", program.name, err, output)
			}
			taken = append(taken, time.Since(start))
		}
		b.keep("OpenVox: "+program.name, taken)
		measured := milliseconds(taken.percentile(50))
		b.row(row{
			What: fmt.Sprintf("OpenVox: %s from start to end, with an endpoint on loopback: p50", program.name), Lintel: fmt.Sprintf("%.1f ms", measured),
			Target: fmt.Sprintf("≤ %d ms", openVoxProgramTarget), Verdict: verdict(measured, openVoxProgramTarget),
		})
	}
	return nil
}
