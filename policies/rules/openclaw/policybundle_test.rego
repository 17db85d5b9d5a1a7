package openclaw.policybundle_test

import rego.v1

import data.openclaw.policybundle

good := {"scope": "team", "domain": "agent-to-agent", "name": "a", "content": "package x"}

none := {"changed": [], "errors": [], "comparisons": [], "tightened": [], "unordered": []}

review(policies, facts) := {
	"request": {"object": {"metadata": {"name": "b", "namespace": "ns"}, "spec": {"policies": policies}}},
	"facts": object.union(none, facts),
}

test_good if {
	count(policybundle.deny) == 0 with input as review([good], {})
	count(policybundle.warn) == 0 with input as review([good], {})
}

test_structure if {
	policybundle.deny == {"policies list must not be empty"} with input as review([], {})
	policybundle.deny == {"policies list must not be empty"} with input as review(null, {})
	policybundle.deny == {"policy[0]: name is required", "policy[0]: content is required"} with input as review([object.union(good, {"name": "", "content": ""})], {})
	policybundle.deny == {`policy[0]: invalid domain "x"`} with input as review([object.union(good, {"domain": "x"})], {})
	policybundle.deny == {`policy[0]: invalid scope "x"`} with input as review([object.union(good, {"scope": "x"})], {})
	count(policybundle.deny) == 0 with input as review([object.union(good, {"scope": "enterprise"})], {})
}

test_one_file if {
	policybundle.deny == {`policy[1]: "B a" gives the file name that policy[0] "b/A" gives; rename one`} with input as review([object.union(good, {"name": "b/A"}), object.union(good, {"name": "B a"})], {})
	count(policybundle.deny) == 0 with input as review([good, object.union(good, {"scope": "org"})], {})
}

test_text if {
	policybundle.deny == {`policy[0] "a", line 2, column 3: no`} with input as review([good], {"errors": [{"index": 0, "line": 2, "column": 3, "message": "no"}]})
	policybundle.deny == {`policy[0] "a", line 2: no`} with input as review([good], {"errors": [{"index": 0, "line": 2, "column": 0, "message": "no"}]})
	policybundle.deny == {`policy[0] "a": no`} with input as review([good], {"errors": [{"index": 0, "line": 0, "column": 0, "message": "no"}]})
}

test_root if {
	enterprise := object.union(good, {"scope": "enterprise"})
	count(policybundle.deny) == 1 with input as review([enterprise], {"changed": [0], "rootNamespace": "root"})
	count(policybundle.deny) == 0 with input as review([enterprise], {"rootNamespace": "root"})
	count(policybundle.deny) == 0 with input as review([enterprise], {"changed": [0], "rootNamespace": "ns"})
	count(policybundle.deny) == 0 with input as review([good], {"changed": [0], "rootNamespace": "root"})
}

test_no_root if {
	enterprise := object.union(good, {"scope": "enterprise"})
	some warning in policybundle.warn with input as review([enterprise, object.union(good, {"name": "b"})], {"changed": [0, 1]})
	contains(warning, "may write or remove enterprise policies (a), for no namespace is set aside for them; see --openclaw-root-namespace")
	count(policybundle.warn) == 0 with input as review([enterprise], {"changed": [0], "rootNamespace": "ns"})
	count(policybundle.warn) == 0 with input as review([enterprise], {"changed": []})
	count(policybundle.warn) == 0 with input as review([good], {"changed": [0]})
}

test_comparisons if {
	found := {"verdict": "counterexample", "policy": "b/a", "decision": "allow", "text": "it expands"}
	policybundle.deny == {"it expands"} with input as review([good], {"comparisons": [found]})
	unknown := object.union(found, {"verdict": "unknown", "text": "who knows"})
	count(policybundle.deny) == 0 with input as review([good], {"comparisons": [unknown]})
	policybundle.warn == {"who knows; it is admitted, since at run time it cannot"} with input as review([good], {"comparisons": [unknown]})
	policybundle.warn == {"who knows; it is admitted, and gateways get no answer where they differ"} with input as review([good], {"comparisons": [object.union(unknown, {"conflict": true})]})
	count(policybundle.warn) == 2 with input as review([good], {"tightened": [found], "unordered": ["no effect"]})
}
