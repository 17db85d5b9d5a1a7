package policy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
)

func signature(token, body string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

func TestNotifications(t *testing.T) {
	const secret, body = "s3cret", `{"ref":"refs/heads/main"}`
	for name, c := range map[string]struct {
		source string
		header map[string]string
		body   string
		want   int
		result string
	}{
		"GitHub":              {"team", map[string]string{"X-Hub-Signature-256": "sha256=" + signature(secret, body)}, body, http.StatusAccepted, notificationAccepted},
		"GitLab":              {"team", map[string]string{"X-Gitlab-Token": secret}, body, http.StatusAccepted, notificationAccepted},
		"Gitea":               {"team", map[string]string{"X-Gitea-Signature": signature(secret, body)}, body, http.StatusAccepted, notificationAccepted},
		"Forgejo":             {"team", map[string]string{"X-Forgejo-Signature": signature(secret, body)}, body, http.StatusAccepted, notificationAccepted},
		"no signature":        {"team", nil, body, http.StatusUnauthorized, notificationForged},
		"empty signature":     {"team", map[string]string{"X-Hub-Signature-256": "sha256="}, body, http.StatusUnauthorized, notificationForged},
		"another token":       {"team", map[string]string{"X-Gitlab-Token": "guess"}, body, http.StatusUnauthorized, notificationForged},
		"of another body":     {"team", map[string]string{"X-Hub-Signature-256": "sha256=" + signature(secret, body)}, body + " ", http.StatusUnauthorized, notificationForged},
		"with another token":  {"team", map[string]string{"X-Gitea-Signature": signature("guess", body)}, body, http.StatusUnauthorized, notificationForged},
		"too large":           {"team", map[string]string{"X-Hub-Signature-256": "sha256=" + signature(secret, body)}, strings.Repeat("x", maxNotification+1), http.StatusBadRequest, notificationInvalid},
		"no such source":      {"nobody", map[string]string{"X-Gitlab-Token": secret}, body, http.StatusNotFound, notificationUnknown},
		"without a receiver":  {"quiet", map[string]string{"X-Gitlab-Token": secret}, body, http.StatusNotFound, notificationUnknown},
		"without its Secret":  {"lost", map[string]string{"X-Gitlab-Token": secret}, body, http.StatusNotFound, notificationUnknown},
		"with an empty token": {"empty", map[string]string{"X-Gitea-Signature": signature("", body)}, body, http.StatusNotFound, notificationUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			var notified []string
			receiver := newTestReceiver(t, secret, func(source string) { notified = append(notified, source) })
			server := httptest.NewServer(receiver.Handler())
			defer server.Close()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/hook/"+c.source, strings.NewReader(c.body))
			require.NoError(t, err)
			for key, value := range c.header {
				request.Header.Set(key, value)
			}
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, c.want, response.StatusCode)
			label := c.source
			if c.want == http.StatusNotFound {
				label = ""
			}
			require.Equal(t, 1.0, testutil.ToFloat64(receiver.counted.WithLabelValues(label, c.result)))
			if c.want == http.StatusAccepted {
				require.Equal(t, []string{"team"}, notified)
			} else {
				require.Empty(t, notified)
			}
		})
	}
}

func newTestReceiver(t *testing.T, secret string, notify func(string)) *receiver {
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	named := func(name, token string) *v1alpha1.PolicySource {
		object := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Name: name}}
		object.Spec.Git = &v1alpha1.GitOrigin{URL: "https://git.example.com/policies"}
		if token != "" {
			object.Spec.Git.Receiver = &v1alpha1.Receiver{SecretRef: v1alpha1.SecretReference{Name: token}}
		}
		return object
	}
	objects := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		named("team", "token"), named("quiet", ""), named("lost", "nothing"), named("empty", "empty"),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "lintel-system", Name: "token"}, Data: map[string][]byte{"token": []byte(secret + "\n")}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "lintel-system", Name: "empty"}, Data: map[string][]byte{"token": []byte("\n")}},
	).Build()
	return newReceiver(&receiver{sources: objects, secrets: objects, namespace: "lintel-system", notify: notify}, prometheus.NewRegistry())
}
