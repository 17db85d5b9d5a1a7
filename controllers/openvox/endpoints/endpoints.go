// Package endpoints defines the files from which the programs of a Puppet server learn which
// HTTP endpoints to call, and makes the calls. Controllers write the files, programs read them,
// and both validate them, so that every written file can be read. The package imports nothing
// from Kubernetes, because a program is started for each catalog and each report.
package endpoints

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"
)

// Where the files are mounted, and their keys in Secrets.
const (
	ClassifierKey  = "enc.yaml"
	ReportsKey     = "report-webhook.yaml"
	ClassifierFile = "/etc/puppetlabs/lintel/enc/" + ClassifierKey
	ReportsFile    = "/etc/puppetlabs/lintel/report/" + ReportsKey
)

// Classifier is the endpoint that returns the classes of nodes.
type Classifier struct {
	Endpoint
	// Method is GET or POST.
	Method string `json:"method"`
	// Path follows the URL, with {certname} for the certname.
	Path string `json:"path"`
	// Body is the content of requests: one of the constants.
	Body string `json:"body,omitempty"`
	// ResponseFormat is yaml or json.
	ResponseFormat string `json:"responseFormat"`
	// FactsDirectory is where the server keeps the facts of nodes, in JSON.
	FactsDirectory string `json:"factsDirectory,omitempty"`
	Cache          Cache  `json:"cache"`
}

// Bodies of requests to a Classifier.
const (
	BodyNone             = ""
	BodyCertname         = "certname"
	BodyFacts            = "facts"
	BodyPuppetEnterprise = "puppet-enterprise"
)

// Cache keeps the last answers of a Classifier.
type Cache struct {
	Enabled   bool   `json:"enabled"`
	Directory string `json:"directory,omitempty"`
}

// ReportEndpoints are the endpoints that reports are sent to.
type ReportEndpoints struct {
	Endpoints []Report `json:"endpoints"`
}

// Report is an endpoint that reports are sent to.
type Report struct {
	// Name identifies an endpoint, and names a folder.
	Name string `json:"name"`
	// Processor is puppetdb, or empty for reports as they are.
	Processor string `json:"processor,omitempty"`
	Endpoint
	Headers []Header `json:"headers,omitempty"`
}

// ProcessorPuppetDB makes reports PuppetDB's commands.
const ProcessorPuppetDB = "puppetdb"

// Header is one of HTTP.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Endpoint is a server, and how it is called.
type Endpoint struct {
	URL            string `json:"url"`
	TimeoutSeconds int32  `json:"timeoutSeconds"`
	Auth           *Auth  `json:"auth,omitempty"`
	SSL            SSL    `json:"ssl"`
}

// Auth shows who calls.
type Auth struct {
	// Type is one of the constants.
	Type     string `json:"type"`
	Header   string `json:"header,omitempty"`
	Token    string `json:"token,omitempty"`
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
}

// The types of Auth.
const (
	AuthMTLS   = "mtls"
	AuthToken  = "token"
	AuthBearer = "bearer"
	AuthBasic  = "basic"
)

// SSL are the server's own files, and by what an endpoint is known.
type SSL struct {
	CertFile string `json:"certFile"`
	KeyFile  string `json:"keyFile"`
	CAFile   string `json:"caFile"`
	// CA are certificates in PEM. Where there are some, no others are trusted.
	CA string `json:"ca,omitempty"`
}

// ReadClassifier reads a file. A field that is not known is an error.
func ReadClassifier(text []byte) (Classifier, error) {
	var c Classifier
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return Classifier{}, err
	}
	return c, c.Check()
}

// ReadReports reads a file. A field that is not known is an error.
func ReadReports(text []byte) (ReportEndpoints, error) {
	var r ReportEndpoints
	if err := yaml.UnmarshalStrict(text, &r); err != nil {
		return ReportEndpoints{}, err
	}
	return r, r.Check()
}

// Write makes the text of a file: the same for the same Classifier.
func (c Classifier) Write() ([]byte, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return yaml.Marshal(c)
}

// Write makes the text of a file: the same for the same endpoints, in any order.
func (r ReportEndpoints) Write() ([]byte, error) {
	r.Endpoints = slices.SortedFunc(slices.Values(r.Endpoints), func(a, b Report) int { return strings.Compare(a.Name, b.Name) })
	if err := r.Check(); err != nil {
		return nil, err
	}
	return yaml.Marshal(r)
}

