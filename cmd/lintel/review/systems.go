package review

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openvoxv1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	orlojv1 "github.com/lintel-policy/lintel/api/orloj/v1"
	zoppv1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules/openvox"
	"github.com/lintel-policy/lintel/policies/rules/orloj"
	"github.com/lintel-policy/lintel/policies/rules/systems"
	"github.com/lintel-policy/lintel/policies/rules/zopp"
)

// facts returns what the rules of a system read as input.facts: nil if they read none. A
// reason explains why the facts are not known.
type facts func(context.Context, *checker, placed) (facts any, reason string, err error)

// factsOf are the facts of the systems by name.
var factsOf = map[string]facts{
	"openclaw": openclawFacts, "openvox": openvoxFacts, "openzro": openzroFacts, "orloj": orlojFacts, "zopp": zoppFacts,
}

// secretKind is read without its values.
var secretKind = schema.GroupKind{Kind: "Secret"}

// systemOf returns the system whose rules review an object.
func systemOf(o manifests.Object) (systems.System, bool) {
	group := o.Kind.Group
	switch {
	case o.Subresource != "": // which the rules are not about
		return systems.System{}, false
	case o.Kind.GroupKind() == secretKind && o.HasAnnotationOf(zoppv1alpha1.GroupName):
		group = zoppv1alpha1.GroupName
	case group == orlojv1.GroupName && orloj.ResourceOf(o.Kind.Kind) == "":
		return systems.System{}, false
	}
	for _, system := range systems.All() {
		if system.Group == group {
			return system, true
		}
	}
	return systems.System{}, false
}

// hasRules reports whether rules that ship with Lintel review an object.
func hasRules(o manifests.Object) bool {
	_, ok := systemOf(o)
	return ok
}

// isSigningRequest reports whether an object requests a certificate from a CertificateAuthority
// of OpenVox. The rules for it need SigningPolicies with the values of Secrets, which are not
// available here.
func isSigningRequest(o manifests.Object) bool {
	if o.Subresource != "" {
		return false
	}
	field := func(path ...string) string {
		request, err := typed[unstructured.Unstructured](o)
		if err != nil {
			return "" // reported where the object is reviewed
		}
		value, _, _ := unstructured.NestedString(request.Object, path...)
		return value
	}
	switch o.Kind.GroupKind() {
	case schema.GroupKind{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}:
		return strings.HasPrefix(field("spec", "signerName"), openvox.SignerPrefix)
	case schema.GroupKind{Group: "cert-manager.io", Kind: "CertificateRequest"}:
		return field("spec", "issuerRef", "group") == openvoxv1alpha1.GroupName
	}
	return false
}

// signingUndecided explains why a request for a certificate is not decided here.
const signingUndecided = "the rules for signing and the SigningPolicies of its CertificateAuthority are evaluated in the cluster only, with the values of Secrets. " +

	"SigningPolicies are objects of the cluster, and -p does not read them. When the request is stored, its status has the verdict"

// reviewBySystem reviews an object by the rules of its system.
func (c *checker) reviewBySystem(ctx context.Context, system systems.System, a arrival) (outcome, error) {
	if a.question.Operation == "DELETE" {
		return outcome{object: a.object, review: a.review}, nil
	}
	if c.systems == nil {
		c.systems = map[string]*engine.Snapshot{}
	}
	if c.systems[system.Name] == nil {
		rules, err := system.Rules()
		if err != nil {
			return outcome{}, fmt.Errorf("compiling the rules of %s: %w", system.Title, err)
		}
		c.systems[system.Name] = rules
	}
	facts, reason, err := factsOf[system.Name](ctx, c, placed{a.object, a.at})
	if err != nil {
		return outcome{}, fmt.Errorf("%s: %w", a.object.Origin, err)
	}
	out := outcome{object: a.object, review: a.review}
	if reason != "" {
		out.cannotSay(reason)
		return out, nil
	}
	options := c.optionsFor(a)
	if facts != nil {
		if options.Facts, err = engine.ReadFacts(facts); err != nil {
			return outcome{}, fmt.Errorf("%s: %w", a.object.Origin, err)
		}
	}
	if options.Namespace.IsZero() {
		needed, err := c.needsNamespace(system, a.object)
		if err != nil {
			return outcome{}, err
		}
		if !needed {
			if options.Namespace, err = engine.ReadNamespace([]byte("{}")); err != nil {
				return outcome{}, err
			}
		}
	}
	return decide(ctx, c.systems[system.Name], a.object, a.review, options, c.decoder(), nil)
}

