// Package record defines recorded admission requests: the input of a review as it was evaluated,
// and the decision. A record holds everything that a later evaluation of other policies needs,
// or lists the missing values. It imports no Kubernetes client.
//
// Invariants: a record contains no value that the masks of the decision log hide. It lists the
// values that it lacks because they were masked or left out, so that an evaluation that reads them
// is undecided instead of wrong.
package record

import (
	"encoding/json"
	"time"

	"github.com/lintel-policy/lintel/policies/clusterdata"
)

// Schema is the version of the format of a Record. Readers refuse records of later versions.
const Schema = 1

// Record is one call of a webhook entry. Several entries may be called about one request: the API
// server makes a uid for each call. A mutate entry also sees another object than a validate entry.
type Record struct {
	Schema int       `json:"schema"`
	Time   time.Time `json:"time"`
	// Entry is the webhook entry that was called, such as validate/policies-fail. The object of a
	// record of a mutate entry is the one before Lintel's patches, and that of a validate entry
	// the one after the patches of all mutating webhooks.
	Entry string `json:"entry"`
	// Count is the number of requests that the record stands for: requests that differ only in what
	// no policy read at the time. 0 is 1.
	Count int64 `json:"count,omitempty"`
	// Request is the request of the AdmissionReview.
	Request json.RawMessage `json:"request"`
	// Masked lists the masked values as JSON pointers into Request.
	Masked []string `json:"masked,omitempty"`
	// Namespace is the Namespace of the object; null if the object is cluster-scoped or no policy
	// required it.
	Namespace json.RawMessage `json:"namespace,omitempty"`
	// NamespaceMasked lists the masked values as JSON pointers into Namespace.
	NamespaceMasked []string `json:"namespaceMasked,omitempty"`
	// Cluster is the cluster data that the policies read.
	Cluster  []ClusterData `json:"cluster,omitempty"`
	Decision Decision      `json:"decision"`
}

// ClusterData is the part of the objects of one kind that the policies read.
type ClusterData struct {
	// Kind is Kind.group, as in data.cluster.
	Kind string `json:"kind"`
	// Objects are the objects that were read, with the fields that policies can read, kind and
	// metadata.namespace and name.
	Objects []json.RawMessage `json:"objects,omitempty"`
	// Fields are the fields that policies can read; null means all. Other fields are not in
	// Objects.
	Fields *clusterdata.Fields `json:"fields,omitempty"`
	// Masked lists the masked values as JSON pointers into Objects.
	Masked []string `json:"masked,omitempty"`
	// Absent are the objects that were looked up and did not exist.
	Absent []clusterdata.Key `json:"absent,omitempty"`
	// Complete states that Objects are all objects of the kind, as for a policy that iterates
	// over them.
	Complete bool `json:"complete,omitempty"`
	// CompleteNamespaces are the namespaces of which Objects are all objects of the kind; "" for
	// cluster-scoped objects.
	CompleteNamespaces []string `json:"completeNamespaces,omitempty"`
}

// Decision is the response of an entry.
type Decision struct {
	Allowed bool `json:"allowed"`
	// Snapshot is the digest of all policies at the time.
	Snapshot string `json:"snapshot"`
	// Policies is the number of policies that were evaluated.
	Policies int       `json:"policies"`
	Denials  []Finding `json:"denials,omitempty"`
	Warnings []Finding `json:"warnings,omitempty"`
	Audits   []Finding `json:"audits,omitempty"`
	Exempted []Finding `json:"exempted,omitempty"`
	// MoreFindings is the number of findings that are left out.
	MoreFindings int `json:"moreFindings,omitempty"`
	// Patch is the JSON Patch of a mutate entry, without masked values.
	Patch json.RawMessage `json:"patch,omitempty"`
	// Error is the reason why the request could not be evaluated.
	Error string `json:"error,omitempty"`
}

// Finding is a finding of a policy. The fields are those of engine.Finding.
type Finding struct {
	Policy    string `json:"policy"`
	Rule      string `json:"rule,omitempty"`
	Location  string `json:"location,omitempty"`
	Source    string `json:"source,omitempty"`
	Revision  string `json:"revision,omitempty"`
	Scope     string `json:"scope,omitempty"`
	Field     string `json:"field,omitempty"`
	Msg       string `json:"msg"`
	Error     bool   `json:"error,omitempty"`
	Exception string `json:"exception,omitempty"`
}
