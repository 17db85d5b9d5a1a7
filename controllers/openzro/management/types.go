package management

import (
	"slices"
	"time"
)

// Reference is a group or a peer, as other items refer to it.
type Reference struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

// Member is a resource, as groups refer to it.
type Member struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// Group is a set of peers and resources.
type Group struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Issued    string      `json:"issued,omitempty"`
	Peers     []Reference `json:"peers"`
	Resources []Member    `json:"resources"`
	// Lists of groups contain the counts, but not always the members.
	PeersCount     int `json:"peers_count"`
	ResourcesCount int `json:"resources_count"`
}

// IsIssuedByAPI reports whether a group was created by the API or in the dashboard, and not by
// an identity provider: the names of those are not the administrator's.
func (g Group) IsIssuedByAPI() bool { return g.Issued == "api" }

// GroupIDs are the IDs of groups.
func GroupIDs(groups []Group) (ids []string) {
	for _, g := range groups {
		ids = append(ids, g.ID)
	}
	return ids
}

// IsEmpty says whether a group has no members.
func (g Group) IsEmpty() bool {
	return len(g.Peers)+len(g.Resources)+g.PeersCount+g.ResourcesCount == 0
}

// GroupRequest writes a group. It removes members that it does not contain.
type GroupRequest struct {
	Name      string   `json:"name"`
	Peers     []string `json:"peers,omitempty"`
	Resources []Member `json:"resources,omitempty"`
}

// Policy is an access policy: a rule says who may reach what.
type Policy struct {
	ID                  string       `json:"id"`
	Name                string       `json:"name"`
	Description         string       `json:"description"`
	Enabled             bool         `json:"enabled"`
	SourcePostureChecks []string     `json:"source_posture_checks"`
	Rules               []PolicyRule `json:"rules"`
}

// PolicyRule is a rule as the server gives it.
type PolicyRule struct {
	ID                  string      `json:"id"`
	Name                string      `json:"name"`
	Description         string      `json:"description"`
	Enabled             bool        `json:"enabled"`
	Action              string      `json:"action"`
	Bidirectional       bool        `json:"bidirectional"`
	Protocol            string      `json:"protocol"`
	Ports               []string    `json:"ports"`
	PortRanges          []PortRange `json:"port_ranges"`
	Sources             []Reference `json:"sources"`
	Destinations        []Reference `json:"destinations"`
	SourceResource      *Member     `json:"sourceResource"`
	DestinationResource *Member     `json:"destinationResource"`
}

// PortRange is from a port to another.
type PortRange struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// PolicyRequest writes a policy.
type PolicyRequest struct {
	Name                string              `json:"name"`
	Description         string              `json:"description"`
	Enabled             bool                `json:"enabled"`
	SourcePostureChecks []string            `json:"source_posture_checks,omitempty"`
	Rules               []PolicyRuleRequest `json:"rules"`
}

// PolicyRuleRequest writes a rule: groups are their IDs.
type PolicyRuleRequest struct {
	ID            string   `json:"id,omitempty"`
	Name          string   `json:"name"`
	Description   string   `json:"description"`
	Enabled       bool     `json:"enabled"`
	Action        string   `json:"action"`
	Bidirectional bool     `json:"bidirectional"`
	Protocol      string   `json:"protocol"`
	Ports         []string `json:"ports,omitempty"`
	// Sources and SourceResource exclude each other, as do Destinations and
	// DestinationResource.
	Sources             []string    `json:"sources"`
	Destinations        []string    `json:"destinations"`
	PortRanges          []PortRange `json:"port_ranges,omitempty"`
	SourceResource      *Member     `json:"sourceResource,omitempty"`
	DestinationResource *Member     `json:"destinationResource,omitempty"`
}

// Network has resources, and routers that lead to them.
type Network struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Resources   []string `json:"resources"`
	Routers     []string `json:"routers"`
}

// NetworkRequest writes a network.
type NetworkRequest struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Resource is a host, a subnet or a domain in a network.
type Resource struct {
	ID          string      `json:"id"`
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Address     string      `json:"address"`
	Enabled     bool        `json:"enabled"`
	Groups      []Reference `json:"groups"`
	Type        string      `json:"type"`
}

// ResourceRequest writes a resource: groups are their IDs.
type ResourceRequest struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Address     string   `json:"address"`
	Enabled     bool     `json:"enabled"`
	Groups      []string `json:"groups"`
}

// Router has the peers of groups route to a network.
type Router struct {
	ID         string   `json:"id"`
	Enabled    bool     `json:"enabled"`
	Masquerade bool     `json:"masquerade"`
	Metric     int      `json:"metric"`
	Peer       string   `json:"peer"`
	PeerGroups []string `json:"peer_groups"`
}

// RouterRequest writes a router.
type RouterRequest struct {
	Enabled    bool     `json:"enabled"`
	Masquerade bool     `json:"masquerade"`
	Metric     int      `json:"metric"`
	PeerGroups []string `json:"peer_groups"`
}

// Zone has the DNS records of a domain.
type Zone struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Domain string `json:"domain"`
}

// Record is a DNS record. Its TTL is in seconds.
type Record struct {
	ID string `json:"id"`
	RecordRequest
}

// RecordRequest writes a DNS record.
type RecordRequest struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Content string `json:"content"`
	TTL     int    `json:"ttl"`
}

// The states of setup keys.
const (
	KeyValid    = "valid"
	KeyExpired  = "expired"
	KeyRevoked  = "revoked"
	KeyOverused = "overused"
)

// KeyPrefix is the length of the prefix of a key that the server returns after its creation.
const KeyPrefix = 5

// SetupKey lets peers enrol. Key is whole in the answer to its creation alone.
type SetupKey struct {
	ID                  string    `json:"id"`
	Name                string    `json:"name"`
	Key                 string    `json:"key"`
	Expires             time.Time `json:"expires"`
	Type                string    `json:"type"`
	Valid               bool      `json:"valid"`
	Revoked             bool      `json:"revoked"`
	UsedTimes           int       `json:"used_times"`
	State               string    `json:"state"`
	AutoGroups          []string  `json:"auto_groups"`
	UsageLimit          int       `json:"usage_limit"`
	Ephemeral           bool      `json:"ephemeral"`
	AllowExtraDNSLabels bool      `json:"allow_extra_dns_labels"`
}

// SetupKeyRequest makes a key. ExpiresIn is in seconds, 0 for never; a UsageLimit of 0 is
// none.
type SetupKeyRequest struct {
	Name                string   `json:"name"`
	Type                string   `json:"type"`
	ExpiresIn           int      `json:"expires_in"`
	AutoGroups          []string `json:"auto_groups"`
	UsageLimit          int      `json:"usage_limit"`
	Ephemeral           bool     `json:"ephemeral"`
	AllowExtraDNSLabels bool     `json:"allow_extra_dns_labels"`
}

// SetupKeyUpdate contains the mutable fields of a key.
type SetupKeyUpdate struct {
	AutoGroups []string `json:"auto_groups"`
	Revoked    bool     `json:"revoked"`
}

// Account contains the settings of an account that Lintel reads.
type Account struct {
	ID       string `json:"id"`
	Settings struct {
		AdmissionExemptGroups []string `json:"admission_exempt_groups"`
	} `json:"settings"`
}

// IDs are those of references, sorted.
func IDs(references []Reference) (ids []string) {
	for _, r := range references {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids
}

// SameIDs reports whether references have these IDs, in any order.
func SameIDs(references []Reference, ids []string) bool {
	return slices.Equal(IDs(references), slices.Sorted(slices.Values(ids)))
}
