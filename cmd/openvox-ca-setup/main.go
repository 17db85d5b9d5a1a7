// Command openvox-ca-setup is the program of the setup Job of a CertificateAuthority, in the
// image of the CA's server: it creates the CA and its server's key pair on the volume, and
// writes them to the Secrets. It may run again at any time: existing files of the volume stay,
// and are written to the Secrets.
//
// It exits 2 where running it again will not help, and 1 after any other error.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/lintel-policy/lintel/controllers/openvox/cadir"
)

const (
	keyBits = 4096
	// pairFolder is the folder of the volume with the key pair that the Job has created.
	pairFolder = "setup-ssl"
	// apiTimeout bounds one request to the API server.
	apiTimeout = time.Minute
)

func main() {
	// Group 0, or that of the volume, is what the server and the Job have in common.
	syscall.Umask(0o007)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, err)
		if final := (finalError{}); errors.As(err, &final) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// finalError is one that the same Job would meet again.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

func final(format string, args ...any) error { return finalError{fmt.Errorf(format, args...)} }

// setup is the configuration of the Job, from its environment.
type setup struct {
	env func(string) string
	ca  cadir.Folder
	ttl time.Duration
}

func run(ctx context.Context, env func(string) string) error {
	seconds, err := strconv.ParseInt(env("CA_TTL"), 10, 64)
	if err != nil || seconds < 1 {
		return final("CA_TTL: %q is not a positive number of seconds", env("CA_TTL"))
	}
	s := setup{env: env, ca: cadir.Folder{Path: env("CA_DIR"), KeyBits: keyBits, Now: time.Now}, ttl: time.Duration(seconds) * time.Second}
	if err := s.ensureCA(); err != nil {
		return explain(err)
	}
	pair, err := s.ensurePair()
	if err != nil {
		return explain(err)
	}
	return s.store(ctx, pair)
}

// explain adds the next step to an error about the volume.
func explain(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w\nThe volume cannot be written by user %d of the groups %v: give it one of these groups and that group's write permission; a storage class that obeys fsGroup does so by itself", err, os.Getuid(), groups())
	}
	return err
}

func groups() []int {
	more, _ := os.Getgroups()
	return append([]int{os.Getgid()}, more...)
}

// ensureCA makes or imports the CA, unless there is one.
func (s setup) ensureCA() error {
	exists, err := s.ca.Exists()
	if err != nil {
		return err
	}
	unfinished, err := s.ca.Unfinished()
	if err != nil || exists && !unfinished {
		return err
	}
	if unfinished && s.env("INTERMEDIATE_DIR") == "" {
		return final("The import of the CA was interrupted: set spec.intermediateCA again to finish it, or delete the volume for a new CA.")
	}
	if s.env("CA_EXISTS") == "true" {
		return final("The volume holds no CA, but Secret %s or %s has one: restore the volume. For a new CA, delete the CertificateAuthority, both Secrets and the volume, and then create the CertificateAuthority again.", s.env("CA_SECRET_NAME"), s.env("CA_KEY_SECRET_NAME"))
	}
	folder := s.env("INTERMEDIATE_DIR")
	if folder == "" {
		return s.ca.Create("Puppet CA: "+s.env("CA_NAME"), s.ttl)
	}
	imported := cadir.ReadAuthority(func(name string) []byte {
		content, readErr := os.ReadFile(filepath.Join(folder, name))
		if optional := name == cadir.ImportSerial || name == cadir.ImportInventory; !optional || !errors.Is(readErr, fs.ErrNotExist) {
			err = errors.Join(err, readErr)
		}
		return content
	})
	if err != nil {
		return err
	}
	err = s.ca.Import(imported)
	if _, refused := errors.AsType[*cadir.ImportError](err); refused {
		return final("importing the CA of spec.intermediateCA: %w", err)
	}
	if err != nil || !unfinished {
		return err
	}
	// The interrupted import has made the pair of the server with a serial that is in use.
	if err := os.RemoveAll(filepath.Join(s.ca.Path, pairFolder)); err != nil {
		return err
	}
	return s.ca.Finish()
}

