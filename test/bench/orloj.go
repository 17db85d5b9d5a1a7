package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/lintel-policy/lintel/test/installation"
)

const (
	orlojNamespace = "orloj-bench"
	orlojObjects   = 10_000
	orlojRest      = time.Minute
	orlojDrift     = 20 * time.Second
)

// measureOrloj has ten thousand objects that wait for their manager. It takes the place
// of the one that the other parts measure, so it comes last.
func (b *bench) measureOrloj(ctx context.Context) (err error) {
	say("measuring %d objects of Orloj …", orlojObjects)
	if err := installation.PermitOrloj(ctx, b.cluster); err != nil {
		return err
	}
	database, err := installation.StartPostgres(ctx)
	if err != nil {
		return err
	}
	defer func() {
		b.manager.Stop() // before its database
		if removed := database.Remove(); err == nil {
			err = removed
		}
	}()
	if err := b.createNamespace(ctx, orlojNamespace); err != nil {
		return err
	}
	if err := b.createAgents(ctx); err != nil {
		return err
	}
	b.manager.Stop()
	writes, err := b.countWrites(ctx, orlojKinds)
	if err != nil {
		return err
	}
	b.manager, err = installation.StartManager(ctx, b.cluster, installation.ManagerOptions{
		Program: filepath.Join(b.folder, "bin", "manager"), Name: "manager-orloj", Args: []string{
			"--systems=orloj", "--orloj-create-tables", "--orloj-postgres-dsn=" + database.DSN, "--orloj-drift-interval=" + orlojDrift.String(),
		},
	})
	if err != nil {
		return err
	}
	start := time.Now()
	apiServer, err := b.apiServerCPU(ctx)
	if err != nil {
		return err
	}
	if err := b.untilSynced(ctx, database); err != nil {
		return err
	}
	took := time.Since(start).Seconds()
	apiServerAfter, err := b.apiServerCPU(ctx)
	if err != nil {
		return err
	}
	manager, err := b.managerMetric(ctx, "process_cpu_seconds_total")
	if err != nil {
		return err
	}
	b.row(row{What: fmt.Sprintf("Orloj: %d objects exist, the manager starts: from ready to all Synced", orlojObjects),
		Lintel: fmt.Sprintf("%.1f s", took), Target: "≤ 50 s", Verdict: verdict(took, 50)})
	b.row(row{What: "… CPU of the manager, and of the API server as the reference", Lintel: fmt.Sprintf("%.1f s", manager), Reference: fmt.Sprintf("%.1f s", apiServerAfter-apiServer)})
	if err := b.orlojWrites(ctx, database, writes); err != nil {
		return err
	}
	if err := b.orlojAtRest(ctx, database); err != nil {
		return err
	}
	return b.orlojScan(ctx)
}

// createAgents creates the objects, which no webhook reviews yet.
func (b *bench) createAgents(ctx context.Context) error {
	group, limited := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range orlojObjects {
		group.Go(func() error {
			_, err := b.agents().Create(limited, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "orloj.dev/v1", "kind": "Agent",
				"metadata": map[string]any{"name": fmt.Sprintf("agent-%05d", i), "namespace": orlojNamespace, "labels": map[string]any{"team": fmt.Sprint("t", i%50)}},
				"spec": map[string]any{
					"prompt": strings.Repeat("You are a concise summarizer. ", 20), "model_ref": "gpt-4o",
					"tools": []any{"search", "fetch"}, "limits": map[string]any{"max_steps": int64(5)},
				},
			}}, metav1.CreateOptions{})
			return err
		})
	}
	return group.Wait()
}

func (b *bench) agents() dynamic.ResourceInterface {
	return b.dynamic.Resource(schema.GroupVersionResource{Group: "orloj.dev", Version: "v1", Resource: "agents"}).Namespace(orlojNamespace)
}

// orlojKinds are the resources that Orloj's controllers write.
const orlojKinds = "agents|agentsystems|tools|mcpservers|modelendpoints|memories|agentpolicies|secrets"

