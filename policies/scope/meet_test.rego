package lintel.meet_test

import rego.v1

import data.lintel.meet

said(values) := {statement |
	some index, pair in values
	statement := {"index": index, "level": pair[0], "policy": sprintf("b/%d", [index]), "value": pair[1]}
}

ranks := {"auto": 1, "approve": 2, "block": 3}

test_granted_by_all if {
	meet.granted(said([[0, true], [2, true]]), 2, set())
	not meet.granted(said([[0, true]]), 2, set())
	not meet.granted(said([[0, true], [2, "true"]]), 2, set())
	not meet.granted(said([[0, true]]), 1, said([[0, true]]))
	not meet.granted(said([[0, true]]), 1, said([[1, {"no"}]]))
	meet.granted(said([[0, true]]), 1, said([[0, false], [1, set()]]))
}

test_united if {
	meet.united(said([[0, false], [1, true]]), "denied") == true
	meet.united(said([[0, false]]), "denied") == false
	meet.united(said([[0, {"a"}], [1, true], [2, ["b"]], [3, false], [3, 7]]), "denied") == {"a", "denied by b/1", "b", 7}
	not meet.united(set(), "denied")
}

test_demanded if {
	meet.demanded(said([[0, true], [1, []]]), "required") == true
	meet.demanded(said([[0, false], [1, {"a"}]]), "required") == true
	meet.demanded(said([[0, false], [1, set()]]), "required") == false
	meet.demanded(said([[0, ["a"]], [1, true]]), "required") == {"a", "required by b/1"}
	meet.demanded(said([[1, true]]), "required") == true
}

test_strictest if {
	meet.strictest(said([[0, "auto"], [1, "approve"]]), 0, ranks) == "approve"
	meet.strictest(said([[0, "block"], [1, "auto"], [1, null], [1, "unheard of"]]), 0, ranks) == "block"
	meet.strictest(said([[0, "odd"], [1, "block"]]), 0, ranks) == "odd"
	not meet.strictest(said([[1, "block"]]), 0, ranks)
}

test_numbers if {
	meet.smallest(said([[0, 5], [1, 3], [2, -1], [2, null], [2, "0"]]), 0) == 3
	meet.largest(said([[0, 5], [1, 3], [2, {9}]]), 0) == 5
	meet.smallest(said([[1, 3]]), 0) == 3
	meet.smallest(said([[0, "odd"], [1, 3]]), 0) == "odd"
}

test_common if {
	meet.common(said([[0, ["b", "a"]], [1, {"a", "b", "c"}], [2, "x"]]), 0) == ["b", "a"]
	meet.common(said([[0, {"a"}], [1, []]]), 0) == set()
	meet.common(said([[1, ["a"]]]), 0) == ["a"]
	meet.common(said([[0, null], [1, ["a"]]]), 0) == null
}

test_broadest if {
	meet.broadest(said([[0, 1], [0, 2], [1, 3]]), 0) == 1
	not meet.broadest(said([[1, 3]]), 0)
}
