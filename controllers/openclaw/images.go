package openclaw

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/policies/openclaw/sidecar"
)

// images are what the containers of a gateway run.
type images struct{ gateway, sidecar string }

// imagesOf are the images of an instance. Whether it may name them is for the rules of
// admitter to say.
func imagesOf(instance *v1.OpenClawInstance) images {
	chosen := images{gateway: GatewayImage, sidecar: SidecarImage}
	if named := instance.Spec.Images; named != nil {
		chosen.gateway = cmp.Or(named.Gateway, chosen.gateway)
		chosen.sidecar = cmp.Or(named.OPA, chosen.sidecar)
	}
	return chosen
}

// sidecarWarning is what to say of an OPA that may not be the one that policies are
// checked for: empty for that one.
func sidecarWarning(image string) string {
	name, _, _ := strings.Cut(path.Base(image), "@")
	_, tag, _ := strings.Cut(name, ":")
	version, _, _ := strings.Cut(strings.TrimPrefix(tag, "v"), "-")
	if version == sidecar.Version {
		return ""
	}
	return fmt.Sprintf("spec.images.opa: %s may be another version than %s, for which policies are checked", image, sidecar.Version)
}
