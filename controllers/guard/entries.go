package guard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lintel-policy/lintel/controllers/system"
	"github.com/lintel-policy/lintel/policies/definition"
	builtin "github.com/lintel-policy/lintel/policies/rules"
)

// products are the two entries.
//
// A write of a controlled object is refused while Lintel is down, or a tenant would wait for
// that: the objects hold the policies of gateways and the rules by which CAs sign. Meanwhile a
// tenant can create an object with the name of a controlled object. Such an object is never
// adopted, and the status of the owner reports it.
func (g *guard) products() []builtin.Product {
	controlled := builtin.BuiltIn{
		Product:  builtin.Product{Name: "controlled", Entry: "controlled.lintel.dev", NotOfPlatform: true},
		Snapshot: g.snapshot, Facts: g.controlledFacts,
	}
	reserved := builtin.BuiltIn{
		Product:  builtin.Product{Name: "reserved-names", Entry: "reserved-names.lintel.dev", NotOfPlatform: true, FailurePolicy: definition.Ignore},
		Snapshot: g.snapshot, Facts: g.reservedFacts,
	}
	if len(g.controls) > 0 {
		controlled.ObjectSelector = g.selector()
		controlled.Rules = called(g.resources(), admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete)
		controlled.MatchConditions = g.conditions()
	}
	if named := g.namedResources(); len(named) > 0 {
		reserved.Rules = called(named, admissionregistrationv1.Create)
		reserved.MatchConditions = append(g.conditions(), g.nameCondition())
	}
	return []builtin.Product{controlled.Validating(), reserved.Validating()}
}

// selector selects the objects of all systems: an update if it selects the object before or
// after.
func (g *guard) selector() *metav1.LabelSelector {
	var values []string
	for _, c := range g.controls {
		values = append(values, c.ManagedBy)
	}
	slices.Sort(values)
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: system.ManagedByLabel, Operator: metav1.LabelSelectorOpIn, Values: values,
	}}}
}

func (g *guard) resources() (all []schema.GroupResource) {
	for _, c := range g.controls {
		all = append(all, c.Resources...)
	}
	return all
}

func (g *guard) namedResources() (all []schema.GroupResource) {
	for _, c := range g.controls {
		for _, name := range c.Names {
			all = append(all, name.Resources...)
		}
	}
	return all
}

// called are rules for resources in whichever version they are served.
func called(resources []schema.GroupResource, operations ...admissionregistrationv1.OperationType) (list []admissionregistrationv1.RuleWithOperations) {
	byGroup := map[string][]string{}
	for _, resource := range resources {
		byGroup[resource.Group] = append(byGroup[resource.Group], resource.Resource)
	}
	for group, names := range byGroup {
		slices.Sort(names)
		list = append(list, builtin.Called(admissionregistrationv1.NamespacedScope, group, "*", slices.Compact(names), operations...)...)
	}
	slices.SortFunc(list, func(a, b admissionregistrationv1.RuleWithOperations) int {
		return cmp.Compare(a.APIGroups[0], b.APIGroups[0])
	})
	return list
}

// conditions keep away the users that may write all objects, and the namespaces that no
// system serves.
func (g *guard) conditions() []admissionregistrationv1.MatchCondition {
	conditions := []admissionregistrationv1.MatchCondition{{
		Name:       "not-by-controllers",
		Expression: fmt.Sprintf("!(request.userInfo.username in %s)", quotedList(g.users)),
	}}
	var namespaces []string
	for _, c := range g.controls {
		if len(c.Namespaces) == 0 {
			return conditions
		}
		namespaces = append(namespaces, c.Namespaces...)
	}
	slices.Sort(namespaces)
	return append(conditions, builtin.InNamespaces(slices.Compact(namespaces), builtin.OfTheirs)...)
}

// nameCondition keeps all other names away.
func (g *guard) nameCondition() admissionregistrationv1.MatchCondition {
	var tests []string
	for _, c := range g.controls {
		for _, name := range c.Names {
			var resources []string
			for _, resource := range name.Resources {
				resources = append(resources, resource.String())
			}
			ends := "endsWith"
			if name.Generated {
				ends = "contains"
			}
			tests = append(tests, fmt.Sprintf("%s in %s && request.name.startsWith(%q) && request.name.%s(%q)",
				resourceOfRequest, quotedList(resources), name.Prefix, ends, name.Suffix))
		}
	}
	// A generated name is not known yet: the request has none.
	return admissionregistrationv1.MatchCondition{Name: "has-a-name-that-is-needed", Expression: "has(request.name) && (\n" + strings.Join(tests, " ||\n") + ")"}
}

// resourceOfRequest is written as schema.GroupResource writes it.
const resourceOfRequest = `(request.resource.group == "" ? request.resource.resource : request.resource.resource + "." + request.resource.group)`

// quotedList is a list of CEL. Names of users may have any characters.
func quotedList(values []string) string {
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = fmt.Sprintf("%q", value)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