// ensurePair creates the key pair of the CA's server, which cannot request its first one from
// the CA. A server with a key pair requests further ones, and may be writing to the volume. If
// no valid signing key pair is left, ensurePair creates one for that. It returns the existing
// key pair, if any.
func (s setup) ensurePair() (cadir.Pair, error) {
	if rescue := s.env("RESCUE_CERTNAME"); rescue != "" {
		return s.issue(rescue, "")
	}
	certname, alternatives := s.env("CERTNAME"), s.env("DNS_ALT_NAMES")
	names, certificate, key := pairFolder+"/names", pairFolder+"/certs/"+certname+".pem", pairFolder+"/private_keys/"+certname+".pem"
	had, pair, err := s.stored(names, certificate, key)
	if err != nil {
		return cadir.Pair{}, err
	}
	wanted := certname + "," + alternatives
	if s.env("CA_SERVED") == "true" || len(pair.Certificate) > 0 && len(pair.Key) > 0 && had == wanted {
		return pair, nil
	}
	if pair, err = s.issue(certname, alternatives); err != nil {
		return cadir.Pair{}, err
	}
	for _, file := range []struct {
		name    string
		mode    fs.FileMode
		content []byte
	}{
		// The file of names marks a complete key pair: it is empty while the others are written, and
		// is filled last.
		{names, cadir.FileMode, nil},
		{certificate, cadir.FileMode, pair.Certificate},
		{key, cadir.KeyMode, pair.Key},
		{names, cadir.FileMode, []byte(wanted)},
	} {
		if err := s.ca.Write(file.name, file.mode, file.content); err != nil {
			return cadir.Pair{}, err
		}
	}
	return pair, nil
}

// stored is a key pair on the volume, with its names: empty if the files are missing.
func (s setup) stored(names, certificate, key string) (had string, pair cadir.Pair, err error) {
	content := make([][]byte, 3)
	for i, name := range []string{names, certificate, key} {
		if content[i], err = os.ReadFile(filepath.Join(s.ca.Path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", cadir.Pair{}, err
		}
	}
	return string(content[0]), cadir.Pair{Certificate: content[1], Key: content[2]}, nil
}

// issue makes a pair; alternatives are as DNS:name,IP:address.
func (s setup) issue(certname, alternatives string) (cadir.Pair, error) {
	var names []string
	for entry := range strings.SplitSeq(alternatives, ",") {
		if _, name, ok := strings.Cut(entry, ":"); ok {
			names = append(names, name)
		}
	}
	pair, err := s.ca.Issue(certname, names, s.ttl)
	if _, ok := errors.AsType[*fs.PathError](err); err != nil && !ok {
		err = final("making the pair of the CA's server: %w", err)
	}
	return pair, err
}

// store writes what there is to the Secrets, which are there.
func (s setup) store(ctx context.Context, pair cadir.Pair) error {
	client, namespace, err := s.client()
	if err != nil {
		return err
	}
	read := map[string][]byte{}
	for _, name := range []string{cadir.KeyFile, cadir.CRLFile, cadir.InfraCRLFile, cadir.CertificateFile} {
		// Imported CAs of a Puppet server of their own may have no list of servers.
		if read[name], err = os.ReadFile(filepath.Join(s.ca.Path, name)); err != nil && !(name == cadir.InfraCRLFile && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	crls := map[string][]byte{"ca_crl.pem": read[cadir.CRLFile]}
	if len(read[cadir.InfraCRLFile]) > 0 {
		crls["infra_crl.pem"] = read[cadir.InfraCRLFile]
	}
	secrets := []struct {
		name string
		data map[string][]byte
	}{
		{s.env("SSL_SECRET_NAME"), map[string][]byte{"cert.pem": pair.Certificate, "key.pem": pair.Key}},
		{s.env("CA_KEY_SECRET_NAME"), map[string][]byte{"ca_key.pem": read[cadir.KeyFile]}},
		{s.env("CA_CRL_SECRET_NAME"), crls},
		// Last, for by it others know that there is a CA.
		{s.env("CA_SECRET_NAME"), map[string][]byte{"ca_crt.pem": read[cadir.CertificateFile]}},
	}
	if len(pair.Certificate) == 0 {
		secrets = secrets[1:]
	}
	for _, secret := range secrets {
		if err := patch(ctx, client, namespace+"/secrets/"+secret.name, secret.data); err != nil {
			return fmt.Errorf("writing Secret %s: %w", secret.name, err)
		}
	}
	return nil
}

// client speaks as the Pod's ServiceAccount; namespace is the URL of the Pod's.
func (s setup) client() (client *http.Client, namespace string, err error) {
	folder := s.env("TOKEN_DIR")
	name, err := os.ReadFile(filepath.Join(folder, "namespace"))
	if err != nil {
		return nil, "", err
	}
	server := "https://" + net.JoinHostPort(s.env("KUBERNETES_SERVICE_HOST"), s.env("KUBERNETES_SERVICE_PORT"))
	client, err = rest.HTTPClientFor(&rest.Config{
		Host:            server,
		BearerTokenFile: filepath.Join(folder, "token"),
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(folder, "ca.crt")},
		Timeout:         apiTimeout,
	})
	return client, server + "/api/v1/namespaces/" + string(name), err
}

func patch(ctx context.Context, client *http.Client, url string, data map[string][]byte) error {
	body, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPatch, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/merge-patch+json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
		return fmt.Errorf("%s: %s", response.Status, answer)
	}
	return nil
}
