package openzro

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/events"

	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/policies/rules"
)

// settings are the flags.
type settings struct {
	managementURL, apiKeyFile string
	defaultNamespaces         []string // globs of those that have the default key
	autoGroups                []string // grants of groups to setup keys, as NAMESPACE=GROUP
	adoptions                 []string // grants of adoptions in shared accounts, as NAMESPACE=NAME
	expose                    []string // grants of groups to Services that are exposed, as NAMESPACE=GROUP
	dnsZones                  []string // grants of DNS zones in shared accounts, as NAMESPACE=DOMAIN
	podTemplates              []string // globs of namespaces whose OZRoutingPeers may have any podTemplate
	sidecarProfiles           []string // globs of namespaces whose OZSidecarProfiles select Pods
	clientImage               string
	namespaces                []string
	interval                  time.Duration // at which what the server has is listed
	clusterName, clusterDNS   string
}

func (o *settings) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&o.managementURL, "openzro-management-url", "https://api.openzro.io", "base `URL` of the management server, for namespaces whose Secret openzro-mgmt-api-key names no other")
	flags.StringVar(&o.apiKeyFile, "openzro-api-key-file", "", "`file` with the default key, a personal access token, read again when it changes; empty: every namespace needs a Secret openzro-mgmt-api-key")
	flags.StringSliceVar(&o.defaultNamespaces, "openzro-default-namespaces", nil, "`namespaces`, or globs of them, that have the default key where they have no Secret of their own; none: no namespace")
	flags.StringArrayVar(&o.autoGroups, "openzro-auto-groups", nil, "a `grant`, NAMESPACE=GROUP with globs in either, that permits setup keys of a namespace to put peers into a group of an account that several namespaces share; may be repeated. Groups that an OZGroup of the namespace created need none")
	flags.StringArrayVar(&o.adoptions, "openzro-adoptions", nil, "a `grant`, NAMESPACE=NAME with globs in either, that permits objects of a namespace to adopt the item of that name in an account that several namespaces share; may be repeated. The name of a router is the one of its network")
	flags.StringArrayVar(&o.expose, "openzro-expose", nil, "a `grant`, NAMESPACE=GROUP with globs in either, that permits the annotation openzro.io/expose on Services of a namespace, and openzro.io/groups with these groups; may be repeated. None: no Service is exposed")
	flags.StringArrayVar(&o.dnsZones, "openzro-dns-zones", nil, "a `grant`, NAMESPACE=DOMAIN with globs in either, that permits OZRoutingPeers of a namespace to name a DNS zone of an account that several namespaces share; may be repeated")
	flags.StringSliceVar(&o.podTemplates, "openzro-pod-templates", nil, "`namespaces`, or globs of them, whose OZRoutingPeers may set any field in spec.podTemplate, as if their users could create Deployments; none: fields that reach nothing else")
	flags.StringSliceVar(&o.sidecarProfiles, "openzro-sidecar-profiles", nil, "`namespaces`, or globs with * and ? of them, whose OZSidecarProfiles add clients to Pods by a label selector; the creation of every Pod there needs Lintel. None: no namespace")
	flags.StringVar(&o.clientImage, "openzro-client-image", "openzro/openzro:latest", "`image` of the client, in routing peers and in Pods, next to their containers")
	flags.StringSliceVar(&o.namespaces, "openzro-namespaces", nil, "`namespaces` whose openZro objects and Pods are reviewed and applied, for which config/rbac/openzro-namespace in each is enough; none: all")
	flags.DurationVar(&o.interval, "openzro-interval", time.Minute, "`interval` at which what the server has is compared with the objects, and permanent errors are tried again")
	flags.StringVar(&o.clusterName, "openzro-cluster-name", "kubernetes", "`name` of this cluster in the networks of routing peers, which several clusters may have at one server")
	flags.StringVar(&o.clusterDNS, "openzro-cluster-dns", "svc.cluster.local", "`domain` of the Services of this cluster")
}

// check validates the flags.
func (o *settings) check() error {
	if where, err := url.Parse(o.managementURL); err != nil || where.Scheme != "https" && where.Scheme != "http" || where.Host == "" || where.User != nil {
		return fmt.Errorf("--openzro-management-url: %q is not a URL such as https://openzro.example.com", o.managementURL)
	}
	for _, glob := range o.sidecarProfiles {
		if glob == "" || strings.Trim(glob, "abcdefghijklmnopqrstuvwxyz0123456789-*?") != "" {
			return fmt.Errorf("--openzro-sidecar-profiles: Invalid value %q: must be a namespace, or a glob with * and ? such as team-*", glob)
		}
	}
	for flag, globs := range map[string][]string{"openzro-default-namespaces": o.defaultNamespaces, "openzro-pod-templates": o.podTemplates} {
		for _, glob := range globs {
			if _, err := path.Match(glob, ""); err != nil {
				return fmt.Errorf("--%s: %q is not a name of a namespace and no glob such as team-*", flag, glob)
			}
		}
	}
	for _, grants := range []struct {
		flag, example string
		all           []string
	}{
		{"openzro-auto-groups", "team-a=Servers", o.autoGroups},
		{"openzro-adoptions", "team-a=Servers", o.adoptions},
		{"openzro-expose", "team-a=Servers", o.expose},
		{"openzro-dns-zones", "team-a=prod.example.com", o.dnsZones},
	} {
		if err := checkGrants(grants.flag, grants.example, grants.all); err != nil {
			return err
		}
	}
	switch {
	case o.clientImage == "":
		return errors.New("--openzro-client-image is empty: name the image of the client, such as openzro/openzro:latest")
	case o.interval < time.Second:
		return fmt.Errorf("--openzro-interval is %s: at least 1s is between two looks at the server", o.interval)
	case len(validation.IsDNS1123Label(o.clusterName)) > 0:
		return fmt.Errorf("--openzro-cluster-name: %q is not a DNS label such as kubernetes", o.clusterName)
	case len(validation.IsDNS1123Subdomain(o.clusterDNS)) > 0:
		return fmt.Errorf("--openzro-cluster-dns: %q is not a domain such as svc.cluster.local", o.clusterDNS)
	}
	return system.CheckNamespaces("openzro-namespaces", o.namespaces)
}

// checkGrants reports a grant of a flag that is not two globs.
func checkGrants(flag, example string, grants []string) error {
	for _, grant := range grants {
		namespace, name, found := strings.Cut(grant, "=")
		_, err := path.Match(namespace, "")
		_, other := path.Match(name, "")
		if !found || namespace == "" || name == "" || err != nil || other != nil {
			return fmt.Errorf("--%s: Invalid value %q: must be NAMESPACE=NAME, such as %s", flag, grant, example)
		}
	}
	return nil
}

// options are the dependencies of the controllers in this package.
type options struct {
	settings
	// admit evaluates the rules before an object is reconciled.
	admit rules.Admitter
	// events records Events about objects.
	events events.EventRecorder
}
