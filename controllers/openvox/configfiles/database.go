package configfiles

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// Where an OpenVox DB finds its files. Each file of DatabaseFolder is read, in any of the
// forms that it knows.
const (
	DatabaseFolder    = "/etc/puppetlabs/puppetdb/conf.d"
	DatabaseSSLFolder = "/etc/puppetlabs/puppetdb/ssl"
	// DatabaseDataFolder contains received data that is not stored yet.
	DatabaseDataFolder = "/opt/puppetlabs/server/data/puppetdb"
	// DatabaseLintelFolder has the files that those of DatabaseFolder name.
	DatabaseLintelFolder = "/etc/puppetlabs/lintel"

	// The files of DatabaseLintelFolder.
	DatabaseLogging    = "logback.xml"
	DatabaseAllowed    = "allowed-certnames"
	DatabasePostgresCA = "postgres-ca.pem"

	// DatabaseCredentials is the file of DatabaseFolder that is secret.
	DatabaseCredentials = "database.conf"

	// DatabasePort is where it answers.
	DatabasePort = 8081
)

// DatabaseInput is what the files of an OpenVox DB are made of.
type DatabaseInput struct {
	Postgres v1alpha1.PostgresSpec
	// Username and Password are those of PostgreSQL.
	Username, Password string
	// Allowed are the certnames of the clients that may query and write.
	Allowed []string
}

// RenderDatabase gives the files of an OpenVox DB by name: those that anybody may read, and
// the secret ones.
func RenderDatabase(in DatabaseInput) (files, secret map[string]string, err error) {
	allowed := slices.Compact(slices.Sorted(slices.Values(in.Allowed)))
	var exactly []string // a plain name would also match every subdomain of it
	for _, name := range allowed {
		exactly = append(exactly, `/\A`+regexp.QuoteMeta(name)+`\z/`)
	}
	rule := func(name string, order int, path, verdict string, who any) object {
		return object{"name": shippedName(name), "sort-order": order, "match-request": object{"path": path, "type": "path"}, verdict: who}
	}
	rules := []object{rule("status in one word", 500, "/status/v1/simple", "allow-unauthenticated", true)}
	if len(exactly) > 0 {
		rules = append(rules, rule("status", 500, "/status/v1/services", "allow", exactly), rule("metrics", 500, "/metrics", "allow", exactly))
	}
	rules = append(rules, rule("deny all", 999, "/", "deny", "*"))
	files, secret = map[string]string{
		DatabaseLogging: "<configuration><appender name=\"STDOUT\" class=\"ch.qos.logback.core.ConsoleAppender\"><encoder><pattern>%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %-5p [%c{2}] %m%n</pattern></encoder></appender>" +
			"<root level=\"info\"><appender-ref ref=\"STDOUT\"/></root></configuration>\n",
		DatabaseAllowed: strings.Join(append(allowed, ""), "\n"),
	}, map[string]string{}
	for name, value := range map[string]any{
		"config.conf": object{
			"global":   object{"vardir": DatabaseDataFolder, "logging-config": DatabaseLintelFolder + "/" + DatabaseLogging},
			"puppetdb": object{"certificate-allowlist": DatabaseLintelFolder + "/" + DatabaseAllowed, "disable-update-checking": "true"},
		},
		// A client without a certificate, such as the kubelet, may only read the health status.
		"jetty.conf": object{"jetty": object{
			"ssl-host": "0.0.0.0", "ssl-port": strconv.Itoa(DatabasePort), "client-auth": "want",
			"ssl-cert": DatabaseSSLFolder + "/certs/puppet.pem", "ssl-key": DatabaseSSLFolder + "/private_keys/puppet.pem",
			"ssl-ca-cert": DatabaseSSLFolder + "/certs/ca.pem", "ssl-crl-path": DatabaseSSLFolder + "/crl/ca_crl.pem",
		}},
		"auth.conf": object{"authorization": object{"version": 1, "rules": rules}},
	} {
		if files[name], err = hocon(value); err != nil {
			return nil, nil, err
		}
	}
	for field, value := range map[string]string{"user": in.Username, "password": in.Password} {
		if strings.ContainsFunc(value, isControl) {
			return nil, nil, fmt.Errorf("the %s of PostgreSQL has more than one line, or a control character", field)
		}
	}
	secret[DatabaseCredentials], err = hocon(object{"database": object{"subname": in.subname(), "username": in.Username, "password": in.Password}})
	return files, secret, err
}

// subname is where the driver of PostgreSQL finds it, and how it encrypts.
func (in DatabaseInput) subname() string {
	p := in.Postgres
	options := url.Values{"sslmode": {p.SSLMode}}
	switch verified := strings.HasPrefix(p.SSLMode, "verify-"); {
	case p.CASecretRef != nil && p.SSLMode != "disable":
		options.Set("sslrootcert", DatabaseLintelFolder+"/"+DatabasePostgresCA)
	case verified: // by the authorities that Java knows
		options.Set("sslfactory", "org.postgresql.ssl.DefaultJavaSSLFactory")
	}
	return "//" + net.JoinHostPort(p.Host, strconv.Itoa(int(p.Port))) + "/" + url.PathEscape(p.Database) + "?" + options.Encode()
}
