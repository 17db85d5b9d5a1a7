package configfiles

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// object is an object of HOCON.
type object map[string]any

// hocon writes JSON, of which HOCON is a superset: in its quoted strings nothing is
// substituted.
func hocon(value any) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return "", fmt.Errorf("writing HOCON: %w", err)
	}
	return out.String(), nil
}

func (in Input) webserver(crl string) object {
	return object{"webserver": object{
		"client-auth": cmp.Or(in.Config.Spec.PuppetServer.ClientAuth, "want"),
		"ssl-host":    "0.0.0.0", "ssl-port": 8140,
		"ssl-cert":     sslFolder + "/certs/" + certname + ".pem",
		"ssl-key":      sslFolder + "/private_keys/" + certname + ".pem",
		"ssl-ca-cert":  sslFolder + "/certs/ca.pem",
		"ssl-crl-path": crl,
	}}
}

func (in Input) puppetserver() object {
	const gems = "/opt/puppetlabs/server/data/puppetserver/jruby-gems"
	spec := in.Config.Spec.PuppetServer
	client := object{}
	if http := spec.HTTPClient; http != nil {
		if http.ConnectTimeoutMs != nil {
			client["connect-timeout-milliseconds"] = *http.ConnectTimeoutMs
		}
		if http.IdleTimeoutMs != nil {
			client["idle-timeout-milliseconds"] = *http.IdleTimeoutMs
		}
	}
	loadPath := []string{"/opt/puppetlabs/puppet/lib/ruby/vendor_ruby"}
	if in.SendsReports {
		loadPath = append(loadPath, rubyFolder)
	}
	return object{
		"jruby-puppet": object{
			"ruby-load-path": loadPath,
			"gem-home":       gems,
			"gem-path":       []string{gems, "/opt/puppetlabs/server/data/puppetserver/vendored-jruby-gems", "/opt/puppetlabs/puppet/lib/ruby/vendor_gems"},
			// max-active-instances is in ServerConf.
			"max-requests-per-instance": spec.MaxRequestsPerInstance,
			"borrow-timeout":            spec.BorrowTimeout, "compile-mode": cmp.Or(spec.CompileMode, "off"),
			"server-conf-dir": confFolder, "server-code-dir": codeFolder, "server-var-dir": varFolder,
			"server-run-dir": varFolder + "/run", "server-log-dir": "/var/log/puppetlabs/puppetserver",
		},
		"http-client": client,
		"profiler":    object{},
		"dropsonde":   object{"enabled": false},
	}
}

func (in Input) ca() object {
	ca := in.Authority
	if ca == nil {
		return object{"certificate-authority": object{}}
	}
	return object{"certificate-authority": object{
		"allow-subject-alt-names":        ptr.Deref(ca.Spec.AllowSubjectAltNames, true),
		"allow-authorization-extensions": ptr.Deref(ca.Spec.AllowAuthorizationExtensions, true),
		// Servers check their clients by the CRL that the CA gives away.
		"enable-infra-crl":      false,
		"allow-auto-renewal":    ptr.Deref(ca.Spec.AllowAutoRenewal, true),
		"auto-renewal-cert-ttl": fmt.Sprintf("%ds", in.RenewalTTL),
	}}
}

func (in Input) metrics() object {
	spec := in.Config.Spec.Metrics
	reporters := object{"jmx": object{"enabled": spec.Enabled && spec.JMX != nil && spec.JMX.Enabled}}
	metrics := object{"server-id": "localhost", "registries": object{"puppetserver": object{"reporters": reporters}}}
	if graphite := spec.Graphite; graphite != nil {
		reporters["graphite"] = object{"enabled": spec.Enabled && graphite.Enabled}
		metrics["reporters"] = object{"graphite": object{
			"host": graphite.Host, "port": graphite.Port, "update-interval-seconds": graphite.UpdateIntervalSeconds,
		}}
	}
	return object{"metrics": metrics}
}

// authConf has the rules that ship, those of the Config, and last that all else is denied. Only the
// CA's server has requests to remove.
func (in Input) authConf(ca bool) (object, error) {
	list := in.shipped()
	if ca {
		list = append(list, object{
			"name": shippedName("removal of certificate requests"), "sort-order": 500,
			"match-request": object{"path": "/puppet-ca/v1/certificate_request", "type": "path", "method": []string{"delete"}}, "allow": in.administrators(),
		})
	}
	for _, rule := range slices.SortedFunc(slices.Values(in.Config.Spec.PuppetServer.AuthorizationRules), func(a, b v1alpha1.AuthorizationRule) int {
		return strings.Compare(a.Name, b.Name)
	}) {
		written, err := custom(rule)
		if err != nil {
			return nil, err
		}
		list = append(list, written)
	}
	list = append(list, object{"name": shippedName("deny all"), "sort-order": 999, "match-request": object{"path": "/", "type": "path"}, "deny": "*"})
	return object{"authorization": object{"version": 1, "rules": list}}, nil
}

