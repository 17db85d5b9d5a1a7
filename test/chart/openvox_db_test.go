package chart

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// postgres is this machine's PostgreSQL, in a Pod that has the machine's programs: it takes
// connections that are encrypted, and none else.
const postgres = `
apiVersion: v1
kind: Service
metadata: {name: postgres}
spec: {selector: {app: postgres}, ports: [{port: 5432}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: postgres}
spec:
  strategy: {type: Recreate}
  selector: {matchLabels: {app: postgres}}
  template:
    metadata: {labels: {app: postgres}}
    spec:
      securityContext: {runAsUser: 65534, runAsGroup: 65534, fsGroup: 65534}
      terminationGracePeriodSeconds: 5
      containers:
        - name: postgres
          image: ` + databaseImage + `:` + stable + `
          command:
            - /bin/bash
            - -c
            - |
              set -eu
              PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
              if [ ! -d /data/pg ]; then
                initdb --pgdata /data/new --username postgres --auth-local trust --auth-host scram-sha-256 --no-sync --encoding UTF8 --no-locale
                echo "hostssl all all 0.0.0.0/0 scram-sha-256" >>/data/new/pg_hba.conf
                mv /data/new /data/pg
              fi
              exec postgres -D /data/pg -h 0.0.0.0 -k /tmp -c ssl=on -c ssl_cert_file=/tls/tls.crt -c ssl_key_file=/tls/tls.key -c max_connections=100
          readinessProbe: {exec: {command: [/bin/sh, -c, "psql -h /tmp -U postgres -c 'select 1'"]}, periodSeconds: 1}
          volumeMounts: [{name: programs, mountPath: /usr, readOnly: true}, {name: data, mountPath: /data}, {name: tls, mountPath: /tls}]
      volumes:
        - {name: programs, hostPath: {path: /usr}}
        - {name: data, hostPath: {path: DATA}}
        - {name: tls, secret: {secretName: postgres-tls, defaultMode: 0440}}
`

const database = `
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: Database
metadata: {name: store}
spec:
  certificateRef: store
  image: {repository: ` + databaseImage + `, tag: ` + stable + `}
  postgres:
    host: postgres
    credentialsSecretRef: store-postgres
    sslMode: verify-full
    caSecretRef: {name: postgres-tls, key: tls.crt}
  allowedCertnames: [web1.example.com]
  javaArgs: -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
  resources: {limits: {memory: 1Gi}}
  networkPolicy: {enabled: true}
  securityContext: {runAsUser: 1000660000, fsGroup: 1000660000}
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: Certificate
metadata: {name: store}
spec: {authorityRef: main, certname: store.example.com}
---
apiVersion: openvox.voxpupuli.org/v1alpha1
kind: ReportProcessor
metadata: {name: store}
spec: {configRef: production, processor: puppetdb, url: "https://store.` + puppetNamespace + `.svc:8081", auth: {mtls: true}}
`

