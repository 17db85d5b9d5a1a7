package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The placeholders in the recorded review for values that differ between reviews: the number of
// the object, the values that only differ between unique Pods, and times.
const (
	numberMark = "nnnnnnn"
	uniqueMark = "vvvvvvv"
	timeMark   = `"tttttttttttttttttttt"`
	cpuMark    = `"137m"`
	memoryMark = `"171Mi"`
)

// strictPod passes all constraints of the benchmarks. extra lengthens its environment.
func strictPod(extra int) *corev1.Pod {
	container := func(name string, port int32) corev1.Container {
		probe := func(path string) *corev1.Probe {
			return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(port)}}}
		}
		amounts := corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("137m"), corev1.ResourceMemory: resource.MustParse("171Mi"),
			corev1.ResourceEphemeralStorage: resource.MustParse("1Gi"),
		}
		return corev1.Container{
			Name:          name,
			Image:         "registry.example.com/shop/" + name + ":1.4." + uniqueMark + "@sha256:" + strings.Repeat("0123456789abcdef", 4),
			Ports:         []corev1.ContainerPort{{Name: name, ContainerPort: port}},
			Env:           []corev1.EnvVar{{Name: "MODE", Value: "live"}, {Name: "INSTANCE", Value: "instance-" + uniqueMark}, {Name: "LOG_LEVEL", Value: "info"}},
			Resources:     corev1.ResourceRequirements{Requests: amounts, Limits: amounts},
			VolumeMounts:  []corev1.VolumeMount{{Name: "config", MountPath: "/etc/shop", ReadOnly: true}, {Name: "scratch", MountPath: "/tmp"}},
			LivenessProbe: probe("/live"), ReadinessProbe: probe("/ready"),
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), RunAsNonRoot: new(true),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "shop-6f7d9c5b4-" + numberMark,
			Labels: map[string]string{
				"app.kubernetes.io/name": "shop", "app.kubernetes.io/component": "web", "app.kubernetes.io/version": "1.4." + uniqueMark,
				"owner": "team-blue", "stage": "live", "example.com/cost-centre": "cc-4711", "pod-template-hash": "6f7d9c5b4",
			},
			Annotations: map[string]string{
				"example.com/contact": "team-blue@example.com", "example.com/runbook": "https://runbooks.example.com/shop",
				"example.com/tier": "1", "example.com/checked": uniqueMark,
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "shop-6f7d9c5b4", UID: "20000000-0000-4000-8000-000000000000", Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(false),
			Containers:                   []corev1.Container{container("web", 8080), container("proxy", 9090)},
			// Nothing is to become of it when it is created in earnest.
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "lintel.dev/bench"}},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(10001)), FSGroup: new(int64(1500)),
				SeccompProfile:  &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				AppArmorProfile: &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault},
			},
			Volumes: []corev1.Volume{
				{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "shop"}}}},
				{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
		},
	}
	web := &p.Spec.Containers[0]
	for i := range extra {
		web.Env = append(web.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%05d", i), Value: "one of many settings of this shop, number " + fmt.Sprint(i)})
	}
	return p
}

// workload is a stream of AdmissionReviews, each about another object.
type workload struct {
	bodies []string // taken in turns
	// allowed says what the answer to each body is to be.
	allowed []bool
	count   atomic.Int64
}

// next is a review and whether it is to be admitted.
func (w *workload) next() (body []byte, allowed bool) {
	n := w.count.Add(1)
	i := int(n) % len(w.bodies)
	return fill(w.bodies[i], n), w.allowed[i]
}

// fill puts values in place of the marks.
func fill(body string, n int64) []byte {
	number := fmt.Sprintf("%07d", n)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return []byte(strings.NewReplacer(
		numberMark, number, uniqueMark, number,
		timeMark, start.Add(time.Duration(n)*time.Second).Format(`"`+time.RFC3339+`"`),
		cpuMark, fmt.Sprintf(`"%dm"`, 100+n%900),
		memoryMark, fmt.Sprintf(`"%dMi"`, 64+n%1900),
	).Replace(body))
}

// sameObject sets the values that only differ between unique Pods, so that number, uid and
// times are the remaining placeholders.
func sameObject(body string) string {
	return strings.NewReplacer(uniqueMark, "0000001", cpuMark, `"250m"`, memoryMark, `"256Mi"`).Replace(body)
}

var timestamp = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"`)

