package puppetca

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// writeFiles writes the configuration of a Puppet server that is a CA and nothing else.
func writeFiles(o Options, port int) error {
	for _, folder := range []string{"conf.d", "ca", "ssl", "var", "run", "log", "code", "tmp", "lintel/ruby/puppet/reports"} {
		if err := os.MkdirAll(filepath.Join(o.Dir, folder), 0o755); err != nil {
			return err
		}
	}
	autosign := "false"
	if o.Autosign != "" {
		autosign = o.Autosign
	}
	files := strings.NewReplacer(
		"DIR", o.Dir, "PORT", fmt.Sprint(port), "NAME", o.Name, "OPERATOR", o.Operator, "AUTOSIGN", autosign,
	)
	for name, text := range map[string]string{
		"puppet.conf": `[main]
confdir = DIR
vardir = DIR/var
ssldir = DIR/ssl
logdir = DIR/log
rundir = DIR/run
codedir = DIR/code
certname = NAME
manage_internal_file_permissions = false
[server]
cadir = DIR/ca
autosign = AUTOSIGN
ca_ttl = 5y
keylength = 2048
`,
		"bootstrap.cfg": `puppetlabs.services.request-handler.request-handler-service/request-handler-service
puppetlabs.services.jruby.jruby-puppet-service/jruby-puppet-pooled-service
puppetlabs.services.jruby-pool-manager.jruby-pool-manager-service/jruby-pool-manager-service
puppetlabs.services.puppet-profiler.puppet-profiler-service/puppet-profiler-service
puppetlabs.trapperkeeper.services.webserver.jetty9-service/jetty9-service
puppetlabs.trapperkeeper.services.webrouting.webrouting-service/webrouting-service
puppetlabs.services.config.puppet-server-config-service/puppet-server-config-service
puppetlabs.trapperkeeper.services.authorization.authorization-service/authorization-service
puppetlabs.services.versioned-code-service.versioned-code-service/versioned-code-service
puppetlabs.trapperkeeper.services.scheduler.scheduler-service/scheduler-service
puppetlabs.trapperkeeper.services.status.status-service/status-service
puppetlabs.trapperkeeper.services.metrics.metrics-service/metrics-service
puppetlabs.services.jruby.jruby-metrics-service/jruby-metrics-service
puppetlabs.services.ca.certificate-authority-service/certificate-authority-service
puppetlabs.trapperkeeper.services.watcher.filesystem-watch-service/filesystem-watch-service
`,
		"logback.xml": `<configuration><appender name="STDOUT" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%d %-5p [%c{2}] %m%n</pattern></encoder></appender><root level="info"><appender-ref ref="STDOUT"/></root></configuration>
`,
		"conf.d/global.conf": `global: { logging-config: DIR/logback.xml }
`,
		"conf.d/webserver.conf": `webserver: { client-auth: want, ssl-host: "127.0.0.1", ssl-port: PORT,
  ssl-cert: DIR/ssl/certs/NAME.pem, ssl-key: DIR/ssl/private_keys/NAME.pem, ssl-ca-cert: DIR/ca/ca_crt.pem, ssl-crl-path: DIR/ca/ca_crl.pem }
`,
		"conf.d/web-routes.conf": `web-router-service: {
  "puppetlabs.services.ca.certificate-authority-service/certificate-authority-service": "/puppet-ca"
  "puppetlabs.services.master.master-service/master-service": "/puppet"
  "puppetlabs.services.puppet-admin.puppet-admin-service/puppet-admin-service": "/puppet-admin-api"
  "puppetlabs.trapperkeeper.services.status.status-service/status-service": "/status"
  "puppetlabs.trapperkeeper.services.metrics.metrics-service/metrics-webservice": "/metrics"
}
`,
		"conf.d/puppetserver.conf": `jruby-puppet: { ruby-load-path: [/usr/lib/puppetserver/ruby/vendor_ruby], gem-home: DIR/var/gems,
  gem-path: [DIR/var/gems, /usr/lib/puppetserver/vendored-jruby-gems],
  server-conf-dir: DIR, server-code-dir: DIR/code, server-var-dir: DIR/var, server-run-dir: DIR/run, server-log-dir: DIR/log, max-active-instances: 1 }
`,
		"conf.d/metrics.conf": `metrics: { server-id: localhost }
`,
		"conf.d/ca.conf": `certificate-authority: { allow-subject-alt-names: true, allow-authorization-extensions: true, enable-infra-crl: false }
`,
		"conf.d/auth.conf": `authorization: { version: 1, rules: [
  { name: certificate, sort-order: 500, match-request: { path: "/puppet-ca/v1/certificate/", type: path, method: get }, allow-unauthenticated: true }
  { name: crl, sort-order: 500, match-request: { path: "/puppet-ca/v1/certificate_revocation_list/ca", type: path, method: get }, allow-unauthenticated: true }
  { name: request, sort-order: 500, match-request: { path: "/puppet-ca/v1/certificate_request", type: path, method: [get, put] }, allow-unauthenticated: true }
  { name: status, sort-order: 500, match-request: { path: "/puppet-ca/v1/certificate_status", type: path, method: [get, put, delete] }, allow: [{ extensions: { pp_cli_auth: "true" } }, "OPERATOR"] }
  { name: clean, sort-order: 500, match-request: { path: "/puppet-ca/v1/clean", type: path, method: put }, allow: [{ extensions: { pp_cli_auth: "true" } }, "OPERATOR"] }
  { name: deny, sort-order: 999, match-request: { path: "/", type: path }, deny: "*" }
] }
`,
	} {
		if err := os.WriteFile(filepath.Join(o.Dir, name), []byte(files.Replace(text)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// debianServices lists the services of a server of Debian's package, without that of the CA.
const debianServices = "/etc/puppet/puppetserver/services.d/bootstrap.cfg"

// takeRendered copies the rendered files of a Config to the folders of the server. Only the
// folders of the image, the port, and the program that decides are changed in them.
func (ca *CA) takeRendered(o Options) error {
	var replaced []string
	for inImage, here := range o.Programs {
		replaced = append(replaced, inImage, here)
	}
	paths := strings.NewReplacer(append(replaced,
		"/usr/local/bin/lintel-openvox-autosign", o.Autosign,
		"/etc/puppetlabs/puppetserver/ca", ca.path("ca"),
		"/etc/puppetlabs/puppet", ca.Dir,
		"/etc/puppetlabs/code", ca.path("code"),
		"/opt/puppetlabs/puppet/cache", ca.path("var"),
		"/opt/puppetlabs/puppet/lib/ruby/vendor_ruby", "/usr/lib/puppetserver/ruby/vendor_ruby",
		"/opt/puppetlabs/server/data/puppetserver/vendored-jruby-gems", "/usr/lib/puppetserver/vendored-jruby-gems",
		"/opt/puppetlabs/server/data/puppetserver/jruby-gems", ca.path("var/gems"),
		"/opt/puppetlabs/puppet/lib/ruby/vendor_gems", ca.path("var/gems"),
		"/var/log/puppetlabs/puppetserver", ca.path("log"),
		"/var/log/puppetlabs/puppet", ca.path("log"),
		"/var/run/puppetlabs", ca.path("run"),
		"/run/puppetserver", ca.path("var"),
		"0.0.0.0", "127.0.0.1",
		"8140", strconv.Itoa(ca.port),
		"/etc/puppetlabs/lintel", ca.path("lintel"),
	)...)
	places := map[string]string{"webserver.conf": "", "ca-disabled.cfg": "", "auth.conf": "", "webserver-ca.conf": "conf.d/webserver.conf", "auth-ca.conf": "conf.d/auth.conf", "lintel.rb": "lintel/ruby/puppet/reports/lintel.rb"}
	for name, text := range o.Rendered {
		place, ok := places[name]
		if !ok {
			place = name
			if filepath.Ext(name) == ".conf" && !strings.HasPrefix(name, "puppet.") && name != "puppetdb.conf" {
				place = "conf.d/" + name
			}
		}
		if place == "" {
			continue
		}
		if err := os.WriteFile(ca.path(place), []byte(paths.Replace(text)), 0o644); err != nil {
			return err
		}
	}
	ca.services = debianServices + "," + ca.path("ca-enabled.cfg")
	// As the first container of a server's Pod does.
	ca.pair = "puppet"
	for _, folder := range []string{"ssl/certs/", "ssl/private_keys/"} {
		if err := os.Rename(ca.path(folder+ca.Name+".pem"), ca.path(folder+"puppet.pem")); err != nil {
			return err
		}
	}
	return os.RemoveAll(ca.path("ssl/crl.pem")) // the server itself copies the CA's
}