// needsNamespace reports whether the decision of a system's rules depends on the Namespace of
// an object.
func (c *checker) needsNamespace(system systems.System, o manifests.Object) (bool, error) {
	switch system.Name {
	case "openvox":
		if o.Kind.Kind != "Pool" {
			return true, nil
		}
		pool, err := typed[openvoxv1alpha1.Pool](o)
		return err != nil || len(pool.Spec.Service.ExternalIPs) > 0, err
	case "orloj":
		read, err := readOrloj(o)
		// In the mode Open, a Namespace without a list permits any target.
		return read.ReadsNamespace() && (c.options.mapping != orloj.Open || read.Kind == "Secret"), err
	case "zopp":
		return c.options.zopp != zopp.Open, nil
	}
	return true, nil
}

// typed is an object as one of its Go type.
func typed[T any, P interface {
	*T
	client.Object
}](o manifests.Object) (P, error) {
	text, err := o.JSON()
	if err != nil {
		return nil, err
	}
	object := P(new(T))
	if err := json.Unmarshal(text, object); err != nil {
		return nil, fmt.Errorf("reading the %s: %w", o.Kind.Kind, err)
	}
	object.SetNamespace(o.Namespace)
	return object, nil
}

// known is an object that is at hand. at is where it stands among the manifests: -1 for those of
// --cluster.
type known[T any] struct {
	at     int
	object *T
}

// atHand are the objects of a kind in --cluster and among the manifests, as ones of a Go type.
// They are read once.
func atHand[T any, P interface {
	*T
	client.Object
}](c *checker, kind schema.GroupKind) ([]known[T], error) {
	if list, ok := c.atHand[kind].([]known[T]); ok {
		return list, nil
	}
	var list []known[T]
	add := func(at int, o manifests.Object) error {
		if o.Kind.GroupKind() != kind {
			return nil
		}
		object, err := typed[T, P](o)
		if err != nil {
			return fmt.Errorf("%s: %w", o.Origin, err)
		}
		list = append(list, known[T]{at, object})
		return nil
	}
	for _, o := range c.existing {
		if err := add(-1, o); err != nil {
			return nil, err
		}
	}
	for at, a := range c.arrivals {
		if a.isDecided() || a.question.Subresource != "" {
			continue
		}
		if err := add(at, a.object); err != nil {
			return nil, err
		}
	}
	if c.atHand == nil {
		c.atHand = map[schema.GroupKind]any{}
	}
	c.atHand[kind] = list
	return list, nil
}

// before returns the objects that precede an object in the manifests: kubectl applies manifests
// in their order, and the first object owns a name. namespace is theirs; "" for any.
func before[T any, P interface {
	*T
	client.Object
}](c *checker, kind schema.GroupKind, o placed, namespace string) (found []T, err error) {
	list, err := atHand[T, P](c, kind)
	for _, k := range list {
		object := P(k.object)
		itself := kind == o.Kind.GroupKind() && object.GetNamespace() == o.Namespace && object.GetName() == o.Name
		if k.at < o.at && !itself && (namespace == "" || object.GetNamespace() == namespace) {
			found = append(found, *k.object)
		}
	}
	return found, err
}

// named is an object of a name at hand, wherever it stands: nil where there is none.
func named[T any, P interface {
	*T
	client.Object
}](c *checker, kind schema.GroupKind, namespace, name string) (*T, error) {
	list, err := atHand[T, P](c, kind)
	for _, k := range list {
		if object := P(k.object); object.GetNamespace() == namespace && object.GetName() == name {
			return k.object, err
		}
	}
	return nil, err
}

// placed is an object that is asked about, and where it stands among the manifests.
type placed struct {
	manifests.Object
	at int
}
