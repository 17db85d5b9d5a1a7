// Command openvox-autosign is the policy executable that a Puppet CA calls for each
// certificate request: it exits 0 where the request is to be signed, else 1 with a line
// on standard error that says why not.
//
// It is started for every request, so it imports nothing but the rules and OPA. It ends in time
// for any input: any client may send requests.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/policies/csr"
	"github.com/lintel-policy/lintel/policies/rules/openvox/signing"
)

const (
	// defaultConfig is where Puppet servers have the rendered policies.
	defaultConfig = "/etc/puppetlabs/lintel/signing-policies.yaml"
	// defaultTimeout is far above what a request takes, some ms, and far below the timeout of the
	// client that sends it.
	defaultTimeout = 5 * time.Second
	// memoryLimit is several times what any request takes; beyond it garbage is collected.
	memoryLimit = 256 << 20

	usage = "usage: openvox-autosign [--config file] [--timeout duration] <certname> < request.pem"
)

func main() {
	// A process that ends after some ms needs nothing collected, however large the request.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
	if err := run(os.Args[1:], os.Stdin); err != nil {
		refuse(err)
	}
}

func refuse(err error) {
	fmt.Fprintln(os.Stderr, "openvox-autosign: "+strings.Join(strings.Fields(err.Error()), " "))
	os.Exit(1)
}

// run returns nil where the request is to be signed.
func run(args []string, stdin io.Reader) error {
	flags := flag.NewFlagSet("openvox-autosign", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	config := flags.String("config", defaultConfig, "the rendered signing policies")
	timeout := flags.Duration("timeout", defaultTimeout, "how long deciding may take")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w; %s", err, usage)
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("%d certnames are specified instead of one; %s", flags.NArg(), usage)
	}
	certname := flags.Arg(0)
	// Neither reading nor a single function of the rules can be cancelled.
	defer time.AfterFunc(*timeout, func() {
		refuse(fmt.Errorf("%.300q is not signed: it is not decided after %v", certname, *timeout))
	}).Stop()
	text, err := os.ReadFile(*config)
	if err != nil {
		return fmt.Errorf("%.300q is not signed: reading the signing policies: %w", certname, err)
	}
	rendered, err := signing.Read(text)
	if err != nil {
		return fmt.Errorf("%.300q is not signed: %s is not a policy file: %w", certname, *config, err)
	}
	request, err := io.ReadAll(io.LimitReader(stdin, csr.MaxBytes+1))
	if err != nil {
		return fmt.Errorf("%.300q is not signed: reading the request: %w", certname, err)
	}
	refusals, err := signing.Refusals(context.Background(), signing.Question{Certname: certname, CSR: csr.Parse(request), Rendered: rendered})
	if err != nil {
		return fmt.Errorf("%.300q is not signed: %w", certname, err)
	}
	if len(refusals) > 0 {
		return fmt.Errorf("%.300q is not signed: %s", certname, strings.Join(refusals, "; "))
	}
	return nil
}