// shippedName keeps names that ship apart from those of a Config: no server starts with
// two rules of one name.
func shippedName(name string) string { return "openvox/" + name }

func custom(rule v1alpha1.AuthorizationRule) (object, error) {
	match := object{"path": rule.MatchRequest.Path, "type": cmp.Or(rule.MatchRequest.Type, "path")}
	if len(rule.MatchRequest.Method) > 0 {
		var methods []string
		for _, method := range rule.MatchRequest.Method {
			methods = append(methods, strings.ToLower(method))
		}
		match["method"] = methods
	}
	written := object{"name": "config/" + rule.Name, "sort-order": cmp.Or(rule.SortOrder, 500), "match-request": match}
	switch {
	case rule.AllowUnauthenticated:
		written["allow-unauthenticated"] = true
	case rule.Allow != "":
		written["allow"] = rule.Allow
	case rule.Deny != "":
		written["deny"] = rule.Deny
	default:
		return nil, fmt.Errorf("authorization rule %q has none of allow, deny and allowUnauthenticated", rule.Name)
	}
	return written, nil
}

// shipped are the rules of every server. Their places are those of Puppet's own.
func (in Input) shipped() (list []object) {
	const path, regex = "path", "regex"
	add := func(name, kind, where string, verdict string, who any, methods ...string) {
		match := object{"path": where, "type": kind}
		if len(methods) > 0 {
			match["method"] = methods
		}
		list = append(list, object{"name": shippedName(name), "sort-order": 500, "match-request": match, verdict: who})
	}
	anyone := "allow-unauthenticated"
	admins := in.administrators()
	add("v3 catalog", regex, "^/puppet/v3/catalog/([^/]+)$", "allow", "$1", "get", "post")
	add("v4 catalog", regex, "^/puppet/v4/catalog/?$", "deny", "*", "post")
	add("certificate", path, "/puppet-ca/v1/certificate/", anyone, true, "get")
	add("CRL", path, "/puppet-ca/v1/certificate_revocation_list/ca", anyone, true, "get")
	add("certificate request", path, "/puppet-ca/v1/certificate_request", anyone, true, "get", "put")
	add("certificate renewal", path, "/puppet-ca/v1/certificate_renewal", "allow", "*", "post")
	add("expirations", path, "/puppet-ca/v1/expirations", "allow", "*", "get")
	add("certificate status", path, "/puppet-ca/v1/certificate_status", "allow", admins, "get", "put", "delete")
	add("CRL update", regex, "^/puppet-ca/v1/certificate_revocation_list$", "allow", admins, "put")
	add("certificate statuses", path, "/puppet-ca/v1/certificate_statuses", "allow", admins, "get")
	add("clean", path, "/puppet-ca/v1/clean", "allow", admins, "put")
	add("sign", regex, "^/puppet-ca/v1/sign$", "allow", admins, "post")
	add("sign all", regex, "^/puppet-ca/v1/sign/all$", "allow", admins, "post")
	add("resource type", path, "/puppet/v3/resource_type", "allow", "*", "get", "post")
	add("status", regex, "^/puppet/v3/status/([^/]+)$", "allow", "$1", "get")
	add("status of services", path, "/status/v1/services", anyone, true, "get")
	add("status in one word", path, "/status/v1/simple", anyone, true, "get")
	add("environments", path, "/puppet/v3/environments", "allow", "*", "get")
	add("file bucket", path, "/puppet/v3/file_bucket_file", "allow", "*", "get", "head", "post", "put")
	add("file content", path, "/puppet/v3/file_content", "allow", "*", "get", "post")
	add("file metadata", path, "/puppet/v3/file_metadata", "allow", "*", "get", "post")
	add("node", regex, "^/puppet/v3/node/([^/]+)$", "allow", "$1", "get")
	add("report", regex, "^/puppet/v3/report/([^/]+)$", "allow", "$1", "put")
	add("facts", regex, "^/puppet/v3/facts/([^/]+)$", "allow", "$1", "put")
	add("static file content", path, "/puppet/v3/static_file_content", "allow", "*", "get")
	add("tasks", path, "/puppet/v3/tasks", "allow", "*")
	return list
}

// administrators returns the rules for clients that may sign and revoke. The operator's names
// are regular expressions, because a plain name would also match subdomains such as x.main-
// operator.
func (in Input) administrators() []object {
	admins := []object{{"extensions": object{"pp_cli_auth": "true"}}}
	if ca := in.Authority; ca != nil && ca.Spec.External == nil {
		name, standby := regexp.QuoteMeta(rules.OperatorCertname(ca.Name)), regexp.QuoteMeta(rules.StandbyCertname(ca.Name))
		admins = append(admins, object{"certname": `/\A(` + name + `|` + standby + `)\z/`})
	}
	return admins
}
