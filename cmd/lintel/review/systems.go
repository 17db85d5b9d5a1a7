package review

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openclawv1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	openvoxv1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	openzrov1 "github.com/lintel-policy/lintel/api/openzro/v1"
	zoppv1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/admission"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules/openclaw"
	"github.com/lintel-policy/lintel/policies/rules/openvox"
	"github.com/lintel-policy/lintel/policies/rules/openzro"
	"github.com/lintel-policy/lintel/policies/rules/zopp"
)

// system is what ships for the kinds of a system other than Orloj.
type system struct {
	name string
	// compile makes the rules, which are asked about what is created or updated.
	compile func() (*engine.Snapshot, error)
	// facts are what the rules read as input.facts: nil where they read none. A reason is why
	// that is not known.
	facts func(context.Context, *checker, manifests.Object) (facts any, reason string, err error)
}

// systems are by their API groups. The rules of zopp are about Secrets, too.
var systems = map[string]system{
	openclawv1.GroupName:      {"OpenClaw", compiled(openclaw.Set), openclawFacts},
	openvoxv1alpha1.GroupName: {"OpenVox", compiled(openvox.Set), openvoxFacts},
	openzrov1.GroupName:       {"openZro", openzro.New, openzroFacts},
	zoppv1alpha1.GroupName:    {"zopp", zopp.New, zoppFacts},
}

func compiled(set func() (*engine.PolicySet, error)) func() (*engine.Snapshot, error) {
	return func() (*engine.Snapshot, error) {
		rules, err := set()
		if err != nil {
			return nil, err
		}
		return engine.NewSnapshot(admission.BuiltinResources(), rules), nil
	}
}

// groupOf is the key in systems of those whose rules are asked about an object; "" where there
// is none.
func groupOf(o manifests.Object) string {
	if o.Kind.Group == "" && o.Kind.Kind == "Secret" && o.HasAnnotationOf(zoppv1alpha1.GroupName) {
		return zoppv1alpha1.GroupName
	}
	if _, ok := systems[o.Kind.Group]; ok {
		return o.Kind.Group
	}
	return ""
}

// hasRules says whether rules ship with Lintel that are asked about an object.
func hasRules(o manifests.Object) bool { return isBuiltIn(o) || groupOf(o) != "" }

