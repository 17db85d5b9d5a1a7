// Command openvox-enc is the external node classifier that a Puppet server calls for each
// catalog: it asks the HTTP endpoint of a NodeClassifier, and writes its answer as Puppet
// reads it. It exits 0 with an answer, 1 where the endpoint does not know the node, and 2
// where there is no answer, with a line on standard error that says why.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
)

const usage = "usage: openvox-enc [--config file] <certname>"

// memoryLimit is several times what an answer takes; beyond it garbage is collected.
const memoryLimit = 256 << 20

func main() {
	debug.SetGCPercent(-1) // a process that ends after some ms
	debug.SetMemoryLimit(memoryLimit)
	err := run(os.Args[1:], os.Stdout, say)
	if err == nil {
		return
	}
	say(err.Error())
	if errors.As(err, new(*unknownNode)) {
		os.Exit(1)
	}
	os.Exit(2)
}

// say writes one line for the server's log.
func say(message string) {
	fmt.Fprintln(os.Stderr, "openvox-enc: "+strings.Join(strings.Fields(message), " "))
}

// certnames are those that a Puppet CA signs, and of which a file may have the name.
var certnames = regexp.MustCompile(`\A[A-Za-z0-9_][A-Za-z0-9._-]*\z`)

// maxCertname is that of a DNS name.
const maxCertname = 253

func run(args []string, stdout io.Writer, warn func(string)) error {
	flags := flag.NewFlagSet("openvox-enc", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	config := flags.String("config", endpoints.ClassifierFile, "the rendered NodeClassifier")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w; %s", err, usage)
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("%d certnames are specified instead of one; %s", flags.NArg(), usage)
	}
	certname := flags.Arg(0)
	if len(certname) > maxCertname || !certnames.MatchString(certname) {
		return fmt.Errorf("%.300q is not a certname", certname)
	}
	text, err := os.ReadFile(*config)
	if err != nil {
		return fmt.Errorf("%s is not classified: reading the NodeClassifier: %w", certname, err)
	}
	classifier, err := endpoints.ReadClassifier(text)
	if err != nil {
		return fmt.Errorf("%s is not classified: %s is not a valid configuration: %w", certname, *config, err)
	}
	answer, err := answer(context.Background(), classifier, certname, warn)
	if err != nil {
		return fmt.Errorf("%s is not classified: %w", certname, err)
	}
	_, err = stdout.Write(answer)
	return err
}

// answer is what the endpoint says of a node, or has said when it was last asked.
func answer(ctx context.Context, classifier endpoints.Classifier, certname string, warn func(string)) ([]byte, error) {
	kept := cache{classifier.Cache, certname}
	answer, err := ask(ctx, classifier, certname, warn)
	switch {
	case err == nil:
		if err := kept.write(answer); err != nil {
			warn(fmt.Sprintf("the answer about %s is not kept: %v", certname, err))
		}
		return answer, nil
	case errors.As(err, new(*unknownNode)):
		if err := kept.remove(); err != nil {
			warn(fmt.Sprintf("the earlier answer about %s stays in the cache: %v", certname, err))
		}
		return nil, err
	}
	earlier, at, cacheErr := kept.read()
	if cacheErr != nil {
		return nil, fmt.Errorf("%w; the cache has no answer, either: %w", err, cacheErr)
	}
	if earlier == nil {
		return nil, err
	}
	warn(fmt.Sprintf("%s is classified by the answer of %s from the cache: %v", certname, at, err))
	return earlier, nil
}
