package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lintel-policy/lintel/test/installation"
	"github.com/lintel-policy/lintel/webhooks/registration"
)

// The namespaces tell who is asked about a Pod. Their names are those that the
// strictest of the sample policies is for.
const (
	namespaceNone   = "restricted-none"
	namespaceEcho   = "restricted-echo"
	namespaceLintel = "restricted-lintel"
	// Those of the peers.
	namespaceGatekeeper = "restricted-gatekeeper"
	namespaceCEL        = "restricted-cel"
	namespacePatterns   = "restricted-kyverno-patterns"
	namespaceKyvernoCEL = "restricted-kyverno-cel"
)

var allNamespaces = []string{namespaceNone, namespaceEcho, namespaceLintel, namespaceGatekeeper, namespaceCEL, namespacePatterns, namespaceKyvernoCEL}

// bench is the installation under measurement, and its results.
type bench struct {
	folder    string
	cluster   *installation.Cluster
	manager   *installation.Manager
	process   *echoProcess
	clientset *kubernetes.Clientset
	dynamic   dynamic.Interface

	managerProgram string
	lintelProgram  string
	managerPID     int
	authority      []byte // of the manager's certificate
	echo           *endpoint
	reviews        *reviews
	public         *publicLibrary // nil without --library
	libraryFolder  string         // of --library
	auditObjects   int            // of --audit-objects
	replayRecords  int            // of --replay-records

	result result
}

// start brings everything up, and down again if something fails.
func start(ctx context.Context) (_ *bench, err error) {
	b := &bench{}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.stop())
		}
	}()
	if b.folder, err = os.MkdirTemp("", "lintel-bench-"); err != nil {
		return nil, err
	}
	say("building Lintel …")
	programs := filepath.Join(b.folder, "bin")
	if err := installation.Build(ctx, programs); err != nil {
		return nil, err
	}
	say("starting a control plane …")
	if b.cluster, err = installation.StartCluster(ctx, filepath.Join(b.folder, "cluster"), os.Stderr); err != nil {
		return nil, err
	}
	if err := installation.Install(ctx, b.cluster); err != nil {
		return nil, err
	}
	if err := b.connect(); err != nil {
		return nil, err
	}
	for _, name := range allNamespaces {
		if err := b.createNamespace(ctx, name); err != nil {
			return nil, err
		}
	}
	b.lintelProgram = filepath.Join(programs, "lintel")
	if err := b.startServers(ctx, filepath.Join(programs, "manager")); err != nil {
		return nil, err
	}
	recorded, err := b.record(ctx, pod(recordedName))
	if err != nil {
		return nil, err
	}
	if b.reviews, err = newReviews(recorded[0]); err != nil {
		return nil, err
	}
	return b, b.result.describe(ctx, b)
}

// stop ends what start began, the last first.
func (b *bench) stop() (err error) {
	if b.process != nil {
		b.process.stop()
	}
	if b.manager != nil {
		b.manager.Stop()
	}
	if b.cluster != nil {
		ending, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = b.cluster.Stop(ending)
	}
	return errors.Join(err, os.RemoveAll(b.folder))
}

func (b *bench) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", b.cluster.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS = -1 // the client must not limit the measurement
	config.WarningHandler = rest.NoWarnings{}
	if b.clientset, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	b.dynamic, err = dynamic.NewForConfig(config)
	return err
}

// createNamespace also waits for the ServiceAccount that Pods need.
func (b *bench) createNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := b.clientset.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	return poll(ctx, "the ServiceAccount of "+name, func() (bool, error) {
		_, err := b.clientset.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
}

// startServers starts the manager and the echo. A setting of Lintel excludes the other
// variants' namespaces.
func (b *bench) startServers(ctx context.Context, program string) (err error) {
	b.managerProgram = program
	b.manager, err = installation.StartManager(ctx, b.cluster, installation.ManagerOptions{
		Program: program, Name: "manager-0",
		Args: b.excluding(),
	})
	if err != nil {
		return err
	}
	b.managerPID = b.manager.PID()
	secret, err := b.clientset.CoreV1().Secrets(installation.Namespace).Get(ctx, "lintel-serving-cert", metav1.GetOptions{})
	if err != nil {
		return err
	}
	b.authority = secret.Data["ca.crt"]
	if err := writeKeyPair(b.folder); err != nil {
		return err
	}
	if b.process, err = startEcho(b.folder); err != nil {
		return err
	}
	b.echo, err = newEndpoint(b.process.url, b.process.process.Process.Pid, b.process.authority)
	return err
}

// restart replaces the manager, and waits until the API server calls the new one.
func (b *bench) restart(ctx context.Context, name string, args ...string) error {
	return b.restartWith(ctx, installation.ManagerOptions{Name: name, Args: args})
}

// restartWith is restart for a manager with further options. Its program is the one that is
// measured.
func (b *bench) restartWith(ctx context.Context, options installation.ManagerOptions) (err error) {
	b.manager.Stop()
	options.Program = b.managerProgram
	if b.manager, err = installation.StartManager(ctx, b.cluster, options); err != nil {
		return err
	}
	b.managerPID = b.manager.PID()
	return poll(ctx, "the registration of "+options.Name, func() (bool, error) {
		config, err := b.clientset.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, registration.ConfigurationName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil // the first manager was stopped before it came to register
		}
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(config.Webhooks, func(entry admissionregistrationv1.ValidatingWebhook) bool {
			return entry.ClientConfig.URL == nil || !strings.HasPrefix(*entry.ClientConfig.URL, b.manager.WebhookURL+"/")
		}), nil
	})
}

// excluding keeps Lintel away from the other variants' namespaces.
func (b *bench) excluding() []string {
	return []string{"--excluded-namespaces", strings.Join(b.excludedNamespaces(), ",")}
}

func (b *bench) excludedNamespaces() []string {
	excluded := registration.DefaultExcludedNamespaces()
	for _, name := range allNamespaces {
		if name != namespaceLintel {
			excluded = append(excluded, name)
		}
	}
	return excluded
}

// lintel is a path of the manager.
func (b *bench) lintel(path string) *endpoint {
	e, err := newEndpoint(b.manager.WebhookURL+path, b.managerPID, b.authority)
	if err != nil {
		panic("the authority was read from a Secret that serves: " + err.Error())
	}
	return e
}

// poll waits for a condition for at most two minutes: the machine may be busy.
func poll(ctx context.Context, what string, condition func() (bool, error)) error {
	return pollFor(ctx, 2*time.Minute, what, condition)
}

func pollFor(ctx context.Context, limit time.Duration, what string, condition func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		if done, err := condition(); err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
