package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lintel-policy/lintel/test/cluster/internal/binaries"
	"github.com/lintel-policy/lintel/test/cluster/internal/process"
	"github.com/stretchr/testify/require"
)

func TestWrongFlagsSayWhatToDo(t *testing.T) {
	for args, want := range map[string]string{
		"up --frob":                            "see cluster up --help",
		"up -o yaml":                           "use text or json",
		"status -o yaml":                       "use text or json",
		"up --without etcd":                    `"etcd" cannot be left out, only kube-controller-manager, `,
		"up --without kube-controller-manager": "kube-scheduler needs kube-controller-manager",
		"up --nodes real --without kube-controller-manager": "--nodes=real needs kube-controller-manager",
		"up --from attic":                `"attic" is not a way`,
		"up --nodes metal":               "use kwok or real",
		"up --timeout 0s":                "positive duration",
		"up --api-port 70000":            "between 1 and 65535",
		"up --owner-pid 1073741824":      "no running process has the id 1073741824",
		"up now":                         "unknown command",
		"sideways":                       "unknown command",
		"stop etcd --state-dir /nowhere": "start one with up",
	} {
		c := newCommand()
		c.SetArgs(strings.Fields(args))
		c.SetOut(&bytes.Buffer{})
		c.SetErr(&bytes.Buffer{})
		require.ErrorContains(t, c.ExecuteContext(t.Context()), want, args)
	}
}

func TestDownWithoutAClusterIsFine(t *testing.T) {
	t.Chdir(t.TempDir()) // a cluster can be ended from anywhere
	dir := filepath.Join(t.TempDir(), "none")
	var messages bytes.Buffer
	c := newCommand()
	c.SetArgs([]string{"down", "--state-dir", dir})
	c.SetErr(&messages)
	require.NoError(t, c.ExecuteContext(t.Context()))
	require.Contains(t, messages.String(), "nothing to do")
	require.NoDirExists(t, dir)
}

func TestExistingNeedsOneKubeconfig(t *testing.T) {
	for value, want := range map[string]string{
		"":                         "needs KUBECONFIG",
		"/a" + ":" + "/b":          "several files",
		"/nowhere/kubeconfig.yaml": "reading KUBECONFIG",
	} {
		t.Setenv("KUBECONFIG", value)
		c := newCommand()
		c.SetArgs([]string{"up", "--use-existing-kubeconfig", "--state-dir", t.TempDir()})
		require.ErrorContains(t, c.ExecuteContext(t.Context()), want)
	}
}

func TestFindModuleFromAnywhereInTheCheckout(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	for _, dir := range []string{here, filepath.Join(here, "internal", "process"), filepath.Dir(filepath.Dir(here))} {
		root, err := findModule(dir)
		require.NoError(t, err)
		require.Equal(t, here, root)
	}
	_, err = findModule(t.TempDir())
	require.ErrorContains(t, err, "inside a checkout")
}

func TestTheDefaultStateDirectoryNeedsACheckout(t *testing.T) {
	t.Chdir(t.TempDir())
	c := newCommand()
	c.SetArgs([]string{"status"})
	require.ErrorContains(t, c.ExecuteContext(t.Context()), "--state-dir")
}

