package review

import (
	"context"
	"fmt"

	orlojv1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules/orloj"
)

// builtIn are the rules that ship with Lintel, for the kinds of its systems. They are
// asked whatever -p says, as the cluster asks them.
type builtIn struct {
	rules   *orloj.Rules
	mapping orloj.Mapping
	// owners are the objects of the manifests by kind and store key, the first of each.
	owners map[string]orloj.Reference
}

// isBuiltIn says whether there are rules for a kind.
func isBuiltIn(o manifests.Object) bool {
	return o.Kind.Group == orlojv1.GroupName && orloj.ResourceOf(o.Kind.Kind) != ""
}

// newBuiltIn compiles the rules, for the objects that somebody is asked about.
func newBuiltIn(arrivals []arrival, mapping orloj.Mapping) (*builtIn, error) {
	rules, err := orloj.New()
	if err != nil {
		return nil, fmt.Errorf("compiling the rules of Orloj: %w", err)
	}
	b := &builtIn{rules: rules, mapping: mapping, owners: map[string]orloj.Reference{}}
	for _, a := range arrivals {
		if a.isDecided() || !isBuiltIn(a.object) {
			continue
		}
		read, err := readOrloj(a.object)
		if err != nil {
			return nil, err
		}
		key := read.Kind + " " + read.Key()
		if _, taken := b.owners[key]; !taken {
			b.owners[key] = read.Reference()
		}
	}
	return b, nil
}

func readOrloj(o manifests.Object) (orloj.Object, error) {
	text, err := o.JSON()
	if err != nil {
		return orloj.Object{}, err
	}
	read, err := orloj.ReadObject(text, o.Namespace)
	if err != nil {
		return read, fmt.Errorf("%s: %w", o.Origin, err)
	}
	return read, nil
}

// askBuiltIn is what the rules say of an object of theirs.
func (c *checker) askBuiltIn(ctx context.Context, a arrival) (outcome, error) {
	read, err := readOrloj(a.object)
	if err != nil {
		return outcome{}, err
	}
	if c.builtIn == nil {
		if c.builtIn, err = newBuiltIn(c.arrivals, c.options.mapping); err != nil {
			return outcome{}, err
		}
	}
	b, options := c.builtIn, c.optionsFor(a)
	facts := orloj.Facts{Mapping: b.mapping, Target: read.Target()}
	if owner := b.owners[read.Kind+" "+read.Key()]; owner != read.Reference() && read.Metadata.Name != "" {
		facts.Taken = &owner
	}
	if options.Facts, err = engine.ReadFacts(facts); err != nil {
		return outcome{}, fmt.Errorf("%s: %w", a.object.Origin, err)
	}
	if b.mapping == orloj.Open && read.Kind != "Secret" && options.Namespace.IsZero() {
		// It would permit what is permitted everywhere.
		if options.Namespace, err = engine.ReadNamespace([]byte("{}")); err != nil {
			return outcome{}, err
		}
	}
	return decide(ctx, b.rules.For(read), a.object, a.review, options, nil)
}

// join puts what the built-in rules say in front of what the user's policies say.
func (out *outcome) join(own outcome) {
	out.patch = append(own.patch, out.patch...)
	if out.refused {
		return
	}
	out.denials = addFindings(own.denials, out.denials)
	out.warnings = addFindings(own.warnings, out.warnings)
	out.undecided = append(own.undecided, out.undecided...)
}

// denialText is what kubectl prints of a denial: built-in rules, and the API server,
// speak for themselves.
func denialText(f engine.Finding) string {
	if speaksForItself(f) {
		return f.Words
	}
	return f.Text()
}

// warningText is what kubectl prints of a warning.
func warningText(f engine.Finding) string {
	if speaksForItself(f) {
		return f.Words
	}
	return f.WarningText()
}

func speaksForItself(f engine.Finding) bool {
	return f.Policy == "" || f.Revision == orloj.Revision && !f.Error
}
