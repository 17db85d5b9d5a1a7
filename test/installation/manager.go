package installation

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Namespace is where the platform is installed.
const Namespace = "lintel-system"

// Install applies the manifests and waits for the serving certificate.
func Install(ctx context.Context, c *Cluster) error {
	if _, err := c.must(ctx, "", "apply", "--server-side", "-k", "config/local"); err != nil {
		return err
	}
	for _, wait := range [][]string{
		{"--for=condition=Established", "crd/policysources.policy.lintel.dev"},
		{"--for=condition=Ready", "-n", Namespace, "certificate/lintel-serving"},
	} {
		if _, err := c.must(ctx, "", append([]string{"wait", "--timeout=60s"}, wait...)...); err != nil {
			return err
		}
	}
	return nil
}

// Manager is a running manager process.
type Manager struct {
	// WebhookURL is where it serves webhooks; Metrics, Health and Receiver are base URLs.
	WebhookURL, Metrics, Health, Receiver string
	// Log is the file of its standard error.
	Log string

	name    string
	process *exec.Cmd
	ended   chan struct{}
	exit    error // set before ended is closed
}

// PID is the id of its process.
func (m *Manager) PID() int { return m.process.Process.Pid }

// Ended is closed when the process has ended.
func (m *Manager) Ended() <-chan struct{} { return m.ended }

// Failure is the error of a manager that ended unexpectedly; call it only after the end.
func (m *Manager) Failure() error {
	how := "exit status 0"
	if m.exit != nil {
		how = m.exit.Error()
	}
	return fmt.Errorf("manager %s has ended by itself (%s); its log is %s", m.name, how, m.Log)
}

// ManagerOptions are how a manager is started.
type ManagerOptions struct {
	// Program is the path of the manager.
	Program string
	// Name is the replica's.
	Name string
	// WebhookURL is the registered address; empty registers the manager's own address.
	WebhookURL string
	// Args are further flags.
	Args []string
	// Env are further variables of its environment.
	Env []string
}

// StartManager starts a manager with the permissions of its ServiceAccount, and
// waits until it is ready.
func StartManager(ctx context.Context, c *Cluster, o ManagerOptions) (*Manager, error) {
	kubeconfig, err := managerKubeconfig(ctx, c, o.Name)
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(4)
	if err != nil {
		return nil, err
	}
	local := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	m := &Manager{
		WebhookURL: "https://" + local(ports[0]),
		Metrics:    "http://" + local(ports[1]),
		Health:     "http://" + local(ports[2]),
		Receiver:   "http://" + local(ports[3]),
		name:       o.Name,
	}
	registered := o.WebhookURL
	if registered == "" {
		registered = m.WebhookURL
	}
	// A replica that is started again leaves the log of the one before as it was.
	log, err := os.CreateTemp(c.managerFolder(), o.Name+"-*.log")
	if err != nil {
		return nil, fmt.Errorf("starting manager %s: %w", o.Name, err)
	}
	defer log.Close()
	m.Log = log.Name()
	m.process = exec.Command(o.Program, append([]string{
		"--kubeconfig", kubeconfig, "--namespace", Namespace, "--leader-elect",
		"--webhook-host", "127.0.0.1", "--webhook-port", fmt.Sprint(ports[0]), "--webhook-url", registered,
		"--cert-secret", "lintel-serving-cert",
		"--metrics-bind-address", local(ports[1]), "--health-probe-bind-address", local(ports[2]),
		"--receiver-bind-address", local(ports[3]),
	}, o.Args...)...)
	m.process.Stdout, m.process.Stderr = log, log
	m.process.Env = append(append(os.Environ(), "POD_NAME="+o.Name), o.Env...)
	endWithParent(m.process)
	if err := m.start(); err != nil {
		return nil, err
	}
	if err := m.WaitReady(ctx, time.Minute); err != nil {
		select {
		case <-m.ended:
			return nil, m.Failure()
		default:
		}
		m.Stop()
		return nil, fmt.Errorf("starting manager %s: %w; its log is %s", o.Name, err, m.Log)
	}
	return m, nil
}

// start starts the process, and watches it.
func (m *Manager) start() error {
	if err := m.process.Start(); err != nil {
		return fmt.Errorf("starting manager %s: %w", m.name, err)
	}
	m.ended = make(chan struct{})
	go func() {
		m.exit = m.process.Wait()
		close(m.ended)
	}()
	return nil
}

// WaitReady waits until /readyz answers 200.
func (m *Manager) WaitReady(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.Health+"/readyz", nil)
		if err != nil {
			return err
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s/readyz: %w", m.Health, ctx.Err())
		case <-m.ended:
			return m.Failure()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Stop asks the manager to end and waits for it; after 20 s it is killed.
func (m *Manager) Stop() {
	_ = m.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-m.ended:
	case <-time.After(20 * time.Second):
		m.Kill()
	}
}

// Kill ends the manager without its leave.
func (m *Manager) Kill() {
	_ = m.process.Process.Kill()
	<-m.ended
}

// ManagerLogs are the files of all managers that were started for the cluster.
func (c *Cluster) ManagerLogs() ([]string, error) {
	return filepath.Glob(filepath.Join(c.managerFolder(), "*.log"))
}

// managerFolder is for the files of managers; the state folder is the cluster's own.
func (c *Cluster) managerFolder() string { return c.StateDir + "-lintel" }

// managerKubeconfig is the cluster's kubeconfig with a token of the ServiceAccount.
func managerKubeconfig(ctx context.Context, c *Cluster, name string) (string, error) {
	token, err := c.must(ctx, "", "create", "token", "lintel-manager", "-n", Namespace, "--duration=24h")
	if err != nil {
		return "", err
	}
	text, err := c.must(ctx, "", "config", "view", "--raw", "--minify", "-o", "json")
	if err != nil {
		return "", err
	}
	var config map[string]any
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	for _, entry := range config["users"].([]any) {
		entry.(map[string]any)["user"] = map[string]any{"token": strings.TrimSpace(token)}
	}
	changed, err := json.Marshal(config)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(c.managerFolder(), 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(c.managerFolder(), name+".kubeconfig")
	return path, os.WriteFile(path, changed, 0o600)
}

// freePorts finds ports of loopback without a listener.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
