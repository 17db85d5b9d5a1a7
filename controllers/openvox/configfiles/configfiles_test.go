package configfiles

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

func makeInput() Input {
	return Input{
		Config:    &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: "production"}},
		Authority: &v1alpha1.CertificateAuthority{ObjectMeta: metav1.ObjectMeta{Name: "my.ca"}},
		CATTL:     3600, RenewalTTL: 60,
	}
}

func renderFiles(t *testing.T, in Input) map[string]string {
	t.Helper()
	files, err := Render(in)
	require.NoError(t, err)
	return files
}

// parse reads a file of HOCON, which is JSON here.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var value map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &value), text)
	return value
}

// authRules are those of auth.conf, by name.
func authRules(t *testing.T, files map[string]string) map[string]map[string]any {
	t.Helper()
	byName := map[string]map[string]any{}
	for _, rule := range parse(t, files["auth.conf"])["authorization"].(map[string]any)["rules"].([]any) {
		rule := rule.(map[string]any)
		require.NotContains(t, byName, rule["name"], "a server does not start with two of one name")
		byName[rule["name"].(string)] = rule
	}
	return byName
}

// settings are those of puppet.conf, by section, as Puppet reads them.
func settings(t *testing.T, text string) map[string]map[string]string {
	t.Helper()
	all, section := map[string]map[string]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		name, value, ok := strings.Cut(line, " = ")
		switch {
		case line == "":
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
			require.NotContains(t, all, section)
			all[section] = map[string]string{}
		default:
			require.True(t, ok, line)
			require.NotContains(t, all[section], name)
			all[section][name] = value
		}
	}
	return all
}

// TestDefaults: a Config that says nothing has all that a CA's server needs.
func TestDefaults(t *testing.T) {
	files := renderFiles(t, makeInput())
	require.Len(t, files, 13)
	conf := settings(t, files["puppet.conf"])
	require.Len(t, conf, 2, "there is no [agent]")
	require.Equal(t, "/etc/puppetlabs/code/environments", conf["main"]["environmentpath"])
	require.Equal(t, map[string]string{
		"certname": "puppet", "reports": "store", "cadir": "/etc/puppetlabs/puppetserver/ca", "ca_ttl": "3600", "autosign": "/usr/local/bin/lintel-openvox-autosign",
	}, conf["server"], "there is no PuppetDB to store anything in")
	require.Equal(t, map[string]map[string]string{"main": {"soft_write_failure": "true"}}, settings(t, files["puppetdb.conf"]))
	require.Equal(t, map[string]any{
		"allow-subject-alt-names": true, "allow-authorization-extensions": true, "enable-infra-crl": false, "allow-auto-renewal": true, "auto-renewal-cert-ttl": "60s",
	}, parse(t, files["ca.conf"])["certificate-authority"])
	require.Contains(t, files["ca-enabled.cfg"], "certificate-authority-service\n")
	require.Contains(t, files["ca-disabled.cfg"], "certificate-authority-disabled-service\n")
	require.NotEqual(t, files["webserver.conf"], files["webserver-ca.conf"])
	require.Equal(t, map[string]any{"jmx": map[string]any{"enabled": false}},
		parse(t, files["metrics.conf"])["metrics"].(map[string]any)["registries"].(map[string]any)["puppetserver"].(map[string]any)["reporters"])

	in := makeInput()
	in.Authority = nil
	files = renderFiles(t, in)
	require.NotContains(t, settings(t, files["puppet.conf"])["server"], "autosign")
	require.Empty(t, parse(t, files["ca.conf"])["certificate-authority"])
}

