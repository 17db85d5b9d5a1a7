package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/test/installation"
)

// raceLabel is on the Pod that shows whether data races would be reported.
const raceLabel = "lintel-test/races"

// racePolicy mounts a folder of this machine into each Pod of a manager, which writes data races
// there: logs are deleted with their Pods.
const racePolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: races}
spec:
  reinvocationPolicy: Never
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  matchConditions:
    - {name: manager, expression: 'object.spec.containers[0].image.contains("/lintel-manager:")'}
  variables:
    - {name: verbosity, expression: '"%[1]s" in object.metadata.?labels.orValue({}) ? " verbosity=1" : ""'}
  mutations:
    - patchType: JSONPatch
      jsonPatch:
        expression: |
          [
            JSONPatch{op: "add", path: "/spec/volumes/-", value: Object.spec.volumes{
              name: "races", hostPath: Object.spec.volumes.hostPath{path: "%[2]s"}}},
            JSONPatch{op: "add", path: "/spec/containers/0/volumeMounts/-", value: Object.spec.containers.volumeMounts{
              name: "races", mountPath: "/races"}},
            JSONPatch{op: "add", path: "/spec/containers/0/env/-", value: Object.spec.containers.env{
              name: "GORACE", value: "%[3]s" + variables.verbosity}},
          ]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: races}
spec: {policyName: races}
`

// raceFolder creates the folder of a cluster for reports of data races. A report fails the test,
// after all Pods have ended: call it before the cluster starts.
func raceFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.Chmod(folder, 0o777)) // managers run as another user
	t.Cleanup(func() { assert.NoError(t, installation.FindRaces(folder)) })
	return folder
}

// collectRaces makes managers whose Pods are created from now on report data races, if they are
// built with the race detector. It fails if the manager of this checkout would report none.
func (n node) collectRaces(t *testing.T) {
	t.Helper()
	if !installation.Raced() {
		return
	}
	n.must(t, fmt.Sprintf(racePolicy, raceLabel, n.races, installation.RaceOptions("/races", "$(POD_NAME)")), "apply", "-f", "-")
	pods := n.client.CoreV1().Pods("default")
	probe := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "races", Labels: map[string]string{raceLabel: ""}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "manager", Image: managerImage + ":" + present, Args: []string{"--help"},
				Env: []corev1.EnvVar{{Name: "POD_NAME", Value: "probe"}},
			}},
		},
	}
	require.Eventually(t, func() bool {
		created, err := pods.Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && len(created.Spec.Containers[0].Env) == 2
	}, time.Minute, 100*time.Millisecond, "the policy is in force")
	_, err := pods.Create(t.Context(), probe, metav1.CreateOptions{})
	require.NoError(t, err)
	var reports []string
	eventually(t, func() bool {
		phase := n.must(t, "", "get", "pod/races", "-o", "jsonpath={.status.phase}")
		reports, err = filepath.Glob(filepath.Join(n.races, "probe.*"))
		return len(reports) > 0 || phase == string(corev1.PodFailed) || phase == string(corev1.PodSucceeded)
	}, "the manager starts")
	require.NoError(t, err)
	require.Len(t, reports, 1, "the manager cannot report data races")
	text, err := os.ReadFile(reports[0])
	require.NoError(t, err)
	require.Contains(t, string(text), "ThreadSanitizer")
	n.must(t, "", "delete", "pod/races", "--wait=false")
}
