package apiserver

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// TestPodSecuritySamplesAgreeWithTheAPIServer draws Pods: each control of the
// samples denies exactly those that the API server's own PodSecurity denies by it.
func TestPodSecuritySamplesAgreeWithTheAPIServer(t *testing.T) {
	snapshot := podSecuritySamples(t)
	for level, namespace := range map[podsecurity.Level]string{
		podsecurity.LevelBaseline:   "baseline-samples",
		podsecurity.LevelRestricted: "restricted-samples",
	} {
		t.Run(string(level), func(t *testing.T) {
			checks := standard(level)
			evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
			require.NoError(t, err)
			random := podGenerator{rand.New(rand.NewPCG(3, uint64(len(level))))}
			denied, admitted := map[string]int{}, map[string]int{}
			for range 4000 {
				pod := random.pod(namespace)
				var want []string
				for control, check := range checks {
					if check(&pod.ObjectMeta, &pod.Spec).Allowed {
						admitted[control]++
						continue
					}
					denied[control]++
					want = append(want, control)
				}
				text, err := json.Marshal(pod)
				require.NoError(t, err)
				require.ElementsMatch(t, want, controls(t, snapshot, namespace, text), "%s", text)

				verdict := policy.AggregateCheckResults(evaluator.EvaluatePod(
					podsecurity.LevelVersion{Level: level, Version: podsecurity.LatestVersion()}, &pod.ObjectMeta, &pod.Spec))
				require.Equal(t, verdict.Allowed, len(want) == 0, "the table of checks is not the level's: %s", text)
			}
			for control := range checks {
				require.Greater(t, denied[control], 40, control)
				require.Greater(t, admitted[control], 40, control)
			}
		})
	}
}

// standard is the newest version of each check of a level, by control: the name of
// a check without its level.
func standard(level podsecurity.Level) map[string]policy.CheckPodFn {
	controls := map[string]policy.CheckPodFn{}
	var overridden []policy.CheckID
	newest := func(check policy.Check) policy.VersionedCheck { return check.Versions[len(check.Versions)-1] }
	for _, check := range policy.DefaultChecks() {
		if level == podsecurity.LevelRestricted {
			overridden = append(overridden, newest(check).OverrideCheckIDs...)
		}
	}
	for _, check := range policy.DefaultChecks() {
		if check.Level == podsecurity.LevelBaseline || level == podsecurity.LevelRestricted {
			if !slices.Contains(overridden, check.ID) {
				name, _, _ := strings.Cut(string(check.ID), "_")
				controls[name] = newest(check).CheckPod
			}
		}
	}
	return controls
}

func podSecuritySamples(t *testing.T) *engine.Snapshot {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"pods", "pod_security_baseline", "pod_security_restricted"} {
		path := filepath.Join(name, name+".rego")
		text, err := os.ReadFile(filepath.Join("../../config/samples/policies", path))
		require.NoError(t, err)
		files[path] = string(text)
	}
	set, err := policyset.Compile(definition.Source{Name: "samples", Files: files})
	require.NoError(t, err)
	return engine.NewSnapshot(admission.BuiltinResources(), set)
}

