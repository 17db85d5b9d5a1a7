package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/policies/admission"
	core "github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/engine"
)

// pass is one evaluation of all objects. Objects are dropped once they are evaluated; the results
// stay.
type pass struct {
	auditor    *core.Auditor
	cluster    *clusterdata.Objects
	namespaces map[string]engine.Namespace
	progress   *report.Progress

	part       *part
	kinds      map[schema.GroupKind]bool
	objects    int
	results    []Result
	undecided  map[engine.Undecided]*Undecided
	notAudited []NotAudited
}

// part contains the results of the kind or the files that are being read: it is dropped if they
// are read again from the start.
type part struct {
	objects   int
	kinds     map[schema.GroupKind]bool
	results   []Result
	undecided map[engine.Undecided]*Undecided
}

func newPass(auditor *core.Auditor, p *report.Progress) *pass {
	return &pass{
		auditor: auditor, cluster: clusterdata.Empty(), namespaces: map[string]engine.Namespace{}, progress: p,
		kinds: map[schema.GroupKind]bool{}, undecided: map[engine.Undecided]*Undecided{},
	}
}

// begin begins a part.
func (p *pass) begin(what string) {
	p.progress.Begin(what)
	p.part = &part{kinds: map[schema.GroupKind]bool{}, undecided: map[engine.Undecided]*Undecided{}}
}

// end adds the part to the results.
func (p *pass) end() {
	p.objects += p.part.objects
	p.results = append(p.results, p.part.results...)
	for kind := range p.part.kinds {
		p.kinds[kind] = true
	}
	for key, one := range p.part.undecided {
		if known := p.undecided[key]; known != nil {
			known.Objects += one.Objects
			continue
		}
		p.undecided[key] = one
	}
}

// evaluate evaluates an object in JSON, of a resource in the version of the object. The error is
// that of the context.
func (p *pass) evaluate(ctx context.Context, text []byte, resource admission.ServedResource, o manifests.Object) error {
	p.progress.Add(1)
	object := objectOf(o, text)
	options := engine.Options{Namespace: p.namespaces[o.Namespace], Cluster: p.cluster, Offline: true}
	found, err := p.auditor.Evaluate(ctx, text, resource, options)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		p.cannotDecide(engine.Undecided{Reason: err.Error()}, object)
		return nil
	case found.Excluded:
		return nil
	}
	p.part.objects++
	p.part.kinds[o.Kind.GroupKind()] = true
	for _, undecided := range found.Undecided {
		p.cannotDecide(undecided, object)
	}
	for _, result := range found.Results {
		p.part.results = append(p.part.results, Result{
			Key: keyOf(object, text, result), Object: object, Result: result, At: placeOf(o), file: o.File, line: o.Line,
		})
	}
	return nil
}

func (p *pass) cannotDecide(why engine.Undecided, object Object) {
	one := p.part.undecided[why]
	if one == nil {
		one = &Undecided{Policy: why.Policy, Reason: why.Reason, First: object}
		p.part.undecided[why] = one
	}
	one.Objects++
}

func objectOf(o manifests.Object, text []byte) Object {
	var about struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(text, &about) // the uid is for other programs
	return Object{o.Kind.GroupVersion().String(), o.Kind.Kind, o.Namespace, o.DisplayName(), about.Metadata.UID}
}

// report puts the results together.
func (p *pass) report() *Report {
	r := &Report{
		APIVersion: reportVersion, Policies: []PolicyCount{}, Results: []Result{}, NotAuditable: []NotAuditable{},
		NotAudited: append([]NotAudited{}, p.notAudited...), Undecided: []Undecided{},
	}
	counts := map[core.PolicyKey]core.Counts{}
	slices.SortFunc(p.results, compareResults)
	// An object can be in several files, and is read again after a list has expired.
	r.Results = append(r.Results, slices.CompactFunc(p.results, func(a, b Result) bool {
		return a.Key == b.Key && a.Object == b.Object && a.Result.Source == b.Result.Source && a.Result.Message == b.Result.Message
	})...)
	for _, result := range r.Results {
		if counts[result.Result.Key()] == nil {
			counts[result.Result.Key()] = core.Counts{}
		}
		counts[result.Result.Key()][result.Result.Outcome]++
	}
	for _, info := range p.auditor.Policies() {
		key := core.PolicyKey{Source: info.Source, Policy: info.Package}
		one := PolicyCount{info.Source, info.Package, info.Title, string(info.Enforcement), counts[key]}
		if one.Counts == nil {
			one.Counts = core.Counts{}
		}
		r.Policies = append(r.Policies, one)
		for _, reference := range info.NotAuditable {
			not := NotAuditable{Source: info.Source, Policy: info.Package, Reference: reference.String()}
			if !reference.IsWhole() {
				not.Rule = reference.Rule.String()
			}
			r.NotAuditable = append(r.NotAuditable, not)
		}
	}
	for _, one := range p.undecided {
		r.Undecided = append(r.Undecided, *one)
	}
	slices.SortFunc(r.Undecided, func(a, b Undecided) int {
		return cmp.Or(cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Reason, b.Reason))
	})
	r.summarize(p.objects, len(p.kinds))
	return r
}

func (r *Report) summarize(objects, kinds int) {
	r.Summary = Summary{Objects: objects, Kinds: kinds, Policies: len(r.Policies)}
	for _, result := range r.Results {
		switch result.Result.Outcome {
		case core.Fail:
			r.Summary.Violations++
		case core.Warn:
			r.Summary.Warnings++
		case core.Error:
			r.Summary.Errors++
		case core.Skip:
			r.Summary.Skipped++
		}
	}
}

// placeOf is the file and line of an object, or empty for an object of a cluster.
func placeOf(o manifests.Object) string {
	if o.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}
