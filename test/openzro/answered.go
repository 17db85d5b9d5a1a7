package openzro

import "time"

// What the server answers, field by field. Where it has none, most lists are null.

// Refused is an error. Its code is the status.
type Refused struct {
	Message string `json:"message"`
	Code    int    `json:"code"`
}

// Group is a group with those in it.
type Group struct {
	ID             string `json:"id"`
	Name           string `json:"name"`
	Issued         string `json:"issued"`
	Peers          []Name `json:"peers"`
	PeersCount     int    `json:"peers_count"`
	Resources      []Link `json:"resources"`
	ResourcesCount int    `json:"resources_count"`
}

// Name is something with its name.
type Name struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Link is something with its type: host, subnet or domain.
type Link struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// GroupSize is a group as others show it.
type GroupSize struct {
	ID             string `json:"id"`
	Name           string `json:"name"`
	PeersCount     int    `json:"peers_count"`
	ResourcesCount int    `json:"resources_count"`
}

// Peer is a machine.
type Peer struct {
	ID     string      `json:"id"`
	Name   string      `json:"name"`
	Groups []GroupSize `json:"groups"`
}

// SetupKey is a key that peers enrol with. The key itself is in the answer to its creation
// alone; later it is the first five characters and four asterisks.
type SetupKey struct {
	ID                  string    `json:"id"`
	Key                 string    `json:"key"`
	Name                string    `json:"name"`
	Expires             time.Time `json:"expires"`
	Type                string    `json:"type"`
	Valid               bool      `json:"valid"`
	Revoked             bool      `json:"revoked"`
	UsedTimes           int       `json:"used_times"`
	LastUsed            time.Time `json:"last_used"`
	State               string    `json:"state"`
	AutoGroups          []string  `json:"auto_groups"`
	UpdatedAt           time.Time `json:"updated_at"`
	UsageLimit          int       `json:"usage_limit"`
	Ephemeral           bool      `json:"ephemeral"`
	AllowExtraDNSLabels bool      `json:"allow_extra_dns_labels"`
}

// Policy is an access policy.
type Policy struct {
	ID                  string   `json:"id"`
	Name                string   `json:"name"`
	Description         string   `json:"description"`
	Enabled             bool     `json:"enabled"`
	SourcePostureChecks []string `json:"source_posture_checks"`
	Rules               []Rule   `json:"rules"`
}

// Rule is a rule of a policy.
type Rule struct {
	ID                  string      `json:"id"`
	Name                string      `json:"name"`
	Description         string      `json:"description"`
	Enabled             bool        `json:"enabled"`
	Action              string      `json:"action"`
	Bidirectional       bool        `json:"bidirectional"`
	Protocol            string      `json:"protocol"`
	Ports               []string    `json:"ports,omitempty"`
	PortRanges          []PortRange `json:"port_ranges,omitempty"`
	Sources             []GroupSize `json:"sources"`
	Destinations        []GroupSize `json:"destinations"`
	SourceResource      *Link       `json:"sourceResource,omitempty"`
	DestinationResource *Link       `json:"destinationResource,omitempty"`
}

// PortRange is a range with both its ends.
type PortRange struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Network is a network, with the IDs of what belongs to it.
type Network struct {
	ID                string   `json:"id"`
	Name              string   `json:"name"`
	Description       string   `json:"description"`
	Policies          []string `json:"policies"`
	Resources         []string `json:"resources"`
	Routers           []string `json:"routers"`
	RoutingPeersCount int      `json:"routing_peers_count"`
}

// Resource is a host, subnet or domain of a network.
type Resource struct {
	ID          string      `json:"id"`
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Type        string      `json:"type"`
	Address     string      `json:"address"`
	Enabled     bool        `json:"enabled"`
	Groups      []GroupSize `json:"groups"`
}

// Router is a routing peer of a network, or groups of them.
type Router struct {
	ID         string   `json:"id"`
	Peer       string   `json:"peer"`
	PeerGroups []string `json:"peer_groups"`
	Masquerade bool     `json:"masquerade"`
	Metric     int      `json:"metric"`
	Enabled    bool     `json:"enabled"`
}

// Zone is a DNS zone with its records.
type Zone struct {
	ID                 string   `json:"id"`
	Name               string   `json:"name"`
	Domain             string   `json:"domain"`
	Enabled            bool     `json:"enabled"`
	EnableSearchDomain bool     `json:"enable_search_domain"`
	DistributionGroups []string `json:"distribution_groups"`
	Records            []Record `json:"records"`
}

