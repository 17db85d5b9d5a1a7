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
	source      string // the path of the template
	enforcement definition.Enforcement
}

var pod = admission.GroupVersionKind{Version: "v1", Kind: "Pod"}

// addExpansion reads an ExpansionTemplate. Supported are those that generate Pods, and those that
// generate workloads of Kubernetes, such as the Jobs of CronJobs, on the way there.
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
	if len(spec.ApplyTo) == 0 {
		f.fail(d.errorIn([]any{"spec", "applyTo"}, "must name the groups, versions and kinds of the objects to expand"))
	}
	for i, applyTo := range spec.ApplyTo {
		for _, group := range applyTo.Groups {
			for _, version := range applyTo.Versions {
				for _, kind := range applyTo.Kinds {
					one := expansion{
						name:        d.name,
						kind:        admission.GroupVersionKind{Group: group, Version: version, Kind: kind},
						generated:   spec.GeneratedGVK,
						source:      spec.TemplateSource,
						enforcement: enforcement,
					}
					if err := one.check(); err != nil {
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
func (e expansion) check() error {
	path := strings.Split(e.source, ".")
	template, known := admission.PodTemplatePath(e.kind)
	_, isWorkload := admission.PodTemplatePath(e.generated)
	wildcard := func(names ...string) bool { return slices.Contains(names, "*") || slices.Contains(names, "") }
	switch {
	case wildcard(e.kind.Version, e.kind.Kind) || e.kind.Group == "*":
		return fmt.Errorf("name one group, version and kind: * is not supported, as in Gatekeeper")
	case slices.Contains(path, ""):
		return fmt.Errorf("spec.templateSource %q is not a path of fields, such as spec.template", e.source)
	case e.kind == e.generated:
		return fmt.Errorf("expanding %s generates the same kind", e.kind)
	case e.generated == pod && known && !slices.Equal(path, template):
		return fmt.Errorf("expanding %s at %s is not supported: its Pod template is at %s", e.kind, e.source, strings.Join(template, "."))
	case e.generated != pod && !isWorkload:
		return fmt.Errorf("expanding %s into %s is not supported: generatedGVK is Pod, or a workload that creates Pods (Deployment, ReplicaSet, StatefulSet, DaemonSet, Job, CronJob, ReplicationController)", e.kind, e.generated)
	case e.generated != pod && known && !(e.kind.Kind == "CronJob" && e.generated.Kind == "Job" && e.source == "spec.jobTemplate"):
		return fmt.Errorf("expanding %s into %s is not supported: it creates no %s at %s", e.kind, e.generated, e.generated.Kind, e.source)
	}
	return nil
}

// podExpansions are those that end in Pods, in one step or by way of a workload.
func (f *folder) podExpansions() []definition.Expansion {
	var out []definition.Expansion
	for _, e := range f.expansions {
		if e.generated == pod {
			out = append(out, definition.Expansion{Name: e.name, Kind: e.kind, Enforcement: e.enforcement, Template: admission.PodTemplate{Path: e.source}})
			continue
		}
		for _, next := range f.expansions {
			if next.kind == e.generated && next.generated == pod {
				out = append(out, definition.Expansion{
					Name: next.name, Kind: e.kind, Enforcement: next.enforcement,
					Template: admission.PodTemplate{Path: e.source + "." + next.source, Via: e.generated},
				})
			}
		}
	}
	return out
}

// expandedKinds are the kinds of expansions that are not workloads of Kubernetes.
func expandedKinds(expansions []definition.Expansion) (kinds []admission.GroupVersionKind) {
	for _, e := range expansions {
		if _, known := admission.PodTemplatePath(e.Kind); !known && !slices.Contains(kinds, e.Kind) {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}
