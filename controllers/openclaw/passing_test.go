package openclaw

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestWhatPassesIsNoFailure(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("changed"))
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("it goes"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("no"))
	for _, passes := range []error{conflict, terminating} {
		result, err := again(fmt.Errorf("creating: %w", passes))
		require.NoError(t, err)
		require.Equal(t, retryDelay, result.RequeueAfter)
	}
	result, err := again(forbidden)
	require.ErrorIs(t, err, forbidden)
	require.Zero(t, result)
	result, err = again(nil)
	require.NoError(t, err)
	require.Zero(t, result)
}
