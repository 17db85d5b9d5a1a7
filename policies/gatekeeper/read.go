package gatekeeper

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/definition"
)

// The API groups of Gatekeeper.
const (
	templateGroup   = "templates.gatekeeper.sh"
	constraintGroup = "constraints.gatekeeper.sh"
	configGroup     = "config.gatekeeper.sh"
	syncSetGroup    = "syncset.gatekeeper.sh"
	expansionGroup  = "expansion.gatekeeper.sh"
	mutationGroup   = "mutations.gatekeeper.sh"
	providerGroup   = "externaldata.gatekeeper.sh"
	connectionGroup = "connection.gatekeeper.sh"
	suiteGroup      = "test.gatekeeper.sh"
)

// The enforcement points of Gatekeeper. Constraints are read for the first three here.
const (
	webhookPoint = "validation.gatekeeper.sh"
	gatorPoint   = "gator.gatekeeper.sh"
	auditPoint   = "audit.gatekeeper.sh"
	vapPoint     = "vap.k8s.io"
	everyPoint   = "*"
)

var points = []string{webhookPoint, gatorPoint, auditPoint, vapPoint, everyPoint}

// Dialect reads the templates and constraints of a source, for the engine.
func Dialect(files map[string]string) ([]definition.Template, definition.CompileErrorList) {
	return read(files, mode{point: webhookPoint}, readDocuments)
}

// TestDialect reads them as Gatekeeper's Suites expect: for every operation, with
// the kinds of the inventory of the test, and for the enforcement point of gator.
func TestDialect(inventory []admission.GroupVersionKind) definition.Dialect {
	return func(files map[string]string) ([]definition.Template, definition.CompileErrorList) {
		return read(files, mode{point: gatorPoint, test: true, inventory: inventory}, readDocuments)
	}
}

// mode is the purpose of reading constraints.
type mode struct {
	point string
	// test reads the files that a Suite names, in any folder, and gives templates that read the
	// inventory these kinds.
	test      bool
	inventory []admission.GroupVersionKind
}

// folder is all of Gatekeeper that a source holds.
type folder struct {
	mode       mode
	templates  map[string]*template // by kind
	expansions []expansion
	sync       syncedKinds
	excluded   []glob // namespaces that the Config keeps the webhook out of
	unaudited  []glob // namespaces that the Config keeps audit out of
	mutators   []*mutatorFile
	// excludedFromMutation are the namespaces that the Config keeps mutation out of.
	excludedFromMutation []glob
	tried                map[string]bool // files of constraints that a Suite tries
	errs                 definition.CompileErrorList
}

// fileReader reads the objects of a file.
type fileReader func(file, text string) ([]document, definition.CompileErrorList)

func read(files map[string]string, m mode, open fileReader) ([]definition.Template, definition.CompileErrorList) {
	f := &folder{mode: m, templates: map[string]*template{}, tried: map[string]bool{}}
	var constraints []document
	for _, name := range slices.SortedFunc(maps.Keys(files), byFolder) {
		if !IsPolicyFile(name, files[name]) && !m.test {
			continue
		}
		documents, errs := open(name, files[name])
		f.errs = append(f.errs, errs...)
		for _, d := range documents {
			if d.group == constraintGroup {
				constraints = append(constraints, d) // after all templates
				continue
			}
			f.add(d)
		}
	}
	f.addConstraints(constraints)
	var out []definition.Template
	for _, kind := range slices.Sorted(maps.Keys(f.templates)) {
		if t := f.templates[kind]; t.modules != nil || t.program != nil {
			t.warnings = append(t.warnings, t.unaskedOperations()...)
			out = append(out, t.compiled())
		}
	}
	if mutators := f.mutatorPolicy(); mutators != nil {
		out = append(out, definition.Template{Mutators: mutators})
	}
	return out, f.errs
}

