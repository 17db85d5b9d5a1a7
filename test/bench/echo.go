package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// echo is the reference: the least that a webhook can be. It reads the body, finds the uid,
// decodes nothing, and admits. record, if set, receives each body.
type echo struct {
	record func(body []byte)
}

// ServeHTTP implements http.Handler.
func (e echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if e.record != nil {
		e.record(body)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"%s","allowed":true}}`, uidOf(body))
}

// uidOf is the first uid: the API server writes the request's before any object.
func uidOf(body []byte) []byte {
	_, after, _ := bytes.Cut(body, []byte(`"uid":"`))
	uid, _, _ := bytes.Cut(after, []byte(`"`))
	return uid
}

const (
	certificateFile = "echo.crt"
	keyFile         = "echo.key"
)

// writeKeyPair makes a certificate for loopback, which is its own authority.
func writeKeyPair(folder string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "echo"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	for file, block := range map[string]*pem.Block{
		certificateFile: {Type: "CERTIFICATE", Bytes: certificate},
		keyFile:         {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(filepath.Join(folder, file), pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// listenEcho serves an echo on a free port of loopback until the server is closed.
func listenEcho(folder string, handler http.Handler) (server *http.Server, url string, served <-chan error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", nil, fmt.Errorf("listening as echo: %w", err)
	}
	server = &http.Server{
		Handler: handler, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	done := make(chan error, 1)
	go func() {
		done <- server.ServeTLS(listener, filepath.Join(folder, certificateFile), filepath.Join(folder, keyFile))
	}()
	return server, "https://" + listener.Addr().String(), done, nil
}

// runEcho is the echo as a process of its own. Its first line is its URL.
func runEcho(folder string) error {
	_, url, served, err := listenEcho(folder, echo{})
	if err != nil {
		return err
	}
	fmt.Println(url)
	return <-served
}

// endWithParent makes the kernel end a child when this program dies, and keeps a Ctrl-C in the
// terminal from it, so that children end in order.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// echoProcess is a running echo.
type echoProcess struct {
	url       string
	authority []byte // PEM
	process   *exec.Cmd
}

// startEcho starts this program again, as an echo.
func startEcho(folder string) (*echoProcess, error) {
	authority, err := os.ReadFile(filepath.Join(folder, certificateFile))
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	e := &echoProcess{authority: authority, process: exec.Command(program, "echo", folder)}
	e.process.Stderr = os.Stderr
	e.process.SysProcAttr = endWithParent()
	output, err := e.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := e.process.Start(); err != nil {
		return nil, fmt.Errorf("starting the echo: %w", err)
	}
	line := make([]byte, 64)
	n, err := output.Read(line)
	if err != nil {
		e.stop()
		return nil, fmt.Errorf("starting the echo: %w", err)
	}
	e.url = strings.TrimSpace(string(line[:n]))
	return e, nil
}

func (e *echoProcess) stop() {
	_ = e.process.Process.Kill()
	_ = e.process.Wait()
}
