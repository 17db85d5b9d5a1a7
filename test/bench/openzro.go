package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	openzrov1 "github.com/lintel-policy/lintel/api/openzro/v1"
	"github.com/lintel-policy/lintel/test/installation"
	"github.com/lintel-policy/lintel/test/openzro"
)

const (
	openZroTenants = 10
	// Of each kind in each tenant.
	openZroGroups, openZroPolicies, openZroResources = 100, 50, 100
	openZroObjects                                   = openZroTenants * (openZroGroups + openZroPolicies + openZroResources)

	openZroDelay    = 20 * time.Millisecond
	openZroInterval = 20 * time.Second
	openZroRest     = time.Minute
	openZroPods     = 100
	// openZroKinds are the resources that its controllers write.
	openZroKinds = "ozgroups|ozpolicies|ozresources|secrets"
)

// openZroBench is a server with tenants, each of which is a namespace.
type openZroBench struct {
	*bench
	server   *openzro.Server
	tenants  []*openzro.Account
	networks []string // of the tenants, by their order
}

// measureOpenZro has the objects of ten tenants wait for their manager, which takes the
// place of the one that the other parts measure.
func (b *bench) measureOpenZro(ctx context.Context) error {
	say("measuring %d objects of openZro …", openZroObjects)
	if err := installation.PermitOpenZro(ctx, b.cluster); err != nil {
		return err
	}
	server, err := openzro.Start()
	if err != nil {
		return err
	}
	o := &openZroBench{bench: b, server: server}
	defer func() {
		b.manager.Stop() // before what it calls
		server.Stop()
	}()
	b.manager.Stop()
	if err := o.createTenants(ctx); err != nil {
		return err
	}
	server.SetDelay(openZroDelay)
	for _, measure := range []func(context.Context) error{o.fromNothing, o.atRest, o.repair, o.otherPods} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	return nil
}

// createTenants makes the namespaces, with a key and a network each, and the objects, which
// nobody judges yet.
func (o *openZroBench) createTenants(ctx context.Context) error {
	for i := range openZroTenants {
		name := fmt.Sprintf("openzro-bench-%d", i)
		tenant := o.server.AddAccount(name)
		o.tenants = append(o.tenants, tenant)
		if err := o.createNamespace(ctx, name); err != nil {
			return err
		}
		var network openzro.Network
		if err := o.call(ctx, tenant, http.MethodPost, "networks", map[string]any{"name": name}, &network); err != nil {
			return err
		}
		o.networks = append(o.networks, network.ID)
		secret := map[string]any{openzrov1.APIKey: tenant.Token, openzrov1.APIManagementURL: o.server.URL}
		if err := o.create(ctx, "", "v1", "secrets", "Secret", name, openzrov1.APIKeySecret, "stringData", secret); err != nil {
			return err
		}
	}
	return o.createObjects(ctx)
}

// call calls the server as a person would, by the side of the controllers.
func (o *openZroBench) call(ctx context.Context, tenant *openzro.Account, method, path string, body, into any) error {
	answer, err := (&openzro.Management{URL: o.server.URL}).Send(ctx, tenant.Token, method, path, body)
	if err != nil {
		return err
	}
	if answer.Status != http.StatusOK {
		return fmt.Errorf("%s %s: %d %s", method, path, answer.Status, answer.Body)
	}
	return answer.Into(into)
}

func (o *openZroBench) create(ctx context.Context, group, version, resource, kind, namespace, name, field string, content map[string]any) error {
	kinds := schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
	_, err := o.dynamic.Resource(kinds).Namespace(namespace).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": kinds.GroupVersion().String(), "kind": kind, "metadata": map[string]any{"name": name}, field: content,
	}}, metav1.CreateOptions{})
	return err
}

