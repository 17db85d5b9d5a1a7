package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/test/installation"
)

// gatekeeperSource is the PolicySource of the constraints in the cluster.
const gatekeeperSource = "gatekeeper"

// neverAudited are kinds that Lintel does not audit, because admission does not review them.
var neverAudited = []string{"Event", "Lease", "Node", "ComponentStatus"}

// passive are the components that would change the objects between the two audits.
var passive = []string{"kube-controller-manager", "kube-scheduler"}

// compareAudits runs Gatekeeper's audit and Lintel's on one cluster with the templates, constraints
// and objects of a folder of suites, and compares their violations.
func (p *peers) compareAudits(ctx context.Context, name, folder string) (err error) {
	found, err := readPopulation(folder)
	if err != nil {
		return err
	}
	p.library = &found.library
	say("comparing audits on %s: %d constraints, %d objects …", name, len(found.constraints), len(found.objects))
	p.gatekeeper, err = newGatekeeper(ctx, p.bench, p.programs, p.library)
	if err != nil {
		return err
	}
	created, err := p.populate(ctx, found)
	if err != nil {
		return err
	}
	theirs, err := p.gatekeeperFindings(ctx)
	if err != nil {
		return err
	}
	ours, err := p.lintelFindings(ctx)
	if err != nil {
		return err
	}
	if err := p.judgeAudits(name, created, len(found.constraints), ours, theirs); err != nil {
		return err
	}
	return p.depopulate(ctx, found)
}

// judgeAudits adds the rows of a comparison. A difference is an error: numbers of engines that find
// different violations are not comparable.
func (p *peers) judgeAudits(name string, objects, constraints int, ours, theirs findings) error {
	omitted, left := map[string]bool{}, 0
	comparable := theirs.only(func(v violation) bool {
		keep := !slices.Contains(neverAudited, kindOf(v.object))
		if !keep {
			omitted[v.constraint] = true
			left++
		}
		return keep
	})
	lines := differences(ours, comparable)
	compared, inStatus := statusDifferences(ours, theirs, omitted)
	lines = append(lines, inStatus...)
	p.row(row{
		What: fmt.Sprintf("audit, %s: violations of %d constraints by %d objects that differ from those in Gatekeeper's log, or the status of %d constraints (left out: %d violations by objects that admission does not review)",
			name, constraints, objects, compared, left),
		Lintel: strconv.Itoa(len(lines)), Reference: fmt.Sprintf("%d violations", comparable.total()), Target: "0", Verdict: verdict(float64(len(lines)), 0),
	})
	if len(lines) > 0 {
		return fmt.Errorf("audits of %s differ:\n%s", name, strings.Join(lines, "\n"))
	}
	if comparable.total() < 30 {
		return fmt.Errorf("only %d violations in %s", comparable.total(), name)
	}
	return nil
}

// populate creates the objects, as far as the API server accepts them, and then the constraints. The
// components that would change the objects are stopped from then on.
func (p *peers) populate(ctx context.Context, found *population) (created int, err error) {
	for _, object := range found.objects {
		if object.GetKind() == "Namespace" {
			if _, err := p.dynamic.Resource(namespaces).Create(ctx, object, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
				return 0, err
			}
			created++
		}
	}
	for _, name := range found.namespaces {
		if err := p.createNamespace(ctx, name); err != nil && !apierrors.IsAlreadyExists(err) {
			return 0, err
		}
		err := poll(ctx, "the ServiceAccount of "+name, func() (bool, error) {
			_, err := p.clientset.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
			return err == nil, nil
		})
		if err != nil {
			return 0, err
		}
	}
	if err := p.cluster.Control(ctx, "stop", passive...); err != nil {
		return 0, err
	}
	if err := p.createObjects(ctx, found); err != nil {
		return 0, err
	}
	created += len(found.created)
	if err := p.sync(ctx, found.synced); err != nil {
		return 0, err
	}
	return created, nil
}

