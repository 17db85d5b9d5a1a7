package v1alpha1

// InlineOrigin is policy that is written into the PolicySource itself.
type InlineOrigin struct {
	// files are the sources by path: Rego modules (team.rego), their tests
	// (team_test.rego) and data (limits/data.yaml, rooted at data.limits).
	// Paths are relative and use slashes. The object as a whole must stay
	// below etcd's limit of 1.5 MiB.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=1024
	// +kubebuilder:validation:XValidation:rule="self.all(path, !path.startsWith('/') && !('..' in path.split('/')))",message="paths must be relative and must not contain .."
	Files map[string]string `json:"files"`
}

// GitOrigin is policy in a Git repository.
type GitOrigin struct {
	// url is the repository: https://…, http://… or ssh://…. file:///… is one
	// on the manager's own disk, and is served only where the manager runs with
	// --allow-file-origins. It never holds a password.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^(https|http|ssh|file)://.+$')",message="url must begin with https://, http://, ssh:// or file://; write git@host:path as ssh://git@host/path"
	URL string `json:"url"`

	// ref is what to check out. Without one it is the repository's default
	// branch.
	// +optional
	Ref GitRef `json:"ref,omitzero"`

	// path is the folder that holds the policies. Without one it is the root
	// of the repository.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !('..' in self.split('/'))",message="path must be relative and must not leave the repository"
	Path string `json:"path,omitempty"`

	// secretRef names the Secret with the credentials: username and password,
	// or bearerToken, for HTTP; identity and known_hosts for SSH; and
	// ca.crt for a server whose certificate is not publicly trusted.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`

	// verify asks for a valid signature before a revision is considered.
	// +optional
	Verify *GitVerification `json:"verify,omitempty"`

	// receiver lets the host of the repository send notifications of pushes to /hook/<name of
	// this PolicySource>, if the manager runs with --receiver-bind-address. A notification
	// triggers an immediate check of the repository.
	// +optional
	Receiver *Receiver `json:"receiver,omitempty"`
}

// Receiver says whose push notifications are believed.
type Receiver struct {
	// secretRef names the Secret whose entry token contains the shared secret of the
	// repository's host. The host signs notifications with it (GitHub, Gitea, Forgejo), or sends
	// it along (GitLab).
	// +required
	SecretRef SecretReference `json:"secretRef"`
}

// GitRef selects the revision to check out: the commit if set, else the tag, else the branch.
type GitRef struct {
	// branch is followed. With a commit, it is where that commit is looked
	// for.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Branch string `json:"branch,omitempty"`

	// tag is followed when it moves.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Tag string `json:"tag,omitempty"`

	// commit is a full commit hash, SHA-1 or SHA-256, in hexadecimal.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^([0-9a-f]{40}|[0-9a-f]{64})?$`
	Commit string `json:"commit,omitempty"`
}

// GitVerificationMode is which Git objects must carry a valid signature.
//
// +kubebuilder:validation:Enum=HEAD;Tag;TagAndHEAD
type GitVerificationMode string

const (
	// GitVerificationHEAD verifies the commit that is checked out. It is the
	// default.
	GitVerificationHEAD GitVerificationMode = "HEAD"
	// GitVerificationTag verifies the annotated tag that ref.tag names.
	GitVerificationTag GitVerificationMode = "Tag"
	// GitVerificationTagAndHEAD verifies both.
	GitVerificationTagAndHEAD GitVerificationMode = "TagAndHEAD"
)

// GitVerification asks for signatures by known keys.
type GitVerification struct {
	// mode is which Git objects must be signed.
	// +optional
	// +kubebuilder:default=HEAD
	Mode GitVerificationMode `json:"mode,omitempty"`

	// secretRef names the Secret with the public keys that are trusted, each
	// an entry of its own: armoured OpenPGP keys, or SSH keys in the format
	// of Git's allowed signers file.
	// +required
	SecretRef SecretReference `json:"secretRef"`
}

// OCIOrigin is policy in an artifact of an OCI registry, such as an OPA bundle.
type OCIOrigin struct {
	// url is the repository without tag or digest: oci://registry/repository.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^oci://[^@]+$`
	URL string `json:"url"`

	// ref is the artifact in the repository. Without one it is the tag
	// latest.
	// +optional
	Ref OCIRef `json:"ref,omitzero"`

	// path is the folder that holds the policies. Without one it is the root
	// of the artifact.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !('..' in self.split('/'))",message="path must be relative and must not leave the artifact"
	Path string `json:"path,omitempty"`

	// secretRef names the Secret with the credentials, of the type
	// kubernetes.io/dockerconfigjson. It may also hold ca.crt, for a registry
	// whose certificate is not publicly trusted.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`

	// insecure uses plain HTTP for the registry. Only for registries inside a test environment:
	// anyone who can modify the traffic can modify the policies, unless verify is set.
	// +optional
	Insecure bool `json:"insecure,omitempty"`

	// verify asks for a valid signature before a revision is considered.
	// +optional
	Verify *OCIVerification `json:"verify,omitempty"`
}

// OCIRef selects an artifact in a repository: the digest if set, else the tag.
type OCIRef struct {
	// tag is followed when it moves.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9_][A-Za-z0-9_.-]*)?$`
	Tag string `json:"tag,omitempty"`

	// digest is the digest of the artifact's manifest: sha256:….
	// +optional
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^(sha256:[0-9a-f]{64})?$`
	Digest string `json:"digest,omitempty"`
}

// OCIVerificationProvider is the format of an artifact's signature.
//
// +kubebuilder:validation:Enum=cosign
type OCIVerificationProvider string

// OCIVerificationCosign verifies a cosign signature stored in the same repository.
const OCIVerificationCosign OCIVerificationProvider = "cosign"

// OCIVerification asks for a signature by a known key.
type OCIVerification struct {
	// provider is the format of the signature.
	// +optional
	// +kubebuilder:default=cosign
	Provider OCIVerificationProvider `json:"provider,omitempty"`

	// secretRef names the Secret with the public keys that are trusted, in
	// PEM, each in an entry whose name ends in .pub.
	// +required
	SecretRef SecretReference `json:"secretRef"`
}

// SecretReference names a Secret in the manager's own namespace: a
// cluster-scoped object must not be a way to read the Secrets of others.
type SecretReference struct {
	// name is the name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}