// controls are those by which the samples deny the creation of a Pod.
func controls(t *testing.T, snapshot *engine.Snapshot, namespace string, pod []byte) []string {
	t.Helper()
	review, err := admission.NewReview(fmt.Appendf(nil, `{"uid":"1","operation":"CREATE","name":"web","namespace":%q,
		"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
		"object":%s}`, namespace, pod))
	require.NoError(t, err)
	decision := snapshot.Validate(t.Context(), review, engine.Options{})
	require.Equal(t, 1, decision.Policies)
	var names []string
	for _, denial := range decision.Denials {
		require.False(t, denial.Error, denial.Words)
		names = append(names, denial.Details.(map[string]any)["control"].(string))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// podGenerator draws Pods in which every field of the standard is absent, harmless
// or not.
type podGenerator struct{ *rand.Rand }

// one draws a value; the first stands for the usual and is drawn most often, so
// that whole Pods have a chance to pass.
func one[T any](g podGenerator, usual T, others ...T) T {
	if len(others) == 0 || g.IntN(8) > 0 {
		return usual
	}
	return others[g.IntN(len(others))]
}

func (g podGenerator) pod(namespace string) *corev1.Pod {
	yes, no := new(true), new(false)
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", Namespace: namespace,
			Annotations: one(g, nil,
				map[string]string{corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + "a": "unconfined"},
				map[string]string{corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + "a": "runtime/default"},
				map[string]string{corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + "a": "localhost/x"},
				map[string]string{corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + "a": ""},
				map[string]string{"example.com/a": "unconfined"}),
		},
		Spec: corev1.PodSpec{
			HostNetwork: one(g, false, true),
			HostPID:     one(g, false, true),
			HostIPC:     one(g, false, true),
			HostUsers:   one(g, nil, yes, no, no, no),
			OS:          one(g, nil, &corev1.PodOS{Name: corev1.Windows}, &corev1.PodOS{Name: corev1.Linux}),
		},
	}
	if g.IntN(3) > 0 {
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{
			AppArmorProfile: g.appArmor(),
			SeccompProfile:  g.seccomp(),
			SELinuxOptions:  g.seLinux(),
			WindowsOptions:  g.windows(),
			RunAsNonRoot:    one(g, yes, no, nil),
			RunAsUser:       one(g, nil, new(int64(0)), new(int64(1))),
			Sysctls: one(g, nil, []corev1.Sysctl{{Name: "kernel.msgmax"}}, []corev1.Sysctl{{Name: "net.ipv4.tcp_wmem"}},
				[]corev1.Sysctl{{Name: "kernel.shm_rmid_forced"}, {Name: "net.core.somaxconn"}}),
		}
	}
	for range g.IntN(3) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, g.volume(len(pod.Spec.Volumes)))
	}
	for range g.IntN(2) {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, g.container("init"))
	}
	for i := range g.IntN(2) + 1 {
		pod.Spec.Containers = append(pod.Spec.Containers, g.container(fmt.Sprint("web", i)))
	}
	if g.IntN(4) == 0 {
		pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon(g.container("debug"))}}
	}
	return pod
}

func (g podGenerator) container(name string) corev1.Container {
	container := corev1.Container{
		Name: name,
		Ports: one(g, nil, []corev1.ContainerPort{{ContainerPort: 80}}, []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}},
			[]corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 81, HostPort: 81}}),
		LivenessProbe:  g.probe(),
		ReadinessProbe: g.probe(),
		StartupProbe:   g.probe(),
	}
	if g.IntN(4) == 0 {
		container.Lifecycle = &corev1.Lifecycle{PostStart: g.hook(), PreStop: g.hook()}
	}
	if g.IntN(8) > 0 {
		yes, no := new(true), new(false)
		container.SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: one(g, no, yes, nil),
			AppArmorProfile:          g.appArmor(),
			Capabilities: one(g, &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}, nil, &corev1.Capabilities{},
				&corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"NET_BIND_SERVICE"}},
				&corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"CHOWN"}},
				&corev1.Capabilities{Drop: []corev1.Capability{"NET_RAW", "ALL"}, Add: []corev1.Capability{"NET_RAW", "KILL"}},
				&corev1.Capabilities{Drop: []corev1.Capability{"all"}, Add: []corev1.Capability{"ALL"}}),
			Privileged:     one(g, nil, yes, no),
			ProcMount:      one(g, nil, new(corev1.DefaultProcMount), new(corev1.UnmaskedProcMount)),
			RunAsNonRoot:   one(g, nil, yes, no),
			RunAsUser:      one(g, nil, new(int64(0)), new(int64(1))),
			SeccompProfile: g.seccomp(),
			SELinuxOptions: g.seLinux(),
			WindowsOptions: g.windows(),
		}
	}
	return container
}

func (g podGenerator) appArmor() *corev1.AppArmorProfile {
	return one(g, nil, &corev1.AppArmorProfile{}, &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined},
		&corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}, &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost})
}

func (g podGenerator) seccomp() *corev1.SeccompProfile {
	return one(g, &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}, nil, nil, &corev1.SeccompProfile{},
		&corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}, &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost})
}