var (
	namespaces        = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	gatekeeperConfigs = schema.GroupVersionResource{Group: "config.gatekeeper.sh", Version: "v1alpha1", Resource: "configs"}
)

// sync configures the inventory and the excluded namespaces of both engines.
func (p *peers) sync(ctx context.Context, kinds []schema.GroupVersionKind) error {
	_, served, err := p.clientset.Discovery().ServerGroupsAndResources()
	if err != nil {
		return err
	}
	var entries []any
	seen := map[schema.GroupVersionKind]bool{}
	for _, kind := range kinds {
		isServed := slices.ContainsFunc(served, func(list *metav1.APIResourceList) bool {
			return list.GroupVersion == kind.GroupVersion().String() && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind.Kind })
		})
		if isServed && !seen[kind] {
			seen[kind] = true
			entries = append(entries, map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind})
		}
	}
	excluded := []any{gatekeeperNamespace, installation.Namespace}
	for _, name := range p.excludedNamespaces() {
		excluded = append(excluded, name)
	}
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "config.gatekeeper.sh/v1alpha1", "kind": "Config",
		"metadata": map[string]any{"name": "config", "namespace": gatekeeperNamespace},
		"spec": map[string]any{
			"sync":  map[string]any{"syncOnly": entries},
			"match": []any{map[string]any{"processes": []any{"*"}, "excludedNamespaces": excluded}},
		},
	}}
	_, err = p.dynamic.Resource(gatekeeperConfigs).Namespace(gatekeeperNamespace).Create(ctx, config, metav1.CreateOptions{})
	return err
}

// gatekeeperFindings are those of one audit of Gatekeeper that began when it was ready. Templates
// run their Rego, as in Lintel.
func (p *peers) gatekeeperFindings(ctx context.Context) (found findings, err error) {
	p.gatekeeper.auditInterval = 15 * time.Second
	if err := p.gatekeeper.install(ctx, p.library.constraints); err != nil {
		return found, err
	}
	lines, id, err := p.gatekeeper.nextAudit(ctx, 10*time.Minute)
	if err != nil {
		return found, err
	}
	found = loggedFindings(lines, id)
	err = pollFor(ctx, 2*time.Minute, "the status of the constraints by Gatekeeper", func() (bool, error) {
		var err error
		found.statuses, err = p.constraintStatuses(ctx)
		for _, status := range found.statuses {
			if status.AuditTimestamp < id || status.TotalViolations == nil {
				return false, err
			}
		}
		return len(found.statuses) == len(p.library.constraints), err
	})
	p.gatekeeper.stop()
	return found, err
}

// nextAudit waits for an audit that begins from now on, and returns the lines of the log since.
func (g *gatekeeper) nextAudit(ctx context.Context, limit time.Duration) (lines []logged, id string, err error) {
	info, err := os.Stat(g.process.log)
	if err != nil {
		return nil, "", err
	}
	err = pollFor(ctx, limit, "an audit by Gatekeeper", func() (bool, error) {
		select {
		case <-g.process.ended:
			return false, fmt.Errorf("it has ended:\n%s", tail(g.process.log))
		default:
		}
		if lines, err = readLog(g.process.log, info.Size()); err != nil {
			return false, err
		}
		id = finishedAudit(lines)
		return id != "", nil
	})
	return lines, id, err
}

