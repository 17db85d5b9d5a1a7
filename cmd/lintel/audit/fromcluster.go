package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/lintel-policy/lintel/cmd/lintel/cluster"
	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/policies/admission"
	core "github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/engine"
)

// auditCluster evaluates policies for the objects of a cluster.
func auditCluster(ctx context.Context, live *cluster.Cluster, rules policies, excluded []string, p *report.Progress) (*pass, []string, error) {
	run := newPass(core.New(rules.snapshot(admission.NewResources(live.Resources)), excluded), p)
	required, notes := live.Required(ctx, rules.sets)
	run.cluster = required
	if err := run.readNamespaces(ctx, live); err != nil {
		notes = append(notes, fmt.Sprintf("policies that select or read Namespaces are undecided: %v", err))
	}
	run.noteUndiscovered(live)
	for _, target := range run.auditor.Targets() {
		if !live.Stores(target.Resource) {
			continue
		}
		if err := run.auditResource(ctx, live, target.Resource); err != nil {
			return nil, nil, err
		}
	}
	p.End()
	return run, notes, ctx.Err()
}

// auditResource evaluates the objects of a resource. The error is that of the context: a resource
// that cannot be listed is not audited.
func (p *pass) auditResource(ctx context.Context, live *cluster.Cluster, resource admission.ServedResource) error {
	name := strings.TrimSuffix(resource.Name+"."+resource.Group, ".")
	p.begin(name)
	again := func() { p.begin(name) }
	err := live.Stream(ctx, resource, again, func(text []byte) error {
		objects, err := manifests.Parse("the cluster", text)
		if err != nil {
			return err
		}
		for _, o := range objects {
			o.File, o.Line = "", 0
			if err := p.evaluate(ctx, text, resource, o); err != nil {
				return err
			}
		}
		return nil
	})
	if ctx.Err() != nil {
		return fmt.Errorf("auditing %s: %w", name, ctx.Err())
	}
	if err != nil {
		p.notAudited = append(p.notAudited, NotAudited{Resource: name, Group: resource.Group, Kind: resource.Kind, Reason: err.Error()})
	}
	p.end()
	return nil
}

// readNamespaces reads the Namespaces of all objects.
func (p *pass) readNamespaces(ctx context.Context, live *cluster.Cluster) error {
	resource := admission.ServedResource{Version: corev1.SchemeGroupVersion.Version, Kind: "Namespace", Name: "namespaces"}
	return live.Stream(ctx, resource, func() {}, func(text []byte) error {
		return p.addNamespace("the cluster", text)
	})
}

func (p *pass) addNamespace(origin string, text []byte) error {
	objects, err := manifests.Parse(origin, text)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if p.namespaces[o.Name], err = engine.ReadNamespace(text); err != nil {
			return fmt.Errorf("%s: %w", o.Origin, err)
		}
	}
	return nil
}

// noteUndiscovered reports the groups whose kinds could not be read, as far as policies name them.
func (p *pass) noteUndiscovered(live *cluster.Cluster) {
	for version, err := range sortedGroups(live) {
		matches := slices.ContainsFunc(p.auditor.Policies(), func(info engine.PolicyInfo) bool {
			return info.Match.HasWildcard() || info.Match.NamesGroup(version)
		})
		if matches {
			p.notAudited = append(p.notAudited, NotAudited{Resource: "*." + version, Group: version, Reason: err.Error()})
		}
	}
}

// sortedGroups are the groups that could not be read, by name.
func sortedGroups(live *cluster.Cluster) func(yield func(string, error) bool) {
	reasons := map[string]error{}
	for version, err := range live.Undiscovered {
		reasons[version.Group] = err
	}
	return func(yield func(string, error) bool) {
		for _, group := range slices.Sorted(maps.Keys(reasons)) {
			if !yield(group, reasons[group]) {
				return
			}
		}
	}
}
