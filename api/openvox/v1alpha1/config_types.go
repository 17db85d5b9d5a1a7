package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Config is the common configuration of Puppet servers.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=cfg
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="CA",type=string,JSONPath=`.spec.authorityRef`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image.tag`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="ConfigReady")].message`
type Config struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the configuration.
	// +required
	Spec ConfigSpec `json:"spec"`

	// status is the observed state.
	// +optional
	Status ConfigStatus `json:"status,omitzero"`
}

// ConfigList is a list of Configs.
//
// +kubebuilder:object:root=true
type ConfigList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Config `json:"items"`
}

// ConfigSpec is the configuration.
//
// +kubebuilder:validation:XValidation:rule="!has(self.databaseRef) || !has(self.puppetdb) || !has(self.puppetdb.serverUrls) || size(self.puppetdb.serverUrls) == 0",message="give one of databaseRef and puppetdb.serverUrls"
type ConfigSpec struct {
	// image is the image of servers and setup Jobs.
	// +required
	Image ImageSpec `json:"image"`

	// authorityRef is the name of the CertificateAuthority.
	// +optional
	AuthorityRef string `json:"authorityRef,omitempty"`

	// databaseRef is the name of the Database.
	// +optional
	DatabaseRef string `json:"databaseRef,omitempty"`

	// nodeClassifierRef is the name of the NodeClassifier.
	// +optional
	NodeClassifierRef string `json:"nodeClassifierRef,omitempty"`

	// puppetdb is a PuppetDB that runs elsewhere.
	// +optional
	PuppetDB *PuppetDBSpec `json:"puppetdb,omitempty"`

	// puppet are settings of puppet.conf.
	// +optional
	// +kubebuilder:default={}
	Puppet PuppetSpec `json:"puppet,omitzero"`

	// puppetserver is the configuration of Puppet Server.
	// +optional
	// +kubebuilder:default={}
	PuppetServer PuppetServerSpec `json:"puppetserver,omitzero"`

	// logging configures the log of servers.
	// +optional
	// +kubebuilder:default={}
	Logging LoggingSpec `json:"logging,omitzero"`

	// metrics configures the metrics of servers.
	// +optional
	// +kubebuilder:default={}
	Metrics MetricsSpec `json:"metrics,omitzero"`

	// code are the sources of Puppet code: a list, each with either image or claimName, and
	// with environment (mounted as one environment) or mountPath (a directory below
	// /etc/puppetlabs/code). A single source without both contains all environments, and may be
	// an object instead of a list.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Code PuppetCode `json:"code,omitzero"`

	// readOnlyRootFilesystem makes the root file system of the servers' containers read-only.
	// +optional
	ReadOnlyRootFilesystem bool `json:"readOnlyRootFilesystem,omitempty"`
}

// PuppetDBSpec is a PuppetDB that runs elsewhere.
type PuppetDBSpec struct {
	// serverUrls are the URLs of PuppetDB.
	// +optional
	// +listType=atomic
	ServerURLs []string `json:"serverUrls,omitempty"`
}

// PuppetSpec are settings of puppet.conf.
type PuppetSpec struct {
	// environmentTimeout is how long servers cache environments. The default is Puppet's.
	// +optional
	EnvironmentTimeout string `json:"environmentTimeout,omitempty"`

	// environmentPath is the directory of the environments.
	// +optional
	// +kubebuilder:default="/etc/puppetlabs/code/environments"
	EnvironmentPath string `json:"environmentPath,omitempty"`

	// hieraConfig is the path of the global Hiera configuration.
	// +optional
	// +kubebuilder:default="$confdir/hiera.yaml"
	HieraConfig string `json:"hieraConfig,omitempty"`

	// storeconfigs stores catalogs and facts. The default is true with a PuppetDB, and false
	// otherwise.
	// +optional
	StoreConfigs *bool `json:"storeconfigs,omitempty"`

	// storeBackend is the backend of storeconfigs. The default is puppetdb.
	// +optional
	StoreBackend string `json:"storeBackend,omitempty"`

	// reports are the report processors. The default is puppetdb with a PuppetDB, and store
	// otherwise.
	// +optional
	Reports string `json:"reports,omitempty"`

	// autosignCommand is the absolute path of a program that decides about agents' certificate
	// requests, in place of SigningPolicies. It is rejected while the CertificateAuthority has
	// SigningPolicies.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	AutosignCommand string `json:"autosignCommand,omitempty"`

	// externalNodesCommand is the absolute path of a program that classifies nodes, in place of
	// a NodeClassifier.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ExternalNodesCommand string `json:"externalNodesCommand,omitempty"`

	// extraConfig are additional settings of puppet.conf.
	// +optional
	ExtraConfig *ExtraConfig `json:"extraConfig,omitempty"`
}

// ExtraConfig are additional settings, by the section of puppet.conf.
type ExtraConfig struct {
	// main are settings of the section [main].
	// +optional
	Main map[string]string `json:"main,omitempty"`

	// server are settings of the section [server].
	// +optional
	Server map[string]string `json:"server,omitempty"`

	// agent are settings of the section [agent].
	// +optional
	Agent map[string]string `json:"agent,omitempty"`
}

