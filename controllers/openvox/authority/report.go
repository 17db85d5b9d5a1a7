package authority

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	"github.com/lintel-policy/lintel/controllers/object"
)

type authorityReport = object.Report[v1alpha1.CertificateAuthorityStatus]

// authorityReporter writes the conditions of one of three controllers to a CA.
func authorityReporter(c client.Client, recorder events.EventRecorder, manager, action string) object.Reporter[*v1alpha1.CertificateAuthority, v1alpha1.CertificateAuthorityStatus] {
	return object.Reporter[*v1alpha1.CertificateAuthority, v1alpha1.CertificateAuthorityStatus]{
		Client: c, Manager: manager, Action: action, Events: recorder,
		Status:     func(ca *v1alpha1.CertificateAuthority) *v1alpha1.CertificateAuthorityStatus { return &ca.Status },
		Conditions: func(s *v1alpha1.CertificateAuthorityStatus) []metav1.Condition { return s.Conditions },
		News: map[string]object.News{
			v1alpha1.ConditionInitialized:          object.Reasoned(isFault),
			v1alpha1.ConditionOperatorSigningReady: begins(map[string]string{reasonNoSigner: reasonNoSigner}),
			v1alpha1.ConditionPoliciesRendered:     begins(map[string]string{reasonNotOwned: reasonNotOwned}),
			ConditionCRLCurrent:                    begins(map[string]string{reasonStale: "CRLStale", reasonIncomplete: "CRLIncomplete"}),
			conditionCertificateCurrent:            begins(map[string]string{reasonCAEndsSoon: "CAExpiringSoon", reasonCAEnded: "CAExpired"}),
		},
	}
}

// ConditionsOf are the conditions of a CA, to be changed.
func ConditionsOf(ca *v1alpha1.CertificateAuthority) object.Conditions {
	return object.Conditions{List: &ca.Status.Conditions, Generation: ca.Generation}
}

// begins is about a condition that gets one of the reasons, as a warning of the name that
// each of them has.
func begins(names map[string]string) object.News {
	return func(was, now *metav1.Condition) *object.Event {
		if names[now.Reason] == "" || was != nil && was.Reason == now.Reason {
			return nil
		}
		return &object.Event{Warning: true, Reason: names[now.Reason], Message: now.Message}
	}
}

// isFault reports whether a user has to act.
func isFault(reason string) bool {
	return strings.HasPrefix(reason, "Import") || slices.Contains([]string{reasonSetupFailed, reasonNotOwned, reasonNotWritten, reasonServerDenied, reasonExternalOnly}, reason)
}

// phaseOf is where the two facts, initialized and ready, leave a CA.
func phaseOf(ca *v1alpha1.CertificateAuthority) v1alpha1.CertificateAuthorityPhase {
	ready := meta.IsStatusConditionTrue(ca.Status.Conditions, v1alpha1.ConditionCAReady)
	initialized := meta.FindStatusCondition(ca.Status.Conditions, v1alpha1.ConditionInitialized)
	policies := meta.FindStatusCondition(ca.Status.Conditions, v1alpha1.ConditionPoliciesRendered)
	signing := meta.FindStatusCondition(ca.Status.Conditions, v1alpha1.ConditionOperatorSigningReady)
	switch {
	case policies != nil && (policies.Reason == reasonNotOwned || policies.Reason == reasonNotWritten):
		return v1alpha1.CertificateAuthorityError
	case ca.Spec.External != nil && ready:
		return v1alpha1.CertificateAuthorityExternal
	case ca.Spec.External != nil:
		return v1alpha1.CertificateAuthorityError
	case initialized == nil || slices.Contains([]string{reasonWaitingForConfig, reasonWaitingForCA, reasonWaitingForServer}, initialized.Reason):
		return v1alpha1.CertificateAuthorityPending
	case isFault(initialized.Reason):
		return v1alpha1.CertificateAuthorityError
	case initialized.Status == metav1.ConditionTrue && signing != nil && signing.Reason == reasonNoSigner:
		return v1alpha1.CertificateAuthorityError
	case initialized.Status == metav1.ConditionTrue && ready:
		return v1alpha1.CertificateAuthorityReady
	case initialized.Status == metav1.ConditionTrue && hasAnswered(ca):
		return v1alpha1.CertificateAuthorityError
	}
	return v1alpha1.CertificateAuthorityInitializing
}

// hasAnswered reports whether a CA has ever answered: a server that has not started yet is not a
// fault.
func hasAnswered(ca *v1alpha1.CertificateAuthority) bool {
	return ca.Status.CRL != nil && ca.Status.CRL.Refreshed != nil
}
