package installation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// Cluster is a running control plane.
type Cluster struct {
	Kubeconfig string `json:"kubeconfig"`
	Server     string `json:"server"`
	StateDir   string `json:"stateDir"`
	Binaries   struct {
		Kubectl string `json:"kubectl"`
		// Manager and Lintel are there if up was started with --also=manager,lintel.
		Manager string `json:"manager"`
		Lintel  string `json:"lintel"`
	} `json:"binaries"`
}

// Root is the repository's top folder, in or above the working directory: that of the
// sources is not known to programs that are built with -trimpath.
var Root = sync.OnceValue(func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic("finding the working directory: " + err.Error())
	}
	for start := dir; ; {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(content, []byte("module github.com/lintel-policy/lintel\n")) {
			return dir
		}
		if dir == filepath.Dir(dir) {
			panic("no checkout of Lintel in or above " + start)
		}
		dir = filepath.Dir(dir)
	}
})

// StartCluster builds the missing programs and starts a control plane in a folder. It ends with
// this process. Progress goes to the writer; flags are further ones of test/cluster's up.
func StartCluster(ctx context.Context, stateDir string, progress io.Writer, flags ...string) (*Cluster, error) {
	var output bytes.Buffer
	command := clusterCommand(ctx, append([]string{"up", "-o", "json", "--state-dir", stateDir,
		"--owner-pid", strconv.Itoa(os.Getpid())}, flags...)...)
	command.Stdout, command.Stderr = &output, progress
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("starting the cluster: %w", err)
	}
	cluster := &Cluster{}
	if err := json.Unmarshal(output.Bytes(), cluster); err != nil {
		return nil, fmt.Errorf("starting the cluster: reading what it printed: %w", err)
	}
	return cluster, nil
}

// CurrentCluster is the cluster of the current context of KUBECONFIG, or of kubectl's default.
// The programs that use it are built; a copy of the kubeconfig, with only that context, is
// written to folder.
func CurrentCluster(ctx context.Context, folder string, progress io.Writer, flags ...string) (*Cluster, error) {
	programs, err := BuildPrograms(ctx, progress, append(flags, "kubectl", "manager", "lintel")...)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Kubeconfig: filepath.Join(folder, "kubeconfig"), StateDir: folder}
	c.Binaries.Kubectl, c.Binaries.Manager, c.Binaries.Lintel = programs["kubectl"], programs["manager"], programs["lintel"]
	var complaint bytes.Buffer
	view := exec.CommandContext(ctx, c.Binaries.Kubectl, "config", "view", "--minify", "--flatten", "--raw")
	view.Stderr = &complaint
	kubeconfig, err := view.Output()
	if err != nil {
		return nil, fmt.Errorf("reading the current context: %w: %s", err, &complaint)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("keeping the kubeconfig: %w", err)
	}
	if err := os.WriteFile(c.Kubeconfig, kubeconfig, 0o600); err != nil {
		return nil, fmt.Errorf("keeping the kubeconfig: %w", err)
	}
	if c.Server, err = c.must(ctx, "", "config", "view", "--output=jsonpath={.clusters[0].cluster.server}"); err != nil {
		return nil, err
	}
	return c, nil
}

// BuildPrograms builds programs that no cluster starts, or finds them in the cache that
// a cluster's own come from, and gives their paths by name. Names may have flags of
// test/cluster's build among them.
func BuildPrograms(ctx context.Context, progress io.Writer, names ...string) (map[string]string, error) {
	var output bytes.Buffer
	command := clusterCommand(ctx, append([]string{"build", "-o", "json"}, names...)...)
	command.Stdout, command.Stderr = &output, progress
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("building %s: %w", strings.Join(names, ", "), err)
	}
	paths := map[string]string{}
	if err := json.Unmarshal(output.Bytes(), &paths); err != nil {
		return nil, fmt.Errorf("building %s: reading what was printed: %w", strings.Join(names, ", "), err)
	}
	return paths, nil
}

// Stop ends the control plane and deletes its data.
func (c *Cluster) Stop(ctx context.Context) error {
	return c.control(ctx, "down")
}

// Control stops, starts or restarts components, keeping their data and ports: see
// test/cluster.
func (c *Cluster) Control(ctx context.Context, action string, components ...string) error {
	return c.control(ctx, append([]string{action}, components...)...)
}

func (c *Cluster) control(ctx context.Context, args ...string) error {
	output, err := clusterCommand(ctx, append(args, "--state-dir", c.StateDir)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("cluster %s: %w: %s", args[0], err, output)
	}
	return nil
}

func clusterCommand(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", append([]string{"run", "-C", "test/cluster", "."}, args...)...)
	command.Dir = Root()
	return command
}

// Kubectl runs kubectl against the cluster with standard input, and returns its output:
// standard output and standard error together, as a terminal shows them.
func (c *Cluster) Kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, c.Binaries.Kubectl, args...)
	command.Dir = Root()
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	command.Stdin = strings.NewReader(stdin)
	output, err := command.CombinedOutput()
	return string(output), err
}

// must is Kubectl, with an error that contains the output if the command fails.
func (c *Cluster) must(ctx context.Context, stdin string, args ...string) (string, error) {
	output, err := c.Kubectl(ctx, stdin, args...)
	if err != nil {
		return output, fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, output)
	}
	return output, nil
}
