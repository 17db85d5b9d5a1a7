package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

const (
	openVoxServers       = 100
	openVoxConfigs       = 5
	openVoxPools         = 10
	openVoxServersTarget = 30 // seconds
	openVoxRest          = time.Minute
	// openVoxServerKinds are the resources of Servers and Pools that are written.
	openVoxServerKinds = "servers|pools|configs|configmaps|deployments|services|poddisruptionbudgets|horizontalpodautoscalers|networkpolicies"
)

// openVoxServing has many Servers run, edits one of their Configs, and leaves them alone.
func (b *bench) openVoxServing(ctx context.Context) error {
	const namespace = openVoxNamespace + "-servers"
	if err := b.createNamespace(ctx, namespace); err != nil {
		return err
	}
	deaf, err := startDeafServer()
	if err != nil {
		return err
	}
	defer deaf.stop()
	ca, err := startPuppetCA(openVoxDelay)
	if err != nil {
		return err
	}
	defer ca.stop()
	if err := b.createAuthorities(ctx, namespace, ca, deaf); err != nil {
		return err
	}
	if err := b.createCertificates(ctx, namespace, "main", openVoxConfigs); err != nil {
		return err
	}
	for i := range openVoxConfigs {
		config := openVoxObject("Config", fmt.Sprint("config-", i), map[string]any{"authorityRef": "main", "image": map[string]any{"repository": "example.com/puppet", "tag": "8"}})
		if _, err := b.openVox("configs", namespace).Create(ctx, config, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	err = poll(ctx, "the Certificates to be signed", func() (bool, error) {
		list, err := b.openVox("certificates", namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for i := range list.Items {
			if phase, _, _ := unstructured.NestedString(list.Items[i].Object, "status", "phase"); phase != "Signed" {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}

	start := time.Now()
	if err := b.createServers(ctx, namespace); err != nil {
		return err
	}
	if err := b.untilServed(ctx, namespace); err != nil {
		return err
	}
	took := time.Since(start).Seconds()
	b.row(row{What: fmt.Sprintf("OpenVox: %d Servers in %d Pools: all ready (their Pods run no program)", openVoxServers, openVoxPools),
		Lintel: fmt.Sprintf("%.1f s", took), Target: fmt.Sprintf("≤ %d s", openVoxServersTarget), Verdict: verdict(took, openVoxServersTarget)})
	if err := b.untilQuiet(ctx, openVoxServerKinds); err != nil {
		return err
	}
	if err := b.openVoxEdit(ctx, namespace); err != nil {
		return err
	}
	before, err := b.countWrites(ctx, openVoxServerKinds)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(openVoxRest):
	}
	after, err := b.countWrites(ctx, openVoxServerKinds)
	if err != nil {
		return err
	}
	b.row(row{What: fmt.Sprintf("… writes at rest in %s", openVoxRest), Lintel: strconv.Itoa(after - before), Target: "0", Verdict: verdict(float64(after-before), 0)})
	return nil
}

func (b *bench) createServers(ctx context.Context, namespace string) error {
	group, limited := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range openVoxPools {
		group.Go(func() error {
			_, err := b.openVox("pools", namespace).Create(limited, openVoxObject("Pool", fmt.Sprint("pool-", i), map[string]any{}), metav1.CreateOptions{})
			return err
		})
	}
	for i := range openVoxServers {
		group.Go(func() error {
			config := i % openVoxConfigs
			server := openVoxObject("Server", fmt.Sprintf("server-%03d", i), map[string]any{
				"configRef": fmt.Sprint("config-", config), "certificateRef": fmt.Sprintf("main-%03d", config), "poolRefs": []any{fmt.Sprint("pool-", i%openVoxPools)},
			})
			_, err := b.openVox("servers", namespace).Create(limited, server, metav1.CreateOptions{})
			return err
		})
	}
	return group.Wait()
}

// untilServed waits until all Servers and Pools are ready.
func (b *bench) untilServed(ctx context.Context, namespace string) error {
	return poll(ctx, "the Servers and Pools to be ready", func() (bool, error) {
		for kind, want := range map[string]int{"servers": openVoxServers, "pools": openVoxPools} {
			list, err := b.openVox(kind, namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				return false, err
			}
			ready := 0
			for i := range list.Items {
				conditions, _, _ := unstructured.NestedSlice(list.Items[i].Object, "status", "conditions")
				for _, condition := range conditions {
					if c, _ := condition.(map[string]any); c["type"] == "Ready" && c["status"] == "True" {
						ready++
					}
				}
			}
			if ready < want {
				return false, nil
			}
		}
		return true, nil
	})
}

// openVoxEdit changes one Config, and counts how often that changes the spec of which
// Deployments: each time is another generation.
func (b *bench) openVoxEdit(ctx context.Context, namespace string) error {
	generations := func() (map[string]int64, error) {
		list, err := b.clientset.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		found := map[string]int64{}
		for i := range list.Items {
			found[list.Items[i].Name] = list.Items[i].Generation
		}
		return found, nil
	}
	before, err := generations()
	if err != nil {
		return err
	}
	patch := []byte(`{"spec": {"puppet": {"environmentTimeout": "5m"}, "image": {"tag": "9"}}}`)
	start := time.Now()
	if _, err := b.openVox("configs", namespace).Patch(ctx, "config-0", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	const concerned = openVoxServers / openVoxConfigs
	rolled, writes := 0, int64(0)
	count := func() (bool, error) {
		after, err := generations()
		rolled, writes = 0, 0
		for name, generation := range after {
			if generation > before[name] {
				rolled, writes = rolled+1, writes+generation-before[name]
			}
		}
		return rolled >= concerned, err
	}
	if err := poll(ctx, "the Servers of one Config to be replaced", count); err != nil {
		return err
	}
	took := time.Since(start)
	if err := b.untilQuiet(ctx, openVoxServerKinds); err != nil {
		return err
	}
	if _, err := count(); err != nil {
		return err
	}
	b.row(row{What: fmt.Sprintf("… one edit of a Config with %d Servers: Deployments that change, and how often in all (the last after %.1f s)", concerned, took.Seconds()),
		Lintel: fmt.Sprintf("%d, %d", rolled, writes), Target: fmt.Sprintf("%d, %[1]d", concerned), Verdict: verdict(float64(rolled)+float64(writes), 2*concerned)})
	return nil
}
