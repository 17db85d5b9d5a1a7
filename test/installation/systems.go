package installation

import "context"

// PermitOpenClaw gives the managers that StartManager starts the permissions of the
// system openclaw, which its flag alone does not.
func PermitOpenClaw(ctx context.Context, c *Cluster) error {
	return c.permit(ctx, "openclaw", "openclaw-operator-manager-role")
}

// PermitOrloj gives them those of the system orloj.
func PermitOrloj(ctx context.Context, c *Cluster) error {
	return c.permit(ctx, "orloj", "orloj-operator")
}

// PermitOpenZro gives them those of the system openzro.
func PermitOpenZro(ctx context.Context, c *Cluster) error {
	return c.permit(ctx, "openzro", "openzro-operator")
}

// PermitZopp gives them those of the system zopp, without its further kinds.
func PermitZopp(ctx context.Context, c *Cluster) error {
	return c.permit(ctx, "zopp", "zopp-operator")
}

// PermitGatekeeper installs Gatekeeper's kinds and the permissions that --gatekeeper needs.
func PermitGatekeeper(ctx context.Context, c *Cluster) error {
	for _, folder := range []string{"config/rbac/gatekeeper", "config/gatekeeper"} {
		if _, err := c.must(ctx, "", "apply", "--server-side", "-k", folder); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) permit(ctx context.Context, system, role string) error {
	if _, err := c.must(ctx, "", "apply", "-f", "config/rbac/"+system+"/cluster-role.yaml"); err != nil {
		return err
	}
	_, err := c.must(ctx, "", "create", "clusterrolebinding", "lintel-"+system,
		"--clusterrole="+role, "--serviceaccount="+Namespace+":lintel-manager")
	return err
}
