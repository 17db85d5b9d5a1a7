package admission

// IsDecoded reports whether the object has become terms.
func (o *Object) IsDecoded() bool { return o.text == nil }
