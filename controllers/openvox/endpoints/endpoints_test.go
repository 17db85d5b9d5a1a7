package endpoints

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var testSSL = SSL{CertFile: "/cert", KeyFile: "/key", CAFile: "/ca"}

func makeClassifier() Classifier {
	return Classifier{
		Endpoint: Endpoint{URL: "https://foreman.example.com", TimeoutSeconds: 10, SSL: testSSL},
		Method:   "GET", Path: "/node/{certname}", ResponseFormat: "yaml",
	}
}

func makeReport(name string) Report {
	return Report{Name: name, Endpoint: Endpoint{URL: "https://reports.example.com", TimeoutSeconds: 30, SSL: testSSL}}
}

// TestWrittenAndRead: reading a written file returns the same values, and the bytes are
// deterministic.
func TestWrittenAndRead(t *testing.T) {
	c := makeClassifier()
	c.Method, c.Body, c.FactsDirectory = "POST", BodyFacts, "/facts"
	c.Auth = &Auth{Type: AuthToken, Header: "X-A", Token: "a: 'b' #c\t\u00e9"}
	c.Cache, c.SSL.CA = Cache{true, "/cache"}, string(newAuthority(t).pem())
	text, err := c.Write()
	require.NoError(t, err)
	read, err := ReadClassifier(text)
	require.NoError(t, err)
	require.Equal(t, c, read)

	a, b := makeReport("a"), makeReport("b")
	a.Processor, a.Headers = ProcessorPuppetDB, []Header{{"X-B", "b"}, {"X-A", "a"}}
	b.Auth = &Auth{Type: AuthBasic, Username: "ann", Password: ": yes"}
	one, err := ReportEndpoints{[]Report{a, b}}.Write()
	require.NoError(t, err)
	two, err := ReportEndpoints{[]Report{b, a}}.Write()
	require.NoError(t, err)
	require.Equal(t, string(one), string(two))
	all, err := ReadReports(one)
	require.NoError(t, err)
	require.Equal(t, []Report{a, b}, all.Endpoints)
	none, err := ReadReports([]byte("endpoints: []"))
	require.NoError(t, err)
	require.Empty(t, none.Endpoints)
}

// TestUnknownFields: one that is not known is named.
func TestUnknownFields(t *testing.T) {
	text, err := makeClassifier().Write()
	require.NoError(t, err)
	_, err = ReadClassifier(append(text, "timeout: 3\n"...))
	require.ErrorContains(t, err, `unknown field "timeout"`)
	_, err = ReadClassifier([]byte(strings.Replace(string(text), "caFile", "caFil", 1)))
	require.ErrorContains(t, err, `unknown field "caFil"`)
	_, err = ReadReports([]byte("endpoints: [{name: a, uri: x}]"))
	require.ErrorContains(t, err, `unknown field "uri"`)
	_, err = ReadReports([]byte("endpoint: []"))
	require.ErrorContains(t, err, `unknown field "endpoint"`)
}

