package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// completions are what a shell would offer for the last of the words.
func completions(t *testing.T, words ...string) []string {
	t.Helper()
	got := lintel(t, "", append([]string{"__complete"}, words...)...)
	require.Zero(t, got.code, got.stderr)
	lines := strings.Split(strings.TrimSuffix(got.stdout, "\n"), "\n")
	require.Regexp(t, `^:\d+$`, lines[len(lines)-1])
	found := []string{}
	for _, line := range lines[:len(lines)-1] {
		word, _, _ := strings.Cut(line, "\t")
		found = append(found, word)
	}
	return found
}

// kubeconfig sends the requests of all commands to a server; there is another context, named
// after another cluster.
func kubeconfig(t *testing.T, server string) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["here"] = &clientcmdapi.Cluster{Server: server}
	config.Contexts["here"] = &clientcmdapi.Context{Cluster: "here"}
	config.Contexts["elsewhere"] = &clientcmdapi.Context{Cluster: "here"}
	config.CurrentContext = "here"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, file))
	t.Setenv("KUBECONFIG", file)
}

// smallCluster serves Namespaces, Pods, Deployments of two groups, and PolicySources.
func smallCluster(t *testing.T) {
	t.Helper()
	resource := func(name, kind string, namespaced bool, short ...string) map[string]any {
		return map[string]any{"name": name, "kind": kind, "namespaced": namespaced, "verbs": []string{"get", "list"}, "shortNames": short}
	}
	group := func(name, version string) map[string]any {
		at := map[string]any{"groupVersion": name + "/" + version, "version": version}
		return map[string]any{"name": name, "versions": []any{at}, "preferredVersion": at}
	}
	names := func(all ...string) any {
		items := []any{}
		for _, name := range all {
			items = append(items, map[string]any{"metadata": map[string]any{"name": name}})
		}
		return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": map[string]any{}, "items": items}
	}
	resources := func(version string, all ...any) any {
		return map[string]any{"kind": "APIResourceList", "groupVersion": version, "resources": all}
	}
	answers := map[string]any{
		"/api":                             map[string]any{"kind": "APIVersions", "versions": []string{"v1"}},
		"/apis":                            map[string]any{"kind": "APIGroupList", "groups": []any{group("apps", "v1"), group("policy.lintel.dev", "v1alpha1"), group("shop.example.com", "v1")}},
		"/api/v1":                          resources("v1", resource("namespaces", "Namespace", false, "ns"), resource("pods", "Pod", true, "po"), resource("pods/log", "Pod", true)),
		"/apis/apps/v1":                    resources("apps/v1", resource("deployments", "Deployment", true, "deploy")),
		"/apis/shop.example.com/v1":        resources("shop.example.com/v1", resource("deployments", "Deployment", true)),
		"/apis/policy.lintel.dev/v1alpha1": resources("policy.lintel.dev/v1alpha1", resource("policysources", "PolicySource", false)),
		"/api/v1/namespaces":               names("default", "shop"),
		"/api/v1/namespaces/default/pods":  names("first"),
		"/api/v1/namespaces/shop/pods":     names("api", "web"),
		"/apis/apps/v1/namespaces/shop/deployments":      names("web"),
		"/apis/policy.lintel.dev/v1alpha1/policysources": names("acme", "team"),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		assert.NoError(t, json.NewEncoder(w).Encode(answer))
	}))
	t.Cleanup(server.Close)
	kubeconfig(t, server.URL)
}

