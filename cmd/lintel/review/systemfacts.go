package review

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	openclawv1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	openvoxv1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	openzrov1 "github.com/lintel-policy/lintel/api/openzro/v1"
	zoppv1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/cmd/lintel/manifests"
	"github.com/lintel-policy/lintel/policies/rules/openclaw"
	"github.com/lintel-policy/lintel/policies/rules/openvox"
	"github.com/lintel-policy/lintel/policies/rules/openzro"
	"github.com/lintel-policy/lintel/policies/rules/orloj"
	"github.com/lintel-policy/lintel/policies/rules/zopp"
)

func openclawFacts(ctx context.Context, c *checker, o placed) (any, string, error) {
	if o.Kind.Kind != "PolicyBundle" {
		return map[string]any{"registries": []string{}}, "", nil
	}
	bundle, err := typed[openclawv1.PolicyBundle](o.Object)
	if err != nil {
		return nil, "", err
	}
	list, err := before[openclawv1.PolicyBundle](c, o.Kind.GroupKind(), o, "")
	if err != nil {
		return nil, "", err
	}
	var others []*openclaw.Bundle
	for i := range list {
		others = append(others, &list[i])
	}
	if c.bundles == nil {
		c.bundles = openclaw.NewParser()
	}
	facts, err := c.bundles.Find(ctx, bundle, nil, others, "")
	return facts, "", err
}

func openvoxFacts(_ context.Context, c *checker, o placed) (any, string, error) {
	kind := func(name string) schema.GroupKind {
		return schema.GroupKind{Group: openvoxv1alpha1.GroupName, Kind: name}
	}
	switch o.Kind.Kind {
	case "Certificate":
		certificate, err := typed[openvoxv1alpha1.Certificate](o.Object)
		if err != nil {
			return nil, "", err
		}
		others, err := before[openvoxv1alpha1.Certificate](c, kind("Certificate"), o, o.Namespace)
		if err != nil {
			return nil, "", err
		}
		facts := openvox.Claims(certificate, others)
		ca, err := named[openvoxv1alpha1.CertificateAuthority](c, kind("CertificateAuthority"), o.Namespace, certificate.Spec.AuthorityRef)
		if ca != nil {
			facts = facts.At(ca, certificate)
		}
		return facts, "", err
	case "CertificateAuthority":
		ca, err := typed[openvoxv1alpha1.CertificateAuthority](o.Object)
		if err != nil {
			return nil, "", err
		}
		facts := openvox.AuthorityFacts{}
		secret, err := named[metav1.PartialObjectMetadata](c, secretKind, o.Namespace, ca.Spec.IntermediateCA.SecretName)
		if secret != nil {
			facts.IntermediateFor = new(secret.Annotations[openvox.IntermediateAnnotation])
		}
		return facts, "", err
	case "Pool":
		pool, err := typed[openvoxv1alpha1.Pool](o.Object)
		if err != nil {
			return nil, "", err
		}
		others, err := before[openvoxv1alpha1.Pool](c, kind("Pool"), o, o.Namespace)
		return openvox.PoolFacts{HostTakenBy: openvox.HostTaken(pool, others)}, "", err
	case "Server":
		server, err := typed[openvoxv1alpha1.Server](o.Object)
		if err != nil || !server.Spec.CA {
			return openvox.ServerFacts{}, "", err
		}
		others, err := before[openvoxv1alpha1.Server](c, kind("Server"), o, o.Namespace)
		if err != nil {
			return nil, "", err
		}
		everywhere := placed{at: len(c.arrivals)}
		configs, err := before[openvoxv1alpha1.Config](c, kind("Config"), everywhere, o.Namespace)
		return openvox.CAServers(server, others, configs, func(_, _ *openvoxv1alpha1.Server) bool { return true }), "", err
	case "SigningPolicy":
		return openvox.KnownNames(), "", nil
	}
	return nil, "", nil
}

