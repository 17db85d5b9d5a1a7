package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const gatekeeperNamespace = "gatekeeper-system"

// gatekeeper is Gatekeeper's manager, as a process outside the cluster.
type gatekeeper struct {
	bench   *bench
	program string
	folder  string // of its certificate
	library *library
	process *child
	held    []constraint // what the cluster has
	port    int
	// auditInterval is 0 for a webhook without audit.
	auditInterval time.Duration
}

// constraintResource is where constraints of a kind are.
func constraintResource(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "constraints.gatekeeper.sh", Version: "v1beta1", Resource: strings.ToLower(kind)}
}

// newGatekeeper gives the cluster Gatekeeper's kinds and the templates. A template
// becomes a kind only while a manager runs.
func newGatekeeper(ctx context.Context, b *bench, programs map[string]string, l *library) (_ *gatekeeper, err error) {
	g := &gatekeeper{bench: b, program: programs["gatekeeper"], folder: filepath.Join(b.folder, "gatekeeper"), library: l}
	defer func() {
		if err != nil {
			g.process.stop()
		}
	}()
	if err := g.writeCertificate(); err != nil {
		return nil, err
	}
	if err := b.createNamespace(ctx, gatekeeperNamespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	for _, args := range [][]string{
		{"apply", "--server-side", "-f", programs["gatekeeper-crds"]},
		{"wait", "--for=condition=Established", "crd/constrainttemplates.templates.gatekeeper.sh", "--timeout=60s"},
	} {
		if err := b.kubectl(ctx, "", args...); err != nil {
			return nil, err
		}
	}
	// Its Pod owns the objects that it writes about itself, and they would be collected as garbage
	// without the Pod.
	own := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "gatekeeper-0"},
		Spec: corev1.PodSpec{
			Containers:      []corev1.Container{{Name: "manager", Image: "gatekeeper"}},
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "lintel.dev/bench"}},
		},
	}
	err = poll(ctx, "the ServiceAccount of "+gatekeeperNamespace, func() (bool, error) {
		_, err := b.clientset.CoreV1().Pods(gatekeeperNamespace).Create(ctx, own, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err), nil
	})
	if err != nil {
		return nil, err
	}
	if err := g.start(ctx); err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, c := range l.constraints {
		texts[c.kind] = l.templates[c.template]
	}
	if err := b.kubectl(ctx, strings.Join(slices.Collect(maps.Values(texts)), "\n---\n"), "apply", "--server-side", "-f", "-"); err != nil {
		return nil, err
	}
	var last error
	err = poll(ctx, "the kinds of the constraints", func() (bool, error) {
		last = b.kubectl(ctx, "", append([]string{"wait", "--for=condition=Established", "--timeout=30s"}, g.kinds()...)...)
		return last == nil, nil
	})
	if err != nil {
		return nil, errors.Join(err, last, errors.New(tail(g.process.log)))
	}
	return g, nil
}

// kubectl is Kubectl, with an error that contains the output if the command fails.
func (b *bench) kubectl(ctx context.Context, stdin string, args ...string) error {
	if output, err := b.cluster.Kubectl(ctx, stdin, args...); err != nil {
		return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, output)
	}
	return nil
}

