package main

// title is "Pod shop/web", or "Namespace shop" for what is in no namespace.
func title(o object) string {
	name := o.displayName()
	if name == "" {
		name = "(no name)"
	}
	if o.namespace != "" {
		name = o.namespace + "/" + name
	}
	return o.kind.Kind + " " + name
}
