package v1alpha1

const (
	// AcceptCRLAnnotation on a CertificateAuthority accepts a CRL that is older than the stored
	// one, or lacks a part of it. Its value is in the message of the condition, and is valid only
	// for the replacement of this stored CRL by this CRL.
	AcceptCRLAnnotation = GroupName + "/accept-crl"
	// DiscardRevocationsAnnotation on a CertificateAuthority discards a record of revocations that
	// cannot be read. Its value is in the message of the condition.
	DiscardRevocationsAnnotation = GroupName + "/discard-revocations"
)
