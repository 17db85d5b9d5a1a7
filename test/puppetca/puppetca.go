// Package puppetca runs a real Puppet CA for tests: on loopback, with directories of
// its own, and with nothing of a Puppet server but its CA.
package puppetca

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Options are what a test may choose.
type Options struct {
	// Dir will hold everything. It must exist.
	Dir string
	// Name is the CA server's certname, Operator the certname that may administer the CA, in
	// addition to those with pp_cli_auth.
	Name, Operator string
	// Autosign is the program that decides about requests: none leaves all pending.
	Autosign string
	// Rendered are the files that a Config is rendered into, by which a whole Puppet server
	// runs, not only a CA. Programs are those that it calls, by their paths in its image.
	Rendered, Programs map[string]string
}

// CA is a CA that answers.
type CA struct {
	URL  string
	Name string
	Dir  string
	// pair is the file name of the server's certificate and key.
	pair string
	port int
	// services are the lists of what runs.
	services string
	server   *exec.Cmd
	ended    chan struct{}
}

// startTimeout is long, for tests share their machine with others.
const startTimeout = 4 * time.Minute

// Start sets up a CA and waits until it answers.
func Start(ctx context.Context, o Options) (*CA, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ca, err := prepare(o)
	if err != nil {
		return nil, err
	}
	setup := exec.CommandContext(ctx, "puppetserver", "ca", "setup", "--config", ca.path("puppet.conf"),
		"--certname", o.Name, "--subject-alt-names", "DNS:localhost,IP:127.0.0.1")
	if output, err := setup.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("puppetserver ca setup: %w\n%s", err, output)
	}
	if o.Rendered != nil {
		if err := ca.takeRendered(o); err != nil {
			return nil, err
		}
	}
	return ca, ca.run(ctx)
}

// ServeExisting starts the server of a CA that a setup Job has set up: Dir/ca is its volume.
func ServeExisting(ctx context.Context, o Options) (*CA, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ca, err := prepare(o)
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(ca.path("ssl"), os.DirFS(ca.path("ca/setup-ssl"))); err != nil {
		return nil, fmt.Errorf("taking over the server's certificate: %w", err)
	}
	if o.Rendered != nil {
		if err := ca.takeRendered(o); err != nil {
			return nil, err
		}
	}
	return ca, ca.run(ctx)
}

func prepare(o Options) (*CA, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	ca := &CA{URL: "https://localhost:" + strconv.Itoa(port), Name: o.Name, Dir: o.Dir, pair: o.Name, port: port, services: o.Dir + "/bootstrap.cfg", ended: make(chan struct{})}
	if err := writeFiles(o, port); err != nil {
		return nil, err
	}
	return ca, nil
}

// run starts the server, and returns when it answers.
func (ca *CA) run(ctx context.Context) error {
	jar, err := compiledServer(ctx)
	if err != nil {
		return err
	}
	if err := ca.start(jar); err != nil {
		return err
	}
	if err := ca.wait(ctx); err != nil {
		ca.Stop()
		return fmt.Errorf("%w\n%s", err, ca.log())
	}
	return nil
}

func (ca *CA) start(jar string) error {
	output, err := os.Create(ca.path("puppetserver.log"))
	if err != nil {
		return err
	}
	defer output.Close()
	ca.server = exec.Command("java", "-Xms256m", "-Xmx768m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-Djruby.logger.class=com.puppetlabs.jruby_utils.jruby.Slf4jLogger", "-Djruby.lib=/usr/share/jruby/lib",
		"-Djava.io.tmpdir="+ca.path("tmp"), "-jar", jar,
		"--config", ca.path("conf.d"), "--bootstrap-config", ca.services)
	ca.server.Dir, ca.server.Stdout, ca.server.Stderr = ca.Dir, output, output
	// It ends with the tests, however they end.
	ca.server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := ca.server.Start(); err != nil {
		return fmt.Errorf("starting the Puppet server: %w", err)
	}
	go func() {
		_ = ca.server.Wait()
		close(ca.ended)
	}()
	return nil
}

// wait returns when the CA gives its certificate away.
func (ca *CA) wait(ctx context.Context) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		if status, _, err := ca.Do(ctx, http.MethodGet, "certificate/ca", nil); err == nil && status == http.StatusOK {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the Puppet server does not answer: %w", ctx.Err())
		case <-ca.ended:
			return fmt.Errorf("the Puppet server has ended")
		case <-tick.C:
		}
	}
}

// Stop ends the server.
func (ca *CA) Stop() {
	if ca.server != nil && ca.server.Process != nil {
		_ = ca.server.Process.Kill()
		<-ca.ended
	}
}

// Certificate is the CA's certificate in PEM.
func (ca *CA) Certificate() ([]byte, error) { return os.ReadFile(ca.path("ca/ca_crt.pem")) }

// ServerPair is the certificate of the CA server, which administers the CA, and its key.
func (ca *CA) ServerPair() (certificate, key []byte, err error) {
	if certificate, err = os.ReadFile(ca.path("ssl/certs/" + ca.pair + ".pem")); err != nil {
		return nil, nil, err
	}
	key, err = os.ReadFile(ca.path("ssl/private_keys/" + ca.pair + ".pem"))
	return certificate, key, err
}

// Do sends a request as the CA server itself. The path is below /puppet-ca/v1.
func (ca *CA) Do(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error) {
	certificate, key, err := ca.ServerPair()
	if err != nil {
		return 0, nil, err
	}
	return ca.DoAs(ctx, certificate, key, method, path, body)
}

// DoAs is Do as another client.
func (ca *CA) DoAs(ctx context.Context, certificate, key []byte, method, path string, body []byte) (status int, answer []byte, err error) {
	bundle, err := ca.Certificate()
	if err != nil {
		return 0, nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return 0, nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, method, ca.URL+"/puppet-ca/v1/"+path+"?environment=production", strings.NewReader(string(body)))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Accept", "text/plain, application/json")
	request.Header.Set("Content-Type", "text/plain")
	if strings.HasPrefix(strings.TrimSpace(string(body)), "{") {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// Log is what the server has logged.
func (ca *CA) Log() string { return ca.log() }

func (ca *CA) log() string {
	text, _ := os.ReadFile(ca.path("puppetserver.log"))
	return string(text)
}

func (ca *CA) path(name string) string { return filepath.Join(ca.Dir, filepath.FromSlash(name)) }

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