func TestCompletion(t *testing.T) {
	smallCluster(t)
	for words, want := range map[string]string{
		"ch":               "check",
		"policy ":          "add lint search show status test",
		"policy show sysc": "",
		"policy show --library ../../config/library sysc":    "sysctls",
		"policy add --library ../../config/library -o . nsa": "nsa-hardening",
		"policy search -o ":                     "text json",
		"check -o ":                             "text json sarif junit",
		"check --operation ":                    "CREATE UPDATE DELETE DELETECOLLECTION CONNECT",
		"check --subresource ":                  "approval attach binding ephemeralcontainers eviction exec finalize portforward proxy resize scale status token",
		"why --old ":                            "yaml yml json",
		"check --request-options ":              "yaml yml json",
		"check --as ":                           "",
		"check --orloj-namespace-mapping ":      "Restricted Open",
		"check -p ":                             "rego yaml yml json", // the extensions of files
		"check -f x.yaml ":                      "",
		"check --name ":                         "acme team",
		"check -n ":                             "default shop",
		"policy test -o ":                       "text json sarif junit",
		"policy lint -o ":                       "text json",
		"policy lint --name ":                   "acme team",
		"policy status ":                        "acme team",
		"policy status acme ":                   "",
		"policy status --context ":              "elsewhere here",
		"policy status --system-namespace ":     "default shop",
		"prove --domain ":                       "models actions integrations agent-to-agent features data audit",
		"prove --child-scope ":                  "enterprise org team user",
		"source --failure-policy ":              "Fail Ignore",
		"orloj-guard --crd-conflict-policy ":    "off warn reject",
		"why -o ":                               "text json",
		"why --live ":                           "deployments.apps/ deployments.shop.example.com/ namespaces/ pods/ policysources/",
		"why --live pod/":                       "pod/first",
		"why --live -n shop po/":                "po/api po/web",
		"why --live -n shop deployments.apps/w": "deployments.apps/web",
		"why --live ns/":                        "ns/default ns/shop",
		"why --live nothing/":                   "",
		"completion ":                           "bash fish powershell zsh",
	} {
		t.Run(words, func(t *testing.T) {
			assert.Equal(t, strings.Fields(want), completions(t, strings.Split(words, " ")...))
		})
	}
}

// TestCompletionWithoutACluster: there are no suggestions, no output and no delay.
func TestCompletionWithoutACluster(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and answers none
	require.NoError(t, err)
	defer silent.Close()
	for name, server := range map[string]string{
		"nobody listens": "http://127.0.0.1:1",
		"no answer":      "http://" + silent.Addr().String(),
		"no kubeconfig":  "",
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig(t, server)
			if server == "" {
				t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
			}
			for _, words := range [][]string{{"why", "--live", ""}, {"why", "--live", "pod/"}, {"policy", "status", ""}, {"check", "-n", ""}} {
				began := time.Now()
				got := lintel(t, "", append([]string{"__complete"}, words...)...)
				require.Zero(t, got.code)
				require.Regexp(t, `^:\d+\n$`, got.stdout)
				require.Regexp(t, `^Completion ended with directive: [A-Za-z, ]+\n$`, got.stderr, "cobra's own line alone, which shells do not show")
				require.Less(t, time.Since(began), time.Minute)
			}
		})
	}
}

// TestBashCompletes asks a real bash, and kubectl's way of asking a plugin.
func TestBashCompletes(t *testing.T) {
	smallCluster(t)
	program, err := os.Executable()
	require.NoError(t, err)
	programs := t.TempDir()
	for _, name := range []string{"lintel", "kubectl_complete-lintel"} {
		require.NoError(t, os.Symlink(program, filepath.Join(programs, name)))
	}
	t.Setenv("PATH", programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	// _get_comp_words_by_ref is of the package bash-completion, which need not be installed.
	const script = `
_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}; }
source <(lintel completion bash)
complete -p lintel
COMP_WORDS=(lintel %s); COMP_CWORD=%d; COMP_TYPE=9; COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}
__start_lintel
printf '%%s\n' "${COMPREPLY[@]}"
`
	for words, want := range map[string]string{
		"check -o s":                    "sarif",
		"why --live -n shop pod/w":      "pod/web",
		"policy sta":                    "status",
		"why --live --namespace=shop w": "",
	} {
		var stdout, stderr bytes.Buffer
		command := exec.CommandContext(t.Context(), "bash", "--norc", "-c", fmt.Sprintf(script, words, len(strings.Fields(words))))
		command.Stdout, command.Stderr = &stdout, &stderr
		require.NoError(t, command.Run(), stderr.String())
		registered, offered, _ := strings.Cut(stdout.String(), "\n")
		assert.Contains(t, registered, "__start_lintel lintel")
		assert.Equal(t, want, strings.TrimSpace(offered), words+stderr.String())
	}
	output, err := exec.CommandContext(t.Context(), "kubectl_complete-lintel", "why", "--live", "-n", "shop", "pod/").Output()
	require.NoError(t, err)
	assert.Equal(t, "pod/api\npod/web\n:4\n", string(output))
}