// byFolder is the order in which a folder is walked: kubectl applies it so.
func byFolder(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

// add reads one object. Objects of other groups are ignored.
func (f *folder) add(d document) {
	switch {
	case d.group == templateGroup && d.kind == "ConstraintTemplate":
		f.addTemplate(d)
	case d.group == expansionGroup && d.kind == "ExpansionTemplate":
		f.addExpansion(d)
	case d.group == configGroup && d.kind == "Config":
		f.addConfig(d)
	case d.group == syncSetGroup && d.kind == "SyncSet":
		f.addSyncSet(d)
	case d.group == suiteGroup && d.kind == "Suite":
		f.addSuite(d)
	case d.group == mutationGroup:
		f.addMutator(d)
	default:
		if why := NotCarriedOut(d.group); why != "" {
			f.refuse(d, why)
		}
	}
}

// NotCarriedOut returns why objects of a Gatekeeper group have no effect here, and what to write
// instead. It returns "" for supported groups.
func NotCarriedOut(group string) string {
	switch group {
	case providerGroup:
		return "external data is not supported, because policies have no network: put the data into a data file of the source, or into objects of the cluster that the policy reads"
	case connectionGroup:
		return "violations are not exported: read the reports of audit, or run `lintel audit` on a schedule"
	}
	return ""
}

// addSuite records the constraints that a Suite tests. Errors of a Suite are reported when it
// runs.
func (f *folder) addSuite(d document) {
	var suite struct {
		Tests []struct {
			Constraint string `json:"constraint"`
		} `json:"tests"`
	}
	if d.decode(&suite) != nil {
		return
	}
	for _, test := range suite.Tests {
		f.tried[path.Join(path.Dir(d.file), test.Constraint)] = true
	}
}

func (f *folder) refuse(d document, why string) {
	f.errs = append(f.errs, d.errorAt("%s %q: %s; then take this object out of the source", d.kind, d.name, why))
}

func (f *folder) fail(errs ...definition.CompileError) { f.errs = append(f.errs, errs...) }

func (f *folder) addTemplate(d document) {
	t, errs := d.template.read(d, f.mode)
	f.fail(errs...)
	if t.kind == "" {
		return
	}
	if other, ok := f.templates[t.kind]; ok {
		f.fail(d.errorAt("ConstraintTemplate of kind %s: already defined at %s:%d; keep one", t.kind, other.document.file, other.document.line))
		return
	}
	f.templates[t.kind] = t
}

// addConstraints reads the constraints once everything else is known.
func (f *folder) addConstraints(documents []document) {
	for _, d := range f.oneOfEachName(documents) {
		t := f.templates[d.kind]
		if t == nil {
			f.fail(d.errorAt("constraint %s: the source has no ConstraintTemplate of kind %s; put the template into the same source%s", d.constraintName(), d.kind, f.similar(d.kind)))
			continue
		}
		if t.schema == nil {
			continue // the template has errors of its own
		}
		c, asked, errs := f.readConstraint(d, t)
		f.fail(errs...)
		if len(errs) == 0 && asked {
			t.constraints = append(t.constraints, c)
		}
	}
}

func (d document) constraintName() string { return d.kind + "/" + d.name }

// oneOfEachName returns errors for constraints of the same name, unless each is in a file that a
// Suite tests: libraries keep variants for their tests like this. Of these, the constraint of
// the last file is in force, as if kubectl applied the folder, and a warning of the template
// reports it.
func (f *folder) oneOfEachName(documents []document) []document {
	places := map[string]int{}
	var kept, replaced []document
	for _, d := range documents {
		i, taken := places[d.constraintName()]
		switch {
		case !taken:
			places[d.constraintName()] = len(kept)
			kept = append(kept, d)
		case d.file != kept[i].file && f.tried[d.file] && f.tried[kept[i].file]:
			replaced = append(replaced, kept[i])
			kept[i] = d
		default:
			f.fail(d.errorAt("constraint %s: already defined at %s:%d; rename one, or move objects that are only for tests below a folder named testdata", d.constraintName(), kept[i].file, kept[i].line))
		}
	}
	for _, d := range replaced {
		if t := f.templates[d.kind]; t != nil {
			other := kept[places[d.constraintName()]]
			t.warnings = append(t.warnings, d.errorAt("constraint %s is for its tests alone: the one in force is at %s:%d", d.constraintName(), other.file, other.line))
		}
	}
	return kept
}

// similar names a kind that differs by case alone.
func (f *folder) similar(kind string) string {
	for _, known := range slices.Sorted(maps.Keys(f.templates)) {
		if strings.EqualFold(known, kind) {
			return fmt.Sprintf(" (there is one of kind %s)", known)
		}
	}
	return ""
}