// TestBadClassifiers: they are neither written nor read, and no credentials are shown.
func TestBadClassifiers(t *testing.T) {
	for want, change := range map[string]func(*Classifier){
		"url is not http or https with a host":               func(c *Classifier) { c.URL = "foreman" },
		"url is not http or https with a host, ":             func(c *Classifier) { c.URL = "https://:80" },
		"url has a user in it":                               func(c *Classifier) { c.URL = "https://ann:hunter2@a" },
		"url has a query, which belongs into path":           func(c *Classifier) { c.URL = "https://a?b" },
		"ssl.ca: no certificate found":                       func(c *Classifier) { c.SSL.CA = "x" },
		"url has a fragment or spaces":                       func(c *Classifier) { c.URL = "https://a/b c" },
		"timeoutSeconds 0 is not above 0":                    func(c *Classifier) { c.TimeoutSeconds = 0 },
		`method "PUT" is neither`:                            func(c *Classifier) { c.Method = "PUT" },
		`body "all" is not known`:                            func(c *Classifier) { c.Method, c.Body = "POST", "all" },
		"a body is sent with method POST only":               func(c *Classifier) { c.Body = BodyCertname },
		`responseFormat "xml"`:                               func(c *Classifier) { c.ResponseFormat = "xml" },
		`path "node" does not begin with /`:                  func(c *Classifier) { c.Path = "node" },
		`path "/%zz" is not the path of a URL`:               func(c *Classifier) { c.Path = "/%zz" },
		`factsDirectory "" is not an absolute path`:          func(c *Classifier) { c.Method, c.Body = "POST", BodyPuppetEnterprise },
		`cache.directory "c" is not an absolute path`:        func(c *Classifier) { c.Cache = Cache{true, "c"} },
		`auth.type "kerberos" is not known`:                  func(c *Classifier) { c.Auth = &Auth{Type: "kerberos"} },
		"auth: the token is empty":                           func(c *Classifier) { c.Auth = &Auth{Type: AuthBearer} },
		"auth: the value of header Authorization has more":   func(c *Classifier) { c.Auth = &Auth{Type: AuthBearer, Token: "hunter2\nX: y"} },
		`auth: "X A" is not a name of a header`:              func(c *Classifier) { c.Auth = &Auth{Type: AuthToken, Header: "X A", Token: "x"} },
		"auth: the header host is not to be set":             func(c *Classifier) { c.Auth = &Auth{Type: AuthToken, Header: "host", Token: "x"} },
		"auth: the username is empty, or has a colon":        func(c *Classifier) { c.Auth = &Auth{Type: AuthBasic, Username: "a:b"} },
		"auth: the value of header X-A has more than one li": func(c *Classifier) { c.Auth = &Auth{Type: AuthToken, Header: "X-A", Token: "hunter2\x00"} },
	} {
		c := makeClassifier()
		change(&c)
		_, err := c.Write()
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// TestBadReports: the message names the endpoint.
func TestBadReports(t *testing.T) {
	for want, change := range map[string]func(*Report){
		`the name "" names no folder`:                        func(r *Report) { r.Name = "" },
		`the name ".." names no folder`:                      func(r *Report) { r.Name = ".." },
		`the name "a/b" names no folder`:                     func(r *Report) { r.Name = "a/b" },
		`endpoint a: processor "splunk" is not known`:        func(r *Report) { r.Processor = "splunk" },
		"endpoint a: the header Content-Length is not":       func(r *Report) { r.Headers = []Header{{"Content-Length", "1"}} },
		"endpoint a: the value of header X-A has more":       func(r *Report) { r.Headers = []Header{{"X-A", "a\r\nb"}} },
		"endpoint a: url has a query: the URL of a PuppetDB": func(r *Report) { r.URL, r.Processor = "https://a?b", ProcessorPuppetDB },
		"endpoint a: url is not":                             func(r *Report) { r.URL = "" },
	} {
		r := makeReport("a")
		change(&r)
		_, err := ReportEndpoints{[]Report{r}}.Write()
		require.ErrorContains(t, err, want)
	}
	_, err := ReportEndpoints{[]Report{makeReport("a"), makeReport("a")}}.Write()
	require.EqualError(t, err, "endpoint a: there are two of the name")
}

func TestTarget(t *testing.T) {
	c := makeClassifier()
	c.URL, c.Path = "https://a/b/", "/node/{certname}?format=yml"
	target, err := c.Target("a b/../c?d")
	require.NoError(t, err)
	require.Equal(t, "https://a/b/node/a%20b%2F..%2Fc%3Fd?format=yml", target.String())
}

// FuzzReadClassifier: a valid file can be written again without changes.
func FuzzReadClassifier(f *testing.F) {
	text, err := makeClassifier().Write()
	require.NoError(f, err)
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := ReadClassifier(text)
		if err != nil {
			return
		}
		written, err := read.Write()
		require.NoError(t, err)
		again, err := ReadClassifier(written)
		require.NoError(t, err)
		require.Equal(t, read, again)
	})
}

// FuzzReadReports: a valid file can be written again without changes, except for the order.
func FuzzReadReports(f *testing.F) {
	text, err := ReportEndpoints{[]Report{makeReport("a")}}.Write()
	require.NoError(f, err)
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := ReadReports(text)
		if err != nil {
			return
		}
		written, err := read.Write()
		require.NoError(t, err)
		again, err := ReadReports(written)
		require.NoError(t, err)
		require.ElementsMatch(t, read.Endpoints, again.Endpoints)
	})
}
