package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/eval"
	"github.com/lintel-policy/lintel/policies/record"
)

// input is a request as policies read it.
type input struct {
	request    *Request
	subject    Subject
	validation *admission.Review // nil without a record of a validate entry
	mutation   *admission.Review // nil without a record of a mutate entry
	namespace  engine.Namespace
	cluster    *clusterdata.Objects
	undecided  []engine.Undecided // of the whole request
}

const (
	validatePrefix = "validate/"
	mutatePrefix   = "mutate/"
)

// of are the records of entries of one kind.
func (r *Request) of(prefix string) (found []*record.Record) {
	for _, one := range r.Records {
		if strings.HasPrefix(one.Entry, prefix) {
			found = append(found, one)
		}
	}
	return found
}

// reviewOf is the review of the first record: nil without records.
func (in *input) reviewOf(records []*record.Record) (*admission.Review, error) {
	if len(records) == 0 {
		return nil, nil
	}
	first := records[0]
	review, err := admission.NewPartialReview(first.Request, first.Masked)
	if unknown, ok := asUnknown(err); ok {
		in.undecided = []engine.Undecided{{Reason: "it is unknown which policies match: " + unknown.Reference + " is masked"}}
		return admission.NewReview(first.Request)
	}
	return review, err
}

func asUnknown(err error) (*eval.UnknownError, bool) {
	unknown, ok := err.(*eval.UnknownError)
	return unknown, ok
}

// newInput reads the records of a request.
func newInput(request *Request) (*input, error) {
	in := &input{request: request}
	var err error
	if in.validation, err = in.reviewOf(request.of(validatePrefix)); err != nil {
		return nil, err
	}
	if in.mutation, err = in.reviewOf(request.of(mutatePrefix)); err != nil {
		return nil, err
	}
	review := in.validation
	if review == nil {
		review = in.mutation
	}
	if review == nil {
		return nil, fmt.Errorf("entry %q is neither validate/ nor mutate/", request.Records[0].Entry)
	}
	in.subject = subjectOf(review, request.Time())
	for _, one := range request.Records {
		if len(one.Namespace) == 0 || string(one.Namespace) == "null" || !in.namespace.IsZero() || len(one.NamespaceMasked) > 0 {
			continue // policies that read a Namespace with masked values are undecided
		}
		if in.namespace, err = engine.ReadNamespace(one.Namespace); err != nil {
			return nil, err
		}
	}
	in.cluster, err = clusterOf(request.Records)
	return in, err
}

// clusterOf combines the cluster data of records. Of a kind in several records, the most complete
// one is used: they may be of different times.
func clusterOf(records []*record.Record) (*clusterdata.Objects, error) {
	var parts []clusterdata.Part
	known := map[string]int{}
	for _, one := range records {
		for _, data := range one.Cluster {
			kind, err := admission.ParseKind(data.Kind)
			if err != nil {
				return nil, fmt.Errorf("reading the cluster data: %w", err)
			}
			part, err := partOf(kind, data)
			if err != nil {
				return nil, err
			}
			at, ok := known[data.Kind]
			switch {
			case !ok:
				known[data.Kind] = len(parts)
				parts = append(parts, part)
			case part.Complete && !parts[at].Complete, part.Complete == parts[at].Complete && len(part.Objects)+len(part.Absent) > len(parts[at].Objects)+len(parts[at].Absent):
				parts[at] = part
			}
		}
	}
	return clusterdata.NewPartial(parts)
}

// partOf is the cluster data of a kind without objects that have masked values: policies that read
// these are undecided.
func partOf(kind admission.GroupVersionKind, data record.ClusterData) (clusterdata.Part, error) {
	part := clusterdata.Part{Kind: kind, Fields: data.Fields, Absent: data.Absent, Complete: data.Complete, CompleteNamespaces: data.CompleteNamespaces}
	masked := map[int]bool{}
	for _, pointer := range data.Masked {
		index, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
		n, err := strconv.Atoi(index)
		if err != nil || n < 0 || n >= len(data.Objects) {
			return part, fmt.Errorf("reading the cluster data of kind %s: masked value %q is not in an object", kind, pointer)
		}
		masked[n] = true
	}
	for i, object := range data.Objects {
		if masked[i] {
			part.Complete, part.CompleteNamespaces = false, nil
			continue
		}
		part.Objects = append(part.Objects, object)
	}
	return part, nil
}

// recorded are the recorded findings of some sources. A denial by an entry that is not about
// policies has no source.
func (in *input) recorded(of func(source string) bool) (found Findings) {
	for _, one := range in.request.Records {
		for _, part := range []struct {
			from []record.Finding
			to   *[]record.Finding
		}{{one.Decision.Denials, &found.Denials}, {one.Decision.Warnings, &found.Warnings}} {
			for _, finding := range part.from {
				if of(finding.Source) {
					*part.to = append(*part.to, finding)
				}
			}
		}
	}
	return found
}

// failure is the reason why a request could not be evaluated: empty if it was.
func (in *input) failure() string {
	for _, one := range in.request.Records {
		if one.Decision.Error != "" {
			return one.Decision.Error
		}
	}
	return ""
}

// patches are the operations of all recorded patches, in their order.
func (in *input) patches() (operations []any) {
	for _, one := range in.request.of(mutatePrefix) {
		var read []any
		if len(one.Decision.Patch) > 0 && decodeNumbers(one.Decision.Patch, &read) == nil {
			operations = append(operations, read...)
		}
	}
	return operations
}

// object is the object before any patch.
func (in *input) object() (any, error) {
	var request struct {
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(in.request.of(mutatePrefix)[0].Request, &request); err != nil {
		return nil, err
	}
	if len(request.Object) == 0 {
		return nil, errors.New("the request has no object")
	}
	var object any
	return object, decodeNumbers(request.Object, &object)
}
