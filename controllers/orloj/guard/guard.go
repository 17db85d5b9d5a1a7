// Package guard is a proxy in front of orlojd's REST API that protects resources managed by
// Kubernetes objects. Lintel overwrites manual changes of such resources later, so the guard
// warns of them or refuses them. All other requests pass unchanged.
//
// The guard asks orlojd, with the caller's own credentials, whether a resource is managed. The
// guard has no credentials of its own.
package guard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
)

// Policy is the reaction to a write of a managed resource.
type Policy string

// The policies.
const (
	Off    Policy = "off"
	Warn   Policy = "warn"
	Reject Policy = "reject"
)

// ParsePolicy parses a policy; an unknown policy is Warn.
func ParsePolicy(text string) Policy {
	switch policy := Policy(strings.ToLower(strings.TrimSpace(text))); policy {
	case Off, Reject:
		return policy
	}
	return Warn
}

// ManagedHeader is set on answers to writes of managed resources.
const ManagedHeader = "X-Orloj-CRD-Managed"

const (
	managedBy = "orloj.dev/managed-by"
	crdSync   = "crd-sync"
	// lookupTimeout limits the lookup of whether a resource is managed.
	lookupTimeout = 10 * time.Second
)

// collections are the paths of the kinds that Kubernetes objects manage.
var collections = map[string]bool{
	"agents": true, "agent-systems": true, "tools": true, "mcp-servers": true,
	"model-endpoints": true, "memories": true, "agent-policies": true, "secrets": true,
}

// Guard is the proxy.
type Guard struct {
	upstream *url.URL
	policy   Policy
	proxy    *httputil.ReverseProxy
	client   *http.Client
	logger   *slog.Logger
	// written contains the managed resources written within keep: a write removes the annotation
	// that marks them, until the manager repairs the row.
	written *cache.Expiring
	keep    time.Duration
}

// New creates a Guard in front of an upstream. drift is the interval at which the manager
// compares rows with their objects.
func New(upstream *url.URL, policy Policy, drift time.Duration, logger *slog.Logger) *Guard {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // the client and orlojd negotiate the compression
	g := &Guard{
		upstream: upstream, policy: policy, logger: logger, written: cache.NewExpiring(), keep: 2 * drift,
		client: &http.Client{Transport: transport, Timeout: lookupTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	g.proxy = &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(upstream)
			r.Out.Host = r.In.Host
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if values, there := r.In.Header[name]; there {
					r.Out.Header[name] = values
				}
			}
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			logger.Warn("orlojd does not answer", "method", r.Method, "path", r.URL.Path, "error", err)
			http.Error(w, "orlojd does not answer", http.StatusBadGateway)
		},
	}
	return g
}

// ServeHTTP implements http.Handler.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	collection, name, guarded := target(r)
	if g.policy == Off || !guarded {
		g.proxy.ServeHTTP(w, r)
		return
	}
	candidates, unclear := addressedResources(r, collection, name)
	if unclear != nil && g.policy == Reject {
		g.refuse(w, r, unclear)
		return
	}
	managed, err := g.firstManaged(r, candidates)
	switch err = errors.Join(unclear, err); {
	case managed != nil:
		g.write(w, r, *managed)
	case err != nil && g.policy == Reject:
		g.logger.Warn("it is not known whether a resource is managed, so the write is refused", "method", r.Method, "path", r.URL.Path, "error", err)
		http.Error(w, "cannot determine whether the resource is managed by Kubernetes; try again", http.StatusServiceUnavailable)
	case err != nil:
		g.logger.Warn("it is not known whether a resource is managed", "method", r.Method, "path", r.URL.Path, "error", err)
		g.proxy.ServeHTTP(w, r)
	default:
		g.proxy.ServeHTTP(w, r)
	}
}

// refuse answers a request whose target is ambiguous.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, unclear error) {
	status, message := http.StatusBadRequest, "the request could not be read"
	if known, ok := errors.AsType[*refusal](unclear); ok {
		status, message = known.status, known.message
	}
	g.logger.Info("refused a write with an ambiguous target", "method", r.Method, "path", r.URL.Path, "error", unclear)
	http.Error(w, message, status)
}

