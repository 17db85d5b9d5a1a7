package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/cmd/lintel/dump"
	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/cmd/lintel/report"
	"github.com/lintel-policy/lintel/policies/admission"
	core "github.com/lintel-policy/lintel/policies/audit"
	"github.com/lintel-policy/lintel/policies/clusterdata"
	"github.com/lintel-policy/lintel/policies/engine"
)

// dumpPass evaluates policies for the objects of files. It reads the files twice: first what
// policies need to know of the cluster.
type dumpPass struct {
	*pass
	files     *dump.Dump
	namespace string // of objects that name none
	table     *manifests.Table
	targets   map[schema.GroupKind]admission.ServedResource
}

// auditDump evaluates policies for the objects of files. Unless the dump is complete, it is not
// known whether a kind without objects has none in the cluster.
func auditDump(ctx context.Context, files *dump.Dump, rules policies, excluded []string, o options, p *report.Progress) (*pass, error) {
	d := &dumpPass{files: files, namespace: o.namespace}
	known, err := d.readDefinitions(ctx, p)
	if err != nil {
		return nil, err
	}
	d.pass = newPass(core.New(rules.snapshot(d.table.Resources), excluded), p)
	if err := d.readCluster(ctx, rules.sets, known, o.complete); err != nil {
		return nil, err
	}
	d.targets = map[schema.GroupKind]admission.ServedResource{}
	for _, target := range d.auditor.Targets() {
		d.targets[schema.GroupKind{Group: target.Resource.Group, Kind: target.Resource.Kind}] = target.Resource
	}
	d.begin("objects")
	err = files.Each(ctx, dump.Visitor{
		Object: func(o manifests.Object) error { return d.auditObject(ctx, o) },
		Unreadable: func(err error) {
			d.notAudited = append(d.notAudited, NotAudited{Reason: err.Error()})
		},
	})
	d.end()
	p.End()
	if err == nil && d.progress.Count() == 0 && len(d.notAudited) == 0 {
		return nil, errors.New("there are no objects in the files")
	}
	return d.pass, err
}

// readDefinitions reads the CustomResourceDefinitions, and counts the objects of all kinds.
func (d *dumpPass) readDefinitions(ctx context.Context, p *report.Progress) (known map[schema.GroupKind]int, err error) {
	var definitions []manifests.Object
	known = map[schema.GroupKind]int{}
	p.Begin("definitions")
	err = d.files.Each(ctx, dump.Visitor{
		Object: func(o manifests.Object) error {
			p.Add(1)
			known[o.Kind.GroupKind()]++
			if o.Kind.Kind == "CustomResourceDefinition" {
				definitions = append(definitions, o)
			}
			return nil
		},
		Unreadable: func(error) {}, // reported when the objects are evaluated
	})
	if err != nil {
		return nil, err
	}
	d.table, err = manifests.NewTable(definitions)
	return known, err
}

// readCluster reads the Namespaces, and the objects that policies require.
func (d *dumpPass) readCluster(ctx context.Context, sets []*engine.PolicySet, known map[schema.GroupKind]int, complete bool) error {
	projection := clusterdata.Projection{}
	for _, set := range sets {
		projection = projection.Union(set.Projection())
	}
	changes := map[admission.GroupVersionKind]clusterdata.Change{}
	for kind, fields := range projection {
		if complete || known[schema.GroupKind{Group: kind.Group, Kind: kind.Kind}] > 0 {
			changes[kind] = clusterdata.Change{Kind: kind, Fields: fields, Objects: map[clusterdata.Key]*clusterdata.DecodedObject{}}
		}
	}
	d.progress.Begin("cluster objects")
	err := d.files.Each(ctx, dump.Visitor{
		Object: func(o manifests.Object) error {
			d.progress.Add(1)
			change, required := changes[admission.GroupVersionKind{Group: o.Kind.Group, Kind: o.Kind.Kind}]
			if !required && !o.IsNamespace() {
				return nil
			}
			text, _, err := d.arrange(&o)
			if err != nil {
				return err
			}
			if o.IsNamespace() {
				if d.namespaces[o.Name], err = engine.ReadNamespace(text); err != nil {
					return fmt.Errorf("%s: %w", o.Origin, err)
				}
			}
			if !required {
				return nil
			}
			object, err := clusterdata.NewProjectedObject(text, change.Fields)
			if err != nil {
				return fmt.Errorf("%s: %w", o.Origin, err)
			}
			change.Objects[object.Key()] = object
			return nil
		},
		Unreadable: func(error) {},
	})
	d.cluster = clusterdata.Empty().With(slices.Collect(maps.Values(changes))...)
	return err
}

// arrange puts an object into the namespace that the API server would, and returns its JSON and
// its resource, in the object's version.
func (d *dumpPass) arrange(o *manifests.Object) (text []byte, resource admission.ServedResource, err error) {
	resource, known := d.table.Lookup(o.Kind)
	if !known {
		resource.Namespaced = o.Namespace != ""
	}
	o.SetNamespace(resource.Namespaced, d.namespace)
	text, err = o.JSON()
	return text, resource, err
}

// auditObject evaluates an object if policies match its kind.
func (d *dumpPass) auditObject(ctx context.Context, o manifests.Object) error {
	text, resource, err := d.arrange(&o)
	if err != nil {
		return err
	}
	target, isTarget := d.targets[o.Kind.GroupKind()]
	_, known := d.table.ByKind(o.Kind.Group, o.Kind.Kind)
	if !isTarget && (known || len(d.auditor.Snapshot().Audits(admission.GroupVersionKind(o.Kind))) == 0) {
		d.progress.Add(1)
		return nil
	}
	if isTarget && target.Version != o.Kind.Version {
		converted, err := d.table.Kinds.Convert(text, o.Kind, target.Version)
		if err != nil {
			d.progress.Add(1)
			d.cannotDecide(engine.Undecided{Reason: err.Error()}, objectOf(o, text))
			return nil
		}
		text, resource.Version, o.Kind.Version = converted, target.Version, target.Version
	}
	return d.evaluate(ctx, text, resource, o)
}