// Record is a DNS record; its TTL is in seconds.
type Record struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Type    string `json:"type"`
	Content string `json:"content"`
	TTL     int    `json:"ttl"`
}

// AccountAnswer is an account with its settings.
type AccountAnswer struct {
	ID             string     `json:"id"`
	Settings       Settings   `json:"settings"`
	CreatedAt      time.Time  `json:"created_at"`
	CreatedBy      string     `json:"created_by"`
	Domain         string     `json:"domain"`
	DomainCategory string     `json:"domain_category"`
	Onboarding     Onboarding `json:"onboarding"`
}

// Onboarding is what a new account has still before it.
type Onboarding struct {
	OnboardingFlowPending bool `json:"onboarding_flow_pending"`
	SignupFormPending     bool `json:"signup_form_pending"`
}

// Settings are the settings of an account. A write replaces all of them: omitted settings are
// reset, except for the two about MFA and the filter of ports. Times are in seconds.
type Settings struct {
	PeerLoginExpirationEnabled      bool           `json:"peer_login_expiration_enabled"`
	PeerLoginExpiration             int            `json:"peer_login_expiration"`
	PeerInactivityExpirationEnabled bool           `json:"peer_inactivity_expiration_enabled"`
	PeerInactivityExpiration        int            `json:"peer_inactivity_expiration"`
	RegularUsersViewBlocked         bool           `json:"regular_users_view_blocked"`
	GroupsPropagationEnabled        bool           `json:"groups_propagation_enabled"`
	JWTGroupsEnabled                bool           `json:"jwt_groups_enabled"`
	JWTGroupsClaimName              string         `json:"jwt_groups_claim_name"`
	JWTAllowGroups                  []string       `json:"jwt_allow_groups"`
	RoutingPeerDNSResolutionEnabled bool           `json:"routing_peer_dns_resolution_enabled"`
	LazyConnectionEnabled           bool           `json:"lazy_connection_enabled"`
	DNSDomain                       string         `json:"dns_domain"`
	AdmissionEnforcementEnabled     bool           `json:"admission_enforcement_enabled"`
	AdmissionPostureChecks          []string       `json:"admission_posture_checks"`
	AdmissionExemptGroups           []string       `json:"admission_exempt_groups"`
	ClientUpdateTargetVersion       string         `json:"client_update_target_version"`
	ClientUpdateForce               bool           `json:"client_update_force"`
	ClientUpdateTargetGroups        []string       `json:"client_update_target_groups"`
	ClientUpdateTargetPeers         []string       `json:"client_update_target_peers"`
	ClientUpdateExcludeGroups       []string       `json:"client_update_exclude_groups"`
	ClientUpdateRolloutPercent      *int           `json:"client_update_rollout_percent,omitempty"`
	MFAEnforceLocal                 *bool          `json:"mfa_enforce_local,omitempty"`
	MFAEnforceFederated             *bool          `json:"mfa_enforce_federated,omitempty"`
	Extra                           *ExtraSettings `json:"extra,omitempty"`
}

// ExtraSettings are more of them.
type ExtraSettings struct {
	NetworkTrafficDisableDefaultPortFilter *bool `json:"network_traffic_disable_default_port_filter,omitempty"`
	PeerApprovalEnabled                    bool  `json:"peer_approval_enabled"`
	NetworkTrafficLogsEnabled              bool  `json:"network_traffic_logs_enabled"`
	NetworkTrafficPacketCounterEnabled     bool  `json:"network_traffic_packet_counter_enabled"`
}

// User is a person or a service that tokens belong to.
type User struct {
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	Email         string   `json:"email"`
	Role          string   `json:"role"`
	Status        string   `json:"status"`
	AutoGroups    []string `json:"auto_groups"`
	IsCurrent     bool     `json:"is_current"`
	IsServiceUser bool     `json:"is_service_user"`
	IsBlocked     bool     `json:"is_blocked"`
}

// Token is a personal access token, without its text.
type Token struct {
	ID             string    `json:"id"`
	Name           string    `json:"name"`
	CreatedAt      time.Time `json:"created_at"`
	CreatedBy      string    `json:"created_by"`
	ExpirationDate time.Time `json:"expiration_date"`
}

// NewToken is the one answer with the text of a token.
type NewToken struct {
	PlainToken          string `json:"plain_token"`
	PersonalAccessToken Token  `json:"personal_access_token"`
}
