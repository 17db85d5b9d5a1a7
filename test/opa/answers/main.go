// Command answers evaluates rules by the OPA of OpenClaw's gateways. It reads questions from
// its standard input and writes one answer to each, both as encoding/gob has them, until the
// input ends. The test that asks declares the same two types.
package main

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/version"
)

// Question is about one rule of a module, on several inputs: Rego values, "" where the input
// is undefined.
type Question struct {
	Module, Rule string
	Inputs       []string
}

// Answer has the value for each input, "" where it is undefined, and an error instead if the
// evaluation fails. Failure says why there are none at all.
type Answer struct {
	Version        string
	Values, Errors []string
	Failure        string
}

// maxRemembered bounds the cache of compiled modules and parsed inputs.
const (
	maxModules = 16
	maxInputs  = 50_000
	patience   = 10 * time.Second
)

type evaluator struct {
	compilers map[string]*ast.Compiler
	inputs    map[string]*ast.Term
}

func main() {
	in, out := gob.NewDecoder(bufio.NewReader(os.Stdin)), bufio.NewWriter(os.Stdout)
	answers := gob.NewEncoder(out)
	e := &evaluator{map[string]*ast.Compiler{}, map[string]*ast.Term{}}
	for {
		var question Question
		err := in.Decode(&question)
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = answers.Encode(e.answer(question))
		}
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func (e *evaluator) answer(question Question) Answer {
	answer := Answer{Version: version.Version}
	compiler, err := e.compiler(question.Module)
	if err != nil {
		return Answer{Version: version.Version, Failure: err.Error()}
	}
	rule, err := ast.ParseRef(question.Rule)
	if err != nil {
		return Answer{Version: version.Version, Failure: err.Error()}
	}
	query, err := compiler.QueryCompiler().Compile(ast.NewBody(ast.Equality.Expr(ast.VarTerm("result"), ast.NewTerm(rule))))
	if err != nil {
		return Answer{Version: version.Version, Failure: err.Error()}
	}
	for _, text := range question.Inputs {
		value, err := e.evaluate(compiler, query, text)
		failure := ""
		if err != nil {
			failure = err.Error()
		}
		answer.Values, answer.Errors = append(answer.Values, value), append(answer.Errors, failure)
	}
	return answer
}

func (e *evaluator) compiler(text string) (*ast.Compiler, error) {
	if known := e.compilers[text]; known != nil {
		return known, nil
	}
	module, err := ast.ParseModuleWithOpts("policy.rego", text, ast.ParserOptions{RegoVersion: ast.RegoV1})
	if err != nil {
		return nil, err
	}
	compiler := ast.NewCompiler()
	if compiler.Compile(map[string]*ast.Module{"policy.rego": module}); compiler.Failed() {
		return nil, compiler.Errors
	}
	if len(e.compilers) >= maxModules {
		clear(e.compilers)
	}
	e.compilers[text] = compiler
	return compiler, nil
}

func (e *evaluator) input(text string) (*ast.Term, error) {
	if text == "" {
		return nil, nil
	}
	if known := e.inputs[text]; known != nil {
		return known, nil
	}
	parsed, err := ast.ParseTerm(text)
	if err != nil {
		return nil, fmt.Errorf("parse the input %s: %w", text, err)
	}
	if len(e.inputs) >= maxInputs {
		clear(e.inputs)
	}
	e.inputs[text] = parsed
	return parsed, nil
}

func (e *evaluator) evaluate(compiler *ast.Compiler, query ast.Body, text string) (string, error) {
	input, err := e.input(text)
	if err != nil {
		return "", err
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	store := inmem.New()
	transaction, err := store.NewTransaction(ctx)
	if err != nil {
		return "", err
	}
	defer store.Abort(ctx, transaction)
	cancel := topdown.NewCancel()
	defer context.AfterFunc(ctx, cancel.Cancel)()
	run := topdown.NewQuery(query).WithCompiler(compiler).WithStore(store).WithTransaction(transaction).WithCancel(cancel)
	if input != nil {
		run = run.WithInput(input)
	}
	results, err := run.Run(ctx)
	if err != nil || len(results) == 0 {
		return "", err
	}
	return results[0]["result"].Value.String(), nil
}
