package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lintel-policy/lintel/test/installation"
	"github.com/lintel-policy/lintel/test/zopp"
)

const (
	zoppNamespace    = "zopp-bench"
	zoppSecrets      = 1_000
	zoppEnvironments = 50
	zoppChanges      = 100
	zoppPoll         = 20 * time.Second
	// zoppEarly is the share by which polls come early, so that they do not come together.
	zoppEarly = 0.25
	zoppKey   = "DATABASE_URL"
)

// zoppBench is the double of a server whose values a thousand Secrets want.
type zoppBench struct {
	*bench
	peer         *zopp.Peer
	environments []*zopp.Environment
	seen         *sightings
}

// measureZopp has a thousand Secrets filled, and changes what is in them. It takes the
// place of the manager that the other parts measure, so it comes last.
func (b *bench) measureZopp(ctx context.Context) error {
	say("measuring %d Secrets of %d environments of zopp …", zoppSecrets, zoppEnvironments)
	z := &zoppBench{bench: b, seen: &sightings{of: map[string]map[string]time.Time{}}}
	var err error
	if z.peer, err = zopp.StartDouble(ctx, zopp.NewDouble()); err != nil {
		return err
	}
	defer func() {
		b.manager.Stop() // before its server
		z.peer.Stop()
	}()
	credentials, err := z.fill(ctx)
	if err != nil {
		return err
	}
	if err := installation.PermitZopp(ctx, b.cluster); err != nil {
		return err
	}
	if err := b.createNamespace(ctx, zoppNamespace); err != nil {
		return err
	}
	if err := b.restart(ctx, "manager-zopp", "--systems=zopp", "--zopp-namespace-mapping=Open", "--zopp-server="+z.peer.URL,
		"--zopp-credentials="+credentials, "--zopp-poll-interval="+zoppPoll.String()); err != nil {
		return err
	}
	none, err := residentAfter(ctx, b.managerPID)
	if err != nil {
		return err
	}
	stop, err := z.seen.watch(ctx, b)
	if err != nil {
		return err
	}
	defer stop()
	for _, step := range []func(context.Context) error{z.fromNothing, z.changes, z.atRest} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	many, err := residentAfter(ctx, b.managerPID)
	if err != nil {
		return err
	}
	b.row(row{What: fmt.Sprintf("… resident memory, idle, %d Secrets over none", zoppSecrets), Lintel: mebibytes(many - none),
		Target: "≤ 20 MiB", Verdict: verdict(float64(many-none), 20<<20)})
	return nil
}

// fill makes what the Secrets want, and returns the file of who may read it.
func (z *zoppBench) fill(ctx context.Context) (credentials string, err error) {
	workspace, err := z.peer.MakeWorkspace(ctx, "acme")
	if err != nil {
		return "", err
	}
	for i := range zoppEnvironments {
		e, err := workspace.MakeEnvironment(ctx, "backend", fmt.Sprintf("environment-%02d", i))
		if err != nil {
			return "", err
		}
		if err := e.Set(ctx, zoppKey, firstValue); err != nil {
			return "", err
		}
		z.environments = append(z.environments, e)
	}
	reader, err := workspace.MakeReader(ctx, "k8s-operator")
	if err != nil {
		return "", err
	}
	credentials = filepath.Join(z.folder, "zopp-credentials.json")
	return credentials, os.WriteFile(credentials, reader.Credentials(), 0o600)
}

const firstValue = "first"

