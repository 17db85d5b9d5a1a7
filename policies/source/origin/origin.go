package origin

import (
	"fmt"
	"time"

	"github.com/lintel-policy/lintel/api/policy/v1alpha1"
	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/external/rules"
)

// Request says what to fetch.
type Request struct {
	// Git, OCI or HTTPS is the origin.
	Git *v1alpha1.GitOrigin `json:"git,omitempty"`
	OCI *v1alpha1.OCIOrigin `json:"oci,omitempty"`
	// HTTPS is the origin of data. Only data can have it.
	HTTPS *v1alpha1.HTTPSOrigin `json:"https,omitempty"`
	// Data, where set, are the rules that data must meet: the answer then has external.Files. It
	// is nil for policies.
	Data *DataRules `json:"data,omitempty"`
	// Credentials is the data of the Secret that the origin names, and Keys that of
	// the Secret that its verification names.
	Credentials map[string][]byte `json:"credentials,omitempty"`
	Keys        map[string][]byte `json:"keys,omitempty"`
	// Known is the revision that the caller has: it is not fetched again. The caller
	// has it from the same origin with the same keys.
	Known string `json:"known,omitempty"`
	// Limits bound the fetch. The zero value means DefaultLimits.
	Limits Limits `json:"limits,omitzero"`
	// progress reports the phases of the fetch.
	progress *progress
}

// DataRules are the file with data, and the rules that it must meet.
type DataRules struct {
	rules.Rules
	// File is the path below that of Git or OCI.
	File string `json:"file,omitempty"`
}

// selects reports whether a file of a Git or OCI origin is part of the answer.
func (r Request) selects(name string) bool {
	if r.Data != nil {
		return name == r.Data.File
	}
	return definition.IsPolicyFile(name)
}

// Answer is what an origin holds.
type Answer struct {
	// Revision is what the origin calls its state: branch@sha1:commit, tag@sha1:commit
	// or sha1:commit for Git, tag@sha256:digest or sha256:digest for OCI.
	Revision string `json:"revision"`
	// Files are the policy files by their slash-separated paths below the origin's
	// path: nil where Revision is the one that is known.
	Files map[string]string `json:"files"`
	// Entries is the number of members of data.
	Entries int `json:"entries,omitempty"`
	// Signature describes the verified signature; empty if none is required.
	Signature string `json:"signature,omitempty"`
}

// Limits bound a fetch.
type Limits struct {
	// Time is for all of it.
	Time time.Duration `json:"time"`
	// TransferBytes bounds the bytes that are read from the network.
	TransferBytes int64 `json:"transferBytes"`
	// MemoryBytes is what the process that fetches may hold.
	MemoryBytes int64 `json:"memoryBytes"`
	// Entries is how many files and folders there may be below the path, FileBytes the
	// size of one policy file, and TotalBytes that of all.
	Entries    int   `json:"entries"`
	FileBytes  int64 `json:"fileBytes"`
	TotalBytes int64 `json:"totalBytes"`
}

// DefaultLimits are far above what a repository of policies needs, and below what the
// manager's container has to spare.
var DefaultLimits = Limits{
	Time:          time.Minute,
	TransferBytes: 32 << 20,
	MemoryBytes:   128 << 20,
	Entries:       20_000,
	FileBytes:     4 << 20,
	TotalBytes:    16 << 20,
}

// The reasons for which a fetch fails.
const (
	// ReasonFetchFailed: the server cannot be reached, or answers with an error.
	ReasonFetchFailed = "FetchFailed"
	// ReasonAuthenticationFailed: the server does not accept the credentials.
	ReasonAuthenticationFailed = "AuthenticationFailed"
	// ReasonCredentialsInvalid: a Secret is missing, or holds something else.
	ReasonCredentialsInvalid = "CredentialsInvalid"
	// ReasonHostKeyChanged: the server is another than known_hosts says.
	ReasonHostKeyChanged = "HostKeyChanged"
	// ReasonHostKeyUnknown: known_hosts does not name the server.
	ReasonHostKeyUnknown = "HostKeyUnknown"
	// ReasonNotFound: there is no such repository, ref, artifact or path.
	ReasonNotFound = "NotFound"
	// ReasonTooLarge: a limit was reached.
	ReasonTooLarge = "TooLarge"
	// ReasonContentRefused: there is content that cannot be policy, such as links
	// that leave the folder.
	ReasonContentRefused = "ContentRefused"
	// ReasonVerificationFailed: the signature that was asked for is missing or wrong.
	ReasonVerificationFailed = "VerificationFailed"
	// ReasonCertificateRefused: the certificate of the server is not trusted, or not valid.
	ReasonCertificateRefused = "CertificateRefused"
	// ReasonRedirected: the server redirects to another address.
	ReasonRedirected = "Redirected"
	// ReasonVerified is the reason of a signature that was found good.
	ReasonVerified = "Verified"
)

// Error is why there is nothing to hand on.
type Error struct {
	// Reason is one of those above.
	Reason string `json:"reason"`
	// Message contains the problem, its location and the remedy.
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

func refuse(reason, format string, args ...any) error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...)}
}