// writeCertificate gives it the echo's.
func (g *gatekeeper) writeCertificate() error {
	if err := os.MkdirAll(g.folder, 0o700); err != nil {
		return err
	}
	for from, to := range map[string]string{certificateFile: "tls.crt", keyFile: "tls.key"} {
		text, err := os.ReadFile(filepath.Join(g.bench.folder, from))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(g.folder, to), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// role is a webhook without audit, or audit without a webhook. Audit runs the Rego of templates
// that also have CEL. The other settings are those of the chart.
func (g *gatekeeper) role() []string {
	if g.auditInterval == 0 {
		return []string{
			"--operation", "webhook", "--operation", "status", "--operation", "generate", "--operation", "mutation-webhook", "--operation", "mutation-controller",
			"--log-level", "WARNING",
		}
	}
	return []string{
		"--operation", "audit", "--operation", "status", "--operation", "generate", "--operation", "mutation-status",
		"--audit-interval", strconv.Itoa(int(g.auditInterval.Seconds())), "--api-cache-dir", filepath.Join(g.folder, "audit"),
		"--enable-k8s-native-validation=false", "--log-level", "INFO",
	}
}

// start starts it: one replica in one role, without policies in CEL that it would create. It is
// ready once it knows all templates and constraints.
func (g *gatekeeper) start(ctx context.Context) error {
	var ports [3]int
	for i := range ports {
		var err error
		if ports[i], err = freePort(); err != nil {
			return err
		}
	}
	g.port = ports[0]
	health := fmt.Sprintf("127.0.0.1:%d", ports[1])
	err := os.MkdirAll(filepath.Join(g.folder, "audit"), 0o700)
	if err != nil {
		return err
	}
	g.process, err = startChild(g.bench.folder, "gatekeeper", g.program,
		[]string{"POD_NAME=gatekeeper-0", "POD_NAMESPACE=" + gatekeeperNamespace, "NAMESPACE=" + gatekeeperNamespace},
		append([]string{
			"--kubeconfig", g.bench.cluster.Kubeconfig,
			"--disable-cert-rotation", "--cert-dir", g.folder, "--host", "127.0.0.1", "--port", strconv.Itoa(g.port),
			"--health-addr", health, "--prometheus-port", strconv.Itoa(ports[2]),
			"--default-create-vap-for-templates=false", "--default-create-vap-binding-for-constraints=false",
		}, g.role()...))
	if err != nil {
		return err
	}
	return g.process.waitAnswer(ctx, http.DefaultClient, "http://"+health+"/readyz")
}

func (g *gatekeeper) stop() { g.process.stop() }

// clear takes its constraints and templates out of the cluster, for a part that gives
// it others: kinds of the same name may follow.
func (g *gatekeeper) clear(ctx context.Context) error {
	if err := g.install(ctx, nil); err != nil {
		return err
	}
	if err := g.bench.kubectl(ctx, "", "delete", "constrainttemplates", "--all", "--timeout=5m"); err != nil {
		return err
	}
	return g.bench.kubectl(ctx, "", append([]string{"wait", "--for=delete", "--timeout=5m"}, g.kinds()...)...)
}

// constraintKinds are the kinds of the constraints.
func (g *gatekeeper) constraintKinds() (kinds []string) {
	for _, c := range g.library.constraints {
		kinds = append(kinds, c.kind)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// kinds are the definitions that its templates become, as kubectl names them.
func (g *gatekeeper) kinds() (names []string) {
	for _, kind := range g.constraintKinds() {
		names = append(names, "crd/"+constraintResource(kind).GroupResource().String())
	}
	return names
}

// install makes these its constraints, and restarts it, so that it holds nothing of the former
// ones.
func (g *gatekeeper) install(ctx context.Context, constraints []constraint) error {
	g.process.stop()
	keep := map[string]bool{}
	for _, c := range constraints {
		keep[c.id()] = true
	}
	var calls errgroup.Group
	calls.SetLimit(16)
	for _, c := range g.held {
		if !keep[c.id()] {
			calls.Go(func() error { return g.delete(ctx, c) })
		}
	}
	for _, c := range constraints {
		calls.Go(func() error { return g.create(ctx, c) })
	}
	if err := calls.Wait(); err != nil {
		return err
	}
	g.held = constraints
	return g.start(ctx)
}

func (g *gatekeeper) create(ctx context.Context, c constraint) error {
	_, err := g.bench.dynamic.Resource(constraintResource(c.kind)).Create(ctx, c.object(), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (g *gatekeeper) delete(ctx context.Context, c constraint) error {
	return g.bench.dynamic.Resource(constraintResource(c.kind)).Delete(ctx, c.name, metav1.DeleteOptions{})
}

func (g *gatekeeper) url(path string) string {
	return fmt.Sprintf("https://127.0.0.1:%d%s", g.port, path)
}

// endpoint is its webhook, as it is now.
func (g *gatekeeper) endpoint(path string) *endpoint {
	e, err := newEndpoint(g.url(path), g.process.pid(), g.bench.process.authority)
	if err != nil {
		panic("the authority was written by this program: " + err.Error())
	}
	return e
}
