package configfiles

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
)

// settingName is a name that puppet.conf can have.
var settingName = regexp.MustCompile(`\A[a-z][a-z0-9_]*\z`)

// ini is a file of sections with settings.
type ini struct {
	text strings.Builder
	// seen are the names in the section: the order would decide which of two duplicates counts.
	seen map[string]bool
	err  error
}

func (f *ini) section(name string) {
	if f.text.Len() > 0 {
		f.text.WriteByte('\n')
	}
	fmt.Fprintf(&f.text, "[%s]\n", name)
	f.seen = map[string]bool{}
}

// set writes a setting on its line, which it must not leave.
func (f *ini) set(name, value string) {
	switch {
	case f.err != nil:
	case !settingName.MatchString(name):
		f.err = fmt.Errorf("%q is not a name of a setting", name)
	case strings.ContainsFunc(value, isControl):
		f.err = fmt.Errorf("the value of %s has more than one line, or a control character", name)
	case f.seen[name]:
		f.err = fmt.Errorf("the setting %s is rendered already", name)
	default:
		f.seen[name] = true
		fmt.Fprintf(&f.text, "%s = %s\n", name, value)
	}
}

// setSome writes a setting that has a value.
func (f *ini) setSome(name, value string) {
	if value != "" {
		f.set(name, value)
	}
}

func (f *ini) setAll(settings map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		f.set(name, settings[name])
	}
}

// isControl is also of what Unicode has as an end of a line.
func isControl(r rune) bool {
	return r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029
}

func (in Input) puppetConf() (string, error) {
	spec := in.Config.Spec.Puppet
	extra := ptr.Deref(spec.ExtraConfig, v1alpha1.ExtraConfig{})
	f := &ini{}
	f.section("main")
	f.set("confdir", confFolder)
	f.set("vardir", "/opt/puppetlabs/puppet/cache")
	f.set("logdir", "/var/log/puppetlabs/puppet")
	f.set("codedir", codeFolder)
	f.set("rundir", "/var/run/puppetlabs")
	f.set("ssldir", sslFolder)
	f.set("manage_internal_file_permissions", "false")
	f.set("environmentpath", cmp.Or(spec.EnvironmentPath, codeFolder+"/environments"))
	f.set("hiera_config", cmp.Or(spec.HieraConfig, "$confdir/hiera.yaml"))
	f.setAll(extra.Main)
	f.section("server")
	f.set("certname", certname)
	f.setSome("environment_timeout", spec.EnvironmentTimeout)
	if in.storesConfigs() {
		f.set("storeconfigs", "true")
		f.set("storeconfigs_backend", cmp.Or(spec.StoreBackend, "puppetdb"))
	}
	f.set("reports", in.reports())
	if command := spec.ExternalNodesCommand; command != "" {
		f.set("node_terminus", "exec")
		f.set("external_nodes", command)
	}
	if in.Classifier != nil {
		f.set("node_terminus", "exec")
		f.set("external_nodes", ClassifierProgram)
		if in.Classifier.Spec.Request.Body.HasFacts() {
			// Servers store the facts of a node before they ask for its classes.
			f.set("facts_terminus", "json")
			f.set("server_datadir", serverData)
		}
	}
	if in.Authority != nil {
		// Without cadir, Puppet looks for the folder elsewhere, too.
		f.set("cadir", caFolder)
		f.set("ca_ttl", strconv.FormatInt(in.CATTL, 10))
		f.set("autosign", cmp.Or(spec.AutosignCommand, AutosignProgram))
	}
	f.setAll(extra.Server)
	if len(extra.Agent) > 0 {
		f.section("agent")
		f.setAll(extra.Agent)
	}
	if f.err != nil {
		return "", fmt.Errorf("puppet.conf: %w", f.err)
	}
	return f.text.String(), nil
}

// puppetDBs are where PuppetDB is reached: none where there is none.
func (in Input) puppetDBs() []string {
	switch {
	case in.DatabaseURL != "":
		return []string{in.DatabaseURL}
	case in.Config.Spec.PuppetDB != nil:
		return in.Config.Spec.PuppetDB.ServerURLs
	}
	return nil
}

func (in Input) hasPuppetDB() bool { return len(in.puppetDBs()) > 0 }

func (in Input) storesConfigs() bool {
	return ptr.Deref(in.Config.Spec.Puppet.StoreConfigs, in.hasPuppetDB())
}

func (in Input) defaultReports() string {
	if in.hasPuppetDB() {
		return "puppetdb"
	}
	return "store"
}

// reports are the report processors, ours among them where there are ReportProcessors.
func (in Input) reports() string {
	text := cmp.Or(in.Config.Spec.Puppet.Reports, in.defaultReports())
	if !in.SendsReports {
		return text
	}
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" && name != "none" && name != reportProcessor {
			names = append(names, name)
		}
	}
	return strings.Join(append(names, reportProcessor), ",")
}

func (in Input) puppetdbConf() (string, error) {
	f := &ini{}
	f.section("main")
	if urls := in.puppetDBs(); len(urls) > 0 {
		for _, text := range urls {
			server, err := url.Parse(text)
			if err != nil || server.Host == "" || server.Scheme != "https" && server.Scheme != "http" || strings.ContainsAny(text, ", \t") {
				return "", fmt.Errorf("puppetdb.conf: %q is not a URL of a PuppetDB, such as https://puppetdb:8081", text)
			}
		}
		f.set("server_urls", strings.Join(urls, ","))
	}
	f.set("soft_write_failure", "true")
	if f.err != nil {
		return "", fmt.Errorf("puppetdb.conf: %w", f.err)
	}
	return f.text.String(), nil
}
