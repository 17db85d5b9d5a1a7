// Package configfiles renders a Config into the files that Puppet servers read. The same input
// gives the same bytes. A value that could escape from its position in a file is an error, and
// no file is rendered.
package configfiles

import (
	"crypto/sha256"
	_ "embed" // of the report processor
	"encoding/hex"
	"fmt"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// Input is what the files are made of.
type Input struct {
	Config *v1alpha1.Config
	// Authority is the CertificateAuthority that the Config names: nil where it names
	// none.
	Authority *v1alpha1.CertificateAuthority
	// CATTL and RenewalTTL are the durations of the CertificateAuthority, in seconds.
	CATTL, RenewalTTL int64
	// Classifier is the NodeClassifier that the Config names: nil where it names none.
	Classifier *v1alpha1.NodeClassifier
	// SendsReports says whether there are ReportProcessors of the Config.
	SendsReports bool
	// DatabaseURL is where the Database is reached that the Config names: empty where it names
	// none.
	DatabaseURL string
}

// Where the files and programs of a server are in its image.
const (
	confFolder = "/etc/puppetlabs/puppet"
	codeFolder = "/etc/puppetlabs/code"
	sslFolder  = confFolder + "/ssl"
	caFolder   = "/etc/puppetlabs/puppetserver/ca"
	varFolder  = "/run/puppetserver"
	// certname is the name under which a server finds its key pair, regardless of its
	// certificate.
	certname = "puppet"
	// AutosignProgram decides about the requests of agents. Images of another operator have
	// a program of theirs at /usr/local/bin/openvox-autosign, which checks far less. Where
	// there is none at this path, a CA signs nothing by itself.
	AutosignProgram = "/usr/local/bin/lintel-openvox-autosign"
	// ServerConf is an additional file in which a server sets its number of interpreters: a
	// setting must not be in two files.
	ServerConf = "lintel-server.conf"
	// ClassifierProgram says of which classes nodes are.
	ClassifierProgram = "/usr/local/bin/lintel-openvox-enc"
	// serverData is where a server stores facts and catalogs of nodes. FactsFolder has one facts
	// file for each node.
	serverData  = varFolder + "/server_data"
	FactsFolder = serverData + "/facts"

	// rubyFolder is where a server looks for Ruby of ours. ReportProcessorFile of it is the
	// file of the same name in the ConfigMap.
	rubyFolder          = "/etc/puppetlabs/lintel/ruby"
	ReportProcessorFile = "lintel.rb"
	ReportsFolder       = rubyFolder + "/puppet/reports"
	// RoutesFile names the terminus and the cache of facts.
	RoutesFile = "routes.yaml"
	// CAAuthFile is auth.conf of the CA's server, which permits administrators to remove requests.
	CAAuthFile = "auth-ca.conf"
	// reportProcessor is its name among the processors.
	reportProcessor = "lintel"
)

//go:embed lintel.rb
var reportProcessorText string

// Render returns the files by name.
func Render(in Input) (map[string]string, error) {
	puppet, err := in.puppetConf()
	if err != nil {
		return nil, err
	}
	puppetdb, err := in.puppetdbConf()
	if err != nil {
		return nil, err
	}
	auth, err := in.authConf(false)
	if err != nil {
		return nil, err
	}
	caAuth, err := in.authConf(true)
	if err != nil {
		return nil, err
	}
	logback, err := in.logback()
	if err != nil {
		return nil, err
	}
	files := map[string]string{
		"puppet.conf": puppet, "puppetdb.conf": puppetdb, "logback.xml": logback,
		"ca-enabled.cfg":  bootstrap("certificate-authority-service"),
		"ca-disabled.cfg": bootstrap("certificate-authority-disabled-service"),
	}
	for name, value := range map[string]any{
		"webserver.conf":    in.webserver(confFolder + "/crl/ca_crl.pem"),
		"webserver-ca.conf": in.webserver(sslFolder + "/crl.pem"),
		"puppetserver.conf": in.puppetserver(),
		"auth.conf":         auth,
		CAAuthFile:          caAuth,
		"ca.conf":           in.ca(),
		"product.conf":      object{"product": object{"check-for-updates": false}},
		"metrics.conf":      in.metrics(),
	} {
		if files[name], err = hocon(value); err != nil {
			return nil, err
		}
	}
	if in.SendsReports {
		files[ReportProcessorFile] = reportProcessorText
	}
	if in.routesFacts() {
		files[RoutesFile] = routes
	}
	return files, nil
}

// names are the files in the order in which Hash reads them. Those that came later are in a list of
// their own: a missing file of this one is part of the hash, and a longer list would replace all
// servers.
var names = []string{
	"puppet.conf", "puppetdb.conf", "logback.xml", "ca-enabled.cfg", "ca-disabled.cfg", "webserver.conf", "webserver-ca.conf", "puppetserver.conf",
	"auth.conf", "ca.conf", "product.conf", "metrics.conf", ReportProcessorFile,
}

var laterNames = []string{RoutesFile, CAAuthFile}

// Hash returns the digest of the rendered files. Files added by other writers do not count.
func Hash(files map[string]string) string {
	sum := sha256.New()
	for _, name := range names {
		text, ok := files[name]
		fmt.Fprintf(sum, "%t %d %s", ok, len(text), text)
	}
	for _, name := range laterNames {
		if text, ok := files[name]; ok {
			fmt.Fprintf(sum, "%s %d %s", name, len(text), text)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// bootstrap lists the services by which a server is a CA, or is none.
func bootstrap(service string) string {
	return "puppetlabs.services.ca." + service + "/" + service + "\n" +
		"puppetlabs.trapperkeeper.services.watcher.filesystem-watch-service/filesystem-watch-service\n"
}