// TestAdministrators: only certificates with pp_cli_auth, or the operator of an in-cluster CA,
// may sign and revoke. A name that merely begins or ends like the operator's may not.
func TestAdministrators(t *testing.T) {
	in := makeInput()
	all := authRules(t, renderFiles(t, in))
	extension := map[string]any{"extensions": map[string]any{"pp_cli_auth": "true"}}
	operator := map[string]any{"certname": `/\A(my\.ca-operator|standby\.my\.ca-operator)\z/`}
	for _, name := range []string{"certificate status", "CRL update", "certificate statuses", "clean", "sign", "sign all"} {
		require.Equal(t, []any{extension, operator}, all["openvox/"+name]["allow"], name)
	}
	require.Equal(t, "*", all["openvox/deny all"]["deny"])
	require.EqualValues(t, 999, all["openvox/deny all"]["sort-order"])
	in.Authority.Spec.External = &v1alpha1.ExternalCA{}
	require.Equal(t, []any{extension}, authRules(t, renderFiles(t, in))["openvox/sign"]["allow"])
}

// TestFields: the files contain the fields of a Config and of its CA.
func TestFields(t *testing.T) {
	in := makeInput()
	spec := &in.Config.Spec
	spec.PuppetDB = &v1alpha1.PuppetDBSpec{ServerURLs: []string{"https://a:8081", "https://b:8081"}}
	spec.Puppet.EnvironmentTimeout, spec.Puppet.EnvironmentPath = "unlimited", "/code"
	spec.Puppet.ExtraConfig = &v1alpha1.ExtraConfig{
		Main: map[string]string{"z": "1", "a": "$confdir/x # y"}, Server: map[string]string{"strict": "error"}, Agent: map[string]string{"noop": "true"},
	}
	spec.PuppetServer.HTTPClient = &v1alpha1.HTTPClientSpec{ConnectTimeoutMs: new(int32(0)), IdleTimeoutMs: new(int32(5))}
	spec.PuppetServer.ClientAuth, spec.PuppetServer.CompileMode, spec.PuppetServer.MaxRequestsPerInstance, spec.PuppetServer.BorrowTimeout = "need", "jit", 7, 8
	spec.Metrics = v1alpha1.MetricsSpec{Enabled: true, JMX: &v1alpha1.JMXSpec{Enabled: true}, Graphite: &v1alpha1.GraphiteSpec{Enabled: true, Host: `g"${x}`, Port: 2003, UpdateIntervalSeconds: 60}}
	spec.Logging = v1alpha1.LoggingSpec{Level: "WARN", Loggers: map[string]v1alpha1.LogLevel{"b": "DEBUG", "a": "ERROR"}}
	in.Authority.Spec.AllowAutoRenewal, in.Authority.Spec.EnableInfraCRL = new(false), new(false)
	files := renderFiles(t, in)

	conf := settings(t, files["puppet.conf"])
	require.Equal(t, "true", conf["server"]["storeconfigs"])
	require.Equal(t, "puppetdb", conf["server"]["storeconfigs_backend"])
	require.Equal(t, "puppetdb", conf["server"]["reports"])
	require.Equal(t, "unlimited", conf["server"]["environment_timeout"])
	require.Equal(t, "error", conf["server"]["strict"])
	require.Equal(t, "$confdir/x # y", conf["main"]["a"])
	require.Equal(t, map[string]string{"noop": "true"}, conf["agent"])
	require.Equal(t, "https://a:8081,https://b:8081", settings(t, files["puppetdb.conf"])["main"]["server_urls"])
	ca := parse(t, files["ca.conf"])["certificate-authority"].(map[string]any)
	require.Equal(t, false, ca["allow-auto-renewal"])
	require.Equal(t, false, ca["enable-infra-crl"])
	server := parse(t, files["puppetserver.conf"])
	require.Equal(t, map[string]any{"connect-timeout-milliseconds": 0.0, "idle-timeout-milliseconds": 5.0}, server["http-client"])
	jruby := server["jruby-puppet"].(map[string]any)
	require.Equal(t, []any{"jit", 7.0, 8.0}, []any{jruby["compile-mode"], jruby["max-requests-per-instance"], jruby["borrow-timeout"]})
	require.Equal(t, "need", parse(t, files["webserver-ca.conf"])["webserver"].(map[string]any)["client-auth"])
	require.Equal(t, map[string]any{"graphite": map[string]any{"host": `g"${x}`, "port": 2003.0, "update-interval-seconds": 60.0}},
		parse(t, files["metrics.conf"])["metrics"].(map[string]any)["reporters"])
	var log logback
	require.NoError(t, xml.Unmarshal([]byte(files["logback.xml"]), &log))
	require.Equal(t, []logger{{"a", "ERROR"}, {"b", "DEBUG"}}, log.Loggers)
	require.Equal(t, "WARN", log.Root.Level)

	spec.Puppet.StoreConfigs, spec.Puppet.Reports = new(false), "log"
	conf = settings(t, renderFiles(t, in)["puppet.conf"])
	require.NotContains(t, conf["server"], "storeconfigs")
	require.Equal(t, "log", conf["server"]["reports"])
}

