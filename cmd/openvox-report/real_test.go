package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
	"github.com/lintel-policy/lintel/test/installation"
)

// startPuppetDB runs Debian's PuppetDB on a PostgreSQL of its own, and waits until it answers.
func startPuppetDB(t *testing.T) (address string) {
	t.Helper()
	database, err := installation.StartPostgres(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, database.Remove()) })
	dsn, err := url.Parse(database.DSN)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	require.NoError(t, listener.Close())

	folder := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	write("var/x", "")
	write("restart", "0")
	write("logback.xml", `<configuration><appender name="STDOUT" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%d %-5p [%c{2}] %m%n</pattern></encoder></appender><root level="info"><appender-ref ref="STDOUT"/></root></configuration>`)
	write("conf.d/all.ini", fmt.Sprintf("[global]\nvardir = %s/var\nlogging-config = %s/logback.xml\n[command-processing]\nthreads = 1\n[jetty]\nhost = 127.0.0.1\nport = %d\n[database]\nsubname = //%s%s\nusername = %s\npassword = x\n[puppetdb]\ndisable-update-checking = true\n",
		folder, folder, port, dsn.Host, dsn.Path, dsn.User.Username()))
	write("conf.d/auth.conf", "authorization: { version: 1, rules: [{ name: all, sort-order: 1, match-request: { path: \"/\", type: path }, allow-unauthenticated: true }] }\n")
	output, err := os.Create(filepath.Join(folder, "log"))
	require.NoError(t, err)
	defer output.Close()
	program := exec.CommandContext(context.Background(), "java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", "/usr/share/puppetdb/puppetdb.jar", "clojure.main", "-m", "puppetlabs.puppetdb.core", "services",
		"--config", filepath.Join(folder, "conf.d"), "--bootstrap-config", "/etc/puppetdb/bootstrap.cfg", "--restart-file", filepath.Join(folder, "restart"))
	program.Stdout, program.Stderr = output, output
	program.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it ends with the tests, however they end
	require.NoError(t, program.Start())
	t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(output.Name())
			t.Log(string(text))
		}
	})
	address = fmt.Sprintf("http://127.0.0.1:%d", port)
	require.Eventually(t, func() bool { return strings.Contains(string(get(address+"/status/v1/simple")), "running") }, 4*time.Minute, 250*time.Millisecond, "PuppetDB to answer")
	return address
}

// get is nil where nobody answers.
func get(address string) []byte {
	response, err := http.Get(address)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return text
}

// TestPuppetDB: a real PuppetDB stores a report with all its parts, one that was kept before
// it answered as well as one that is sent at once.
func TestPuppetDB(t *testing.T) {
	program, spool, report := build(t), t.TempDir(), realReport(t)
	run := func(address string, text []byte) {
		t.Helper()
		endpoint := endpoints.Report{Name: "puppetdb", Processor: endpoints.ProcessorPuppetDB, Endpoint: endpoints.Endpoint{URL: address, TimeoutSeconds: 10}}
		command := exec.CommandContext(t.Context(), program, "--config", write(t, endpoint), "--spool", spool)
		command.Stdin = bytes.NewReader(text)
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
	run("http://127.0.0.1:1", report)
	address := startPuppetDB(t)
	require.NoError(t, os.Remove(filepath.Join(spool, "puppetdb", failedFile)))
	run(address, bytes.ReplaceAll(report, []byte("web1.example.com"), []byte("web2.example.com")))

	type list struct{ Data []map[string]any }
	var stored []struct {
		Certname       string
		Status         string
		StartTime      string `json:"start_time"`
		ResourceEvents list   `json:"resource_events"`
		Metrics, Logs  list
	}
	require.Eventually(t, func() bool {
		return json.Unmarshal(get(address+"/pdb/query/v4/reports?order_by="+url.QueryEscape(`[{"field":"certname"}]`)), &stored) == nil && len(stored) == 2
	}, time.Minute, 100*time.Millisecond, "both reports to be stored")
	for i, one := range stored {
		require.Equal(t, fmt.Sprintf("web%d.example.com", i+1), one.Certname)
		require.Equal(t, "failed", one.Status)
		require.Equal(t, "2026-11-24T03:16:48.271Z", one.StartTime)
		require.Len(t, one.Metrics.Data, 23)
		require.Len(t, one.Logs.Data, 8)
		require.Len(t, one.ResourceEvents.Data, 4)
	}
}
