package authority

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/openvox/cadir"
	"github.com/lintel-policy/lintel/controllers/openvox/layout"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// startSetup has the setup Job run.
func (r *InitializeReconciler) startSetup(ctx context.Context, s inClusterCA) (progress, error) {
	configs, err := layout.ConfigsIn(ctx, r.client, s.ca.Namespace)
	if err != nil {
		return progress{}, err
	}
	naming := slices.DeleteFunc(configs, func(c v1alpha1.Config) bool {
		return c.Spec.AuthorityRef != s.ca.Name || !c.DeletionTimestamp.IsZero()
	})
	if len(naming) == 0 {
		return progress{reason: reasonWaitingForConfig, message: "no Config names this CertificateAuthority in spec.authorityRef; the setup Job needs its image"}, nil
	}
	// Use the oldest Config, so that later ones change nothing.
	s.image = slices.MinFunc(naming, func(a, b v1alpha1.Config) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	}).Spec.Image
	if unmet, err := r.unmet(ctx, &s); err != nil || unmet.reason != "" {
		if err == nil { // nor does a Job go on that was permitted before
			err = r.remove(ctx, s, &batchv1.Job{})
		}
		return unmet, err
	}
	if err := r.keep(ctx, s.ca, s.roleBinding()); err != nil {
		return progress{}, err
	}
	return r.runJob(ctx, s)
}

// unmet is what the setup Job waits for: its reason is empty where that is nothing.
func (r *InitializeReconciler) unmet(ctx context.Context, s *inClusterCA) (progress, error) {
	if !s.served {
		if p, err := r.judgeServer(ctx, *s); err != nil || p.reason != "" {
			return p, err
		}
	}
	if s.imports() {
		return r.judgeImport(ctx, s)
	}
	return progress{}, nil
}

// judgeImport says whether the setup Job may import the CA of spec.intermediateCA, and from which
// serial on it issues.
func (r *InitializeReconciler) judgeImport(ctx context.Context, s *inClusterCA) (progress, error) {
	imported, lacks, err := r.secrets.intermediate(ctx, s.ca)
	if err != nil {
		return progress{}, err
	}
	if lacks != "" {
		return progress{reason: reasonWaitingForCA, message: "spec.intermediateCA: " + lacks, wait: RetryPending}, nil
	}
	next, err := imported.Check(r.now())
	if refused, ok := errors.AsType[*cadir.ImportError](err); ok {
		return progress{reason: refused.Reason, message: fmt.Sprintf("spec.intermediateCA: Secret %s: %v", s.ca.Spec.IntermediateCA.SecretName, err)}, nil
	}
	if err != nil {
		return progress{}, err
	}
	s.nextSerial = strings.TrimSpace(cadir.FormatSerial(next))
	for _, key := range intermediateOptional {
		if content := map[string][]byte{cadir.ImportSerial: imported.Serial, cadir.ImportInventory: imported.Inventory}[key]; len(content) > 0 {
			s.optional = append(s.optional, key)
		}
	}
	return progress{}, nil
}

// judgeServer says whether the setup Job may make a pair for the Certificate of the CA's
// server, whose names become names of files.
func (r *InitializeReconciler) judgeServer(ctx context.Context, s inClusterCA) (progress, error) {
	name := rules.ServerCertificate(s.ca)
	if s.certificate == nil {
		return progress{reason: reasonWaitingForServer, message: fmt.Sprintf("there is no Certificate %s of this CertificateAuthority, which is its server's", name)}, nil
	}
	verdict, err := r.admit(ctx, s.certificate)
	if err != nil {
		return progress{}, fmt.Errorf("asking whether Certificate %s is admitted: %w", name, err)
	}
	if verdict.Denied() {
		return progress{reason: reasonServerDenied, message: fmt.Sprintf("Certificate %s of the CA's server is not admitted: %s", name, verdict.Message()), wait: conflictRetry}, nil
	}
	return progress{}, nil
}

func (r *InitializeReconciler) runJob(ctx context.Context, s inClusterCA) (progress, error) {
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(s.ca.Namespace), client.MatchingLabels{layout.CALabel: s.ca.Name, layout.CAServerLabel: "true"}); err != nil {
		return progress{}, fmt.Errorf("listing the Pods of the CA's server: %w", err)
	}
	s.node = serverNode(pods.Items)
	want, have := s.job(), &batchv1.Job{}
	running := progress{reason: reasonSettingUp, message: "Job " + want.Name + " sets the CA up"}
	exists, err := r.applier.Find(ctx, ours(s.ca), client.ObjectKeyFromObject(want), have)
	if err != nil {
		return progress{}, err
	}
	if !exists {
		running.message += startOf(want, layout.CAClaim(s.ca.Name))
		return running, r.keep(ctx, s.ca, want)
	}
	if !have.DeletionTimestamp.IsZero() {
		running.wait = setupJobRetry
		return running, nil
	}
	ended, failed := jobEnd(have)
	switch {
	// Its Pod uses the settings of an earlier revision, and is immutable.
	case have.Annotations[setupHash] != want.Annotations[setupHash],
		s.imports() && have.Annotations[setupImport] != want.Annotations[setupImport]:
		running.wait = time.Second
	// The server, and the volume with it, is on another node now.
	case ended.IsZero() && failed == "" && have.Annotations[setupNode] != s.node && ptr.Deref(have.Status.Ready, 0) == 0:
		running.wait = time.Second
	case failed != "":
		return progress{reason: reasonSetupFailed, message: fmt.Sprintf("Job %s has failed: %s. See kubectl logs job/%s, and delete the Job to have it run again", want.Name, failed, want.Name)}, nil
	// The Secrets may be in the cache a moment later; then they were emptied since.
	case !ended.IsZero() && r.now().Sub(ended) > setupJobRetry:
		running.wait = setupJobRetry
	case !ended.IsZero():
		running.wait = time.Second
		return running, nil
	default:
		running.message += startOf(have, layout.CAClaim(s.ca.Name))
		return running, nil
	}
	return running, r.remove(ctx, s, have)
}

// startOf says where to look as long as a Job has not started: admission may refuse its Pod, no
// node may have room for it, and its volume or image may not be there.
func startOf(job *batchv1.Job, claim string) string {
	switch {
	case job.Status.Active == 0:
		return fmt.Sprintf(", once it has a Pod; where that lasts, kubectl describe job %s says why", job.Name)
	case ptr.Deref(job.Status.Ready, 0) == 0:
		return fmt.Sprintf(", once its Pod runs; where that lasts, kubectl describe pod -l job-name=%s says why, and of its volume kubectl describe pvc %s", job.Name, claim)
	}
	return ""
}

// jobEnd is when a Job has succeeded, or why it has failed.
func jobEnd(job *batchv1.Job) (succeeded time.Time, failed string) {
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete:
			return condition.LastTransitionTime.Time, ""
		case batchv1.JobFailed:
			return time.Time{}, condition.Reason + ": " + condition.Message
		}
	}
	return time.Time{}, ""
}

// forbid takes the permission to fill the Secrets away, once no setup Job runs.
func (r *InitializeReconciler) forbid(ctx context.Context, s inClusterCA) error {
	job := &batchv1.Job{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: s.ca.Namespace, Name: setupJobName(s.ca.Name)}, job)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading Job %s: %w", setupJobName(s.ca.Name), err)
	}
	if succeeded, failed := jobEnd(job); err == nil && succeeded.IsZero() && failed == "" {
		return nil
	}
	return r.remove(ctx, s, &rbacv1.RoleBinding{})
}
