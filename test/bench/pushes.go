package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lintel-policy/lintel/test/gitserver"
	"github.com/lintel-policy/lintel/test/installation"
)

const (
	pushSource = "pushed"
	pushToken  = "bench"
	pushPath   = "policies"
	// pushesAlone are measured with nothing else to do, pushesLoaded under load, and
	// pushesPolled without a notification.
	pushesAlone  = 30
	pushesLoaded = 100
	pushesPolled = 5
	// pollInterval is the shortest that there is.
	pollInterval = 5 * time.Second
)

// pushFiles are the 500 policies; probe is the one of them that changes.
func pushFiles() map[string]string {
	files := map[string]string{}
	for source := range swapPolicies / swapPerSource {
		for name, text := range swapFiles(source, 0) {
			files[pushPath+"/"+name] = text
		}
	}
	delete(files, fmt.Sprintf("%s/p%03d.rego", pushPath, swapPolicies-1))
	return files
}

// probeLabel is what the probe of a revision denies.
func probeLabel(revision int) string { return fmt.Sprintf("revision-%d", revision) }

func probeFile(revision int) map[string]string {
	return map[string]string{pushPath + "/probe.rego": fmt.Sprintf(`# METADATA
# custom:
#   match:
#     kinds: [{group: "", kind: ConfigMap}]
package bench.probe

import rego.v1

deny contains "pushed" if input.request.object.metadata.labels.bench == %q
`, probeLabel(revision))}
}

// pushes is a repository that a PolicySource follows.
type pushes struct {
	*bench
	repository *gitserver.Repository
	server     *gitserver.Server
	revision   int
}

// measurePushes: from the beginning of git push to the first denial by the API server.
func (b *bench) measurePushes(ctx context.Context) error {
	say("measuring pushes to a repository of 500 policies …")
	p, err := b.startPushes(ctx)
	if err != nil {
		return err
	}
	defer p.server.Stop()
	alone, err := p.measure(ctx, pushesAlone, true)
	if err != nil {
		return err
	}
	loaded, load, err := p.measureLoaded(ctx)
	if err != nil {
		return err
	}
	if err := p.follow(ctx, pollInterval); err != nil {
		return err
	}
	polled, err := p.measure(ctx, pushesPolled, false)
	if err != nil {
		return err
	}
	b.keep("pushes to 500 policies", alone)
	b.keep("pushes to 500 policies, under load", loaded)
	b.keep("pushes to 500 policies, polled", polled)
	b.keep("500 policies, pushed, load", load)
	const second = 1000.0
	b.row(row{
		What:   fmt.Sprintf("push to enforced, notified, one of 500 policies, %d pushes: p50 / p99", pushesAlone),
		Lintel: twoPercentiles(alone), Target: "p50 ≤ 1000 ms", Verdict: verdict(milliseconds(alone.percentile(50)), second),
	})
	b.row(row{
		What:   fmt.Sprintf("… %d pushes in a row, %d requests/s", pushesLoaded, swapRate),
		Lintel: twoPercentiles(loaded),
	})
	failed := row{
		What: "… failed requests meanwhile", Lintel: fmt.Sprintf("%d of %d", load.Failed, len(load.Latencies)+load.Failed),
		Target: "0", Verdict: verdict(float64(load.Failed), 0),
	}
	if load.FirstFailure != "" {
		failed.Verdict += ": " + load.FirstFailure
	}
	b.row(failed)
	b.row(row{What: "… p50 / p99 / p99.9 of those requests", Lintel: load.Latencies.percentiles()})
	b.row(row{
		What:   fmt.Sprintf("push to enforced, polled every %s, %d pushes: the slowest", pollInterval, pushesPolled),
		Lintel: fmt.Sprintf("%.0f ms", milliseconds(polled.percentile(100))), Target: "≤ interval + 1 s",
		Verdict: verdict(milliseconds(polled.percentile(100)), milliseconds(pollInterval)+second),
	})
	return b.deleteSources(ctx, pushSource)
}

func twoPercentiles(s samples) string {
	return fmt.Sprintf("%.0f / %.0f ms", milliseconds(s.percentile(50)), milliseconds(s.percentile(99)))
}

