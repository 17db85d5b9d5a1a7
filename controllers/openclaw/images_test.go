package openclaw

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

func TestImagesAreOfAllowedRegistries(t *testing.T) {
	for _, c := range []struct {
		image, registry string
		allowed         bool
	}{
		{"ghcr.io/acme/gateway:1", "ghcr.io/acme", true},
		{"ghcr.io/acme/gateway:1", "ghcr.io/acme/", true},
		{"ghcr.io/acme/gateway:1", "ghcr.io", true},
		{"ghcr.io/acme/gateway:1", "ghcr.io/acme/gateway", true},
		{"ghcr.io/acme/gateway@sha256:00", "ghcr.io/acme/gateway", true},
		{"ghcr.io/acme/gateway", "ghcr.io/acme/gateway", true},
		{"ghcr.io/acme-evil/gateway:1", "ghcr.io/acme", false},
		{"ghcr.io.evil.io/gateway:1", "ghcr.io", false},
		{"ghcr.io:5000/gateway:1", "ghcr.io", false},
		{"ghcr.io", "ghcr.io", false},
		{"gateway:1", "", false},
		{"gateway:1", "/", false},
	} {
		require.Equal(t, c.allowed, imageAllowed(c.image, []string{"other.example.com", c.registry}), "%s by %s", c.image, c.registry)
	}
}

func TestImagesOf(t *testing.T) {
	instance := &v1.OpenClawInstance{}
	chosen, refused := imagesOf(instance, nil)
	require.Nil(t, refused)
	require.Equal(t, images{GatewayImage, "openpolicyagent/opa:1.4.2-static"}, chosen)

	instance.Spec.Images = &v1.Images{OPA: "registry.example.com/opa:1.4.2"}
	_, refused = imagesOf(instance, nil)
	require.Equal(t, ReasonImageNotAllowed, refused.reason)
	require.Equal(t, "spec.images.opa: registry.example.com/opa:1.4.2 is not from a registry that --openclaw-image-registries allows (none)", refused.message)

	chosen, refused = imagesOf(instance, []string{"registry.example.com"})
	require.Nil(t, refused)
	require.Equal(t, images{GatewayImage, "registry.example.com/opa:1.4.2"}, chosen)
}

func TestAnotherVersionOfTheSidecarWarns(t *testing.T) {
	for image, warns := range map[string]bool{
		SidecarImage:                          false,
		"localhost:5000/opa:v1.4.2":           false,
		"r.example.com/opa:1.4.2@sha256:00":   false,
		"r.example.com/opa:1.4.20":            true,
		"r.example.com/opa:0.70.0-static":     true,
		"r.example.com/opa":                   true,
		"r.example.com/opa@sha256:00":         true,
		"r.example.com/1.4.2:5000/opa:latest": true,
	} {
		require.Equal(t, warns, sidecarWarning(image) != "", image)
	}
}
