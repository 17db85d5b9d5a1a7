package zopp

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// gone returns a temporary error: the object was deleted or replaced since it was read.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return apierrors.NewConflict(corev1.Resource("secrets"), "", err)
	}
	return err
}
