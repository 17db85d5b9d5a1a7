package chart

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/chart/loader"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	helmregistry "helm.sh/helm/v4/pkg/registry"
)

// What a release pushes is what Helm pulls, with the image of that release.
func TestReleasedChart(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	push := exec.Command("go", "run", ".", "chart", host+"/lintel", "--version", "v1.2.3-rc.1", "--insecure", "--allow-modified")
	push.Dir = "../../config/release"
	first, err := push.CombinedOutput()
	require.NoError(t, err, string(first))
	assert.Contains(t, string(first), "/lintel/charts/lintel@sha256:")

	client, err := helmregistry.NewClient(helmregistry.ClientOptPlainHTTP())
	require.NoError(t, err)
	pulled, err := client.Pull(host + "/lintel/charts/lintel:1.2.3-rc.1")
	require.NoError(t, err)
	assert.Equal(t, "1.2.3-rc.1", pulled.Chart.Meta.Version)
	file := filepath.Join(t.TempDir(), "lintel.tgz")
	require.NoError(t, os.WriteFile(file, pulled.Chart.Data, 0o644))
	chart, err := loader.Load(file)
	require.NoError(t, err)
	assert.Equal(t, "v1.2.3-rc.1", chart.(*chartv2.Chart).AppVersion())

	released, err := renderFrom(t, file, "elsewhere", `{systems: {orloj: {enabled: true}}}`)
	require.NoError(t, err)
	here, err := render(t, "elsewhere", `{systems: {orloj: {enabled: true}}}`)
	require.NoError(t, err)
	assert.Equal(t, here.names(), released.names())
	assert.Contains(t, asYAML(t, released.find("Deployment", "lintel-manager")), "image: "+host+"/lintel/lintel-manager:v1.2.3-rc.1\n")

	stack, err := client.Pull(host + "/lintel/charts/openvox-stack:1.2.3-rc.1")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, stack.Chart.Data, 0o644))
	released, err = renderFrom(t, file, "elsewhere", multi(t))
	require.NoError(t, err)
	here, err = renderFrom(t, stackFolder, "elsewhere", multi(t))
	require.NoError(t, err)
	assert.Equal(t, here.names(), released.names())
	assert.Equal(t, "openvox-stack-1.2.3-rc.1", released.find("Config", "mine").GetLabels()["helm.sh/chart"])

	again := exec.Command(push.Args[0], push.Args[1:]...)
	again.Dir = push.Dir
	second, err := again.CombinedOutput()
	require.NoError(t, err, string(second))
	assert.Equal(t, string(first), string(second), "the same to the byte")
}
