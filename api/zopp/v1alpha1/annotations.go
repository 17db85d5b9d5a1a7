package v1alpha1

// The annotations by which users configure the synchronization of a Secret.
const (
	// SyncAnnotation has the Secret synced where it is exactly "true".
	SyncAnnotation = GroupName + "/sync"
	// WorkspaceAnnotation, ProjectAnnotation and EnvironmentAnnotation name one environment
	// of zopp.
	WorkspaceAnnotation = GroupName + "/workspace"
	// ProjectAnnotation is in WorkspaceAnnotation.
	ProjectAnnotation = GroupName + "/project"
	// EnvironmentAnnotation is in ProjectAnnotation.
	EnvironmentAnnotation = GroupName + "/environment"
	// SourcesAnnotation lists environments as workspace/project/environment, instead of
	// those three: of equal keys that of the later one counts.
	SourcesAnnotation = GroupName + "/sources"
	// KeysAnnotation lists which keys are wanted: KEY, a pattern such as API_*, or name=KEY,
	// which gives KEY another name in the Secret. Without it all are.
	KeysAnnotation = GroupName + "/keys"
	// CleanupAnnotation has the synced keys leave the Secret when its sync ends, where it
	// is "true".
	CleanupAnnotation = GroupName + "/cleanup"
)

// The annotations of a Secret that say what became of it. The controller writes them.
const (
	// StatusAnnotation is one word, a SyncStatus.
	StatusAnnotation = GroupName + "/status"
	// SyncedVersionAnnotation is the version of the environment that the Secret has; of
	// several sources one each, in their order, with commas between.
	SyncedVersionAnnotation = GroupName + "/synced-version"
	// MessageAnnotation is a message with the problem and the next step. It never contains a
	// value.
	MessageAnnotation = GroupName + "/message"
	// ManagedAnnotation is "true" on Secrets that were created for a ZoppSecretSync.
	ManagedAnnotation = GroupName + "/managed"
)

// SyncStatus is a value of StatusAnnotation.
type SyncStatus string

const (
	// StatusSynced is when the Secret has what zopp has.
	StatusSynced SyncStatus = "Synced"
	// StatusFailed means that the last synchronization failed or is incomplete; the message has
	// the reason.
	StatusFailed SyncStatus = "Failed"
	// StatusDenied is when the rules of admission are against it.
	StatusDenied SyncStatus = "Denied"
)

// The annotations of workloads.
const (
	// ReloadAnnotation has a Deployment, StatefulSet or DaemonSet rolled when a synced
	// Secret that it uses has changed, where it is "true".
	ReloadAnnotation = GroupName + "/reload"
	// RestartedAtAnnotation on the Pod template is when that was last done.
	RestartedAtAnnotation = GroupName + "/restartedAt"
)

// The annotations of a Namespace. Administrators write them: a user who may edit a Namespace
// decides which secrets its objects may read.
const (
	// AllowedSourcesAnnotation lists what the objects of the Namespace may read, as
	// workspace/project/environment with patterns in each.
	AllowedSourcesAnnotation = GroupName + "/allowed-sources"
	// AcceptFromNamespacesAnnotation lists the namespaces, or patterns of them, whose
	// ZoppSecretSyncs may have Secrets of this Namespace as their target.
	AcceptFromNamespacesAnnotation = GroupName + "/accept-from-namespaces"
)
