package installation

import "context"

// PermitOpenClaw gives the managers that StartManager starts the permissions of the
// system openclaw, which its flag alone does not.
func PermitOpenClaw(ctx context.Context, c *Cluster) error {
	if _, err := c.must(ctx, "", "apply", "-f", "config/rbac/openclaw/cluster-role.yaml"); err != nil {
		return err
	}
	_, err := c.must(ctx, "", "create", "clusterrolebinding", "lintel-openclaw",
		"--clusterrole=openclaw-operator-manager-role", "--serviceaccount="+Namespace+":lintel-manager")
	return err
}
