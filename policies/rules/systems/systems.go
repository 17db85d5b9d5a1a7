// Package systems is the registry of the systems that Lintel serves. The manager, the
// webhooks and the CLI read their names, API groups and rules here.
package systems

import (
	openclawv1 "github.com/lintel-policy/lintel/api/openclaw/v1"
	openvoxv1alpha1 "github.com/lintel-policy/lintel/api/openvox/v1alpha1"
	openzrov1 "github.com/lintel-policy/lintel/api/openzro/v1"
	orlojv1 "github.com/lintel-policy/lintel/api/orloj/v1"
	zoppv1alpha1 "github.com/lintel-policy/lintel/api/zopp/v1alpha1"
	"github.com/lintel-policy/lintel/policies/engine"
	"github.com/lintel-policy/lintel/policies/rules/openclaw"
	"github.com/lintel-policy/lintel/policies/rules/openvox"
	"github.com/lintel-policy/lintel/policies/rules/openzro"
	"github.com/lintel-policy/lintel/policies/rules/orloj"
	"github.com/lintel-policy/lintel/policies/rules/zopp"
)

// System is a system whose rules ship with Lintel.
type System struct {
	// Name is the value of --systems that enables the system, and the prefix of its flags.
	Name string
	// Title is the name in messages.
	Title string
	// Group is the API group of its kinds.
	Group string
	// Rules compiles its rules.
	Rules func() (*engine.Snapshot, error)
}

// All lists the systems.
func All() []System {
	return []System{
		{"openclaw", "OpenClaw", openclawv1.GroupName, openclaw.New},
		{"openvox", "OpenVox", openvoxv1alpha1.GroupName, openvox.New},
		{"openzro", "openZro", openzrov1.GroupName, openzro.New},
		{"orloj", "Orloj", orlojv1.GroupName, orloj.NewSnapshot},
		{"zopp", "zopp", zoppv1alpha1.GroupName, zopp.New},
	}
}
