package gatekeeper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
)

// expansion is one ExpansionTemplate for one kind.
type expansion struct {
	name        string
	kind        admission.GroupVersionKind // that is expanded
	generated   admission.GroupVersionKind
	enforcement definition.Enforcement
}

var (
	pod = admission.GroupVersionKind{Version: "v1", Kind: "Pod"}
	job = admission.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
)

// addExpansion reads an ExpansionTemplate, of which the Pods of workloads are
// supported: the Pod template of each kind that the engine knows, and the Jobs of
// CronJobs on the way there.
func (f *folder) addExpansion(d document) {
	var object struct {
		Spec struct {
			ApplyTo []struct {
				Groups   []string `json:"groups"`
				Versions []string `json:"versions"`
				Kinds    []string `json:"kinds"`
			} `json:"applyTo"`
			TemplateSource    string                     `json:"templateSource"`
			EnforcementAction string                     `json:"enforcementAction"`
			GeneratedGVK      admission.GroupVersionKind `json:"generatedGVK"`
		} `json:"spec"`
	}
	if err := d.decode(&object); err != nil {
		f.fail(d.errorAt("%v", err))
		return
	}
	spec := object.Spec
	var enforcement definition.Enforcement
	if spec.EnforcementAction != "" {
		var ok bool
		if enforcement, ok = enforcementOf(spec.EnforcementAction); !ok {
			f.fail(d.errorIn([]any{"spec", "enforcementAction"}, "%q is not one of deny, warn, dryrun", spec.EnforcementAction))
		}
	}
	for i, applyTo := range spec.ApplyTo {
		for _, group := range applyTo.Groups {
			for _, version := range applyTo.Versions {
				for _, kind := range applyTo.Kinds {
					one := expansion{
						name:        d.name,
						kind:        admission.GroupVersionKind{Group: group, Version: version, Kind: kind},
						generated:   spec.GeneratedGVK,
						enforcement: enforcement,
					}
					if err := one.check(spec.TemplateSource); err != nil {
						f.fail(d.errorIn([]any{"spec", "applyTo", i}, "%v", err))
						continue
					}
					f.expansions = append(f.expansions, one)
				}
			}
		}
	}
}

// check returns an error for a source that cannot be expanded, whose Pods would otherwise be
// admitted without review.
func (e expansion) check(source string) error {
	path := strings.Split(source, ".")
	template, known := admission.PodTemplatePath(e.kind)
	switch {
	case e.generated == pod && known && slices.Equal(path, template):
		return nil
	case e.generated == job && e.kind.Kind == "CronJob" && e.kind.Group == "batch" && source == "spec.jobTemplate":
		return nil
	case e.generated == pod && known:
		return fmt.Errorf("expanding %s at %s is not supported: its Pod template is at %s", e.kind, source, strings.Join(template, "."))
	default:
		return fmt.Errorf("expanding %s into %s is not supported: only the Pods of Deployment, ReplicaSet, StatefulSet, DaemonSet, Job, CronJob and ReplicationController are; take it out of applyTo", e.kind, e.generated)
	}
}

// podExpansions are those that end in Pods, in one step or by way of a Job.
func (f *folder) podExpansions() []definition.Expansion {
	var out []definition.Expansion
	for _, e := range f.expansions {
		if e.generated == pod {
			out = append(out, definition.Expansion{Name: e.name, Kind: e.kind, Enforcement: e.enforcement})
			continue
		}
		for _, next := range f.expansions {
			if next.kind == e.generated {
				out = append(out, definition.Expansion{Name: next.name, Kind: e.kind, Enforcement: next.enforcement})
			}
		}
	}
	return out
}