// TestClassifier: servers classify by the program, and keep the facts that it sends.
func TestClassifier(t *testing.T) {
	in := makeInput()
	in.Classifier = &v1alpha1.NodeClassifier{}
	conf := settings(t, renderFiles(t, in)["puppet.conf"])["server"]
	require.Equal(t, "exec", conf["node_terminus"])
	require.Equal(t, "/usr/local/bin/lintel-openvox-enc", conf["external_nodes"])
	require.NotContains(t, conf, "facts_terminus")
	for _, body := range []v1alpha1.NodeClassifierBody{v1alpha1.BodyFacts, v1alpha1.BodyPuppetEnterprise} {
		in.Classifier.Spec.Request.Body = body
		conf = settings(t, renderFiles(t, in)["puppet.conf"])["server"]
		require.Equal(t, "json", conf["facts_terminus"])
		require.Equal(t, FactsFolder, conf["server_datadir"]+"/facts")
	}
	in.Config.Spec.Puppet.ExtraConfig = &v1alpha1.ExtraConfig{Server: map[string]string{"node_terminus": "plain"}}
	_, err := Render(in)
	require.EqualError(t, err, "puppet.conf: the setting node_terminus is rendered already")
}

// TestReportProcessors: ours is among them once, by its whole name, while there is a
// ReportProcessor; then its file is there, and servers look for it.
func TestReportProcessors(t *testing.T) {
	for given, want := range map[string]string{
		"": "store,lintel", "none": "lintel", "puppetdb, store": "puppetdb,store,lintel", "lintel": "lintel", "lintel,store,": "store,lintel",
		"webhook,notlintel,lintel2": "webhook,notlintel,lintel2,lintel",
	} {
		in := makeInput()
		in.Config.Spec.Puppet.Reports = given
		files := renderFiles(t, in)
		require.Equal(t, cmp.Or(given, "store"), settings(t, files["puppet.conf"])["server"]["reports"])
		require.NotContains(t, files, ReportProcessorFile)
		require.NotContains(t, files["puppetserver.conf"], "/etc/puppetlabs/lintel")

		in.SendsReports = true
		files = renderFiles(t, in)
		require.Equal(t, want, settings(t, files["puppet.conf"])["server"]["reports"], given)
		require.Contains(t, files[ReportProcessorFile], "register_report(:lintel)")
		require.Equal(t, []any{"/opt/puppetlabs/puppet/lib/ruby/vendor_ruby", "/etc/puppetlabs/lintel/ruby"},
			parse(t, files["puppetserver.conf"])["jruby-puppet"].(map[string]any)["ruby-load-path"])
	}
}