// Check returns an error for an invalid Classifier.
func (c Classifier) Check() error {
	if err := c.Endpoint.check(); err != nil {
		return err
	}
	switch {
	case c.Method != "GET" && c.Method != "POST":
		return fmt.Errorf("method %q is neither GET nor POST", c.Method)
	case !slices.Contains([]string{BodyNone, BodyCertname, BodyFacts, BodyPuppetEnterprise}, c.Body):
		return fmt.Errorf("body %q is not known", c.Body)
	case c.Body != BodyNone && c.Method != "POST":
		return errors.New("a body is sent with method POST only")
	case c.ResponseFormat != "yaml" && c.ResponseFormat != "json":
		return fmt.Errorf("responseFormat %q is neither yaml nor json", c.ResponseFormat)
	case strings.Contains(c.URL, "?"):
		return errors.New("url has a query, which belongs into path")
	case !strings.HasPrefix(c.Path, "/"):
		return fmt.Errorf("path %q does not begin with /", c.Path)
	case c.sendsFacts() && !strings.HasPrefix(c.FactsDirectory, "/"):
		return fmt.Errorf("factsDirectory %q is not an absolute path", c.FactsDirectory)
	case c.Cache.Enabled && !strings.HasPrefix(c.Cache.Directory, "/"):
		return fmt.Errorf("cache.directory %q is not an absolute path", c.Cache.Directory)
	}
	_, err := c.Target("certname")
	return err
}

func (c Classifier) sendsFacts() bool { return c.Body == BodyFacts || c.Body == BodyPuppetEnterprise }

// Target returns the URL for a node.
func (c Classifier) Target(certname string) (*url.URL, error) {
	whole := strings.TrimSuffix(c.URL, "/") + strings.ReplaceAll(c.Path, "{certname}", url.PathEscape(certname))
	target, err := url.Parse(whole)
	if err != nil || strings.ContainsFunc(whole, unicode.IsSpace) {
		return nil, fmt.Errorf("path %q is not the path of a URL", c.Path)
	}
	return target, nil
}

// Check returns an error that names the invalid field.
func (r ReportEndpoints) Check() error {
	seen := map[string]bool{}
	for _, report := range r.Endpoints {
		if seen[report.Name] {
			return fmt.Errorf("endpoint %s: there are two of the name", report.Name)
		}
		seen[report.Name] = true
		if err := report.Check(); err != nil {
			return fmt.Errorf("endpoint %s: %w", report.Name, err)
		}
	}
	return nil
}

// Check returns an error for an invalid Report.
func (r Report) Check() error {
	if r.Name == "" || strings.HasPrefix(r.Name, ".") || strings.ContainsAny(r.Name, "/\x00") {
		return fmt.Errorf("the name %q names no folder", r.Name)
	}
	if r.Processor != "" && r.Processor != ProcessorPuppetDB {
		return fmt.Errorf("processor %q is not known", r.Processor)
	}
	if r.Processor == ProcessorPuppetDB && strings.Contains(r.URL, "?") {
		return errors.New("url has a query: the URL of a PuppetDB has only a scheme, a host and a port")
	}
	for _, header := range r.Headers {
		if err := checkHeader(header.Name, header.Value); err != nil {
			return err
		}
	}
	return r.Endpoint.check()
}

func (e Endpoint) check() error {
	if _, err := e.parse(); err != nil {
		return err
	}
	if e.TimeoutSeconds <= 0 {
		return fmt.Errorf("timeoutSeconds %d is not above 0", e.TimeoutSeconds)
	}
	if e.SSL.CA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(e.SSL.CA)) {
		return errors.New("ssl.ca: no certificate found")
	}
	return e.Auth.check()
}

// parse parses the URL. Errors name only its server, because the path may be secret.
func (e Endpoint) parse() (*url.URL, error) {
	parsed, err := url.Parse(e.URL)
	switch {
	case err != nil || parsed.Host == "" || parsed.Hostname() == "" || parsed.Scheme != "http" && parsed.Scheme != "https":
		return nil, errors.New("url is not http or https with a host, such as https://classifier.example.com")
	case parsed.User != nil:
		return nil, errors.New("url has a user in it, which belongs into auth.basic")
	case parsed.Fragment != "" || strings.ContainsFunc(e.URL, unicode.IsSpace):
		return nil, errors.New("url has a fragment or spaces in it")
	}
	return parsed, nil
}

// owned are the headers that a request has of its own.
var owned = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Upgrade", "Te", "Keep-Alive", "Proxy-Connection"}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// checkHeader never shows the value.
func checkHeader(name, value string) error {
	switch {
	case !headerName.MatchString(name):
		return fmt.Errorf("%q is not a name of a header", name)
	case slices.ContainsFunc(owned, func(o string) bool { return strings.EqualFold(o, name) }):
		return fmt.Errorf("the header %s is not to be set: each request has its own", name)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return fmt.Errorf("the value of header %s has more than one line, or a control character", name)
	}
	return nil
}

func (a *Auth) check() error {
	if a == nil {
		return nil
	}
	switch a.Type {
	case AuthMTLS:
		return nil
	case AuthToken:
		return a.checkToken(a.Header)
	case AuthBearer:
		return a.checkToken("Authorization")
	case AuthBasic:
		if a.Username == "" || strings.Contains(a.Username, ":") {
			return errors.New("auth: the username is empty, or has a colon")
		}
		return nil
	}
	return fmt.Errorf("auth.type %q is not known", a.Type)
}

func (a *Auth) checkToken(header string) error {
	if a.Token == "" {
		return errors.New("auth: the token is empty")
	}
	if err := checkHeader(header, a.Token); err != nil {
		return fmt.Errorf("auth: %w", err)
	}
	return nil
}