func openzroFacts(_ context.Context, c *checker, o placed) (any, string, error) {
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
}](c *checker, o placed, facts *openzro.Facts) error {
	object, err := typed[T, P](o.Object)
	if err != nil {
		return err
	}
	others, err := before[T, P](c, o.Kind.GroupKind(), o, o.Namespace)
	for i := range others {
		if other := P(&others[i]); facts.Taken == nil && openzro.RemoteName(object) != "" && openzro.RemoteName(other) == openzro.RemoteName(object) {
			facts.Taken = &openzro.Reference{Kind: o.Kind.Kind, Name: other.GetName()}
		}
	}
	return err
}

func zoppFacts(_ context.Context, c *checker, o placed) (any, string, error) {
	var facts zopp.Facts
	namespace, name := o.Namespace, o.Name
	if o.Kind.Kind == "Secret" {
		secret, err := typed[metav1.PartialObjectMetadata](o.Object)
		if err != nil {
			return nil, "", err
		}
		facts = zopp.SecretFacts(secret.Annotations, c.options.zopp)
	} else {
		sync, err := typed[zoppv1alpha1.ZoppSecretSync](o.Object)
		if err != nil {
			return nil, "", err
		}
		facts = zopp.SyncFacts(sync, c.options.zopp)
		if namespace, name = sync.SecretNamespace(), sync.Spec.Target.SecretName; namespace != o.Namespace {
			space, err := named[metav1.PartialObjectMetadata](c, schema.GroupKind{Kind: "Namespace"}, "", namespace)
			if err != nil {
				return nil, "", err
			}
			if space == nil {
				return nil, fmt.Sprintf("its Secret is in namespace %q, which is not at hand", namespace), nil
			}
			facts.Target = &zopp.Target{Namespace: namespace, Served: true, Exists: true, Annotations: space.Annotations}
		}
		secrets, err := before[metav1.PartialObjectMetadata](c, secretKind, o, namespace)
		if err != nil {
			return nil, "", err
		}
		for _, s := range secrets {
			if s.Name == name && zopp.Read(s.Annotations).Sync {
				facts.Claims = append(facts.Claims, zopp.Reference{Kind: "Secret", Namespace: namespace, Name: name})
			}
		}
	}
	syncs, err := before[zoppv1alpha1.ZoppSecretSync](c, schema.GroupKind{Group: zoppv1alpha1.GroupName, Kind: "ZoppSecretSync"}, o, "")
	for i := range syncs {
		if s := &syncs[i]; s.SecretNamespace() == namespace && s.Spec.Target.SecretName == name {
			facts.Claims = append(facts.Claims, zopp.Reference{Kind: "ZoppSecretSync", Namespace: s.Namespace, Name: s.Name})
		}
	}
	return facts, "", err
}

func orlojFacts(_ context.Context, c *checker, o placed) (any, string, error) {
	read, err := readOrloj(o.Object)
	if err != nil {
		return nil, "", err
	}
	if c.orlojOwners == nil {
		if c.orlojOwners, err = ownersOfRows(c.arrivals); err != nil {
			return nil, "", err
		}
	}
	facts := orloj.Facts{Mapping: c.options.mapping, Target: read.Target()}
	if owner := c.orlojOwners[rowOf(read)]; owner != read.Reference() && read.Metadata.Name != "" {
		facts.Taken = &owner
	}
	return facts, "", nil
}

// rowOf is the kind and key of an object in the store.
func rowOf(o orloj.Object) string { return o.Kind + " " + o.Key() }

// ownersOfRows returns the first object of the manifests for each row of the store.
func ownersOfRows(arrivals []arrival) (map[string]orloj.Reference, error) {
	owners := map[string]orloj.Reference{}
	for _, a := range arrivals {
		if system, ok := systemOf(a.object); a.isDecided() || !ok || system.Name != "orloj" {
			continue
		}
		read, err := readOrloj(a.object)
		if err != nil {
			return nil, err
		}
		if _, taken := owners[rowOf(read)]; !taken {
			owners[rowOf(read)] = read.Reference()
		}
	}
	return owners, nil
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