// untilSynced asks the database, which is cheap, until it has all rows, and then the API
// server whether all say so.
func (b *bench) untilSynced(ctx context.Context, database *installation.Postgres) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		count, err := database.Psql(ctx, "SELECT CASE WHEN to_regclass('agents') IS NULL THEN 0 ELSE (SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'agents') END")
		if err != nil {
			return err
		}
		if strings.TrimSpace(count) == strconv.Itoa(orlojObjects) {
			synced, err := b.countSynced(ctx)
			if err != nil {
				return err
			}
			if synced == orlojObjects {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the objects to be synced, of which %s have a row: %w", strings.TrimSpace(count), ctx.Err())
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (b *bench) countSynced(ctx context.Context) (synced int, err error) {
	list, err := b.agents().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return 0, err
	}
	for _, item := range list.Items {
		if phase, _, _ := unstructured.NestedString(item.Object, "status", "phase"); phase == "Synced" {
			synced++
		}
	}
	return synced, nil
}

// orlojWrites counts what the objects cost.
func (b *bench) orlojWrites(ctx context.Context, database *installation.Postgres, before int) error {
	after, err := b.countWrites(ctx, orlojKinds)
	if err != nil {
		return err
	}
	perObject := float64(after-before) / orlojObjects
	b.row(row{What: "… writes to the API server for each object", Lintel: fmt.Sprintf("%.2f", perObject), Target: "≤ 2", Verdict: verdict(perObject, 2)})
	rows, err := database.Psql(ctx, "SELECT n_tup_ins || ' ' || n_tup_upd || ' ' || n_tup_del FROM pg_stat_user_tables WHERE relname = 'agents'")
	if err != nil {
		return err
	}
	want := fmt.Sprintf("%d 0 0", orlojObjects)
	got := strings.TrimSpace(rows)
	result := "met"
	if got != want {
		result = "missed"
	}
	b.row(row{What: "… rows inserted, updated and deleted", Lintel: got, Target: want, Verdict: result})
	transactions, err := b.managerMetric(ctx, "lintel_orloj_transactions_total")
	if err != nil {
		return err
	}
	perObject = transactions / orlojObjects
	b.row(row{What: "… transactions for each object", Lintel: fmt.Sprintf("%.3f", perObject), Target: "≤ 1", Verdict: verdict(perObject, 1.001)}) // tables and key, once
	return nil
}

// orlojAtRest counts the writes while nothing changes.
func (b *bench) orlojAtRest(ctx context.Context, database *installation.Postgres) error {
	count := func() (api int, rows string, err error) {
		if api, err = b.countWrites(ctx, orlojKinds); err != nil {
			return api, rows, err
		}
		rows, err = database.Psql(ctx, "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables")
		return api, strings.TrimSpace(rows), err
	}
	api, rows, err := count()
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(orlojRest):
	}
	apiLater, rowsLater, err := count()
	if err != nil {
		return err
	}
	before, err := strconv.Atoi(rows)
	if err != nil {
		return err
	}
	after, err := strconv.Atoi(rowsLater)
	if err != nil {
		return err
	}
	written := float64(apiLater - api + after - before)
	b.row(row{What: fmt.Sprintf("… writes to API server and database at rest in %s, with drift looked for every %s", orlojRest, orlojDrift),
		Lintel: strconv.Itoa(int(written)), Target: "0", Verdict: verdict(written, 0)})
	return nil
}

// orlojScan reports the duration of the last scan, and the allocations of the manager between
// two scans, which are more than those of a scan.
func (b *bench) orlojScan(ctx context.Context) error {
	seconds, err := b.managerMetric(ctx, `lintel_orloj_scan_seconds{kind="Agent"}`)
	if err != nil {
		return err
	}
	b.row(row{What: fmt.Sprintf("… a scan of %d rows for drift", orlojObjects), Lintel: fmt.Sprintf("%.2f s", seconds), Target: "≤ 5 s", Verdict: verdict(seconds, 5)})
	before, err := b.managerMetric(ctx, "go_memstats_alloc_bytes_total")
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(orlojDrift):
	}
	after, err := b.managerMetric(ctx, "go_memstats_alloc_bytes_total")
	if err != nil {
		return err
	}
	mib := (after - before) / (1 << 20)
	b.row(row{What: fmt.Sprintf("… all that the manager allocates in %s, one scan included", orlojDrift), Lintel: fmt.Sprintf("%.1f MiB", mib), Target: "≤ 64 MiB", Verdict: verdict(mib, 64)})
	return nil
}

// apiServerCPU is what the API server has used so far, in seconds.
func (b *bench) apiServerCPU(ctx context.Context) (float64, error) {
	text, err := b.clientset.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	return metricIn(text, "process_cpu_seconds_total")
}

// managerMetric is one number of the manager's metrics.
func (b *bench) managerMetric(ctx context.Context, name string) (float64, error) {
	text, err := b.managerMetrics(ctx)
	if err != nil {
		return 0, err
	}
	return metricIn(text, name)
}

// managerMetrics are all of them.
func (b *bench) managerMetrics(ctx context.Context) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.manager.Metrics+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

func metricIn(text []byte, name string) (float64, error) {
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("there is no metric %s", name)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

// countWrites returns how many write requests for the resources (alternatives of a regular
// expression) the API server has served, from its metrics.
func (b *bench) countWrites(ctx context.Context, resources string) (count int, err error) {
	text, err := b.clientset.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	writes := regexp.MustCompile(`(?m)^apiserver_request_total\{.*dry_run="".*resource="(?:` + resources + `)".*verb="(?:APPLY|PATCH|POST|PUT|DELETE)".*\} (\d+)$`)
	for _, found := range writes.FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.Atoi(found[1])
		if err != nil {
			return 0, err
		}
		count += n
	}
	return count, nil
}