// fromNothing creates all Secrets, and waits until the last has its value.
func (z *zoppBench) fromNothing(ctx context.Context) error {
	start := time.Now()
	group, limited := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range zoppSecrets {
		group.Go(func() error {
			e := z.environments[i%zoppEnvironments]
			_, err := z.clientset.CoreV1().Secrets(zoppNamespace).Create(limited, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("secret-%04d", i),
				Annotations: map[string]string{
					"zopp.dev/sync": "true", "zopp.dev/workspace": e.Workspace, "zopp.dev/project": e.Project, "zopp.dev/environment": e.Name,
				},
			}}, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	created := time.Since(start).Seconds()
	if err := z.seen.wait(ctx, firstValue, zoppSecrets); err != nil {
		return err
	}
	took := time.Since(start).Seconds()
	z.row(row{What: fmt.Sprintf("zopp: %d Secrets of %d environments, from the first creation to the last value; the reference is their creation alone", zoppSecrets, zoppEnvironments),
		Lintel: fmt.Sprintf("%.1f s", took), Reference: fmt.Sprintf("%.1f s", created), Target: "≤ 30 s", Verdict: verdict(took, 30)})
	streams := z.peer.Double.Streams()
	connections := z.peer.Double.Connections() - 1 // one is of who writes to zopp
	z.row(row{What: "… streams, on connections", Lintel: fmt.Sprintf("%d on %d", streams, connections),
		Target: fmt.Sprintf("%d on 1", zoppEnvironments), Verdict: exactly(streams == zoppEnvironments && connections == 1)})
	return nil
}

func exactly(is bool) string {
	if is {
		return "met"
	}
	return "missed"
}

// changes changes one environment after the other, each of which has twenty Secrets. In
// turns with it, as many Secrets that nobody syncs are written directly: what they need is
// the API server's and the watch's own.
func (z *zoppBench) changes(ctx context.Context) error {
	const each = zoppSecrets / zoppEnvironments
	if err := z.createPlain(ctx, each); err != nil {
		return err
	}
	var synced, plain samples
	for i := range zoppChanges {
		value := fmt.Sprintf("change-%d", i)
		took, err := z.timed(ctx, value, each, func() error {
			return z.environments[(i*7)%zoppEnvironments].Set(ctx, zoppKey, value)
		})
		if err != nil {
			return err
		}
		synced = append(synced, took...)
		value = fmt.Sprintf("plain-%d", i)
		if took, err = z.timed(ctx, value, each, func() error { return z.writePlain(ctx, each, value) }); err != nil {
			return err
		}
		plain = append(plain, took...)
	}
	for _, c := range []struct {
		what       string
		percentile float64
		limit      float64
	}{
		{fmt.Sprintf("… from a change in zopp to the value in each of %d Secrets, p50 of %d; the reference are direct writes", each, len(synced)), 50, 100},
		{"… p99", 99, 1000},
	} {
		ours, reference := milliseconds(synced.percentile(c.percentile)), milliseconds(plain.percentile(c.percentile))
		z.row(row{What: c.what, Lintel: fmt.Sprintf("%.1f ms", ours), Reference: fmt.Sprintf("%.1f ms", reference), Ratio: ours / reference,
			Target: fmt.Sprintf("≤ %g ms", c.limit), Verdict: verdict(ours, c.limit)})
	}
	z.keep("zopp: changes", synced)
	z.keep("zopp: direct writes", plain)
	return nil
}

// timed is how long after the beginning of a write each Secret was seen with the value.
func (z *zoppBench) timed(ctx context.Context, value string, secrets int, write func() error) (took samples, err error) {
	start := time.Now()
	if err := write(); err != nil {
		return nil, err
	}
	if err := z.seen.wait(ctx, value, secrets); err != nil {
		return nil, err
	}
	for _, at := range z.seen.times(value) {
		took = append(took, at.Sub(start))
	}
	return took, nil
}

func plainName(i int) string { return fmt.Sprintf("plain-%04d", i) }

func (z *zoppBench) createPlain(ctx context.Context, secrets int) error {
	for i := range secrets {
		if _, err := z.clientset.CoreV1().Secrets(zoppNamespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: plainName(i)}}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (z *zoppBench) writePlain(ctx context.Context, secrets int, value string) error {
	group, limited := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i := range secrets {
		group.Go(func() error {
			_, err := z.clientset.CoreV1().Secrets(zoppNamespace).Patch(limited, plainName(i), types.MergePatchType,
				fmt.Appendf(nil, `{"stringData":{%q:%q}}`, zoppKey, value), metav1.PatchOptions{})
			return err
		})
	}
	return group.Wait()
}

// atRest counts what happens while nothing does, in the time of two polls.
func (z *zoppBench) atRest(ctx context.Context) error {
	count := func() (writes, lists int, err error) {
		writes, err = z.countWrites(ctx, "secrets")
		return writes, z.peer.Double.Calls("ListSecrets"), err
	}
	writes, lists, err := count()
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(2 * zoppPoll):
	}
	writesLater, listsLater, err := count()
	if err != nil {
		return err
	}
	written, perPoll := float64(writesLater-writes), float64(listsLater-lists)/2
	z.row(row{What: "… writes of Secrets at rest for two polls", Lintel: fmt.Sprintf("%g", written), Target: "0", Verdict: verdict(written, 0)})
	z.row(row{What: fmt.Sprintf("… lists a poll, of %d environments; polls may come a fifth early", zoppEnvironments), Lintel: fmt.Sprintf("%g", perPoll),
		Target: fmt.Sprintf("≤ %g", zoppEnvironments*(1+zoppEarly)), Verdict: verdict(perPoll, zoppEnvironments*(1+zoppEarly))})
	return nil
}

// sightings are when which Secret was first seen with which value.
type sightings struct {
	mutex sync.Mutex
	of    map[string]map[string]time.Time
}

// watch notes what comes until it is stopped.
func (s *sightings) watch(ctx context.Context, b *bench) (stop func(), err error) {
	watcher, err := b.clientset.CoreV1().Secrets(zoppNamespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for event := range watcher.ResultChan() {
			if secret, is := event.Object.(*corev1.Secret); is && len(secret.Data[zoppKey]) > 0 {
				s.note(string(secret.Data[zoppKey]), secret.Name)
			}
		}
	})
	return func() { watcher.Stop(); reading.Wait() }, nil
}

func (s *sightings) note(value, name string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.of[value] == nil {
		s.of[value] = map[string]time.Time{}
	}
	if _, there := s.of[value][name]; !there {
		s.of[value][name] = time.Now()
	}
}

func (s *sightings) times(value string) (all []time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, at := range s.of[value] {
		all = append(all, at)
	}
	return all
}

func (s *sightings) wait(ctx context.Context, value string, secrets int) error {
	return pollFor(ctx, 2*time.Minute, fmt.Sprintf("%d Secrets with the value %s", secrets, value), func() (bool, error) {
		return len(s.times(value)) >= secrets, nil
	})
}
