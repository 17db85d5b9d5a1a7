package engine

import "github.com/open-policy-agent/opa/v1/ast"

// documents are the rules of a source by the constant beginning of their path.
type documents struct {
	rules map[string][]*ast.Rule
	root  documentNode // of those that are no functions
}

// documentNode is a path below data that rules, or places below it, give.
type documentNode struct {
	path  ast.Ref // nil where only places below it do
	text  string  // of path
	steps map[string]*documentNode
	names []string // of steps, sorted
}

func documentsOf(compiler *ast.Compiler) *documents {
	d := &documents{rules: map[string][]*ast.Rule{}}
	for _, name := range sortedKeys(compiler.Modules) {
		for _, rule := range compiler.Modules[name].Rules {
			path := constantPrefix(rule.Ref()).String()
			d.rules[path] = append(d.rules[path], rule)
		}
	}
	for path, rules := range d.rules {
		if len(rules[0].Head.Args) == 0 {
			d.root.insert(constantPrefix(rules[0].Ref()), path)
		}
	}
	d.root.sort()
	return d
}

func (n *documentNode) insert(path ast.Ref, text string) {
	for _, step := range path[1:] {
		if n.steps == nil {
			n.steps = map[string]*documentNode{}
		}
		name := step.String()
		if n.steps[name] == nil {
			n.steps[name] = &documentNode{}
		}
		n = n.steps[name]
	}
	n.path, n.text = path, text
}

func (n *documentNode) sort() {
	n.names = sortedKeys(n.steps)
	for _, step := range n.steps {
		step.sort()
	}
}

// meeting visits the rules that a reference, without its head, may lead to, above or
// below what they give. Rules that add to what others give, to one object at constant
// and at variable keys, are visited together, as shared: two of them may give one key.
func (n *documentNode) meeting(ref ast.Ref, visit func(n *documentNode, shared bool)) {
	if n.path != nil {
		n.all(len(n.steps) > 0, visit)
		return
	}
	if len(ref) > 0 && ast.IsScalar(ref[0].Value) {
		if step := n.steps[ref[0].String()]; step != nil {
			step.meeting(ref[1:], visit)
		}
		return
	}
	for _, name := range n.names {
		n.steps[name].meeting(ref[min(1, len(ref)):], visit)
	}
}

func (n *documentNode) all(shared bool, visit func(*documentNode, bool)) {
	if n.path != nil {
		visit(n, shared)
	}
	for _, name := range n.names {
		n.steps[name].all(shared, visit)
	}
}

// isShared says whether rules are visited as shared at a path.
func (n *documentNode) isShared(path ast.Ref) bool {
	for _, step := range path[1:] {
		if n.path != nil {
			return true
		}
		if n = n.steps[step.String()]; n == nil {
			return false
		}
	}
	return len(n.steps) > 0
}

// constantPrefix is the beginning of a reference up to what is not a constant. Numbers
// count as none: 1 and 1.0 are one key.
func constantPrefix(ref ast.Ref) ast.Ref {
	for i := 1; i < len(ref); i++ {
		if _, number := ref[i].Value.(ast.Number); number || !ast.IsScalar(ref[i].Value) {
			return ref[:i]
		}
	}
	return ref
}

// readsCluster says whether a reference below data may lead to objects of the cluster.
func readsCluster(ref ast.Ref) bool {
	if len(ref) < 2 {
		return true
	}
	name, ok := ref[1].Value.(ast.String)
	if !ok || name == clusterKey {
		return true
	}
	if name != templateKey || len(ref) < 3 {
		return name == templateKey
	}
	name, ok = ref[2].Value.(ast.String)
	return !ok || name == inventoryKey
}
