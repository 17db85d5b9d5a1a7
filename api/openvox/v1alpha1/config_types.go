package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Config is what the servers of a Puppet installation have in common.
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

	// status says whether it is in force.
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

	// authorityRef is the CertificateAuthority.
	// +optional
	AuthorityRef string `json:"authorityRef,omitempty"`

	// databaseRef is the Database.
	// +optional
	DatabaseRef string `json:"databaseRef,omitempty"`

	// nodeClassifierRef is the NodeClassifier.
	// +optional
	NodeClassifierRef string `json:"nodeClassifierRef,omitempty"`

	// puppetdb is a PuppetDB that runs elsewhere.
	// +optional
	PuppetDB *PuppetDBSpec `json:"puppetdb,omitempty"`

	// puppet is puppet.conf.
	// +optional
	// +kubebuilder:default={}
	Puppet PuppetSpec `json:"puppet,omitzero"`

	// puppetserver is the configuration of the server program.
	// +optional
	// +kubebuilder:default={}
	PuppetServer PuppetServerSpec `json:"puppetserver,omitzero"`

	// logging is what servers log.
	// +optional
	// +kubebuilder:default={}
	Logging LoggingSpec `json:"logging,omitzero"`

	// metrics is what servers measure.
	// +optional
	// +kubebuilder:default={}
	Metrics MetricsSpec `json:"metrics,omitzero"`

	// code is where Puppet code comes from: a list of sources, each with
	// either image or claimName, and with environment (mounted as one environment) or mountPath
	// (a folder below /etc/puppetlabs/code). A single source without both holds all
	// environments, and may be an object instead of a list.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Code CodeSources `json:"code,omitzero"`

	// readOnlyRootFilesystem is for the containers of servers.
	// +optional
	ReadOnlyRootFilesystem bool `json:"readOnlyRootFilesystem,omitempty"`
}

// PuppetDBSpec is a PuppetDB that runs elsewhere.
type PuppetDBSpec struct {
	// serverUrls are its URLs.
	// +optional
	// +listType=atomic
	ServerURLs []string `json:"serverUrls,omitempty"`
}

// PuppetSpec is puppet.conf.
type PuppetSpec struct {
	// environmentTimeout is how long environments are kept: unset is Puppet's own.
	// +optional
	EnvironmentTimeout string `json:"environmentTimeout,omitempty"`

	// environmentPath is where environments are.
	// +optional
	// +kubebuilder:default="/etc/puppetlabs/code/environments"
	EnvironmentPath string `json:"environmentPath,omitempty"`

	// hieraConfig is the global configuration of Hiera.
	// +optional
	// +kubebuilder:default="$confdir/hiera.yaml"
	HieraConfig string `json:"hieraConfig,omitempty"`

	// storeconfigs keeps catalogs and facts: true where there is a PuppetDB, unless set.
	// +optional
	StoreConfigs *bool `json:"storeconfigs,omitempty"`

	// storeBackend is where: puppetdb, unless set.
	// +optional
	StoreBackend string `json:"storeBackend,omitempty"`

	// reports are the report processors: puppetdb where there is a PuppetDB, else store,
	// unless set.
	// +optional
	Reports string `json:"reports,omitempty"`

	// autosignCommand is the absolute path of a program that decides about agents' requests for
	// certificates, in place of SigningPolicies. It is refused while the CertificateAuthority
	// has SigningPolicies.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	AutosignCommand string `json:"autosignCommand,omitempty"`

	// externalNodesCommand is the absolute path of a program that classifies nodes, in place of
	// a NodeClassifier.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ExternalNodesCommand string `json:"externalNodesCommand,omitempty"`

	// extraConfig are further settings.
	// +optional
	ExtraConfig *ExtraConfig `json:"extraConfig,omitempty"`
}

// ExtraConfig are further settings, by the section of puppet.conf.
type ExtraConfig struct {
	// main is [main].
	// +optional
	Main map[string]string `json:"main,omitempty"`

	// server is [server].
	// +optional
	Server map[string]string `json:"server,omitempty"`

	// agent is [agent].
	// +optional
	Agent map[string]string `json:"agent,omitempty"`
}

// PuppetServerSpec is the configuration of the server program.
type PuppetServerSpec struct {
	// maxRequestsPerInstance is after how many requests an interpreter is replaced: 0 is
	// never.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	MaxRequestsPerInstance int32 `json:"maxRequestsPerInstance,omitempty"`

	// borrowTimeout is how many milliseconds a request waits for an interpreter.
	// +optional
	// +kubebuilder:default=1200000
	// +kubebuilder:validation:Minimum=0
	BorrowTimeout int32 `json:"borrowTimeout,omitempty"`

	// compileMode is jit or off.
	// +optional
	// +kubebuilder:default="off"
	// +kubebuilder:validation:Enum=jit;off
	CompileMode string `json:"compileMode,omitempty"`

	// clientAuth is whether clients show certificates: want, need or none.
	// +optional
	// +kubebuilder:default=want
	// +kubebuilder:validation:Enum=want;need;none
	ClientAuth string `json:"clientAuth,omitempty"`

	// httpClient has timeouts of requests to others.
	// +optional
	HTTPClient *HTTPClientSpec `json:"httpClient,omitempty"`

	// authorizationRules are further rules of auth.conf.
	// +optional
	// +listType=map
	// +listMapKey=name
	AuthorizationRules []AuthorizationRule `json:"authorizationRules,omitempty"`
}

