package zopp

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/controllers/zopp/store"
	rules "github.com/lintel-policy/lintel/policies/rules/zopp"
)

// defaultServer is where zopp's own programs look for a server.
const defaultServer = "http://127.0.0.1:50051"

// settings are the flags.
type settings struct {
	server, caFile, credentials string
	mapping                     string
	pollInterval                time.Duration
	namespaces                  []string
	secretSyncs, reload         bool
}

// addTo adds the flags. Those of zopp's own product document have its environment
// variables as defaults.
func (s *settings) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&s.server, "zopp-server", "", "`URL` of the zopp server; the default is "+defaultServer+" ($ZOPP_SERVER)")
	flags.StringVar(&s.caFile, "zopp-tls-ca-cert", "", "`file` with the certificates, in PEM, that sign the server's; none: those of the system ($ZOPP_TLS_CA_CERT)")
	flags.StringVar(&s.credentials, "zopp-credentials", "", "`file` with the service principal's keys; the default is ~/.zopp/credentials.json, or ~/.zopp/config.json where there is none ($ZOPP_CREDENTIALS). It is not read where $ZOPP_PRINCIPAL_ID is set")
	flags.StringVar(&s.mapping, "zopp-namespace-mapping", "", "`mode` for Namespaces without zopp.dev/allowed-sources: Restricted (the default), where their Secrets may read nothing, or Open, where they may read everything that the principal may ($ZOPP_NAMESPACE_MAPPING)")
	flags.DurationVar(&s.pollInterval, "zopp-poll-interval", time.Minute, "`interval` at which each environment is listed, beside its stream")
	flags.StringSliceVar(&s.namespaces, "zopp-namespaces", nil, "`namespaces` whose Secrets are judged and synced, for which config/rbac/zopp-namespace in each is enough; none: all ($ZOPP_NAMESPACE)")
	flags.BoolVar(&s.secretSyncs, "zopp-secret-syncs", false, "carry out ZoppSecretSyncs, too; needs config/crd/zopp and config/rbac/zopp-secret-syncs")
	flags.BoolVar(&s.reload, "zopp-reload", false, "roll workloads that have zopp.dev/reload, when a Secret that they use has changed; needs config/rbac/zopp-reload")
}

// check validates the flags, whether the system is on or off.
func (s *settings) check() error {
	if len(s.namespaces) == 0 {
		for name := range strings.SplitSeq(os.Getenv("ZOPP_NAMESPACE"), ",") {
			if name = strings.TrimSpace(name); name != "" {
				s.namespaces = append(s.namespaces, name)
			}
		}
	}
	return system.CheckNamespaces("zopp-namespaces", s.namespaces)
}

// complete adds the settings from environment variables, and validates them.
func (s settings) complete() (settings, rules.Mapping, error) {
	for variable, value := range map[string]*string{
		"ZOPP_SERVER": &s.server, "ZOPP_TLS_CA_CERT": &s.caFile, "ZOPP_CREDENTIALS": &s.credentials,
		"ZOPP_NAMESPACE_MAPPING": &s.mapping,
	} {
		*value = cmp.Or(*value, os.Getenv(variable))
	}
	s.server = cmp.Or(s.server, defaultServer)
	if s.pollInterval <= 0 {
		return s, "", errors.New("--zopp-poll-interval is above 0")
	}
	mapping, err := rules.ParseMapping(cmp.Or(s.mapping, string(rules.Restricted)))
	if err != nil {
		return s, "", fmt.Errorf("--zopp-namespace-mapping: %w", err)
	}
	return s, mapping, nil
}

// open opens the store. The credentials may be added later.
func (s settings) open() (*store.Store, error) {
	credentials, err := store.FindCredentials(s.credentials, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	return store.New(store.Options{Server: s.server, CAFile: s.caFile, Credentials: credentials})
}
