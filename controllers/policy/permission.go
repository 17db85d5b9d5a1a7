package policy

import (
	"context"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lintel-policy/lintel/policies/admission"
)

const (
	// permissionInterval is the interval of checks for a granted permission.
	permissionInterval = 3 * time.Second
	// aggregationLabel on a ClusterRole grants its rules to the manager: see
	// config/rbac/manager.
	aggregationLabel = "lintel.dev/aggregate-to-policy-data=true"
	// maxUnmetBytes leaves room in maxMessage for the live revision, so that no command is
	// truncated.
	maxUnmetBytes = 900
)

// unmet is the reason and the message of the condition that reports unreadable requirements of
// policies.
type unmet struct{ reason, message string }

// unmetRequires checks with the API server whether this process may list and watch the kinds:
// nil if it may. All replicas have the same permissions.
func unmetRequires(ctx context.Context, c client.Client, table *admission.Resources, kinds []admission.GroupVersionKind) (*unmet, error) {
	var forbidden []admission.ServedResource
	var unknown []string
	for _, kind := range kinds {
		resource, served := table.ByKind(kind.Group, kind.Kind)
		if !served {
			unknown = append(unknown, kind.String())
			continue
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
	switch {
	case len(unknown) > 0:
		what := "a kind"
		if len(unknown) > 1 {
			what = "kinds"
		}
		message := fmt.Sprintf("the policies require %s, %s that the cluster does not serve; install the CustomResourceDefinition, or correct requires", strings.Join(unknown, ", "), what)
		if len(forbidden) > 0 {
			message += "; and " + forbiddenMessage(forbidden, maxUnmetBytes-len(message))
		}
		return &unmet{ReasonRequiresUnknownKind, message}, nil
	case len(forbidden) > 0:
		return &unmet{ReasonRequiresForbidden, forbiddenMessage(forbidden, maxUnmetBytes)}, nil
	}
	return nil, nil
}

func allowed(ctx context.Context, c client.Client, verb string, resource admission.ServedResource) (bool, error) {
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

// forbiddenMessage lists the kinds that cannot be read and the commands that permit it: as many
// as fit the limit in bytes, but at least one.
func forbiddenMessage(resources []admission.ServedResource, room int) string {
	for n := len(resources); ; n-- {
		var kinds []string
		for _, resource := range resources[:n] {
			kinds = append(kinds, admission.GroupVersionKind{Group: resource.Group, Kind: resource.Kind}.String())
		}
		more := ""
		if n < len(resources) {
			more = fmt.Sprintf(" (and %d more kinds, named then)", len(resources)-n)
		}
		message := fmt.Sprintf("the policies require %s, which Lintel may not list and watch; permit it with: %s%s",
			strings.Join(kinds, ", "), grantCommand(resources[:n]), more)
		if n == 1 || len(message) <= room {
			return message
		}
	}
}

// grantCommand creates a separate ClusterRole for each kind, so that a second source with the
// same requirement needs no further role.
func grantCommand(resources []admission.ServedResource) string {
	grant := func(name string) string {
		role := "lintel-policy-data-" + name
		return fmt.Sprintf("kubectl create clusterrole %s --verb=list,watch --resource=%s && kubectl label clusterrole %s %s", role, name, role, aggregationLabel)
	}
	if len(resources) == 1 {
		return grant(resourceName(resources[0]))
	}
	var names []string
	for _, resource := range resources {
		names = append(names, resourceName(resource))
	}
	return fmt.Sprintf("for kind in %s; do %s; done", strings.Join(names, " "), grant("$kind"))
}

// resourceName is the name of a resource for kubectl: the plural, with the group outside the
// core.
func resourceName(resource admission.ServedResource) string {
	if resource.Group == "" {
		return resource.Name
	}
	return resource.Name + "." + resource.Group
}