func TestPortsAreFreeAndDistinct(t *testing.T) {
	p, err := choosePorts(0)
	require.NoError(t, err)
	seen := map[int]bool{}
	for _, port := range []int{p.Etcd, p.EtcdPeer, p.APIServer, p.ControllerManager, p.Scheduler, p.Kwok, p.CertManager, p.Registry} {
		require.False(t, seen[port], "port %d was chosen twice", port)
		seen[port] = true
		require.True(t, port >= firstPort && port <= lastPort, "port %d is outside the range", port)
		l, err := net.Listen("tcp", loopback(port))
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
}

func TestTakenPortIsNamed(t *testing.T) {
	l, err := listenAnywhere()
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	port := l.Addr().(*net.TCPAddr).Port
	_, err = choosePorts(port)
	require.ErrorContains(t, err, "port "+strconv.Itoa(port)+" is taken")
}

func TestChooseKeepsStartOrder(t *testing.T) {
	all := listComponents("/state", &state{}, nil)
	some, err := choose(all, []string{binaries.Scheduler, binaries.Etcd})
	require.NoError(t, err)
	require.Len(t, some, 2)
	require.Equal(t, binaries.Etcd, some[0].name)
	every, err := choose(all, nil)
	require.NoError(t, err)
	require.Len(t, every, 6)
	_, err = choose(all, []string{"etc"})
	require.ErrorContains(t, err, "this cluster has [etcd ")

	for _, all := range [][]component{all, listComponents("/state", &state{Nodes: realNodes}, nil)} {
		started := map[string]bool{}
		for _, c := range all {
			for _, need := range c.needs {
				require.True(t, started[need], "%s starts before %s", c.name, need)
			}
			started[c.name] = true
		}
	}
}

func TestWhatLostTheAPIServerStartsAgain(t *testing.T) {
	all := listComponents("/state", &state{}, nil)
	names := func(starting ...string) []string {
		list, err := choose(all, starting)
		require.NoError(t, err)
		stopped := map[string]bool{binaries.APIServer: true, binaries.Scheduler: true}
		lost := disconnected(all, list, func(name string) bool { return !stopped[name] })
		var names []string
		for _, c := range inOrder(all, append(lost, list...)) {
			names = append(names, c.name)
		}
		return names
	}
	require.Equal(t, []string{binaries.APIServer, binaries.ControllerManager, binaries.Kwok, binaries.CertManager},
		names(binaries.APIServer), "the scheduler was stopped on purpose")
	require.Equal(t, []string{binaries.Etcd}, names(binaries.Etcd), "etcd runs already, so nothing was lost")
	require.Len(t, names(), 6)
}

func TestEverythingListensOnLoopback(t *testing.T) {
	for _, c := range listComponents("/state", &state{}, nil) {
		require.Contains(t, c.health, "://127.0.0.1:")
		args := strings.Join(c.args, " ")
		require.Contains(t, args, "127.0.0.1")
		require.NotContains(t, args, "0.0.0.0")
	}
}

func TestFollowRelaysProgress(t *testing.T) {
	var out bytes.Buffer
	progress := binaries.NewProgress(&out, progressInterval)
	require.NoError(t, follow(strings.NewReader(`{"progress":"starting etcd"}`+"\n"+`{"ready":true}`+"\n"), progress))
	require.Contains(t, out.String(), "starting etcd …\n")
	require.ErrorContains(t, follow(strings.NewReader(`{"error":"etcd ended by itself"}`+"\n"), progress), "etcd ended by itself")
	require.ErrorContains(t, follow(strings.NewReader(""), progress), "supervisor.log")
}

func TestStaleStateIsCleared(t *testing.T) {
	for name, content := range map[string]string{
		"died":       `{"phase":"ready","supervisor":{"pid":1073741824,"started":"1"}}`,
		"ended":      `{"phase":"ended","reason":"etcd ended by itself"}`,
		"unreadable": `{`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := stateDir(t.TempDir())
			require.NoError(t, writePrivate(dir.file(), []byte(content)))
			_, err := runningState(dir)
			require.Error(t, err)
			require.NoError(t, down(t.Context(), dir, binaries.NewProgress(&bytes.Buffer{}, progressInterval)))
			require.NoFileExists(t, dir.file())
		})
	}
}

func TestOwnersOnlyExtend(t *testing.T) {
	first, second := process.Identity{PID: 1, Started: "a"}, process.Identity{PID: 2, Started: "b"}
	for name, test := range map[string]struct {
		before []process.Identity
		order  order
		after  []process.Identity
	}{
		"another owner joins":           {[]process.Identity{first}, order{Owner: &second}, []process.Identity{first, second}},
		"a free cluster stays free":     {nil, order{Owner: &second}, nil},
		"up without owner sets it free": {[]process.Identity{first}, order{Disown: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &supervisor{dir: stateDir(t.TempDir()), state: &state{Phase: phaseReady, Owners: test.before}}
			require.NoError(t, s.changeOwners(test.order))
			require.Equal(t, test.after, s.state.Owners)
		})
	}
}
