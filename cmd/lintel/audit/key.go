package audit

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	core "github.com/lintel-policy/lintel/policies/audit"
)

// identity contains the parts of a key: the policy, the rule, the object, and the violation. The
// source, its revision, the version of the kind and the location of the rule may change between
// runs.
type identity struct {
	Policy, Rule          string
	Kind, Namespace, Name string
	Field, Message        string
}

// ownership are the metadata of an object that tell who creates it.
type ownership struct {
	Labels map[string]string `json:"labels"`
	Owners []struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Name       string `json:"name"`
		Controller bool   `json:"controller"`
	} `json:"ownerReferences"`
}

// keyOf is equal for the same violation in other runs. text is the object in JSON.
func keyOf(object Object, text []byte, result core.Result) string {
	var read struct {
		Metadata ownership `json:"metadata"`
	}
	_ = json.Unmarshal(text, &read) // an object without readable metadata has its own name
	kind := schema.FromAPIVersionAndKind(object.APIVersion, object.Kind).GroupKind().String()
	id := identity{
		Policy: result.Policy, Rule: result.Rule,
		Kind: kind, Namespace: object.Namespace, Name: read.Metadata.stableName(object.Name),
		Field: result.Field, Message: normalize(result.Message, object.Name),
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{id.Policy, id.Rule, id.Kind, id.Namespace, id.Name, id.Field, id.Message}))
	return fmt.Sprintf("%x", sum[:12])
}

// jobTime is the end of the name of a Job of a CronJob.
var jobTime = regexp.MustCompile(`-\d{8,}$`)

// workloads are the controllers that generate the names of their objects.
var workloads = map[schema.GroupKind]bool{
	{Group: "apps", Kind: "Deployment"}: true, {Group: "apps", Kind: "ReplicaSet"}: true, {Group: "apps", Kind: "StatefulSet"}: true,
	{Group: "apps", Kind: "DaemonSet"}: true, {Group: "batch", Kind: "Job"}: true, {Group: "batch", Kind: "CronJob"}: true,
	{Kind: "ReplicationController"}: true,
}

// stableName is the name of the workload of an object that has a generated name, such as a Pod of
// a Deployment: the next rollout replaces it by another one.
func (o ownership) stableName(name string) string {
	for _, owner := range o.Owners {
		kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
		if !owner.Controller || !workloads[kind] {
			continue
		}
		base := owner.Name
		if hash := cmp.Or(o.Labels["pod-template-hash"], o.Labels["controller-revision-hash"]); hash != "" {
			base = strings.TrimSuffix(base, "-"+hash)
		}
		if kind.Group == "batch" {
			base = jobTime.ReplaceAllString(base, "")
		}
		if strings.HasPrefix(name, base+"-") {
			return owner.Kind + "/" + base
		}
	}
	return name
}

// volatile are parts of messages that differ from run to run.
var volatile = []struct {
	part *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)?`), "<time>"},
	{regexp.MustCompile(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`), "<uid>"},
	{regexp.MustCompile(`\s+`), " "},
}

// normalize leaves out the volatile parts of a message, and the name of the object.
func normalize(message, name string) string {
	if name != "" {
		message = strings.ReplaceAll(message, name, "<name>")
	}
	for _, v := range volatile {
		message = v.part.ReplaceAllString(message, v.name)
	}
	return strings.TrimSpace(message)
}
