package issuing

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/lintel-policy/lintel/controllers/attempt"
	"github.com/lintel-policy/lintel/controllers/openvox/openvoxtest"
	builtin "github.com/lintel-policy/lintel/policies/rules"
	rules "github.com/lintel-policy/lintel/policies/rules/openvox"
)

// TestApprovalForbidden: if Lintel may not write the decision, an Event on the request names the
// missing role.
func TestApprovalForbidden(t *testing.T) {
	signing := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: rules.SignerPrefix + "ns.main"},
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "requests"}, "r", errors.New("user may not approve"))
	down := errors.New("no API server")
	for name, c := range map[string]struct {
		err, want error
		event     bool
	}{
		"forbidden": {err: forbidden, event: true},
		"down":      {err: down, want: down},
	} {
		t.Run(name, func(t *testing.T) {
			bare := openvoxtest.NewClient(t, signing.DeepCopy(), requested())
			refusing := interceptor.NewClient(bare, interceptor.Funcs{
				SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
					return c.err
				},
			})
			approves := func(context.Context, builtin.Object) (builtin.Verdict, error) { return builtin.Verdict{}, nil }
			recorder := events.NewFakeRecorder(10)
			for key, r := range map[client.ObjectKey]reconcile.Reconciler{
				client.ObjectKeyFromObject(signing):     &RequestReconciler{client: refusing, events: recorder, attempts: attempt.NewRunner[outcome](time.Now), approves: approves},
				client.ObjectKeyFromObject(requested()): &CertificateRequestReconciler{client: refusing, live: refusing, events: recorder, attempts: attempt.NewRunner[outcome](time.Now), approves: approves},
			} {
				result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
				require.ErrorIs(t, err, c.want)
				if !c.event {
					require.Empty(t, recorder.Events)
					continue
				}
				require.Equal(t, retryError, result.RequeueAfter, "the role may be given at any time")
				words := <-recorder.Events
				require.Contains(t, words, "Warning ApprovalForbidden --openvox-approve-requests needs the role of config/rbac/openvox-approval")
				require.Contains(t, words, "user may not approve")
			}
		})
	}
}
