package cel

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lintel-policy/lintel/policies/definition"
	"github.com/lintel-policy/lintel/policies/manifest"
)

// The kinds of Kyverno that are read.
const (
	kyvernoGroup          = "policies.kyverno.io"
	kindKyverno           = "ValidatingPolicy"
	kindKyvernoNamespaced = "NamespacedValidatingPolicy"
	kindKyvernoException  = "PolicyException"
)

// kyvernoPolicy is a ValidatingPolicy or a NamespacedValidatingPolicy.
type kyvernoPolicy struct {
	manifest.Object
	spec kyvernoSpec
	// namespace limits the policy; empty for a ValidatingPolicy.
	namespace  string
	effects    []definition.Enforcement
	variants   []*kyvernoVariant
	exceptions []*kyvernoException
}

// kyvernoDocument is an object of Kyverno. The status is not read.
type kyvernoDocument[T any] struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metav1.ObjectMeta `json:"metadata"`
	Spec       T                 `json:"spec"`
	Status     json.RawMessage   `json:"status"`
}

// kyvernoSpec has the fields that are read.
type kyvernoSpec struct {
	MatchConstraints  *v1.MatchResources    `json:"matchConstraints"`
	MatchConditions   []v1.MatchCondition   `json:"matchConditions"`
	Variables         []v1.Variable         `json:"variables"`
	Validations       []v1.Validation       `json:"validations"`
	AuditAnnotations  []v1.AuditAnnotation  `json:"auditAnnotations"`
	FailurePolicy     *v1.FailurePolicyType `json:"failurePolicy"`
	ValidationActions []v1.ValidationAction `json:"validationActions"`
	Autogen           *kyvernoAutogen       `json:"autogen"`
	Evaluation        *kyvernoModes         `json:"evaluation"`
	Webhook           *kyvernoWebhook       `json:"webhookConfiguration"`
}

type kyvernoWebhook struct {
	TimeoutSeconds *int32 `json:"timeoutSeconds"`
}

type kyvernoAutogen struct {
	PodControllers *struct {
		// Controllers are all of them if it is nil, and none if it is empty.
		Controllers []string `json:"controllers"`
	} `json:"podControllers"`
	ValidatingAdmissionPolicy *kyvernoSwitch `json:"validatingAdmissionPolicy"`
}

type kyvernoModes struct {
	Mode       string         `json:"mode"`
	Admission  *kyvernoSwitch `json:"admission"`
	Background *kyvernoSwitch `json:"background"`
}

type kyvernoSwitch struct {
	Enabled *bool `json:"enabled"`
}

// is reports whether a switch has a value.
func (s *kyvernoSwitch) is(value bool) bool {
	return s != nil && s.Enabled != nil && *s.Enabled == value
}

// kyvernoException is a PolicyException of Kyverno.
type kyvernoException struct {
	manifest.Object
	spec       kyvernoExceptionSpec
	conditions []compiledExpression
}

// kyvernoExceptionSpec has the fields that are read.
type kyvernoExceptionSpec struct {
	PolicyRefs []struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
	} `json:"policyRefs"`
	MatchConditions []v1.MatchCondition `json:"matchConditions"`
	Images          []string            `json:"images"`
	AllowedValues   []string            `json:"allowedValues"`
	ReportResult    string              `json:"reportResult"`
	ExpiresAt       *string             `json:"expiresAt"`
	Properties      map[string]string   `json:"properties"`
	EvaluationMode  string              `json:"evaluationMode"`
}

// otherKyvernoKinds are refused, with a hint.
var otherKyvernoKinds = map[string]string{
	"MutatingPolicy":        "write patch in Rego",
	"ImageValidatingPolicy": "signatures and attestations need a registry during the review; keep this policy with Kyverno",
	"GeneratingPolicy":      "Lintel creates no objects for other objects",
	"DeletingPolicy":        "Lintel deletes no objects on a schedule",
}

var kyvernoObject = regexp.MustCompile(`apiVersion["']?[ \t]*:[ \t]*["']?policies\.kyverno\.io/`)