// HTTPClientSpec has timeouts of requests to others.
type HTTPClientSpec struct {
	// connectTimeoutMs is in milliseconds.
	// +optional
	ConnectTimeoutMs *int32 `json:"connectTimeoutMs,omitempty"`

	// idleTimeoutMs is in milliseconds.
	// +optional
	IdleTimeoutMs *int32 `json:"idleTimeoutMs,omitempty"`
}

// AuthorizationRule is a rule of auth.conf.
//
// +kubebuilder:validation:XValidation:rule="has(self.allow) || has(self.deny) || (has(self.allowUnauthenticated) && self.allowUnauthenticated)",message="give allow, deny or allowUnauthenticated: a rule without is none"
type AuthorizationRule struct {
	// name tells rules apart.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// matchRequest is what the rule is about.
	// +required
	MatchRequest MatchRequest `json:"matchRequest"`

	// allow is a certname, a glob, or * for all.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Allow string `json:"allow,omitempty"`

	// allowUnauthenticated lets in whoever comes.
	// +optional
	AllowUnauthenticated bool `json:"allowUnauthenticated,omitempty"`

	// deny is a certname, a glob, or * for all.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Deny string `json:"deny,omitempty"`

	// sortOrder is its place among the rules: those that ship are at 500.
	// +optional
	// +kubebuilder:default=500
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=998
	SortOrder int32 `json:"sortOrder,omitempty"`
}

// MatchRequest is what a rule is about.
type MatchRequest struct {
	// path is the path of the request.
	// +required
	// +kubebuilder:validation:MinLength=1
	Path string `json:"path"`

	// type is how path is read: path or regex.
	// +optional
	// +kubebuilder:default=path
	// +kubebuilder:validation:Enum=path;regex
	Type string `json:"type,omitempty"`

	// method are the methods: all where there are none.
	// +optional
	// +listType=set
	Method []string `json:"method,omitempty"`
}

// LogLevel is how much is logged.
//
// +kubebuilder:validation:Enum=TRACE;DEBUG;INFO;WARN;ERROR
type LogLevel string

// LoggingSpec is what servers log.
type LoggingSpec struct {
	// level is for all loggers.
	// +optional
	// +kubebuilder:default=INFO
	Level LogLevel `json:"level,omitempty"`

	// loggers are levels by the name of a logger.
	// +optional
	Loggers map[string]LogLevel `json:"loggers,omitempty"`
}

// MetricsSpec is what servers measure.
type MetricsSpec struct {
	// enabled measures.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// jmx gives measurements by JMX.
	// +optional
	JMX *JMXSpec `json:"jmx,omitempty"`

	// graphite sends them to a Graphite.
	// +optional
	Graphite *GraphiteSpec `json:"graphite,omitempty"`
}

// JMXSpec gives measurements by JMX.
type JMXSpec struct {
	// enabled gives them.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}

// GraphiteSpec sends measurements to a Graphite.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.host)",message="host is required where enabled is true"
type GraphiteSpec struct {
	// enabled sends them.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// host is where it runs.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Host string `json:"host,omitempty"`

	// port is its port.
	// +optional
	// +kubebuilder:default=2003
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// updateIntervalSeconds is how often.
	// +optional
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=1
	UpdateIntervalSeconds int32 `json:"updateIntervalSeconds,omitempty"`
}

// ConfigPhase is whether the configuration is in force.
//
// +kubebuilder:validation:Enum=Pending;Running;Error
type ConfigPhase string

const (
	// ConfigPending is not looked at yet.
	ConfigPending ConfigPhase = "Pending"
	// ConfigRunning is in force.
	ConfigRunning ConfigPhase = "Running"
	// ConfigError has failed, and is tried again.
	ConfigError ConfigPhase = "Error"
)

// ConditionConfigReady is whether a Config is in force.
const ConditionConfigReady = "ConfigReady"

// ConfigStatus says whether the configuration is in force.
type ConfigStatus struct {
	// phase is Pending, Running or Error.
	// +optional
	Phase ConfigPhase `json:"phase,omitempty"`

	// filesHash is the hash of the files that were rendered last: servers are replaced once
	// they can read these.
	// +optional
	FilesHash string `json:"filesHash,omitempty"`

	// observedGeneration is the generation that the rest is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions has ConfigReady.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