// TestSameBytes: maps have no order, and rules that of their names.
func TestSameBytes(t *testing.T) {
	make := func(turn bool) Input {
		in := makeInput()
		in.Config.Spec.Logging.Loggers, in.Config.Spec.Puppet.ExtraConfig = map[string]v1alpha1.LogLevel{}, &v1alpha1.ExtraConfig{Main: map[string]string{}}
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		for i := range names {
			name := names[i]
			if turn {
				name = names[len(names)-1-i]
			}
			in.Config.Spec.Logging.Loggers[name], in.Config.Spec.Puppet.ExtraConfig.Main[name] = "INFO", "x"
			in.Config.Spec.PuppetServer.AuthorizationRules = append(in.Config.Spec.PuppetServer.AuthorizationRules, v1alpha1.AuthorizationRule{Name: name, MatchRequest: v1alpha1.MatchRequest{Path: "/"}, Deny: "x"})
		}
		return in
	}
	want := renderFiles(t, make(false))
	for range 20 {
		require.Equal(t, want, renderFiles(t, make(true)))
	}
}

// TestAuthorizationRules: each rule has exactly one verdict, and a rule without one is invalid.
func TestAuthorizationRules(t *testing.T) {
	in := makeInput()
	match := v1alpha1.MatchRequest{Path: `^/a"\d${x}$`, Type: "regex", Method: []string{"GET", "put"}}
	in.Config.Spec.PuppetServer.AuthorizationRules = []v1alpha1.AuthorizationRule{
		{Name: "open", MatchRequest: match, AllowUnauthenticated: true, Allow: "a", Deny: "b"},
		{Name: "let in", MatchRequest: match, Allow: `a"}, {x`, Deny: "b", SortOrder: 3},
		{Name: "clean", MatchRequest: v1alpha1.MatchRequest{Path: "/x"}, Deny: "*"},
	}
	all := authRules(t, renderFiles(t, in))
	request := map[string]any{"path": `^/a"\d${x}$`, "type": "regex", "method": []any{"get", "put"}}
	require.Equal(t, map[string]any{"name": "config/open", "sort-order": 500.0, "match-request": request, "allow-unauthenticated": true}, all["config/open"])
	require.Equal(t, map[string]any{"name": "config/let in", "sort-order": 3.0, "match-request": request, "allow": `a"}, {x`}, all["config/let in"])
	require.Equal(t, map[string]any{"name": "config/clean", "sort-order": 500.0, "match-request": map[string]any{"path": "/x", "type": "path"}, "deny": "*"}, all["config/clean"])

	in.Config.Spec.PuppetServer.AuthorizationRules[2].Deny = ""
	_, err := Render(in)
	require.ErrorContains(t, err, `authorization rule "clean" has none`)
}

