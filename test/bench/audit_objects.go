package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// auditNamespaceCount is the number of namespaces with Pods to audit.
	auditNamespaceCount = 50
	auditPrefix         = "audited-"
	// changedPods is the number of Pods that are changed, each in another namespace.
	changedPods = 8
	// ownerLabel is a label that one of the constraints requires.
	ownerLabel = "owner"
)

func auditNamespace(n int) string { return fmt.Sprintf("%s%02d", auditPrefix, n%auditNamespaceCount) }

// auditPods are the Pods to audit: all different, most of them compliant.
type auditPods struct {
	*bench
	text  string // with marks
	count int
}

func newAuditPods(b *bench, count int) (*auditPods, error) {
	pod := strictPod(0)
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	text, err := json.Marshal(pod)
	return &auditPods{b, string(text), count}, err
}

// pod is the n-th Pod.
func (a *auditPods) pod(n int) (*corev1.Pod, error) {
	var pod corev1.Pod
	if err := json.Unmarshal(fill(a.text, int64(n)), &pod); err != nil {
		return nil, err
	}
	pod.Namespace = auditNamespace(n)
	if isViolating(n) {
		delete(pod.Labels, ownerLabel)
	}
	return &pod, nil
}

// isViolating is true for 1 % of the Pods, in all namespaces in turn.
func isViolating(n int) bool {
	const every = 2 * auditNamespaceCount
	return n%every == n/every%auditNamespaceCount
}

// violations is the number of Pods that violate a constraint.
func (a *auditPods) violations() (count int) {
	for n := range a.count {
		if isViolating(n) {
			count++
		}
	}
	return count
}

// prepare creates the namespaces, and stops the components that would change or delete the Pods.
func (a *auditPods) prepare(ctx context.Context) error {
	names := []string{gatekeeperNamespace}
	for n := range auditNamespaceCount {
		names = append(names, auditNamespace(n))
	}
	for _, name := range names {
		if err := a.createNamespace(ctx, name); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return a.cluster.Control(ctx, "stop", passive...)
}

// create creates the Pods, as if their kind had no admission webhooks.
func (a *auditPods) create(ctx context.Context) error {
	say("creating %d Pods …", a.count)
	started := time.Now()
	var calls errgroup.Group
	calls.SetLimit(16)
	for n := range a.count {
		calls.Go(func() error {
			pod, err := a.pod(n)
			if err != nil {
				return err
			}
			_, err = a.clientset.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
			return err
		})
	}
	err := calls.Wait()
	say("created them in %s", time.Since(started).Round(time.Second))
	return err
}

// remove deletes the Pods, and starts the components again.
func (a *auditPods) remove(ctx context.Context) error {
	for n := range auditNamespaceCount {
		if err := a.clientset.CoreV1().Pods(auditNamespace(n)).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	return a.cluster.Control(ctx, "start", passive...)
}

// changeUntilReported makes compliant Pods of several namespaces violate a constraint, and measures
// the time until each of them is in its report.
func (a *auditPods) changeUntilReported(ctx context.Context, source string, count int) (taken samples, err error) {
	for n := 1; n <= count; n++ {
		pod, err := a.pod(n)
		if err != nil {
			return nil, err
		}
		started := time.Now()
		patch := []byte(`{"metadata":{"labels":{"` + ownerLabel + `":null}}}`)
		if _, err := a.clientset.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return nil, err
		}
		err = pollFor(ctx, 3*time.Minute, "the report of "+pod.Namespace, func() (bool, error) {
			report, err := a.dynamic.Resource(reportResources[0]).Namespace(pod.Namespace).Get(ctx, "lintel-"+source, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			if err != nil {
				return false, err
			}
			text, err := json.Marshal(report.Object["results"])
			return strings.Contains(string(text), `"`+pod.Name+`"`), err
		})
		if err != nil {
			return nil, err
		}
		taken = append(taken, time.Since(started))
	}
	return taken, nil
}

// storedBytes is the size of the reports about the Pods, as the API server stores them, and their
// number.
func (b *bench) storedBytes(ctx context.Context) (bytes int64, count int, err error) {
	all, err := b.reports(ctx)
	if err != nil {
		return 0, 0, err
	}
	for i := range all {
		if !strings.HasPrefix(all[i].GetNamespace(), auditPrefix) {
			continue
		}
		text, err := json.Marshal(all[i].Object)
		if err != nil {
			return 0, 0, err
		}
		bytes += int64(len(text))
		count++
	}
	return bytes, count, nil
}

// inDryRun are constraints that report and do not deny.
func inDryRun(constraints []constraint) []constraint {
	changed := slices.Clone(constraints)
	for i := range changed {
		changed[i].action = "dryrun"
	}
	return changed
}