func (o *openZroBench) createObjects(ctx context.Context) error {
	group, limited := errgroup.WithContext(ctx)
	group.SetLimit(16)
	create := func(resource, kind, namespace string, i int, spec map[string]any) {
		group.Go(func() error {
			return o.create(limited, "openzro.io", "v1", resource, kind, namespace, fmt.Sprint(i), "spec", spec)
		})
	}
	for t, tenant := range o.tenants {
		for i := range openZroGroups {
			create("ozgroups", "OZGroup", tenant.Name, i, map[string]any{"name": fmt.Sprintf("group %d", i)})
		}
		for i := range openZroPolicies {
			create("ozpolicies", "OZPolicy", tenant.Name, i, map[string]any{
				"name": fmt.Sprintf("policy %d", i), "protocols": []any{"tcp"}, "ports": []any{int64(443)},
				"sourceGroups": []any{fmt.Sprintf("group %d", i)}, "destinationGroups": []any{fmt.Sprintf("group %d", i+openZroPolicies)},
			})
		}
		for i := range openZroResources {
			create("ozresources", "OZResource", tenant.Name, i, map[string]any{
				"name": fmt.Sprintf("resource %d", i), "networkID": o.networks[t], "address": fmt.Sprintf("10.%d.%d.1", t, i),
				"groups": []any{fmt.Sprintf("group %d", i)},
			})
		}
	}
	return group.Wait()
}

// fromNothing starts the manager, and waits until all objects are Reconciled.
func (o *openZroBench) fromNothing(ctx context.Context) (err error) {
	before, err := o.countWrites(ctx, openZroKinds)
	if err != nil {
		return err
	}
	key := filepath.Join(o.folder, "openzro-api-key")
	if err := os.WriteFile(key, []byte(o.tenants[0].Token), 0o600); err != nil {
		return err
	}
	o.server.ForgetCalls()
	o.manager, err = installation.StartManager(ctx, o.cluster, installation.ManagerOptions{
		Program: o.managerProgram, Name: "manager-openzro", Args: []string{
			"--systems=openzro", "--openzro-management-url=" + o.server.URL, "--openzro-api-key-file=" + key,
			"--openzro-default-namespaces=", "--openzro-interval=" + openZroInterval.String(),
		},
	})
	if err != nil {
		return err
	}
	start := time.Now()
	if err := pollFor(ctx, 5*time.Minute, "the objects of openZro", func() (bool, error) { return o.reconciled(ctx) }); err != nil {
		return err
	}
	took, calls := time.Since(start).Seconds(), float64(o.server.Count(openzro.Call{}))/openZroObjects
	o.row(row{What: fmt.Sprintf("openZro: %d objects in %d tenants exist, the manager starts: from ready to all Reconciled, the server answering in %s", openZroObjects, openZroTenants, openZroDelay),
		Lintel: fmt.Sprintf("%.1f s", took), Target: "≤ 60 s", Verdict: verdict(took, 60)})
	o.row(row{What: "… requests to the server for each object", Lintel: fmt.Sprintf("%.2f", calls), Target: "≤ 1.2", Verdict: verdict(calls, 1.2)})
	after, err := o.countWrites(ctx, openZroKinds)
	if err != nil {
		return err
	}
	o.row(row{What: "… writes to the API server for each object", Lintel: fmt.Sprintf("%.2f", float64(after-before)/openZroObjects)})
	return o.check()
}

// reconciled asks the API server once the server seems to have all.
func (o *openZroBench) reconciled(ctx context.Context) (bool, error) {
	select {
	case <-o.manager.Ended():
		return false, o.manager.Failure()
	default:
	}
	if o.server.Writes(openzro.Call{}) < openZroObjects {
		return false, nil
	}
	for _, resource := range []string{"ozgroups", "ozpolicies", "ozresources"} {
		kinds := schema.GroupVersionResource{Group: "openzro.io", Version: "v1", Resource: resource}
		list, err := o.dynamic.Resource(kinds).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return false, err
		}
		for _, item := range list.Items {
			if !isReconciled(item) {
				return false, nil
			}
		}
	}
	return true, nil
}

func isReconciled(object unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		fields, _ := condition.(map[string]any)
		if fields["type"] == openzrov1.ConditionReady {
			return fields["reason"] == openzrov1.ReasonReconciled
		}
	}
	return false
}

