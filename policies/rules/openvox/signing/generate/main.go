// Command generate plans the signing rules, and writes the plan as Go: a Puppet server
// starts openvox-autosign for every request, which has no time to parse, compile and plan
// them, nor to decode a plan.
//
// It is called in the folder of package signing, by make generate.
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"log"
	"os"
	"reflect"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/lintel-policy/lintel/policies/eval/plan"
)

func main() {
	text, err := os.ReadFile("signing.rego")
	if err != nil {
		log.Fatal(err)
	}
	source, err := generate(string(text))
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("zz_generated.plan.go", source, 0o644); err != nil {
		log.Fatal(err)
	}
}

// generate is the Go source for the rules.
func generate(rules string) ([]byte, error) {
	module, err := ast.ParseModule("signing.rego", rules)
	if err != nil {
		return nil, err
	}
	compiler := ast.NewCompiler().WithEvalMode(ast.EvalModeIR)
	if compiler.Compile(map[string]*ast.Module{"signing.rego": module}); compiler.Failed() {
		return nil, compiler.Errors
	}
	planned, err := plan.Rules(compiler, ast.MustParseRef("data.openvox.signing.refusals"))
	if err != nil {
		return nil, err
	}
	planned.Static.BuiltinFuncs = nil // their types, of which only print has none for its result
	var source bytes.Buffer
	source.WriteString("// Code generated from signing.rego by make generate. DO NOT EDIT.\n\npackage signing\n\nimport \"github.com/open-policy-agent/opa/v1/ir\"\n\nvar planned = ")
	write(&source, reflect.ValueOf(planned))
	return format.Source(source.Bytes())
}

// write writes a value as Go, without zero values and without fields that only coverage reads.
func write(out *bytes.Buffer, value reflect.Value) {
	switch value.Kind() {
	case reflect.Interface:
		if value.Elem().Kind() == reflect.Pointer {
			write(out, value.Elem())
			return
		}
		fmt.Fprintf(out, "%s(", value.Elem().Type())
		write(out, value.Elem())
		out.WriteString(")")
	case reflect.Pointer:
		out.WriteString("&")
		write(out, value.Elem())
	case reflect.Slice:
		fmt.Fprintf(out, "%s{\n", value.Type())
		for i := range value.Len() {
			switch element := value.Index(i); element.Kind() { // Go knows the types of these
			case reflect.Pointer:
				writeFields(out, element.Elem())
			case reflect.Struct:
				writeFields(out, element)
			default:
				write(out, element)
			}
			out.WriteString(",\n")
		}
		out.WriteString("}")
	case reflect.Struct:
		out.WriteString(value.Type().String())
		writeFields(out, value)
	case reflect.String:
		fmt.Fprintf(out, "%q", value.String())
	case reflect.Bool:
		fmt.Fprint(out, value.Bool())
	case reflect.Uint32:
		fmt.Fprint(out, value.Uint())
	default:
		fmt.Fprint(out, value.Int())
	}
}

func writeFields(out *bytes.Buffer, value reflect.Value) {
	out.WriteString("{")
	for i := range value.NumField() {
		switch field := value.Type().Field(i); {
		case !field.IsExported(), value.Field(i).IsZero(), field.Name == "Text", field.Name == "EndRow", field.Name == "EndCol":
		default:
			fmt.Fprintf(out, "%s: ", field.Name)
			write(out, value.Field(i))
			out.WriteString(", ")
		}
	}
	out.WriteString("}")
}