// marked gives a recorded review its marks.
func marked(recorded []byte) (string, error) {
	review := admissionv1.AdmissionReview{}
	if err := json.Unmarshal(recorded, &review); err != nil {
		return "", fmt.Errorf("reading a recorded review: %w", err)
	}
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(review.Request.Object.Raw, &object); err != nil {
		return "", fmt.Errorf("reading a recorded object: %w", err)
	}
	text := string(timestamp.ReplaceAll(recorded, []byte(timeMark)))
	text = strings.ReplaceAll(text, string(review.Request.UID), "00000000-0000-4000-8000-00000"+numberMark)
	if object.UID != "" {
		text = strings.ReplaceAll(text, string(object.UID), "10000000-0000-4000-8000-00000"+numberMark)
	}
	for _, mark := range []string{numberMark, uniqueMark, timeMark, cpuMark, memoryMark} {
		if !strings.Contains(text, mark) {
			return "", fmt.Errorf("a recorded review has no %s: %.300s", mark, text)
		}
	}
	return text, nil
}

// update is a CREATE as the UPDATE that changes one annotation of one Pod.
func update(create string) (string, error) {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal([]byte(create), &review); err != nil {
		return "", err
	}
	old := strings.ReplaceAll(string(review.Request.Object.Raw), uniqueMark, "0000000")
	changed := strings.Replace(old, `"example.com/checked":"0000000"`, `"example.com/checked":"`+uniqueMark+`"`, 1)
	if changed == old {
		return "", fmt.Errorf("the recorded Pod has no annotation to change: %.300s", old)
	}
	review.Request.Operation = admissionv1.Update
	review.Request.OldObject, review.Request.Object = runtime.RawExtension{Raw: []byte(old)}, runtime.RawExtension{Raw: []byte(changed)}
	review.Request.Options = runtime.RawExtension{Raw: []byte(`{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1"}`)}
	text, err := json.Marshal(review)
	if err != nil {
		return "", err
	}
	// One Pod: only the uid of the review has a number of its own.
	one := strings.NewReplacer(numberMark, "0000001", timeMark, `"2026-01-01T00:00:00Z"`, cpuMark, `"250m"`, memoryMark, `"256Mi"`).Replace(string(text))
	return strings.Replace(one, "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-00000"+numberMark, 1), nil
}

// workloadSet are the streams of the benchmarks.
type workloadSet struct {
	unique, replicas, updates, denied, mixed, medium, large *workload
}

func stream(allowed bool, body string) *workload {
	return &workload{bodies: []string{body}, allowed: []bool{allowed}}
}

// newWorkloads makes the streams of recorded reviews of Pods of three sizes.
func newWorkloads(small, medium, large []byte) (*workloadSet, error) {
	var texts [3]string
	for i, recorded := range [][]byte{small, medium, large} {
		var err error
		if texts[i], err = marked(recorded); err != nil {
			return nil, err
		}
	}
	create := texts[0]
	changed, err := update(create)
	if err != nil {
		return nil, err
	}
	privileged := strings.Replace(create, `"allowPrivilegeEscalation":false`, `"privileged":true,"allowPrivilegeEscalation":true`, 1)
	w := &workloadSet{
		unique: stream(true, create), replicas: stream(true, sameObject(create)), updates: stream(true, changed),
		denied: stream(false, privileged), medium: stream(true, texts[1]), large: stream(true, texts[2]),
	}
	// A cluster at work: rollouts and controllers, some new Pods, some that are wrong.
	w.mixed = &workload{}
	for i := range 10 {
		part := []*workload{w.replicas, w.updates, w.replicas, w.unique, w.replicas, w.updates, w.replicas, w.denied, w.replicas, w.updates}[i]
		w.mixed.bodies, w.mixed.allowed = append(w.mixed.bodies, part.bodies[0]), append(w.mixed.allowed, part.allowed[0])
	}
	return w, nil
}

// extremes are the reviews of a stream with the least and the most CPU and memory, which
// is all that a policy's limit can tell apart.
func (w *workload) extremes() (bodies [][]byte) {
	for _, n := range []int64{899, 900, 1899, 1900} {
		for _, body := range w.bodies {
			bodies = append(bodies, fill(body, n))
		}
	}
	return bodies
}

// size is how many bytes a review has.
func (w *workload) size() int { return len(w.bodies[0]) }

// isAllowed reads a response without decoding all of it.
func isAllowed(answer []byte) bool { return bytes.Contains(answer, []byte(`"allowed":true`)) }