// isKyvernoFile reports whether a file may contain policies of Kyverno in CEL.
func isKyvernoFile(name, text string) bool {
	return isManifest(name) && strings.Contains(text, kyvernoGroup+"/v") && kyvernoObject.MatchString(text)
}

// kyvernoFolder is all that a source has of Kyverno's policies in CEL.
type kyvernoFolder struct {
	folder
	kyverno    map[string]*kyvernoPolicy // by the name of the check
	exceptions []*kyvernoException
}

// KyvernoDialect reads Kyverno's policies in CEL, with their exceptions.
func KyvernoDialect(files map[string]string) ([]definition.Template, definition.CompileErrorList) {
	f := &kyvernoFolder{kyverno: map[string]*kyvernoPolicy{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !isKyvernoFile(name, files[name]) {
			continue
		}
		objects, errs := manifest.ReadObjects(name, files[name])
		for _, err := range errs {
			f.fail(definition.CompileError{File: err.File, Line: err.Line, Message: err.Message})
		}
		for _, o := range objects {
			if o.Group == kyvernoGroup {
				f.addKyverno(o)
			}
		}
	}
	f.bindExceptions()
	var out []definition.Template
	for _, name := range slices.Sorted(maps.Keys(f.kyverno)) {
		p := f.kyverno[name]
		if !f.compileKyverno(p) {
			continue
		}
		out = append(out, definition.Template{Name: name, Check: p.check(name)})
	}
	if len(f.warnings) > 0 {
		out = append(out, definition.Template{Warnings: f.warnings})
	}
	return out, f.errs
}

// addKyverno reads an object of Kyverno's group.
func (f *kyvernoFolder) addKyverno(o manifest.Object) {
	switch o.Kind {
	case kindKyverno, kindKyvernoNamespaced:
		f.addKyvernoPolicy(o)
	case kindKyvernoException:
		f.addKyvernoException(o)
	default:
		hint := otherKyvernoKinds[strings.TrimPrefix(o.Kind, "Namespaced")]
		if hint == "" {
			hint = "the supported kinds are " + strings.Join([]string{kindKyverno, kindKyvernoNamespaced, kindKyvernoException}, ", ")
		}
		f.fail(errorAt(o, "%s %q of Kyverno is not supported: %s", o.Kind, o.Name, hint))
	}
}

func (f *kyvernoFolder) addKyvernoPolicy(o manifest.Object) {
	var document kyvernoDocument[kyvernoSpec]
	if !f.read(o, &document) {
		return
	}
	p := &kyvernoPolicy{Object: o, spec: document.Spec, namespace: document.Metadata.Namespace}
	name := kindKyverno + "/" + o.Name
	if o.Kind == kindKyvernoNamespaced {
		name = kindKyvernoNamespaced + "/" + p.namespace + "/" + o.Name
	}
	if other, taken := f.kyverno[name]; taken {
		f.fail(errorAt(o, "%s %q: already defined at %s:%d; rename one", o.Kind, o.Name, other.File, other.Line))
		return
	}
	if errs := validateKyverno(p); len(errs) > 0 {
		f.fail(errs...)
		return
	}
	f.warnings = append(f.warnings, p.notes()...)
	if p.effects = effectsOf(p.spec.ValidationActions); len(p.effects) == 0 {
		p.effects = []definition.Enforcement{definition.EnforceDeny}
	}
	f.kyverno[name] = p
}

// notes are warnings about fields without an effect.
func (p *kyvernoPolicy) notes() (notes definition.CompileErrorList) {
	note := func(path []any, format string, args ...any) {
		notes = append(notes, errorIn(p.Object, path, format, args...))
	}
	if p.spec.Webhook != nil {
		note([]any{"spec", "webhookConfiguration"}, "has no effect: Lintel registers webhooks with its own timeout")
	}
	if a := p.spec.Autogen; a != nil && a.ValidatingAdmissionPolicy.is(true) {
		note([]any{"spec", "autogen", "validatingAdmissionPolicy"}, "has no effect: Lintel evaluates the policy itself")
	}
	return notes
}