// PuppetServerSpec is the configuration of Puppet Server.
type PuppetServerSpec struct {
	// maxRequestsPerInstance is the number of requests after which a JRuby instance is
	// replaced. 0 means never.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	MaxRequestsPerInstance int32 `json:"maxRequestsPerInstance,omitempty"`

	// borrowTimeout is how long a request waits for a JRuby instance, in milliseconds.
	// +optional
	// +kubebuilder:default=1200000
	// +kubebuilder:validation:Minimum=0
	BorrowTimeout int32 `json:"borrowTimeout,omitempty"`

	// compileMode is the compile mode of JRuby: jit or off.
	// +optional
	// +kubebuilder:default="off"
	// +kubebuilder:validation:Enum=jit;off
	CompileMode string `json:"compileMode,omitempty"`

	// clientAuth decides whether clients must present certificates: want, need or none.
	// +optional
	// +kubebuilder:default=want
	// +kubebuilder:validation:Enum=want;need;none
	ClientAuth string `json:"clientAuth,omitempty"`

	// httpClient are timeouts of outgoing requests.
	// +optional
	HTTPClient *HTTPClientSpec `json:"httpClient,omitempty"`

	// authorizationRules are additional rules of auth.conf.
	// +optional
	// +listType=map
	// +listMapKey=name
	AuthorizationRules []AuthorizationRule `json:"authorizationRules,omitempty"`
}

// HTTPClientSpec are timeouts of outgoing requests.
type HTTPClientSpec struct {
	// connectTimeoutMs is the timeout for connecting, in milliseconds.
	// +optional
	ConnectTimeoutMs *int32 `json:"connectTimeoutMs,omitempty"`

	// idleTimeoutMs is the timeout for an idle connection, in milliseconds.
	// +optional
	IdleTimeoutMs *int32 `json:"idleTimeoutMs,omitempty"`
}

// AuthorizationRule is a rule of auth.conf.
//
// +kubebuilder:validation:XValidation:rule="has(self.allow) || has(self.deny) || (has(self.allowUnauthenticated) && self.allowUnauthenticated)",message="give allow, deny or allowUnauthenticated: a rule without is none"
type AuthorizationRule struct {
	// name identifies the rule.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// matchRequest selects requests.
	// +required
	MatchRequest MatchRequest `json:"matchRequest"`

	// allow is a certname, *.<domain>, a regular expression between slashes, or * for all
	// clients with a certificate.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Allow string `json:"allow,omitempty"`

	// allowUnauthenticated permits all clients, also those without a certificate.
	// +optional
	AllowUnauthenticated bool `json:"allowUnauthenticated,omitempty"`

	// deny is a certname, *.<domain>, a regular expression between slashes, or * for all
	// clients.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Deny string `json:"deny,omitempty"`

	// sortOrder is the position of the rule. Puppet's rules have 500.
	// +optional
	// +kubebuilder:default=500
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=998
	SortOrder int32 `json:"sortOrder,omitempty"`
}

// MatchRequest selects requests.
type MatchRequest struct {
	// path is the path of the request.
	// +required
	// +kubebuilder:validation:MinLength=1
	Path string `json:"path"`

	// type is the type of path: path (a prefix) or regex.
	// +optional
	// +kubebuilder:default=path
	// +kubebuilder:validation:Enum=path;regex
	Type string `json:"type,omitempty"`

	// method are the HTTP methods. The default is all.
	// +optional
	// +listType=set
	Method []string `json:"method,omitempty"`
}

// LogLevel is a level of the log.
//
// +kubebuilder:validation:Enum=TRACE;DEBUG;INFO;WARN;ERROR
type LogLevel string

// LoggingSpec configures the log of servers.
type LoggingSpec struct {
	// level is the level of all loggers without a level of their own.
	// +optional
	// +kubebuilder:default=INFO
	Level LogLevel `json:"level,omitempty"`

	// loggers are levels by the name of the logger.
	// +optional
	Loggers map[string]LogLevel `json:"loggers,omitempty"`
}

// MetricsSpec configures the metrics of servers.
type MetricsSpec struct {
	// enabled collects metrics.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// jmx exports metrics by JMX.
	// +optional
	JMX *JMXSpec `json:"jmx,omitempty"`

	// graphite sends metrics to Graphite.
	// +optional
	Graphite *GraphiteSpec `json:"graphite,omitempty"`
}

// JMXSpec exports metrics by JMX.
type JMXSpec struct {
	// enabled exports metrics by JMX.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}

// GraphiteSpec sends metrics to Graphite.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.host)",message="host is required where enabled is true"
type GraphiteSpec struct {
	// enabled sends metrics.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// host is the host of Graphite.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Host string `json:"host,omitempty"`

	// port is the port of Graphite.
	// +optional
	// +kubebuilder:default=2003
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// updateIntervalSeconds is the interval at which metrics are sent.
	// +optional
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=1
	UpdateIntervalSeconds int32 `json:"updateIntervalSeconds,omitempty"`
}

// ConfigPhase summarizes the conditions of a Config.
//
// +kubebuilder:validation:Enum=Pending;Running;Error
type ConfigPhase string

const (
	// ConfigPending waits for another object.
	ConfigPending ConfigPhase = "Pending"
	// ConfigRunning is rendered.
	ConfigRunning ConfigPhase = "Running"
	// ConfigError has failed, and is retried.
	ConfigError ConfigPhase = "Error"
)

// ConditionConfigReady reports whether a Config is rendered.
const ConditionConfigReady = "ConfigReady"

// ConfigStatus is the observed state of a Config.
type ConfigStatus struct {
	// phase is Pending, Running or Error.
	// +optional
	Phase ConfigPhase `json:"phase,omitempty"`

	// filesHash is the hash of the files that were rendered last.
	// +optional
	FilesHash string `json:"filesHash,omitempty"`

	// observedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions contain ConfigReady.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
