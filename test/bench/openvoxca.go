package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// puppetCA stands in for a Puppet CA of a given slowness: it has a key, signs what it is
// told to, and says nothing before its delay is over.
type puppetCA struct {
	url          string
	delay        time.Duration
	root         *x509.Certificate
	key          *rsa.PrivateKey
	admin, admKy []byte // in PEM, of who may sign
	server       *http.Server
	served       chan error

	mutex    sync.Mutex
	requests map[string][]byte
	issued   map[string][]byte
	serial   int64
	calls    int
}

func startPuppetCA(delay time.Duration) (*puppetCA, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	ca := &puppetCA{delay: delay, key: key, requests: map[string][]byte{}, issued: map[string][]byte{}, served: make(chan error, 1)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Puppet CA: bench"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	if ca.root, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	own, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	if ca.admin, err = ca.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, own.Public()); err != nil {
		return nil, err
	}
	ca.admKy = pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(own)})
	return ca, ca.listen()
}

func (ca *puppetCA) bundle() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.root.Raw})
}

func (ca *puppetCA) listen() error {
	pair, err := tls.X509KeyPair(ca.admin, ca.admKy)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.root)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ca.url = "https://" + listener.Addr().String()
	ca.server = &http.Server{
		Handler: ca, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: roots, MinVersion: tls.VersionTLS12},
	}
	go func() { ca.served <- ca.server.ServeTLS(listener, "", "") }()
	return nil
}

func (ca *puppetCA) stop() {
	ca.server.Close()
	<-ca.served
}

// sign makes a certificate in PEM.
func (ca *puppetCA) sign(template *x509.Certificate, public any) ([]byte, error) {
	ca.mutex.Lock()
	ca.serial++
	template.SerialNumber = big.NewInt(ca.serial + 1)
	ca.mutex.Unlock()
	template.NotBefore, template.NotAfter = ca.root.NotBefore, ca.root.NotAfter.Add(5*365*24*time.Hour)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.root, public, ca.key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// ServeHTTP implements http.Handler.
func (ca *puppetCA) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(ca.delay) // what is measured is how such a CA is put up with
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	what, certname, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/puppet-ca/v1/"), "/")
	w.Header().Set("Content-Type", "text/plain")
	switch r.Method + " " + what {
	case "GET certificate":
		ca.give(w, ca.issued, certname)
	case "GET certificate_request":
		ca.give(w, ca.requests, certname)
	case "PUT certificate_request":
		ca.take(certname, body)
	case "PUT certificate_status":
		if len(r.TLS.PeerCertificates) == 0 {
			http.Error(w, "who are you", http.StatusForbidden)
			return
		}
		if err := ca.signRequest(certname); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	case "GET certificate_revocation_list":
		ca.list(w)
	default:
		http.NotFound(w, r)
	}
}

func (ca *puppetCA) give(w http.ResponseWriter, from map[string][]byte, certname string) {
	ca.mutex.Lock()
	ca.calls++
	text, ok := from[certname]
	ca.mutex.Unlock()
	if !ok {
		http.Error(w, "Resource not found.", http.StatusNotFound)
		return
	}
	_, _ = w.Write(text)
}

func (ca *puppetCA) take(certname string, request []byte) {
	ca.mutex.Lock()
	defer ca.mutex.Unlock()
	ca.calls++
	ca.requests[certname] = request
}

func (ca *puppetCA) signRequest(certname string) error {
	ca.mutex.Lock()
	ca.calls++
	text := ca.requests[certname]
	ca.mutex.Unlock()
	block, _ := pem.Decode(text)
	if block == nil {
		return errors.New("no request waits")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return err
	}
	certificate, err := ca.sign(&x509.Certificate{Subject: request.Subject, DNSNames: request.DNSNames}, request.PublicKey)
	if err != nil {
		return err
	}
	ca.mutex.Lock()
	defer ca.mutex.Unlock()
	ca.issued[certname] = certificate
	delete(ca.requests, certname)
	return nil
}

func (ca *puppetCA) list(w http.ResponseWriter) {
	template := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: ca.root.NotBefore, NextUpdate: ca.root.NotAfter}
	der, err := x509.CreateRevocationList(rand.Reader, template, ca.root, ca.key)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = pem.Encode(w, &pem.Block{Type: "X509 CRL", Bytes: der})
}

// deafServer takes connections and answers none.
type deafServer struct {
	listener net.Listener
	ended    chan struct{}
}

func startDeafServer() (*deafServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &deafServer{listener, make(chan struct{})}
	go func() {
		defer close(d.ended)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			defer connection.Close()
		}
	}()
	return d, nil
}

func (d *deafServer) url() string { return "https://" + d.listener.Addr().String() }

func (d *deafServer) stop() {
	d.listener.Close()
	<-d.ended
}