// check ends the run where the server has not what the objects say.
func (o *openZroBench) check() error {
	for _, tenant := range o.tenants {
		groups, policies, resources := len(tenant.Groups())-1, len(tenant.Policies()), len(tenant.Resources()) // All is one, too
		if groups != openZroGroups || policies != openZroPolicies || resources != openZroResources {
			return fmt.Errorf("the server has %d groups, %d policies and %d resources of %s", groups, policies, resources, tenant.Name)
		}
	}
	return nil
}

// atRest counts what is asked and written while nothing happens.
func (o *openZroBench) atRest(ctx context.Context) error {
	before, err := o.countWrites(ctx, openZroKinds)
	if err != nil {
		return err
	}
	o.server.ForgetCalls()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(openZroRest):
	}
	after, err := o.countWrites(ctx, openZroKinds)
	if err != nil {
		return err
	}
	written := float64(o.server.Writes(openzro.Call{}) + after - before)
	o.row(row{What: fmt.Sprintf("… writes to the API server and to openZro's at rest in %s", openZroRest), Lintel: strconv.Itoa(int(written)), Target: "0", Verdict: verdict(written, 0)})
	most := 0
	for _, times := range o.server.Calls() {
		most = max(most, times)
	}
	limit := int(openZroRest/openZroInterval) + 1 // of which the first and the last are cut
	o.row(row{What: fmt.Sprintf("… lists of a collection of a tenant at most in that time, with an interval of %s", openZroInterval),
		Lintel: strconv.Itoa(most), Target: fmt.Sprintf("≤ %d", limit), Verdict: verdict(float64(most), float64(limit))})
	return nil
}

// repair deletes a policy of each tenant behind its back, and waits for them.
func (o *openZroBench) repair(ctx context.Context) error {
	for _, tenant := range o.tenants {
		if err := o.call(ctx, tenant, http.MethodDelete, "policies/"+tenant.Policies()[0].ID, nil, &struct{}{}); err != nil {
			return err
		}
	}
	start := time.Now()
	err := pollFor(ctx, 5*time.Minute, "the deleted policies", func() (bool, error) { return o.check() == nil, nil })
	if err != nil {
		return err
	}
	took, limit := time.Since(start).Seconds(), openZroInterval.Seconds()
	o.row(row{What: "… a policy of each tenant is deleted at the server: until all are there again, an interval at most",
		Lintel: fmt.Sprintf("%.1f s", took), Target: fmt.Sprintf("≤ %g s", limit+1), Verdict: verdict(took, limit+1)}) // and the writes
	return nil
}

var admissionRequests = regexp.MustCompile(`(?m)^lintel_admission_requests_total\{[^}]*\} (\d+)$`)

// otherPods counts the calls that Pods cost which ask for no client.
func (o *openZroBench) otherPods(ctx context.Context) error {
	before, err := o.admissions(ctx)
	if err != nil {
		return err
	}
	for i := range openZroPods {
		if err := o.create(ctx, "", "v1", "pods", "Pod", o.tenants[0].Name, fmt.Sprintf("plain-%d", i), "spec", map[string]any{
			"containers": []any{map[string]any{"name": "app", "image": "app:1"}},
		}); err != nil {
			return err
		}
	}
	after, err := o.admissions(ctx)
	if err != nil {
		return err
	}
	o.row(row{What: fmt.Sprintf("… calls of the webhook for %d Pods without the annotation", openZroPods), Lintel: strconv.Itoa(after - before), Target: "0", Verdict: verdict(float64(after-before), 0)})
	return nil
}

// admissions are the reviews that the manager has answered.
func (o *openZroBench) admissions(ctx context.Context) (count int, err error) {
	text, err := o.managerMetrics(ctx)
	if err != nil {
		return 0, err
	}
	for _, found := range admissionRequests.FindAllSubmatch(text, -1) {
		n, err := strconv.Atoi(string(found[1]))
		if err != nil {
			return 0, err
		}
		count += n
	}
	return count, nil
}
