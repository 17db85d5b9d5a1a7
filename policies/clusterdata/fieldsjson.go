package clusterdata

import "encoding/json"

// fieldsJSON is Fields in a file.
type fieldsJSON struct {
	Whole  bool               `json:"whole,omitempty"`
	Fields map[string]*Fields `json:"fields,omitempty"`
	Each   *Fields            `json:"each,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (f *Fields) MarshalJSON() ([]byte, error) {
	if f.isWhole() {
		return json.Marshal(fieldsJSON{Whole: true})
	}
	return json.Marshal(fieldsJSON{Fields: f.fields, Each: f.each})
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *Fields) UnmarshalJSON(text []byte) error {
	var read fieldsJSON
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*f = Fields{whole: read.Whole, fields: read.Fields, each: read.Each}
	return nil
}

// Include reports whether the fields may include a value at or below a path, in which * stands for
// any element or key.
func (f *Fields) Include(path []string) bool {
	if f.isWhole() {
		return true
	}
	if len(path) == 0 {
		return len(f.fields) > 0 || f.each != nil
	}
	if path[0] == "*" {
		for _, field := range f.fields {
			if field.Include(path[1:]) {
				return true
			}
		}
		return f.each != nil && f.each.Include(path[1:])
	}
	field, ok := f.at(path[0])
	return ok && field.Include(path[1:])
}