// lintelFindings are those of Lintel's audit, as it enforces the constraints of the cluster.
func (p *peers) lintelFindings(ctx context.Context) (found findings, err error) {
	before, err := p.constraintStatuses(ctx)
	if err != nil {
		return found, err
	}
	args := append(p.excluding(), "--gatekeeper", "--audit-violations-limit=100000", "--audit-qps=200")
	started := time.Now()
	if err := p.restart(ctx, "manager-audit", args...); err != nil {
		return found, err
	}
	if err := p.waitAudited(ctx, gatekeeperSource, started, 10*time.Minute); err != nil {
		return found, err
	}
	var missing []string
	err = pollFor(ctx, 2*time.Minute, "the status of the constraints by Lintel", func() (bool, error) {
		if found.statuses, err = p.constraintStatuses(ctx); err != nil {
			return false, err
		}
		missing = nil
		for id, status := range found.statuses {
			if status.AuditTimestamp == before[id].AuditTimestamp && status.refusal() == "" {
				missing = append(missing, id)
			}
		}
		return len(missing) == 0, nil
	})
	if err != nil {
		return found, fmt.Errorf("%w; without a new one: %s", err, strings.Join(missing, ", "))
	}
	statuses, total := found.statuses, 0
	for _, status := range statuses {
		if status.refusal() == "" {
			total += *status.TotalViolations
		}
	}
	err = pollFor(ctx, time.Minute, fmt.Sprintf("reports of %d violations", total), func() (bool, error) {
		var counted int
		found, counted, err = p.reportedFindings(ctx)
		return counted >= total, err
	})
	found.statuses = statuses
	return found, err
}

// waitAudited waits until the manager has evaluated all objects that the policies of a source match.
// The status may still be that of the manager before.
func (b *bench) waitAudited(ctx context.Context, source string, since time.Time, limit time.Duration) error {
	var last string
	err := pollFor(ctx, limit, "the condition Audited of "+source, func() (bool, error) {
		found, err := b.dynamic.Resource(policySources).Get(ctx, source, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		var read v1alpha1.PolicySource
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &read); err != nil {
			return false, err
		}
		audited := meta.FindStatusCondition(read.Status.Conditions, v1alpha1.ConditionAudited)
		if audited == nil || read.Status.Audit == nil {
			return false, nil
		}
		last = fmt.Sprintf("%s %s: %s", audited.Status, audited.Reason, audited.Message)
		pass := read.Status.Audit.LastFullPass
		return audited.Status == metav1.ConditionTrue && pass != nil && !pass.Time.Before(since.Truncate(time.Second)), nil
	})
	if err != nil {
		return fmt.Errorf("%w; the condition is %s", err, last)
	}
	return nil
}

// depopulate removes what populate has created, except Namespaces.
func (p *peers) depopulate(ctx context.Context, found *population) error {
	if err := p.restart(ctx, "manager-bare", p.excluding()...); err != nil {
		return err
	}
	if err := p.deleteSource(ctx, gatekeeperSource); err != nil {
		return err
	}
	for _, each := range found.created {
		if err := each.client.Delete(ctx, each.name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	// The kind of a template is deleted by the control plane, after the template.
	if err := p.cluster.Control(ctx, "start", passive...); err != nil {
		return err
	}
	p.gatekeeper.auditInterval = 0
	err := p.gatekeeper.clear(ctx)
	p.gatekeeper.stop()
	return err
}

// createObjects creates the objects that are not Namespaces, as far as the API server accepts them.
func (p *peers) createObjects(ctx context.Context, found *population) error {
	groups, err := restmapper.GetAPIGroupResources(p.clientset.Discovery())
	if err != nil {
		return err
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for _, object := range found.objects {
		if object.GetKind() == "Namespace" {
			continue
		}
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err == nil {
			var client dynamic.ResourceInterface = p.dynamic.Resource(mapping.Resource)
			if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
				client = p.dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace())
			}
			if _, err = client.Create(ctx, object, metav1.CreateOptions{}); err == nil {
				found.created = append(found.created, createdObject{client, object.GetName()})
			}
		}
		if err != nil {
			say("not created: %s %s/%s: %v", kind.Kind, object.GetNamespace(), object.GetName(), err)
		}
	}
	if len(found.created) == 0 {
		return errors.New("the API server accepted no object")
	}
	return nil
}

// auditFolders are the folders of suites whose audits are compared.
func (b *bench) auditFolders() map[string]string {
	folders := map[string]string{"samples": filepath.Join(installation.Root(), "config/samples/gatekeeper")}
	if b.libraryFolder != "" {
		folders["public library"] = filepath.Join(b.libraryFolder, "library")
	}
	return folders
}