// write refuses the write of a managed resource, or forwards it with a warning in the log.
func (g *Guard) write(w http.ResponseWriter, r *http.Request, managed resource) {
	w.Header().Set(ManagedHeader, "true")
	if g.policy == Reject {
		g.logger.Info("refused a write to a resource that is managed by Kubernetes", "method", r.Method, "resource", managed.String())
		http.Error(w, fmt.Sprintf("%s is managed by an object of Kubernetes; change it there", managed), http.StatusConflict)
		return
	}
	g.logger.Warn("a write to a resource that is managed by Kubernetes will be overwritten", "method", r.Method, "resource", managed.String())
	g.written.Set(managed.inDefault(), nil, g.keep)
	g.proxy.ServeHTTP(w, r)
}

// target reports whether a request writes a resource of a guarded kind. Subresources, such as
// the status, are not managed by Kubernetes. The name is empty for POST.
func target(r *http.Request) (collection, name string, guarded bool) {
	switch r.Method {
	case http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodPatch:
	default:
		return "", "", false
	}
	parts := strings.Split(strings.Trim(path.Clean("/"+r.URL.Path), "/"), "/")
	if len(parts) < 2 || len(parts) > 3 || parts[0] != "v1" || !collections[parts[1]] {
		return "", "", false
	}
	if len(parts) == 3 {
		name = parts[2]
	}
	return parts[1], name, true
}

// resource identifies a resource of orlojd.
type resource struct{ collection, namespace, name string }

func (r resource) String() string { return r.collection + " " + r.namespace + "/" + r.name }

// inDefault returns the resource with orlojd's default namespace if it has none.
func (r resource) inDefault() resource {
	r.namespace = cmp.Or(r.namespace, "default")
	return r
}

// addressedResources returns the resources that a request may write. If its URL and its body disagree,
// orlojd decides which one it writes, so all of them are checked. Together with an error,
// resources returns those of the URL.
func addressedResources(r *http.Request, collection, name string) (all []resource, err error) {
	namespaces := r.URL.Query()["namespace"]
	bodyNamespace, bodyName, err := readBody(r)
	if err == nil && len(slices.Compact(slices.Clone(namespaces))) > 1 {
		err = ambiguous("the address names several namespaces; keep one")
	}
	for _, namespace := range given(r.URL.Query().Get("namespace"), bodyNamespace) {
		for _, one := range given(name, bodyName) {
			if one != "" {
				all = append(all, resource{collection, strings.TrimSpace(namespace), strings.TrimSpace(one)})
			}
		}
	}
	return all, err
}

// given returns the distinct strings that are not empty; the empty string if there are none.
func given(first, second string) []string {
	switch {
	case first == "":
		return []string{second}
	case second == "" || first == second:
		return []string{first}
	}
	return []string{first, second}
}

// firstManaged returns a managed resource; nil if none is managed. If one cannot be read, it
// returns the error.
func (g *Guard) firstManaged(r *http.Request, candidates []resource) (*resource, error) {
	var errs []error
	for _, one := range candidates {
		managed, err := g.isManaged(r, one)
		if _, written := g.written.Get(one.inDefault()); managed || g.policy == Warn && written {
			return &one, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (g *Guard) isManaged(r *http.Request, one resource) (bool, error) {
	ctx, cancel := context.WithTimeout(r.Context(), lookupTimeout)
	defer cancel()
	address := g.upstream.JoinPath("v1", one.collection, url.PathEscape(one.name))
	if one.namespace != "" {
		address.RawQuery = url.Values{"namespace": {one.namespace}}.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return false, err
	}
	request.Host = r.Host
	for _, name := range []string{"Authorization", "Cookie"} {
		if values, there := r.Header[name]; there {
			request.Header[name] = values
		}
	}
	response, err := g.client.Do(request)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", one, err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusNotFound:
		return false, nil
	case http.StatusOK:
	default:
		return false, fmt.Errorf("reading %s: orlojd answers %s", one, response.Status)
	}
	var stored struct {
		Metadata struct{ Annotations map[string]string }
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(&stored); err != nil {
		return false, fmt.Errorf("reading %s: %w", one, err)
	}
	return stored.Metadata.Annotations[managedBy] == crdSync, nil
}
