package openclaw

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/policies/scope"
)

// The reasons why policies are not used.
const (
	ReasonValidationFailed = "ValidationFailed"
	ReasonTooLarge         = "TooLarge"
	ReasonNotComposed      = "PoliciesNotComposed"
)

// problem is what keeps an object from being carried out, for its status.
type problem struct{ reason, message string }

func (p *problem) Error() string { return p.message }

// content is what a bundle says: parsed policies, or what is wrong with them.
type content struct {
	files    map[string]string
	policies []*scope.Policy
	// revision tells contents apart.
	revision string
	failure  *problem
}

// composition is what the OPA of a gateway loads.
type composition struct {
	data    map[string]string
	hash    string
	failure *problem
}

// library parses bundles and composes policies, each once: many gateways have the same.
// It may be used concurrently.
type library struct {
	// rootNamespace holds the enterprise policies of every namespace; empty: none does.
	rootNamespace string

	mutex    sync.Mutex
	contents memory[*content]
	composed memory[*composition]
}

func newLibrary(rootNamespace string) *library {
	return &library{rootNamespace: rootNamespace}
}

// read is the content of a bundle's spec.
func (l *library) read(bundle *v1.PolicyBundle) *content {
	files, err := bundleFiles(bundle)
	if err != nil {
		return &content{failure: &problem{ReasonValidationFailed, err.Error()}}
	}
	if bundle.Spec.InstanceSelector != nil {
		if _, err := metav1.LabelSelectorAsSelector(bundle.Spec.InstanceSelector); err != nil {
			return &content{failure: &problem{ReasonValidationFailed, "spec.instanceSelector: " + err.Error()}}
		}
	}
	if size := sizeOf(files); size > maxConfigMap {
		return &content{failure: &problem{ReasonTooLarge, fmt.Sprintf(
			"the policies take %d bytes, and a ConfigMap holds %d; divide the bundle", size, maxConfigMap)}}
	}
	return l.parse(bundle, files)
}

// stored is the content of a bundle's ConfigMap, which is the last that was good: nil
// where there is none.
func (l *library) stored(bundle *v1.PolicyBundle, stored *corev1.ConfigMap) *content {
	if stored == nil || !metav1.IsControlledBy(stored, bundle) {
		return nil
	}
	return l.parse(bundle, stored.Data)
}

// inForce is the content of a bundle that gateways are to run: what its spec says once
// that has been found good, else the last that was. It is nil where nothing was ever
// good.
func (l *library) inForce(bundle *v1.PolicyBundle, stored *corev1.ConfigMap) *content {
	ready := meta.FindStatusCondition(bundle.Status.Conditions, v1.ConditionPolicyReady)
	if ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == bundle.Generation {
		return usable(l.read(bundle))
	}
	return usable(l.stored(bundle, stored))
}

func usable(c *content) *content {
	if c == nil || c.failure != nil {
		return nil
	}
	return c
}

func (l *library) parse(bundle *v1.PolicyBundle, files map[string]string) *content {
	name := bundle.Name
	if l.rootNamespace != "" && bundle.Namespace == l.rootNamespace {
		name = bundle.Namespace + "/" + name
	}
	revision := name + "@" + hashOf(files)
	return remember(l, &l.contents, revision, sizeOf(files), func() *content {
		c := &content{files: files, revision: revision}
		texts, err := sources(name, files)
		if err != nil {
			c.failure = &problem{ReasonValidationFailed, err.Error()}
			return c
		}
		var wrong []error
		for _, text := range texts {
			policy, err := scope.Parse(text)
			if err != nil {
				wrong = append(wrong, err)
				continue
			}
			c.policies = append(c.policies, policy)
		}
		if len(wrong) > 0 {
			c.failure = &problem{ReasonValidationFailed, strings.ReplaceAll(errors.Join(wrong...).Error(), "\n", "; ")}
		}
		return c
	})
}

// compose joins policies into what a gateway loads.
func (l *library) compose(policies []applied) *composition {
	revisions := make([]string, len(policies))
	size := 0
	for i, p := range policies {
		revisions[i] = fmt.Sprint(p.content.revision, p.enterpriseOnly)
		size += sizeOf(p.content.files)
	}
	slices.Sort(revisions)
	return remember(l, &l.composed, strings.Join(revisions, "\n"), 2*size, func() *composition {
		return composed(policies)
	})
}

func composed(policies []applied) *composition {
	var all []*scope.Policy
	for _, p := range policies {
		for _, policy := range p.content.policies {
			if !p.enterpriseOnly || policy.Level.Rank() == 0 {
				all = append(all, policy)
			}
		}
	}
	files, err := scope.Compose(all)
	if err != nil {
		return &composition{failure: &problem{ReasonNotComposed, "the policies do not compose: " + err.Error()}}
	}
	data := configMapData(files)
	if size := sizeOf(data); size > maxConfigMap {
		return &composition{failure: &problem{ReasonTooLarge, fmt.Sprintf(
			"the policies that bind this gateway take %d bytes together, and a ConfigMap holds %d; the gateway keeps what it has until there are fewer", size, maxConfigMap)}}
	}
	return &composition{data: data, hash: hashOf(data)}
}

// applied is a bundle that binds an instance: wholly, or only by its enterprise
// policies.
type applied struct {
	content        *content
	enterpriseOnly bool
}

// binding says whether a bundle binds an instance, and whether only by its enterprise
// policies.
func (l *library) binding(bundle *v1.PolicyBundle, instance *v1.OpenClawInstance) (binds, enterpriseOnly bool) {
	if bundle.Namespace != instance.Namespace {
		return l.rootNamespace != "" && bundle.Namespace == l.rootNamespace, true
	}
	selector, err := metav1.LabelSelectorAsSelector(bundle.Spec.InstanceSelector)
	// Without a selector, or with one that says nothing, it binds: that only restricts.
	all := bundle.Spec.InstanceSelector == nil || err != nil
	return true, !all && !selector.Matches(labels.Set(instance.Labels))
}

// memory keeps results by what they were made from. It forgets all when it is full.
type memory[T any] struct {
	results map[string]T
	size    int
}

// maxMemory is how many bytes of text a memory is for.
const maxMemory = 64 << 20

func remember[T any](l *library, m *memory[T], key string, size int, compute func() T) T {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if result, known := m.results[key]; known {
		return result
	}
	result := compute()
	if m.results == nil || m.size+size > maxMemory {
		m.results, m.size = map[string]T{}, 0
	}
	m.results[key] = result
	m.size += size + len(key)
	return result
}
