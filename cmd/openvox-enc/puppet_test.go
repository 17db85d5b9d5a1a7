package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/configfiles"
	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
	"github.com/lintel-policy/lintel/test/puppetca"
)

// TestPuppetServer: a real Puppet server classifies a real agent by the endpoint, which gets
// the agent's facts, and the agent's report arrives, all by rendered files.
func TestPuppetServer(t *testing.T) {
	asked, reported := make(chan string, 10), make(chan string, 10)
	sinks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if strings.HasPrefix(r.URL.Path, "/node/") {
			asked <- r.URL.Path + " " + string(text)
			fmt.Fprint(w, "classes: [classified]\nparameters: {site: here}\nenvironment: production\n")
			return
		}
		reported <- string(text)
	}))
	defer sinks.Close()

	dir := t.TempDir()
	script := func(name, command string) string {
		path := filepath.Join(dir, name+".sh")
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nexec "+command+"\n"), 0o755))
		return path
	}
	config := func(name string, text []byte, err error) string {
		require.NoError(t, err)
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		return path
	}
	classifier := endpoints.Classifier{
		Endpoint: endpoints.Endpoint{URL: sinks.URL, TimeoutSeconds: 10}, Method: "POST", Path: "/node/{certname}", Body: endpoints.BodyFacts,
		ResponseFormat: "yaml", FactsDirectory: filepath.Join(dir, "var/server_data/facts"),
	}
	text, err := classifier.Write()
	classifierFile := config(endpoints.ClassifierKey, text, err)
	text, err = endpoints.Reports{Endpoints: []endpoints.Report{{Name: "sink", Endpoint: endpoints.Endpoint{URL: sinks.URL + "/reports", TimeoutSeconds: 10}}}}.Write()
	reportsFile := config(endpoints.ReportsKey, text, err)
	reporter := filepath.Join(dir, "openvox-report")
	output, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", reporter, "../openvox-report").CombinedOutput()
	require.NoError(t, err, "%s", output)

	rendered, err := configfiles.Render(configfiles.Input{
		Config:    &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Spec: v1alpha1.ConfigSpec{PuppetServer: v1alpha1.PuppetServerSpec{BorrowTimeout: 1200000}}},
		Authority: &v1alpha1.CertificateAuthority{ObjectMeta: metav1.ObjectMeta{Name: "main"}}, CATTL: 157680000, RenewalTTL: 7776000,
		Classifier:   &v1alpha1.NodeClassifier{Spec: v1alpha1.NodeClassifierSpec{Request: v1alpha1.NodeClassifierRequest{Method: "POST", Body: v1alpha1.BodyFacts}}},
		SendsReports: true,
	})
	require.NoError(t, err)
	manifests := filepath.Join(dir, "code/environments/production/manifests")
	require.NoError(t, os.MkdirAll(manifests, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(manifests, "site.pp"), []byte("class classified { notify { \"classified at ${::site}\": } }\n"), 0o644))
	ca, err := puppetca.Start(t.Context(), puppetca.Options{
		Dir: dir, Name: "ca.example.com", Operator: "main-operator", Autosign: script("autosign", "true"), Rendered: rendered,
		Programs: map[string]string{
			configfiles.ClassifierProgram:          script("enc", build(t)+" --config "+classifierFile+` "$@"`),
			"/usr/local/bin/lintel-openvox-report": script("report", reporter+" --config "+reportsFile+" --spool "+filepath.Join(dir, "spool")+` "$@"`),
		},
	})
	require.NoError(t, err)
	t.Cleanup(ca.Stop)

	server, err := url.Parse(ca.URL)
	require.NoError(t, err)
	folder := t.TempDir()
	agent := exec.CommandContext(t.Context(), "puppet", "agent", "--test", "--server", server.Hostname(), "--serverport", server.Port(), "--certname", "agent1.example.com",
		"--confdir", folder+"/conf", "--vardir", folder+"/var", "--ssldir", folder+"/ssl", "--rundir", folder+"/run", "--logdir", folder+"/log", "--publicdir", folder+"/public", "--color", "false")
	output, err = agent.CombinedOutput()
	require.Equal(t, 2, agent.ProcessState.ExitCode(), "changes were made: %v %s %s", err, output, ca.Log())
	require.Contains(t, string(output), "classified at here")

	question := ""
	for len(asked) > 0 {
		question = <-asked
	}
	path, body, _ := strings.Cut(question, " ")
	require.Equal(t, "/node/agent1.example.com", path)
	var sent struct {
		Certname string
		Facts    map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(body), &sent))
	require.Equal(t, "agent1.example.com", sent.Certname)
	require.Contains(t, sent.Facts, "os", "facts that are really there")
	require.Contains(t, sent.Facts, "puppetversion")
	select {
	case report := <-reported:
		require.Contains(t, report, `"host":"agent1.example.com"`)
		require.Contains(t, report, "classified at here")
		require.Contains(t, report, `"status":"changed"`)
	case <-time.After(time.Minute):
		require.Fail(t, "no report arrives", ca.Log())
	}
}
