package openclaw

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

func TestImagesOf(t *testing.T) {
	instance := &v1.OpenClawInstance{}
	require.Equal(t, images{GatewayImage, "openpolicyagent/opa:1.4.2-static"}, imagesOf(instance))
	instance.Spec.Images = &v1.Images{OPA: "registry.example.com/opa:1.4.2"}
	require.Equal(t, images{GatewayImage, "registry.example.com/opa:1.4.2"}, imagesOf(instance))
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
