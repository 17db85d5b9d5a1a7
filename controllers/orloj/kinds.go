package orloj

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/lintel-policy/lintel/api/orloj/v1"
	"github.com/lintel-policy/lintel/controllers/orloj/store"
)

// kind is one of the eight.
type kind struct {
	store.Table
	object func() v1.Object
	list   func() client.ObjectList
}

// kinds are all of them.
func kinds() []kind {
	of := func(name string, object func() v1.Object, list func() client.ObjectList) kind {
		table, _ := store.TableOf(name)
		return kind{table, object, list}
	}
	return []kind{
		of("Agent", func() v1.Object { return &v1.Agent{} }, func() client.ObjectList { return &v1.AgentList{} }),
		of("AgentPolicy", func() v1.Object { return &v1.AgentPolicy{} }, func() client.ObjectList { return &v1.AgentPolicyList{} }),
		of("AgentSystem", func() v1.Object { return &v1.AgentSystem{} }, func() client.ObjectList { return &v1.AgentSystemList{} }),
		of("McpServer", func() v1.Object { return &v1.McpServer{} }, func() client.ObjectList { return &v1.McpServerList{} }),
		of("Memory", func() v1.Object { return &v1.Memory{} }, func() client.ObjectList { return &v1.MemoryList{} }),
		of("ModelEndpoint", func() v1.Object { return &v1.ModelEndpoint{} }, func() client.ObjectList { return &v1.ModelEndpointList{} }),
		of("Secret", func() v1.Object { return &v1.Secret{} }, func() client.ObjectList { return &v1.SecretList{} }),
		of("Tool", func() v1.Object { return &v1.Tool{} }, func() client.ObjectList { return &v1.ToolList{} }),
	}
}

// NewList is an empty list of a kind: nil where it is none of Orloj's.
func NewList(name string) client.ObjectList {
	for _, k := range kinds() {
		if k.Kind == name {
			return k.list()
		}
	}
	return nil
}
