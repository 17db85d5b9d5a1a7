package openclaw

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
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

// content is the content of a bundle: parsed policies, or an error.
type content struct {
	// name is unique among the bundles that may bind a gateway.
	name     string
	files    map[string]string
	policies []*sidecar.Policy
	// revision identifies the content.
	revision string
	failure  *problem
}

// library parses bundles and composes policies, each once: many gateways have the same.
// It may be used concurrently.
type library struct {
	// rootNamespace holds the enterprise policies of every namespace; empty: none does.
	rootNamespace string

	contents memory[*content]
	composed memory[*composition]
}

func newLibrary(rootNamespace string) *library {
	return &library{rootNamespace: rootNamespace}
}

// read is the content of a bundle's spec.
func (l *library) read(bundle *v1.PolicyBundle) *content {
	files, err := policyFiles(bundle)
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

// lastGood is a bundle as it was recorded when it was last found good: nil where it
// never was.
func (l *library) lastGood(bundle *v1.PolicyBundle, recorded *record) *bound {
	if recorded == nil {
		return nil
	}
	c := l.parse(bundle, recorded.data)
	if c.failure != nil {
		return nil
	}
	return &bound{bundle, recorded.selector, c}
}

// nameOf is the name of a bundle, with its namespace where that is the root.
func (l *library) nameOf(bundle *v1.PolicyBundle) string {
	if l.isRoot(bundle.Namespace) {
		return bundle.Namespace + "/" + bundle.Name
	}
	return bundle.Name
}

func (l *library) isRoot(namespace string) bool {
	return l.rootNamespace != "" && namespace == l.rootNamespace
}

func (l *library) parse(bundle *v1.PolicyBundle, files map[string]string) *content {
	name := l.nameOf(bundle)
	revision := name + "@" + hashOf(files)
	return l.contents.get(revision, 2*sizeOf(files), func() *content {
		c := &content{name: name, files: files, revision: revision}
		c.policies, c.failure = policiesOf(name, files)
		return c
	})
}

// policiesOf reads policies, as long as they are not too much to read together.
func policiesOf(name string, files map[string]string) (policies []*sidecar.Policy, _ *problem) {
	texts, err := sources(name, files)
	if err != nil {
		return nil, &problem{ReasonValidationFailed, err.Error()}
	}
	var effort sidecar.Effort
	for _, text := range texts {
		if err := effort.AddText(text.Name, text.Content); err != nil {
			return nil, &problem{ReasonTooLarge, err.Error()}
		}
	}
	var wrong []error
	for _, text := range texts {
		policy, err := sidecar.Parse(text)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		if err := effort.AddPolicy(policy); err != nil {
			return nil, &problem{ReasonTooLarge, err.Error()}
		}
		policies = append(policies, policy.Composable())
	}
	if len(wrong) > 0 {
		return policies, &problem{ReasonValidationFailed, strings.ReplaceAll(errors.Join(wrong...).Error(), "\n", "; ")}
	}
	return policies, nil
}

// binding says whether the policies of a namespace, with a selector, bind an instance,
// and whether only those of the enterprise do.
func (l *library) binding(namespace string, selector *metav1.LabelSelector, instance *v1.OpenClawInstance) (binds, enterpriseOnly bool) {
	if namespace != instance.Namespace {
		return l.isRoot(namespace), true
	}
	selected, err := metav1.LabelSelectorAsSelector(selector)
	// Without a selector, or with one that says nothing, it binds: that only restricts.
	all := selector == nil || err != nil
	return true, !all && !selected.Matches(labels.Set(instance.Labels))
}

// memory caches results by their input. It is cleared when it is full.
type memory[T any] struct {
	making  singleflight.Group
	mutex   sync.Mutex // guards the fields below
	results map[string]T
	size    int
}

// maxMemory is how many bytes of text a memory is for.
const maxMemory = 32 << 20

// get computes a result once. Those who want others do not wait: a tenant's text may take
// long.
func (m *memory[T]) get(key string, size int, compute func() T) T {
	made, _, _ := m.making.Do(key, func() (any, error) {
		m.mutex.Lock()
		result, known := m.results[key]
		m.mutex.Unlock()
		if known {
			return result, nil
		}
		result = compute()
		m.mutex.Lock()
		defer m.mutex.Unlock()
		if m.results == nil || m.size+size > maxMemory {
			m.results, m.size = map[string]T{}, 0
		}
		m.results[key] = result
		m.size += size + len(key)
		return result, nil
	})
	return made.(T)
}
