package cel

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/admissionregistration/v1"
	kjson "sigs.k8s.io/json"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/manifest"
)

// The kinds that are read.
const (
	group       = "admissionregistration.k8s.io"
	kindPolicy  = "ValidatingAdmissionPolicy"
	kindBinding = "ValidatingAdmissionPolicyBinding"
)

// versions are those of the kinds: all have the same fields.
var versions = []string{"v1", "v1beta1", "v1alpha1"}

// mutatingKinds are not evaluated.
var mutatingKinds = []string{"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}

// IsPolicyFile reports whether a file may contain ValidatingAdmissionPolicies.
func IsPolicyFile(name, text string) bool {
	return isManifest(name) && strings.Contains(text, group+"/") && strings.Contains(text, kindPolicy)
}

// isManifest reports whether a file may contain objects that are not for tests alone.
func isManifest(name string) bool {
	extension := path.Ext(name)
	return (extension == ".yaml" || extension == ".yml") && !slices.Contains(strings.Split(path.Dir(name), "/"), "testdata")
}

// folder is all that a source has of admission policies.
type folder struct {
	policies map[string]*policy
	bindings []*binding
	others   []manifest.Object // which may be params
	errs     definition.CompileErrorList
	warnings definition.CompileErrorList
}

// policy is a ValidatingAdmissionPolicy.
type policy struct {
	manifest.Object
	*v1.ValidatingAdmissionPolicy
	criteria criteria
	program  *Program
	bindings []*binding
	params   *params
}

// binding is a ValidatingAdmissionPolicyBinding.
type binding struct {
	manifest.Object
	*v1.ValidatingAdmissionPolicyBinding
	criteria *criteria // nil without matchResources
}

// Dialect reads the ValidatingAdmissionPolicies of a source with their bindings and params.
func Dialect(files map[string]string) ([]definition.Template, definition.CompileErrorList) {
	f := &folder{policies: map[string]*policy{}}
	var named []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if IsPolicyFile(name, files[name]) {
			named = append(named, name)
		}
	}
	if len(named) == 0 {
		return nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !isManifest(name) {
			continue
		}
		objects, errs := manifest.ReadObjects(name, files[name])
		for _, err := range errs {
			if slices.Contains(named, name) {
				f.errs = append(f.errs, definition.CompileError{File: err.File, Line: err.Line, Message: err.Message})
			}
		}
		for _, o := range objects {
			f.add(o)
		}
	}
	f.bind()
	var out []definition.Template
	for _, name := range slices.Sorted(maps.Keys(f.policies)) {
		if p := f.policies[name]; p.program != nil {
			out = append(out, definition.Template{Name: kindPolicy + "/" + name, Check: p.check()})
		}
	}
	if len(f.warnings) > 0 {
		out = append(out, definition.Template{Warnings: f.warnings})
	}
	return out, f.errs
}

// add reads an object.
func (f *folder) add(o manifest.Object) {
	switch {
	case o.Group != group:
		f.others = append(f.others, o)
	case o.Kind == kindPolicy:
		f.addPolicy(o)
	case o.Kind == kindBinding:
		f.addBinding(o)
	case slices.Contains(mutatingKinds, o.Kind):
		f.warnings = append(f.warnings, errorAt(o, "%s %q is not evaluated here", o.Kind, o.Name))
	}
}

func (f *folder) fail(errs ...definition.CompileError) { f.errs = append(f.errs, errs...) }

func errorAt(o manifest.Object, format string, args ...any) definition.CompileError {
	return definition.CompileError{File: o.File, Line: o.Line, Message: fmt.Sprintf(format, args...)}
}

// errorIn is an error about a field.
func errorIn(o manifest.Object, path []any, format string, args ...any) definition.CompileError {
	return definition.CompileError{File: o.File, Line: o.LineOf(path...), Message: fmt.Sprintf("%s %q: %s: %s", o.Kind, o.Name, manifest.PathText(path), fmt.Sprintf(format, args...))}
}

// read decodes an object, in which all fields must be known.
func (f *folder) read(o manifest.Object, into any) bool {
	if !slices.Contains(versions, o.Version) {
		f.fail(errorAt(o, "%s %q: version %s is not one of %s", o.Kind, o.Name, o.Version, strings.Join(versions, ", ")))
		return false
	}
	unknown, err := kjson.UnmarshalStrict(o.JSON, into)
	if err != nil {
		wrong := errorAt(o, "%s %q cannot be read: %s", o.Kind, o.Name, strings.TrimPrefix(err.Error(), "json: "))
		if field := structField.FindStringSubmatch(wrong.Message); field != nil {
			wrong.Line = o.LineOf(pathIn(strconv.Quote(field[1]))...)
		}
		f.fail(wrong)
		return false
	}
	for _, err := range unknown {
		path := pathIn(err.Error())
		f.fail(definition.CompileError{File: o.File, Line: o.LineOf(path...), Message: fmt.Sprintf("%s %q: %v", o.Kind, o.Name, err)})
	}
	return len(unknown) == 0
}

// structField matches the field in an error of the decoder, without the indices of lists.
var structField = regexp.MustCompile(`Go struct field \w+\.(\S+) of type`)

var quotedPath = regexp.MustCompile(`"([^"]+)"$`)

