package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lintel-policy/lintel/test/installation"
)

const (
	policies    = "config/samples/policies"
	permissions = "config/samples/rbac"
	rejected    = "config/samples/manifests/privileged/bad.yaml"
	defaulted   = "config/samples/manifests/default_requests/bad.yaml"
	warned      = "config/samples/manifests/latest_tag/bad.yaml"
)

// transcript runs commands and prints them with their output.
type transcript struct {
	ctx     context.Context
	cluster *installation.Cluster
	before  string // the object to be defaulted, as a cluster without Lintel stores it
}

func (t *transcript) beforeLintel() (err error) {
	t.before, err = t.stored()
	return err
}

// stored is the Pod as the API server would store it now, without what differs each
// time.
func (t *transcript) stored() (string, error) {
	output, err := t.cluster.Kubectl(t.ctx, "", "create", "--dry-run=server", "-o", "yaml", "-f", defaulted)
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	var kept []string
	for line := range strings.Lines(output) {
		key := strings.TrimSpace(line)
		if !strings.HasPrefix(key, "uid:") && !strings.HasPrefix(key, "creationTimestamp:") && !strings.Contains(key, "kube-api-access-") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, ""), nil
}

// installed shows the Pods of Lintel, where they run.
func (t *transcript) installed(pods bool) error {
	if !pods {
		return nil
	}
	heading("Lintel, installed by its chart")
	_, err := t.kubectl(true, "get", "pods", "--namespace", installation.Namespace)
	return err
}

func (t *transcript) withLintel() error {
	heading("Enforce a folder of policies")
	// One of the samples reads Ingresses, which Lintel may not do by default.
	if _, err := t.kubectl(true, "apply", "-f", permissions); err != nil {
		return err
	}
	command := fmt.Sprintf("lintel source %s --name samples | kubectl apply --server-side -f -", policies)
	source, err := exec.CommandContext(t.ctx, t.cluster.Binaries.Lintel,
		"source", filepath.Join(installation.Root(), policies), "--name", "samples").Output()
	if err != nil {
		return fmt.Errorf("lintel source: %w", err)
	}
	if _, err := t.show(command, string(source), true, "apply", "--server-side", "-f", "-"); err != nil {
		return err
	}
	if err := t.cluster.WaitSource(t.ctx, "samples"); err != nil {
		return err
	}
	if _, err := t.kubectl(true, "get", "policysources"); err != nil {
		return err
	}

	heading("Denied, and why")
	if output, err := t.kubectl(false, "apply", "-f", rejected); err != nil {
		return err
	} else if !strings.Contains(output, "denied the request") {
		return fmt.Errorf("the Pod in %s was not rejected", rejected)
	}

	heading("Defaulted, and how")
	after, err := t.stored()
	if err != nil {
		return err
	}
	if _, err := t.kubectl(true, "apply", "-f", defaulted); err != nil {
		return err
	}
	if err := t.diff(after); err != nil {
		return err
	}

	heading("Admitted with a warning")
	output, err := t.kubectl(true, "apply", "-f", warned)
	if err == nil && !strings.Contains(output, "Warning:") {
		err = fmt.Errorf("the Pod in %s came without a warning", warned)
	}
	return err
}

// kubectl shows a kubectl command; succeed is the expected result.
func (t *transcript) kubectl(succeed bool, args ...string) (string, error) {
	return t.show("kubectl "+strings.Join(quoted(args), " "), "", succeed, args...)
}

func (t *transcript) show(command, stdin string, succeed bool, args ...string) (string, error) {
	fmt.Printf("$ %s\n", command)
	output, err := t.cluster.Kubectl(t.ctx, stdin, args...)
	fmt.Print(output)
	if succeed != (err == nil) {
		return output, fmt.Errorf("%s: unexpected outcome (%v)", command, err)
	}
	return output, nil
}

// diff shows what Lintel adds to the stored object: the changed lines alone.
func (t *transcript) diff(after string) error {
	folder, err := os.MkdirTemp("", "lintel-quickstart-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for name, text := range map[string]string{"without-lintel.yaml": t.before, "with-lintel.yaml": after} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	fmt.Println("$ diff -U0 without-lintel.yaml with-lintel.yaml   # as the API server stores the Pod")
	command := exec.CommandContext(t.ctx, "diff", "-U0", "--label", "without-lintel.yaml", "--label", "with-lintel.yaml",
		"without-lintel.yaml", "with-lintel.yaml")
	command.Dir = folder
	output, err := command.CombinedOutput()
	fmt.Print(string(output))
	if err == nil {
		return fmt.Errorf("the Pod in %s was not defaulted", defaulted)
	}
	if command.ProcessState.ExitCode() != 1 {
		return fmt.Errorf("diff: %w", err)
	}
	return nil
}

func heading(text string) { fmt.Printf("\n# %s\n", text) }

// quoted puts quotes around what a shell would read otherwise.
func quoted(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		if strings.ContainsAny(arg, `*?[]()"$ `) {
			arg = "'" + arg + "'"
		}
		out[i] = arg
	}
	return out
}