func (g podGenerator) seLinux() *corev1.SELinuxOptions {
	return one(g, nil, &corev1.SELinuxOptions{}, &corev1.SELinuxOptions{Level: "s0"}, &corev1.SELinuxOptions{User: "u"},
		&corev1.SELinuxOptions{Role: "r"}, &corev1.SELinuxOptions{Type: "spc_t"}, &corev1.SELinuxOptions{Type: "container_t"},
		&corev1.SELinuxOptions{Type: "container_engine_t"}, &corev1.SELinuxOptions{Type: "container_init_t"}, &corev1.SELinuxOptions{Type: "container_kvm_t"})
}

func (g podGenerator) windows() *corev1.WindowsSecurityContextOptions {
	return one(g, nil, &corev1.WindowsSecurityContextOptions{},
		&corev1.WindowsSecurityContextOptions{HostProcess: new(true)}, &corev1.WindowsSecurityContextOptions{HostProcess: new(false)})
}

func (g podGenerator) probe() *corev1.Probe {
	if g.IntN(4) > 0 {
		return nil
	}
	hook := g.hook()
	if hook == nil {
		return &corev1.Probe{}
	}
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: hook.HTTPGet, TCPSocket: hook.TCPSocket}}
}

func (g podGenerator) hook() *corev1.LifecycleHandler {
	port := intstr.FromInt32(80)
	return one(g, nil,
		&corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Port: port}},
		&corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Port: port, Host: "127.0.0.1"}},
		&corev1.LifecycleHandler{TCPSocket: &corev1.TCPSocketAction{Port: port}},
		&corev1.LifecycleHandler{TCPSocket: &corev1.TCPSocketAction{Port: port, Host: "example.com"}},
		&corev1.LifecycleHandler{Exec: &corev1.ExecAction{}})
}

func (g podGenerator) volume(i int) corev1.Volume {
	sources := []corev1.VolumeSource{
		{EmptyDir: &corev1.EmptyDirVolumeSource{}}, {},
		{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}, {HostPath: &corev1.HostPathVolumeSource{}},
		{HostPath: &corev1.HostPathVolumeSource{Path: "/a"}}, {HostPath: &corev1.HostPathVolumeSource{Path: "/b"}},
		{HostPath: &corev1.HostPathVolumeSource{Path: "/c"}}, {HostPath: &corev1.HostPathVolumeSource{Path: "/d"}},
		{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{}},
		{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{}},
		{GitRepo: &corev1.GitRepoVolumeSource{}}, {Secret: &corev1.SecretVolumeSource{}},
		{NFS: &corev1.NFSVolumeSource{}}, {ISCSI: &corev1.ISCSIVolumeSource{}}, {Glusterfs: &corev1.GlusterfsVolumeSource{}},
		{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}, {RBD: &corev1.RBDVolumeSource{}},
		{FlexVolume: &corev1.FlexVolumeSource{}}, {Cinder: &corev1.CinderVolumeSource{}}, {CephFS: &corev1.CephFSVolumeSource{}},
		{Flocker: &corev1.FlockerVolumeSource{}}, {DownwardAPI: &corev1.DownwardAPIVolumeSource{}}, {FC: &corev1.FCVolumeSource{}},
		{AzureFile: &corev1.AzureFileVolumeSource{}}, {ConfigMap: &corev1.ConfigMapVolumeSource{}},
		{VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{}}, {Quobyte: &corev1.QuobyteVolumeSource{}},
		{AzureDisk: &corev1.AzureDiskVolumeSource{}}, {PhotonPersistentDisk: &corev1.PhotonPersistentDiskVolumeSource{}},
		{Projected: &corev1.ProjectedVolumeSource{}}, {PortworxVolume: &corev1.PortworxVolumeSource{}},
		{ScaleIO: &corev1.ScaleIOVolumeSource{}}, {StorageOS: &corev1.StorageOSVolumeSource{}}, {CSI: &corev1.CSIVolumeSource{}},
		{Ephemeral: &corev1.EphemeralVolumeSource{}}, {Image: &corev1.ImageVolumeSource{}},
	}
	return corev1.Volume{Name: fmt.Sprint("volume", i), VolumeSource: one(g, sources[0], sources[1:]...)}
}