// TestHostile: a value that could escape from its position renders nothing, even if admission
// has allowed it.
func TestHostile(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.ConfigSpec){
		"setting": func(s *v1alpha1.ConfigSpec) {
			s.Puppet.ExtraConfig = &v1alpha1.ExtraConfig{Main: map[string]string{"a": "b\n[server]\nautosign = true"}}
		},
		"return": func(s *v1alpha1.ConfigSpec) {
			s.Puppet.ExtraConfig = &v1alpha1.ExtraConfig{Agent: map[string]string{"a": "b\rc"}}
		},
		"line separator": func(s *v1alpha1.ConfigSpec) { s.Puppet.Reports = "a\u2028b" },
		"name": func(s *v1alpha1.ConfigSpec) {
			s.Puppet.ExtraConfig = &v1alpha1.ExtraConfig{Server: map[string]string{"a = b\nautosign": "true"}}
		},
		"section": func(s *v1alpha1.ConfigSpec) {
			s.Puppet.ExtraConfig = &v1alpha1.ExtraConfig{Server: map[string]string{"[main]": "true"}}
		},
		"twice": func(s *v1alpha1.ConfigSpec) {
			s.Puppet.ExtraConfig = &v1alpha1.ExtraConfig{Server: map[string]string{"autosign": "true"}}
		},
		"path":    func(s *v1alpha1.ConfigSpec) { s.Puppet.EnvironmentPath = "/a\nautosign = true" },
		"hiera":   func(s *v1alpha1.ConfigSpec) { s.Puppet.HieraConfig = "a\x00" },
		"timeout": func(s *v1alpha1.ConfigSpec) { s.Puppet.EnvironmentTimeout = "0\nautosign = true" },
		"backend": func(s *v1alpha1.ConfigSpec) { s.Puppet.StoreConfigs, s.Puppet.StoreBackend = new(true), "a\nb" },
		"URL": func(s *v1alpha1.ConfigSpec) {
			s.PuppetDB = &v1alpha1.PuppetDBSpec{ServerURLs: []string{"https://a,https://b"}}
		},
		"URL with lines": func(s *v1alpha1.ConfigSpec) {
			s.PuppetDB = &v1alpha1.PuppetDBSpec{ServerURLs: []string{"https://a/\nx = y"}}
		},
		"logger": func(s *v1alpha1.ConfigSpec) {
			s.Logging.Loggers = map[string]v1alpha1.LogLevel{`a"/><root level="OFF"`: "INFO"}
		},
		"variable": func(s *v1alpha1.ConfigSpec) {
			s.Logging.Loggers = map[string]v1alpha1.LogLevel{"${env.SECRET}": "INFO"}
		},
		"level":          func(s *v1alpha1.ConfigSpec) { s.Logging.Level = `${x}` },
		"logger's level": func(s *v1alpha1.ConfigSpec) { s.Logging.Loggers = map[string]v1alpha1.LogLevel{"a": "<"} },
	} {
		in := makeInput()
		change(&in.Config.Spec)
		files, err := Render(in)
		require.Error(t, err, name)
		require.Empty(t, files, name)
	}
}

// FuzzRender: hostile strings in a Config change only their own position in each file.
func FuzzRender(f *testing.F) {
	f.Add("a\"}", "${x}", "<!--", "/p\\")
	f.Add("*", "a\nb", "x", "{")
	f.Fuzz(func(t *testing.T, who, value, name, path string) {
		in := makeInput()
		spec := &in.Config.Spec
		spec.Puppet.ExtraConfig = &v1alpha1.ExtraConfig{Server: map[string]string{"extra": value}}
		spec.PuppetServer.AuthorizationRules = []v1alpha1.AuthorizationRule{{Name: name, MatchRequest: v1alpha1.MatchRequest{Path: path}, Allow: who}}
		spec.Logging.Loggers = map[string]v1alpha1.LogLevel{name: "INFO"}
		spec.Metrics.Graphite = &v1alpha1.GraphiteSpec{Host: value}
		files, err := Render(in)
		if err != nil {
			return
		}
		plain := makeInput()
		base := renderFiles(t, plain)
		conf := settings(t, files["puppet.conf"])
		require.Equal(t, value, conf["server"]["extra"])
		delete(conf["server"], "extra")
		require.Equal(t, settings(t, base["puppet.conf"]), conf)
		require.Len(t, authRules(t, files), len(authRules(t, base))+1)
		var log logback
		require.NoError(t, xml.Unmarshal([]byte(files["logback.xml"]), &log))
		require.Equal(t, []logger{{name, "INFO"}}, log.Loggers)
		require.Equal(t, "INFO", log.Root.Level)
	})
}

// TestHash: each file counts, and nothing else does.
func TestHash(t *testing.T) {
	in := makeInput()
	in.SendsReports = true
	files := renderFiles(t, in)
	all := append(slices.Clone(names), CAAuthFile)
	require.Len(t, files, len(all))
	whole := Hash(files)
	for _, name := range all {
		require.Contains(t, files, name)
		text := files[name]
		files[name] += " "
		require.NotEqual(t, whole, Hash(files), name)
		delete(files, name)
		require.NotEqual(t, whole, Hash(files), name)
		files[name] = text
	}
	files["beside"] = "x"
	require.Equal(t, whole, Hash(files))
}
