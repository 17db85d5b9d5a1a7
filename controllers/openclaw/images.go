package openclaw

import (
	"fmt"
	"strings"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	"github.com/lintel-policy/lintel/policies/scope"
)

// ReasonImageNotAllowed is why an instance that names an image is not carried out.
const ReasonImageNotAllowed = "ImageNotAllowed"

// images are what the containers of a gateway run.
type images struct{ gateway, sidecar string }

// imagesOf are the images of an instance, of the registries that are allowed.
func imagesOf(instance *v1.OpenClawInstance, registries []string) (images, *problem) {
	chosen := images{gateway: GatewayImage, sidecar: SidecarImage}
	if instance.Spec.Images == nil {
		return chosen, nil
	}
	for _, image := range []struct {
		field, want string
		into        *string
	}{
		{"gateway", instance.Spec.Images.Gateway, &chosen.gateway},
		{"opa", instance.Spec.Images.OPA, &chosen.sidecar},
	} {
		switch {
		case image.want == "":
		case imageAllowed(image.want, registries):
			*image.into = image.want
		default:
			return images{}, &problem{ReasonImageNotAllowed, fmt.Sprintf(
				"spec.images.%s: %s is not from a registry that --openclaw-image-registries allows (%s)",
				image.field, image.want, orNone(registries))}
		}
	}
	return chosen, nil
}

// imageAllowed says whether an image lies below one of the prefixes: registry,
// registry/path or a whole repository. What follows the prefix begins a new part, so
// that example.com allows neither example.com.evil.io nor example.com:5000.
func imageAllowed(image string, registries []string) bool {
	for _, prefix := range registries {
		prefix = strings.TrimSuffix(prefix, "/")
		rest, found := strings.CutPrefix(image, prefix)
		if !found || prefix == "" {
			continue
		}
		if strings.HasPrefix(rest, "/") ||
			strings.Contains(prefix, "/") && (rest == "" || rest[0] == ':' || rest[0] == '@') {
			return true
		}
	}
	return false
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// sidecarWarning is what to say of an OPA that may not be the one that policies are
// checked for: empty for that one.
func sidecarWarning(image string) string {
	_, last, _ := cutLast(image, "/")
	name, _, _ := strings.Cut(last, "@")
	_, tag, _ := strings.Cut(name, ":")
	version, _, _ := strings.Cut(strings.TrimPrefix(tag, "v"), "-")
	if version == scope.SidecarVersion {
		return ""
	}
	return fmt.Sprintf("spec.images.opa: %s may be another version than %s, for which policies are checked", image, scope.SidecarVersion)
}

// cutLast is strings.Cut at the last separator: all is after, where there is none.
func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return "", text, false
}