// startPostgres starts a PostgreSQL with TLS, and creates the Database's role and database.
func (n node) startPostgres(t *testing.T) {
	t.Helper()
	data := t.TempDir()
	certificate, key := selfSigned(t, "postgres")
	require.NoError(t, os.Chmod(data, 0o777)) //nolint:gosec // it is the Pod's
	secret := func(name string, values map[string]string) {
		_, err := n.client.CoreV1().Secrets(puppetNamespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: values}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	secret("postgres-tls", map[string]string{"tls.crt": certificate, "tls.key": key})
	secret("store-postgres", map[string]string{"username": "openvoxdb", "password": `fir"st \#;`})
	n.must(t, strings.ReplaceAll(postgres, "DATA", data), "apply", "--namespace", puppetNamespace, "-f", "-")
	n.inPuppet(t, "rollout", "status", "deployment/postgres", "--timeout=4m")
	n.sql(t, `CREATE ROLE openvoxdb LOGIN PASSWORD 'fir"st \#;'`, `CREATE DATABASE openvoxdb OWNER openvoxdb`)
}

// testDatabase: the Database has what servers send, by Puppet's own client and by a
// ReportProcessor. Its password changes, and its PostgreSQL is down for a while.
func (n node) testDatabase(t *testing.T, web agent) {
	eventually(t, func() bool {
		node := map[string]any{}
		status, text := n.query(t, web, "/pdb/query/v4/nodes/web1.example.com")
		return status == http.StatusOK && json.Unmarshal([]byte(text), &node) == nil &&
			node["facts_timestamp"] != nil && node["catalog_timestamp"] != nil && node["report_timestamp"] != nil
	}, "facts, catalog and report of the node are stored")
	other := n.newAgent(t, "web9.example.com")
	other.mustRun(t)
	status, text := n.query(t, other, "/pdb/query/v4/nodes")
	require.Equal(t, http.StatusForbidden, status, "%s: a node's certificate does not permit queries about others", text)
	eventually(t, func() bool {
		status, _ := n.query(t, other, "/status/v1/simple") // 503 while a pool of connections is being filled
		return status == http.StatusOK
	}, "the status is public")
	n.testReportProcessor(t, web)

	n.sql(t, `ALTER ROLE openvoxdb PASSWORD 'second'`, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'openvoxdb'`)
	pods, err := n.client.CoreV1().Pods(puppetNamespace).Get(t.Context(), "store-0", metav1.GetOptions{})
	require.NoError(t, err)
	n.inPuppet(t, "patch", "secret/store-postgres", "--type=merge", "-p", `{"stringData": {"password": "second"}}`)
	eventually(t, func() bool {
		now, err := n.client.CoreV1().Pods(puppetNamespace).Get(t.Context(), "store-0", metav1.GetOptions{})
		return err == nil && now.UID != pods.UID && isReady(*now)
	}, "it is started again with the new password")
	n.inPuppet(t, "wait", "--for=condition=Ready", "database/store", "--timeout=1m")

	n.inPuppet(t, "scale", "deployment/postgres", "--replicas=0")
	eventually(t, func() bool {
		return n.inPuppet(t, "get", "database/store", "-o", `jsonpath={.status.ready} {.status.conditions[?(@.type=="Ready")].status}`) == "0 False"
	}, "its status reports that it is not ready")
	down := time.Now()
	require.Contains(t, web.mustRun(t), "compiled from code 1", "without it, agents get their catalogs")
	n.inPuppet(t, "scale", "deployment/postgres", "--replicas=1")
	n.inPuppet(t, "wait", "--for=condition=Ready", "database/store", "--timeout=2m")
	now, err := n.client.CoreV1().Pods(puppetNamespace).Get(t.Context(), "store-0", metav1.GetOptions{})
	require.NoError(t, err)
	require.Zero(t, now.Status.ContainerStatuses[0].RestartCount, "it waits, and is not started again for that")
	eventually(t, func() bool {
		var node struct {
			At time.Time `json:"report_timestamp"`
		}
		status, text := n.query(t, web, "/pdb/query/v4/nodes/web1.example.com")
		return status == http.StatusOK && json.Unmarshal([]byte(text), &node) == nil && node.At.After(down)
	}, "what was sent meanwhile is stored")
}

// testReportProcessor: PuppetDB stores all parts of a report that openvox-report sends from a
// server's Pod, as it is rendered for ReportProcessor store.
func (n node) testReportProcessor(t *testing.T, web agent) {
	t.Helper()
	report, err := os.ReadFile("../../cmd/openvox-report/testdata/report.json")
	require.NoError(t, err)
	out, err := n.kubectl(t.Context(), strings.ReplaceAll(string(report), "web1.example.com", "web8.example.com"), "exec", "--stdin", "--namespace", puppetNamespace,
		"deployment/stable", "--container=openvox-server", "--", "/usr/local/bin/lintel-openvox-report")
	require.NoError(t, err, out)
	require.Empty(t, out)
	type list struct{ Data []map[string]any }
	var stored []struct {
		Status         string
		StartTime      string `json:"start_time"`
		ResourceEvents list   `json:"resource_events"`
		Metrics, Logs  list
	}
	eventually(t, func() bool {
		status, text := n.query(t, web, "/pdb/query/v4/reports?query="+url.QueryEscape(`["=","certname","web8.example.com"]`))
		return status == http.StatusOK && json.Unmarshal([]byte(text), &stored) == nil && len(stored) == 1
	}, "the report is stored")
	require.Equal(t, "failed", stored[0].Status)
	require.Equal(t, "2026-11-24T03:16:48.271Z", stored[0].StartTime)
	require.Len(t, stored[0].Metrics.Data, 23)
	require.Len(t, stored[0].Logs.Data, 8)
	require.Len(t, stored[0].ResourceEvents.Data, 4)
}

// sql runs statements as PostgreSQL's administrator.
func (n node) sql(t *testing.T, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		n.must(t, "", "exec", "--namespace", puppetNamespace, "deployment/postgres", "--", "psql", "-h", "/tmp", "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-c", statement)
	}
}

// query asks the Database with the certificate of an agent.
func (n node) query(t *testing.T, a agent, path string) (status int, text string) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(a.folder, "ssl/certs", a.certname+".pem"), filepath.Join(a.folder, "ssl/private_keys", a.certname+".pem"))
	require.NoError(t, err)
	return n.ask(t, "store", "8081", "store."+puppetNamespace+".svc", path, a.authority(t), pair)
}

// authority is the CA that an agent knows.
func (a agent) authority(t *testing.T) *x509.CertPool {
	t.Helper()
	bundle, err := os.ReadFile(filepath.Join(a.folder, "ssl/certs/ca.pem"))
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(bundle))
	return roots
}

// ask gives the answer of a Service to a client with a certificate: 0 where there is none.
func (n node) ask(t *testing.T, service, port, host, path string, roots *x509.CertPool, pair tls.Certificate) (status int, text string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	there, end, err := n.forward(ctx, service, port, puppetNamespace)
	if err != nil {
		stop()
		return 0, err.Error()
	}
	defer end()
	defer stop()
	defer there.Close()
	asking := &http.Client{Transport: &http.Transport{
		DialContext:     func(context.Context, string, string) (net.Conn, error) { return there, nil },
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+":"+port+path, nil)
	require.NoError(t, err)
	response, err := asking.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func selfSigned(t *testing.T, host string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	text, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}))
}
