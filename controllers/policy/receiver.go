package policy

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

const (
	// maxNotification is the largest notification that GitHub sends.
	maxNotification = 25 << 20
	// notificationsAtATime limits concurrent notifications, whose senders are not authenticated
	// yet.
	notificationsAtATime = 32
	// tokenExpiry is how long a token is used before its Secret is read again: callers without
	// the token must not cause a request to the API server each time.
	tokenExpiry = 10 * time.Second
	// notificationTimeout bounds one call.
	notificationTimeout = 10 * time.Second
	tokenKey            = "token"
)

// The results of notifications.
const (
	notificationAccepted = "accepted"
	notificationUnknown  = "unknown"
	notificationForged   = "forged"
	notificationInvalid  = "invalid"
)

// receiver receives the push notifications of GitHub, GitLab, Gitea and Forgejo, on every
// replica. The content of a notification is only used to verify that it is genuine: at worst, a
// replayed notification triggers a check of the origin.
type receiver struct {
	// address is the address to listen on; certDir, if set, contains tls.crt and tls.key.
	address, certDir string
	// sources reads PolicySources, from a cache; secrets reads Secrets of the namespace.
	sources, secrets client.Reader
	namespace        string
	// notify is called with a source whose origin has changed.
	notify func(source string)

	calls   chan struct{}
	counted *prometheus.CounterVec

	mu     sync.Mutex      // so that one caller reads a token, and the others wait
	tokens *cache.Expiring // by Secret
}

// newReceiver completes the given receiver and registers its metrics.
func newReceiver(r *receiver, metrics prometheus.Registerer) *receiver {
	r.calls, r.tokens = make(chan struct{}, notificationsAtATime), cache.NewExpiring()
	r.counted = promauto.With(metrics).NewCounterVec(prometheus.CounterOpts{
		Name: "lintel_receiver_notifications_total",
		Help: "Push notifications, by what became of them: accepted, forged, invalid, or unknown, which have no source.",
	}, []string{"source", "result"})
	return r
}

// Start implements manager.Runnable: every replica receives.
func (r *receiver) Start(ctx context.Context) error {
	listener, err := r.listen(ctx)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: r.Handler(), ReadTimeout: notificationTimeout, WriteTimeout: notificationTimeout,
		IdleTimeout: notificationTimeout, MaxHeaderBytes: 16 << 10,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	log.FromContext(ctx).Info("push notifications are received", "address", listener.Addr().String())
	select {
	case err := <-ended:
		return fmt.Errorf("receiving push notifications: %w", err)
	case <-ctx.Done():
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), notificationTimeout)
		defer cancel()
		return server.Shutdown(ending)
	}
}

func (r *receiver) listen(ctx context.Context) (net.Listener, error) {
	listener, err := net.Listen("tcp", r.address)
	if err != nil {
		return nil, fmt.Errorf("listening for push notifications: %w", err)
	}
	if r.certDir == "" {
		return listener, nil
	}
	watcher, err := certwatcher.New(filepath.Join(r.certDir, "tls.crt"), filepath.Join(r.certDir, "tls.key"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading the receiver's certificate: %w", err), listener.Close())
	}
	go func() {
		if err := watcher.Start(ctx); err != nil {
			log.FromContext(ctx).Error(err, "watching the receiver's certificate")
		}
	}()
	return tls.NewListener(listener, &tls.Config{GetCertificate: watcher.GetCertificate, MinVersion: tls.VersionTLS12}), nil
}

// Handler answers POST /hook/<source>.
func (r *receiver) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hook/{source}", func(w http.ResponseWriter, request *http.Request) {
		select {
		case r.calls <- struct{}{}:
			defer func() { <-r.calls }()
		default:
			http.Error(w, "too many calls at a time; try again", http.StatusServiceUnavailable)
			return
		}
		r.receive(w, request)
	})
	return mux
}

func (r *receiver) receive(w http.ResponseWriter, request *http.Request) {
	name := request.PathValue("source")
	secret, err := r.token(request.Context(), name)
	switch {
	case err != nil:
		log.FromContext(request.Context()).Error(err, "reading the token of a receiver", "source", name)
		http.Error(w, "the notification could not be checked; try again", http.StatusServiceUnavailable)
		return
	case len(secret) == 0:
		// The answer is the same for a missing source, receiver and Secret.
		r.counted.WithLabelValues("", notificationUnknown).Inc()
		http.NotFound(w, request)
		return
	}
	genuine, err := isGenuine(request.Header, http.MaxBytesReader(w, request.Body, maxNotification), secret)
	switch {
	case err != nil:
		r.counted.WithLabelValues(name, notificationInvalid).Inc()
		http.Error(w, "the notification is too large or broken off", http.StatusBadRequest)
	case !genuine:
		r.counted.WithLabelValues(name, notificationForged).Inc()
		http.Error(w, "the signature or token is missing or wrong", http.StatusUnauthorized)
	default:
		r.counted.WithLabelValues(name, notificationAccepted).Inc()
		r.notify(name)
		w.WriteHeader(http.StatusAccepted)
	}
}

// token returns the secret of a source's receiver: nil if there is none.
func (r *receiver) token(ctx context.Context, name string) ([]byte, error) {
	var object v1alpha1.PolicySource
	if err := r.sources.Get(ctx, client.ObjectKey{Name: name}, &object); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if object.Spec.Git == nil || object.Spec.Git.Receiver == nil {
		return nil, nil
	}
	reference := object.Spec.Git.Receiver.SecretRef.Name
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.tokens.Get(reference); ok {
		return known.([]byte), nil
	}
	var secret corev1.Secret
	err := r.secrets.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: reference}, &secret)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading Secret %s: %w", reference, err)
	}
	text := []byte(strings.TrimSpace(string(secret.Data[tokenKey])))
	r.tokens.Set(reference, text, tokenExpiry)
	return text, nil
}

// isGenuine reports whether the sender of a notification knows the token. GitHub signs in
// X-Hub-Signature-256, Gitea in X-Gitea-Signature, Forgejo in both; GitLab sends the token
// itself.
func isGenuine(header http.Header, body io.Reader, secret []byte) (bool, error) {
	if sent := header.Get("X-Gitlab-Token"); sent != "" {
		// Digests are compared, so that the time does not reveal the length.
		got, want := sha256.Sum256([]byte(sent)), sha256.Sum256(secret)
		return subtle.ConstantTimeCompare(got[:], want[:]) == 1, nil
	}
	signature, ok := strings.CutPrefix(header.Get("X-Hub-Signature-256"), "sha256=")
	if !ok {
		signature = cmp.Or(header.Get("X-Gitea-Signature"), header.Get("X-Forgejo-Signature"))
	}
	got, err := hex.DecodeString(signature)
	if err != nil || len(got) != sha256.Size {
		return false, nil
	}
	mac := hmac.New(sha256.New, secret)
	if _, err := io.Copy(mac, body); err != nil {
		return false, err
	}
	return hmac.Equal(got, mac.Sum(nil)), nil
}
