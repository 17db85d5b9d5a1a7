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
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/library"
	"github.com/lintel-policy/lintel/policies/policyset"
)

// podSecurityPolicies are the checks of PodSecurity, without their level, by the policies of the
// library for each level.
var podSecurityPolicies = map[podsecurity.Level]map[string]string{
	podsecurity.LevelBaseline: {
		"added_capabilities": "capabilities", "app_armor_profiles": "appArmorProfile", "host_namespaces": "hostNamespaces",
		"host_path_volumes": "hostPathVolumes", "host_ports": "hostPorts", "host_probes": "hostProbesAndHostLifecycle",
		"host_process": "windowsHostProcess", "privileged_containers": "privileged", "proc_mount": "procMount",
		"se_linux_options": "seLinuxOptions", "sysctls": "sysctls", "unconfined_seccomp": "seccompProfile",
	},
	podsecurity.LevelRestricted: {
		"app_armor_profiles": "appArmorProfile", "dropped_capabilities": "capabilities", "host_namespaces": "hostNamespaces",
		"host_ports": "hostPorts", "host_probes": "hostProbesAndHostLifecycle", "host_process": "windowsHostProcess",
		"privilege_escalation": "allowPrivilegeEscalation", "privileged_containers": "privileged", "root_user": "runAsUser",
		"run_as_non_root": "runAsNonRoot", "se_linux_options": "seLinuxOptions", "seccomp_profiles": "seccompProfile",
		"sysctls": "sysctls", "unmasked_proc": "procMount", "volume_types": "restrictedVolumes",
	},
}

// TestLibraryAgreesWithPodSecurity draws Pods: the bundles for Pod Security admit exactly those
// that the API server's PodSecurity admits at the level, and each policy denies exactly those
// that its check denies.
func TestLibraryAgreesWithPodSecurity(t *testing.T) {
	t.Parallel()
	for level, policies := range podSecurityPolicies {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			snapshot := bundle(t, "pod-security-"+string(level), policies)
			evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
			require.NoError(t, err)
			checks := standard(level)
			require.Len(t, policies, len(checks), "one policy for each check")
			random := podGenerator{rand.New(rand.NewPCG(36, uint64(len(level))))}
			denied, admitted := map[string]int{}, map[string]int{}
			var allowed int
			for range 1500 {
				pod := random.pod("shop")
				text, err := json.Marshal(pod)
				require.NoError(t, err)
				got := denying(t, snapshot, text)
				verdict := policy.AggregateCheckResults(evaluator.EvaluatePod(
					podsecurity.LevelVersion{Level: level, Version: podsecurity.LatestVersion()}, &pod.ObjectMeta, &pod.Spec))
				require.Equal(t, verdict.Allowed, len(got) == 0, "%v: %s", got, text)
				if verdict.Allowed {
					allowed++
				}
				for name, check := range policies {
					want := !checks[check](&pod.ObjectMeta, &pod.Spec).Allowed
					require.Equal(t, want, slices.Contains(got, name), "%s: %s", name, text)
					if want {
						denied[name]++
					} else {
						admitted[name]++
					}
				}
			}
			require.Greater(t, allowed, 5)
			for name := range policies {
				require.Greater(t, denied[name], 15, name)
				require.Greater(t, admitted[name], 15, name)
			}
		})
	}
}

// bundle is a bundle of the library, which contains exactly the named policies.
func bundle(t *testing.T, name string, policies map[string]string) *engine.Snapshot {
	t.Helper()
	root := "../../config/library"
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		relative, _ := filepath.Rel(root, path)
		files[filepath.ToSlash(relative)] = string(text)
		return err
	}))
	l, err := library.Read(files)
	require.NoError(t, err)
	selected, err := l.Select(name)
	require.NoError(t, err)
	for _, one := range selected.Policies {
		require.Contains(t, policies, one)
	}
	set, err := policyset.Compile(definition.Source{Name: "library", Files: selected.Files})
	require.NoError(t, err)
	return engine.NewSnapshot(admission.BuiltinResources(), set)
}

// denying are the policies that deny the creation of a Pod.
func denying(t *testing.T, snapshot *engine.Snapshot, pod []byte) []string {
	t.Helper()
	review, err := admission.NewReview(fmt.Appendf(nil, `{"uid":"1","operation":"CREATE","name":"web","namespace":"shop",
		"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
		"object":%s}`, pod))
	require.NoError(t, err)
	decision := snapshot.Validate(t.Context(), review, engine.Options{})
	var names []string
	for _, denial := range decision.Denials {
		require.False(t, denial.Error, denial.Words)
		names = append(names, strings.TrimPrefix(denial.Policy, "library."))
	}
	return names
}
