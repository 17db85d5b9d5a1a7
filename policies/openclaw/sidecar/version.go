package sidecar

import (
	"slices"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/bounds"
)

// Version is the version of OPA that gateways run.
const Version = "1.4.2"

// withheld are the functions that a policy of a gateway may not call: they reach the
// network or the environment.
var withheld = []string{"http.send", "net.lookup_ip_addr", "opa.runtime"}

// gatewayCapabilities are the capabilities of the gateways' OPA, without the withheld ones.
var gatewayCapabilities = sync.OnceValue(func() *ast.Capabilities {
	capabilities, err := ast.LoadCapabilitiesVersion("v" + Version)
	if err != nil {
		panic(err) // the library holds those of every release
	}
	capabilities.Builtins = slices.DeleteFunc(capabilities.Builtins, func(builtin *ast.Builtin) bool {
		return slices.Contains(withheld, builtin.Name)
	})
	capabilities.AllowNet = []string{}
	return capabilities
})

func compile(bounds bounds.Limits, work *bounds.Work, modules map[string]*ast.Module) (*ast.Compiler, ast.Errors) {
	compiler := bounds.Measure(ast.NewCompiler(), work).WithCapabilities(gatewayCapabilities()).WithEvalMode(ast.EvalModeIR)
	compiler.Compile(modules)
	return compiler, compiler.Errors
}