// pathIn returns the path that an error quotes: unknown field "spec.validations[0].name".
func pathIn(message string) (path []any) {
	quoted := quotedPath.FindStringSubmatch(message)
	if quoted == nil {
		return nil
	}
	for part := range strings.SplitSeq(quoted[1], ".") {
		name, rest, _ := strings.Cut(part, "[")
		path = append(path, name)
		for index := range strings.SplitSeq(rest, "[") {
			if n, err := strconv.Atoi(strings.TrimSuffix(index, "]")); err == nil {
				path = append(path, n)
			}
		}
	}
	return path
}

// addPolicy reads a ValidatingAdmissionPolicy.
func (f *folder) addPolicy(o manifest.Object) {
	p := &policy{Object: o, ValidatingAdmissionPolicy: &v1.ValidatingAdmissionPolicy{}}
	if other, taken := f.policies[o.Name]; taken {
		f.fail(errorAt(o, "%s %q: already defined at %s:%d; rename one", o.Kind, o.Name, other.File, other.Line))
		return
	}
	f.policies[o.Name] = p
	if !f.read(o, p.ValidatingAdmissionPolicy) {
		return
	}
	if errs := validatePolicy(p); len(errs) > 0 {
		f.fail(errs...)
		return
	}
	p.criteria = newCriteria(*p.ValidatingAdmissionPolicy.Spec.MatchConstraints)
	program, errs := Compile(p.spec())
	for _, err := range errs {
		f.fail(LocateError(o, err))
	}
	p.program = program
}

// LocateError returns an error in an expression with its location in the file.
func LocateError(o manifest.Object, err ExpressionError) definition.CompileError {
	out := errorIn(o, err.Path, "%s", err.Message)
	out.Line = o.TextLine(err.Path...) + err.Line
	return out
}

// spec returns the code of a policy.
func (p *policy) spec() Spec {
	in := p.ValidatingAdmissionPolicy.Spec
	ignore, _ := failurePolicyOf(in.FailurePolicy)
	spec := Spec{Params: in.ParamKind != nil, Authorizer: true, IgnoreErrors: ignore}
	for i, v := range in.Variables {
		spec.Variables = append(spec.Variables, Expression{v.Name, v.Expression, []any{"spec", "variables", i, "expression"}})
	}
	for i, c := range in.MatchConditions {
		spec.MatchConditions = append(spec.MatchConditions, Expression{c.Name, c.Expression, []any{"spec", "matchConditions", i, "expression"}})
	}
	for i, v := range in.Validations {
		one := Validation{Expression: Expression{Text: v.Expression, Path: []any{"spec", "validations", i, "expression"}}, Message: v.Message}
		if v.MessageExpression != "" {
			one.MessageExpression = Expression{Text: v.MessageExpression, Path: []any{"spec", "validations", i, "messageExpression"}}
		}
		if v.Reason != nil {
			one.Reason = *v.Reason
		}
		spec.Validations = append(spec.Validations, one)
	}
	for i, a := range in.AuditAnnotations {
		spec.AuditAnnotations = append(spec.AuditAnnotations, Expression{a.Key, a.ValueExpression, []any{"spec", "auditAnnotations", i, "valueExpression"}})
	}
	return spec
}

// addBinding reads a ValidatingAdmissionPolicyBinding.
func (f *folder) addBinding(o manifest.Object) {
	b := &binding{Object: o, ValidatingAdmissionPolicyBinding: &v1.ValidatingAdmissionPolicyBinding{}}
	for _, other := range f.bindings {
		if other.Object.Name == o.Name {
			f.fail(errorAt(o, "%s %q: already defined at %s:%d; rename one", o.Kind, o.Name, other.File, other.Line))
			return
		}
	}
	f.bindings = append(f.bindings, b)
	if !f.read(o, b.ValidatingAdmissionPolicyBinding) {
		return
	}
	if errs := validateBinding(b); len(errs) > 0 {
		f.fail(errs...)
		return
	}
	if m := b.Spec.MatchResources; m != nil {
		b.criteria = new(newCriteria(*m))
	}
}

// bind gives each policy its bindings, and each binding its params.
func (f *folder) bind() {
	for _, b := range f.bindings {
		name := b.Spec.PolicyName
		p := f.policies[name]
		switch {
		case name == "": // reported already
		case p == nil:
			f.fail(errorIn(b.Object, []any{"spec", "policyName"}, "the source has no %s %q; put it into the same source", kindPolicy, name))
		default:
			p.bindings = append(p.bindings, b)
		}
	}
	slices.SortFunc(f.bindings, func(a, b *binding) int { return strings.Compare(a.Object.Name, b.Object.Name) })
	for _, name := range slices.Sorted(maps.Keys(f.policies)) {
		p := f.policies[name]
		if p.program == nil {
			continue
		}
		if len(p.bindings) == 0 {
			f.warnings = append(f.warnings, errorAt(p.Object, "%s %q has no %s in the source, and is not evaluated", kindPolicy, name, kindBinding))
		}
		slices.SortFunc(p.bindings, func(a, b *binding) int { return strings.Compare(a.Object.Name, b.Object.Name) })
		p.params = f.paramsOf(p)
	}
}

// fingerprint is equal for policies that give the same findings.
func (p *policy) fingerprint() string {
	texts := []string{p.File, strconv.Itoa(p.Line), string(p.JSON)}
	for _, b := range p.bindings {
		texts = append(texts, b.File, string(b.JSON))
	}
	for _, o := range p.params.all {
		texts = append(texts, string(o.json))
	}
	text, err := json.Marshal(texts)
	if err != nil {
		panic("a list of strings always has JSON: " + err.Error())
	}
	return string(text)
}
