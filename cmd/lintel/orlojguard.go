package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/lintel-policy/lintel/cmd/lintel/usage"
	"github.com/lintel-policy/lintel/controllers/orloj/guard"
)

func newOrlojGuardCommand() *cobra.Command {
	var upstream, listen, policy string
	var drift time.Duration
	cmd := &cobra.Command{
		Use:   "orloj-guard --upstream <URL>",
		Short: "Proxy orlojd and protect resources that Kubernetes manages",
		Long: `Proxy orlojd's REST API and protect resources that Kubernetes objects manage:
Lintel soon overwrites any other change to them.

--crd-conflict-policy sets the treatment of a write to such a resource:
  off     the write passes
  warn    the write passes and is logged, and the answer has the header
          X-Orloj-CRD-Managed
  reject  the answer is 409 Conflict; 503 if the state of the resource is unknown, and
          400 if the request can be read as writes to different resources

Other requests pass unchanged. Without the flag, the environment variable
ORLOJ_CRD_CONFLICT_POLICY sets the policy; an unknown value means warn.`,
		Example:           `  lintel orloj-guard --upstream http://orlojd.orloj.svc:8080 --crd-conflict-policy reject`,
		Args:              usage.NoArguments("give orlojd's address with --upstream"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			address, err := url.Parse(upstream)
			if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
				return usage.Errorf(cmd, "--upstream %q is not a URL such as http://orlojd.orloj.svc:8080", upstream)
			}
			if !cmd.Flags().Changed("crd-conflict-policy") {
				policy = os.Getenv("ORLOJ_CRD_CONFLICT_POLICY")
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
			defer stop()
			logger := slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil))
			return serveOrlojGuard(ctx, listen, guard.New(address, guard.ParsePolicy(policy), drift, logger), logger)
		},
	}
	cmd.Flags().StringVar(&upstream, "upstream", "", "`URL` of orlojd")
	cmd.Flags().StringVar(&listen, "listen", ":8090", "`address` to serve on")
	cmd.Flags().StringVar(&policy, "crd-conflict-policy", string(guard.Warn), "`policy`: off, warn or reject ($ORLOJ_CRD_CONFLICT_POLICY)")
	usage.CompleteFlag(cmd, "crd-conflict-policy", string(guard.Off), string(guard.Warn), string(guard.Reject))
	cmd.Flags().DurationVar(&drift, "drift-interval", time.Minute, "the manager's --orloj-drift-interval: with warn, for twice this `interval` later writes to a resource are warned of although the first has taken its mark out")
	return cmd
}

// serveOrlojGuard serves until ctx ends, and then lets running requests end, for a limited
// time.
func serveOrlojGuard(ctx context.Context, address string, handler http.Handler, logger *slog.Logger) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", address, err)
	}
	logger.Info("standing in front of orlojd", "address", listener.Addr().String())
	server := manager.Server{
		Listener: listener,
		// Answers may be streams without end, so only the request's head is bounded.
		Server:          &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second},
		ShutdownTimeout: ptr.To(5 * time.Second),
	}
	if err := server.Start(log.IntoContext(ctx, logr.Discard())); err != nil {
		return fmt.Errorf("serving on %s: %w", address, err)
	}
	return nil
}
