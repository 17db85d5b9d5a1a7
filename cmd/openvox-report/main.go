// Command openvox-report sends a report, which it reads as JSON from a file or from standard input, to
// the HTTP endpoints of ReportProcessors. A report that an endpoint does not accept now is stored in a
// spool and sent by a later call, oldest first. The exit code is 0 if each endpoint has the report or the
// report is stored, otherwise 2, with the reasons on standard error.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/lintel-policy/lintel/controllers/openvox/endpoints"
)

const (
	usage = "usage: openvox-report [--config file] [--spool folder] [report.json]"

	defaultSpool = "/var/spool/openvox-report"
	// maxReport is far above the reports of nodes with many thousand resources.
	maxReport   = 64 << 20
	memoryLimit = 512 << 20
)

func main() {
	debug.SetGCPercent(-1) // a process that ends after some ms
	debug.SetMemoryLimit(memoryLimit)
	if err := run(os.Args[1:], os.Stdin, say); err != nil {
		say(err.Error())
		os.Exit(2)
	}
}

// say writes one line for the server's log.
func say(message string) {
	fmt.Fprintln(os.Stderr, "openvox-report: "+strings.Join(strings.Fields(message), " "))
}

func run(args []string, stdin io.Reader, warn func(string)) error {
	flags := flag.NewFlagSet("openvox-report", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	config := flags.String("config", endpoints.ReportsFile, "the rendered ReportProcessors")
	folder := flags.String("spool", defaultSpool, "`folder` for reports that an endpoint has not accepted yet")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w; %s", err, usage)
	}
	if flags.NArg() > 1 {
		return fmt.Errorf("%d reports are specified instead of one; %s", flags.NArg(), usage)
	}
	text, err := os.ReadFile(*config)
	if err != nil {
		return fmt.Errorf("the report is not sent: reading the ReportProcessors: %w", err)
	}
	reports, err := endpoints.ReadReports(text)
	if err != nil {
		return fmt.Errorf("the report is not sent: %s is not a valid configuration: %w", *config, err)
	}
	if flags.NArg() == 1 {
		file, err := os.Open(flags.Arg(0))
		if err != nil {
			return fmt.Errorf("the report is not sent: %w", err)
		}
		defer file.Close()
		stdin = file
	}
	report, err := readReport(stdin)
	if err != nil {
		return fmt.Errorf("the report is not sent: %w", err)
	}
	return deliver(context.Background(), reports, spoolFolders{root: *folder, limits: usual, now: time.Now, warn: warn}, report)
}

// readReport reads a report, of which no more is checked than whose it is.
func readReport(from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxReport+1))
	if err != nil {
		return nil, fmt.Errorf("reading it: %w", err)
	}
	if len(text) > maxReport {
		return nil, fmt.Errorf("it has more than %d bytes", maxReport)
	}
	var of struct {
		Host string `json:"host"`
	}
	if err := json.Unmarshal(text, &of); err != nil {
		return nil, fmt.Errorf("the report is not valid JSON: %w", err)
	}
	if of.Host == "" {
		return nil, errors.New("it names no host")
	}
	return text, nil
}

// deliver sends the report to all endpoints in parallel: none waits for another.
func deliver(ctx context.Context, reports endpoints.ReportEndpoints, all spoolFolders, report []byte) error {
	problems := make([]error, len(reports.Endpoints))
	var working sync.WaitGroup
	for i := range reports.Endpoints {
		working.Go(func() {
			endpoint := &reports.Endpoints[i]
			if err := all.of(endpoint).deliver(ctx, report); err != nil {
				problems[i] = fmt.Errorf("endpoint %s does not get the report: %w", endpoint.Name, err)
			}
		})
	}
	working.Wait()
	all.forget(reports)
	return errors.Join(problems...)
}