func (b *bench) startPushes(ctx context.Context) (*pushes, error) {
	folder := filepath.Join(b.folder, "git")
	repository, err := gitserver.NewRepository(ctx, folder, "policies")
	if err != nil {
		return nil, err
	}
	if _, err := repository.Commit(ctx, pushFiles()); err != nil {
		return nil, err
	}
	p := &pushes{bench: b, repository: repository}
	if _, err := repository.Push(ctx, probeFile(0)); err != nil {
		return nil, err
	}
	if p.server, err = gitserver.Start(folder, "127.0.0.1:0", nil); err != nil {
		return nil, err
	}
	token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: pushSource}, StringData: map[string]string{"token": pushToken}}
	if _, err := b.clientset.CoreV1().Secrets(installation.Namespace).Create(ctx, token, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	return p, p.follow(ctx, time.Hour)
}

// follow configures the interval of the repository, and a webhook of its host.
func (p *pushes) follow(ctx context.Context, interval time.Duration) error {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy.lintel.dev/v1alpha1", "kind": "PolicySource",
		"metadata": map[string]any{"name": pushSource},
		"spec": map[string]any{
			"git": map[string]any{
				"url": p.server.URL + "/policies.git", "path": pushPath,
				"receiver": map[string]any{"secretRef": map[string]any{"name": pushSource}},
			},
			"interval": interval.String(),
		},
	}}
	if _, err := p.dynamic.Resource(policySources).Apply(ctx, pushSource, object, metav1.ApplyOptions{FieldManager: "bench", Force: true}); err != nil {
		return err
	}
	return p.cluster.WaitSource(ctx, pushSource)
}

// measure pushes and waits, so many times.
func (p *pushes) measure(ctx context.Context, times int, told bool) (taken samples, err error) {
	for range times {
		p.revision++
		if _, err := p.repository.Commit(ctx, probeFile(p.revision)); err != nil {
			return nil, err
		}
		start := time.Now()
		if _, err := p.repository.Git(ctx, "push", "--quiet", "origin", "HEAD:main"); err != nil {
			return nil, err
		}
		if told {
			if err := p.tell(ctx); err != nil {
				return nil, err
			}
		}
		if err := p.enforced(ctx); err != nil {
			return nil, err
		}
		taken = append(taken, time.Since(start))
	}
	return taken, nil
}

// measureLoaded pushes while others are asked about Pods.
func (p *pushes) measureLoaded(ctx context.Context) (taken samples, met *steady, err error) {
	loading, cancel := context.WithCancel(ctx)
	defer cancel()
	met = &steady{}
	var background sync.WaitGroup
	var loadErr error
	lintel := p.lintel("/validate/fail")
	background.Go(func() {
		for loading.Err() == nil && loadErr == nil {
			var ofLintel *steady
			if ofLintel, _, loadErr = p.steadyLoad(ctx, lintel); loadErr == nil {
				met.Latencies = append(met.Latencies, ofLintel.Latencies...)
				met.Failed += ofLintel.Failed
				met.FirstFailure = max(met.FirstFailure, ofLintel.FirstFailure)
			}
		}
	})
	taken, err = p.measure(ctx, pushesLoaded, true)
	cancel()
	background.Wait()
	return taken, met, errors.Join(err, loadErr)
}

// tell notifies as GitHub does.
func (p *pushes) tell(ctx context.Context) error {
	body := []byte(`{"ref":"refs/heads/main"}`)
	mac := hmac.New(sha256.New, []byte(pushToken))
	mac.Write(body)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.manager.Receiver+"/hook/"+pushSource, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != http.StatusAccepted {
		return fmt.Errorf("the receiver answered %s", response.Status)
	}
	return nil
}

// enforced waits until the API server denies what the last push forbids.
func (p *pushes) enforced(ctx context.Context) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Labels: map[string]string{"bench": probeLabel(p.revision)}}}
	deadline := time.Now().Add(30 * time.Second)
	for {
		_, err := p.clientset.CoreV1().ConfigMaps(namespaceLintel).Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch {
		case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "denied the request: pushed"):
			return nil
		case err != nil:
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("push %d was not enforced within 30 s", p.revision)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