// askSystem is what the rules of a system say of an object of its.
func (c *checker) askSystem(ctx context.Context, group string, a arrival) (outcome, error) {
	if c.options.operation == "DELETE" {
		return outcome{object: a.object, review: a.review}, nil
	}
	asked := systems[group]
	if c.systems == nil {
		c.systems = map[string]*engine.Snapshot{}
	}
	if c.systems[group] == nil {
		rules, err := asked.compile()
		if err != nil {
			return outcome{}, fmt.Errorf("compiling the rules of %s: %w", asked.name, err)
		}
		c.systems[group] = rules
	}
	facts, reason, err := asked.facts(ctx, c, a.object)
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
	if group == zoppv1alpha1.GroupName && c.options.zopp == zopp.Open && options.Namespace.IsZero() {
		// It would permit what is permitted everywhere.
		if options.Namespace, err = engine.ReadNamespace([]byte("{}")); err != nil {
			return outcome{}, err
		}
	}
	return decide(ctx, c.systems[group], a.object, a.review, options, nil)
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

// atHand are the objects of a Go type, which is named as their kind, in --cluster and among the
// manifests. Of those, only what stands before one counts, if one is given, which is never
// among them: kubectl applies them in their order, and who comes first has a name.
func atHand[T any, P interface {
	*T
	client.Object
}](c *checker, group string, before *manifests.Object) (list []T, err error) {
	kind := reflect.TypeFor[T]().Name()
	add := func(o manifests.Object) error {
		if o.Kind.Group != group || o.Kind.Kind != kind || before != nil && o.Namespace == before.Namespace && o.Name == before.Name && o.Kind == before.Kind {
			return nil
		}
		object, err := typed[T, P](o)
		if err == nil {
			list = append(list, *object)
		}
		return err
	}
	for _, o := range c.existing {
		if err := add(o); err != nil {
			return nil, fmt.Errorf("%s: %w", o.Origin, err)
		}
	}
	for _, a := range c.arrivals {
		if before != nil && a.object.Origin == before.Origin && a.object.Name == before.Name {
			break
		}
		if a.isDecided() {
			continue
		}
		if err := add(a.object); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// in are those of a namespace.
func in[T any, P interface {
	*T
	client.Object
}](namespace string, list []T, err error) ([]T, error) {
	var found []T
	for i := range list {
		if P(&list[i]).GetNamespace() == namespace {
			found = append(found, list[i])
		}
	}
	return found, err
}

func openclawFacts(ctx context.Context, c *checker, o manifests.Object) (any, string, error) {
	if o.Kind.Kind != "PolicyBundle" {
		return map[string]any{"registries": []string{}}, "", nil
	}
	bundle, err := typed[openclawv1.PolicyBundle](o)
	if err != nil {
		return nil, "", err
	}
	list, err := atHand[openclawv1.PolicyBundle](c, o.Kind.Group, &o)
	if err != nil {
		return nil, "", err
	}
	var others []*openclaw.Bundle
	for i := range list {
		others = append(others, &list[i])
	}
	facts, err := openclaw.NewParser().Find(ctx, bundle, nil, others, "")
	return facts, "", err
}

func openvoxFacts(_ context.Context, c *checker, o manifests.Object) (any, string, error) {
	group := o.Kind.Group
	switch o.Kind.Kind {
	case "Certificate":
		certificate, err := typed[openvoxv1alpha1.Certificate](o)
		if err != nil {
			return nil, "", err
		}
		others, err := in(atHandIn[openvoxv1alpha1.Certificate](c, &o))
		if err != nil {
			return nil, "", err
		}
		facts := openvox.Claims(certificate, others)
		authorities, err := atHand[openvoxv1alpha1.CertificateAuthority](c, group, nil)
		for i := range authorities {
			if ca := &authorities[i]; ca.Namespace == o.Namespace && ca.Name == certificate.Spec.AuthorityRef {
				facts = facts.At(ca, certificate)
			}
		}
		return facts, "", err
	case "CertificateAuthority":
		ca, err := typed[openvoxv1alpha1.CertificateAuthority](o)
		if err != nil {
			return nil, "", err
		}
		facts := openvox.AuthorityFacts{}
		secrets, err := atHand[corev1.Secret](c, "", nil)
		for i := range secrets {
			if secret := &secrets[i]; secret.Namespace == o.Namespace && secret.Name == ca.Spec.IntermediateCA.SecretName {
				facts.IntermediateFor = new(secret.Annotations[openvox.IntermediateAnnotation])
			}
		}
		return facts, "", err
	case "Pool":
		pool, err := typed[openvoxv1alpha1.Pool](o)
		if err != nil {
			return nil, "", err
		}
		others, err := in(atHandIn[openvoxv1alpha1.Pool](c, &o))
		return openvox.PoolFacts{HostTakenBy: openvox.HostTaken(pool, others)}, "", err
	case "Server":
		server, err := typed[openvoxv1alpha1.Server](o)
		if err != nil || !server.Spec.CA {
			return openvox.ServerFacts{}, "", err
		}
		others, err := in(atHandIn[openvoxv1alpha1.Server](c, &o))
		if err != nil {
			return nil, "", err
		}
		all, err := atHand[openvoxv1alpha1.Config](c, group, nil)
		configs, err := in(o.Namespace, all, err)
		return openvox.CAServers(server, others, configs, func(_, _ *openvoxv1alpha1.Server) bool { return true }), "", err
	case "SigningPolicy":
		return openvox.KnownNames(), "", nil
	}
	return nil, "", nil
}

func openzroFacts(_ context.Context, c *checker, o manifests.Object) (any, string, error) {
	facts := openzro.Facts{}
	var err error
	switch o.Kind.Kind {
	case "OZGroup":
		err = taken[openzrov1.OZGroup](c, o, &facts)
	case "OZPolicy":
		err = taken[openzrov1.OZPolicy](c, o, &facts)
	case "OZResource":
		err = taken[openzrov1.OZResource](c, o, &facts)
	case "OZSetupKey":
		err = taken[openzrov1.OZSetupKey](c, o, &facts)
	case "OZHTTPRoute":
		err = taken[openzrov1.OZHTTPRoute](c, o, &facts)
	}
	return facts, "", err
}

// taken finds another object of the kind that has the name at the server.
func taken[T any, P interface {
	*T
	openzrov1.Object
}](c *checker, o manifests.Object, facts *openzro.Facts) error {
	object, err := typed[T, P](o)
	if err != nil {
		return err
	}
	others, err := in[T, P](atHandIn[T, P](c, &o))
	for i := range others {
		if other := P(&others[i]); facts.Taken == nil && openzro.RemoteName(object) != "" && openzro.RemoteName(other) == openzro.RemoteName(object) {
			facts.Taken = &openzro.Reference{Kind: o.Kind.Kind, Name: other.GetName()}
		}
	}
	return err
}

func zoppFacts(_ context.Context, c *checker, o manifests.Object) (any, string, error) {
	syncs, err := atHand[zoppv1alpha1.ZoppSecretSync](c, zoppv1alpha1.GroupName, &o)
	if err != nil {
		return nil, "", err
	}
	var facts zopp.Facts
	namespace, name := o.Namespace, o.Name
	if o.Kind.Kind == "Secret" {
		secret, err := typed[corev1.Secret](o)
		if err != nil {
			return nil, "", err
		}
		facts = zopp.SecretFacts(secret.Annotations, c.options.zopp)
	} else {
		sync, err := typed[zoppv1alpha1.ZoppSecretSync](o)
		if err != nil {
			return nil, "", err
		}
		facts = zopp.SyncFacts(sync, c.options.zopp)
		if namespace, name = sync.SecretNamespace(), sync.Spec.Target.SecretName; namespace != o.Namespace {
			spaces, err := atHand[corev1.Namespace](c, "", nil)
			if err != nil {
				return nil, "", err
			}
			for i := range spaces {
				if spaces[i].Name == namespace {
					facts.Target = &zopp.Target{Namespace: namespace, Served: true, Exists: true, Annotations: spaces[i].Annotations}
				}
			}
			if facts.Target == nil {
				return nil, fmt.Sprintf("its Secret is in namespace %q, which is not at hand", namespace), nil
			}
		}
		secrets, err := atHand[corev1.Secret](c, "", &o)
		if err != nil {
			return nil, "", err
		}
		for i := range secrets {
			if s := &secrets[i]; s.Namespace == namespace && s.Name == name && zopp.Read(s.Annotations).Sync {
				facts.Claims = append(facts.Claims, zopp.Reference{Kind: "Secret", Namespace: namespace, Name: name})
			}
		}
	}
	for i := range syncs {
		if s := &syncs[i]; s.SecretNamespace() == namespace && s.Spec.Target.SecretName == name {
			facts.Claims = append(facts.Claims, zopp.Reference{Kind: "ZoppSecretSync", Namespace: s.Namespace, Name: s.Name})
		}
	}
	return facts, "", nil
}

// atHandIn are those at hand before an object, for in.
func atHandIn[T any, P interface {
	*T
	client.Object
}](c *checker, o *manifests.Object) (string, []T, error) {
	list, err := atHand[T, P](c, o.Kind.Group, o)
	return o.Namespace, list, err
}
