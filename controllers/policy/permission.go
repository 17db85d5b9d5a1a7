package policy

import (
	"context"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/policies/engine"
)

const (
	// permissionInterval is how soon a permission that was granted is noticed.
	permissionInterval = 3 * time.Second
	// aggregationLabel on a ClusterRole gives its rules to the manager: see
	// config/rbac/manager.
	aggregationLabel = "lintel.dev/aggregate-to-policy-data=true"
	// grantedAtOnce is how many grants fit into the message of a condition.
	grantedAtOnce = 2
)

// unmet is why what policies require cannot be read, as a condition says it.
type unmet struct{ reason, message string }

// unmetRequires asks the API server whether this process may list and watch the
// kinds: nil where it may. All replicas have the same permissions.
func unmetRequires(ctx context.Context, c client.Client, table *engine.Resources, kinds []engine.GroupVersionKind) (*unmet, error) {
	var forbidden []engine.Resource
	for _, kind := range kinds {
		resource, served := table.ByKind(kind.Group, kind.Kind)
		if !served {
			return &unmet{ReasonRequiresUnknownKind, fmt.Sprintf(
				"the policies require %s, a kind that the cluster does not serve; install its CustomResourceDefinition, or correct requires", kind)}, nil
		}
		for _, verb := range []string{"list", "watch"} {
			allowed, err := allowed(ctx, c, verb, resource)
			if err != nil {
				return nil, err
			}
			if !allowed {
				forbidden = append(forbidden, resource)
				break
			}
		}
	}
	if len(forbidden) == 0 {
		return nil, nil
	}
	return &unmet{ReasonRequiresForbidden, forbiddenMessage(forbidden)}, nil
}

// Readable says why what policies require of a kind cannot be read: "" where it can.
func Readable(ctx context.Context, c client.Client, table *engine.Resources, kind engine.GroupVersionKind) (string, error) {
	found, err := unmetRequires(ctx, c, table, []engine.GroupVersionKind{kind})
	if found == nil {
		return "", err
	}
	return found.message, nil
}

func allowed(ctx context.Context, c client.Client, verb string, resource engine.Resource) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: resource.Group, Version: resource.Version, Resource: resource.Name,
		},
	}}
	if err := c.Create(ctx, review); err != nil {
		return false, fmt.Errorf("asking whether %s of %s is permitted: %w", verb, resourceName(resource), err)
	}
	return review.Status.Allowed, nil
}

// forbiddenMessage says which kinds cannot be read and how to permit it.
func forbiddenMessage(resources []engine.Resource) string {
	var kinds, commands []string
	for i, resource := range resources {
		kinds = append(kinds, engine.GroupVersionKind{Group: resource.Group, Kind: resource.Kind}.String())
		if i < grantedAtOnce {
			commands = append(commands, grantCommand(resource))
		}
	}
	message := fmt.Sprintf("the policies require %s, which Lintel may not list and watch; permit it with: %s",
		strings.Join(kinds, ", "), strings.Join(commands, " && "))
	if more := len(resources) - grantedAtOnce; more > 0 {
		message += fmt.Sprintf(" (and %d more, named then)", more)
	}
	return message
}

// grantCommand makes a ClusterRole of its own for a kind, so that a second source
// that requires the same has nothing to add.
func grantCommand(resource engine.Resource) string {
	role := "lintel-policy-data-" + resourceName(resource)
	return fmt.Sprintf("kubectl create clusterrole %s --verb=list,watch --resource=%s && kubectl label clusterrole %s %s",
		role, resourceName(resource), role, aggregationLabel)
}

// resourceName is how kubectl names a resource: plural, and group outside the core.
func resourceName(resource engine.Resource) string {
	if resource.Group == "" {
		return resource.Name
	}
	return resource.Name + "." + resource.Group
}
