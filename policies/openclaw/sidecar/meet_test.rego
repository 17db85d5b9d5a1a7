package lintel.meet_test

import rego.v1

import data.lintel.meet

said(values) := {statement |
	some index, pair in values
	statement := {"level": pair[0], "policy": sprintf("b/%d", [index]), "value": pair[1]}
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

test_flag if {
	meet.flag(said([[0, false], [1, true]])) == true
	meet.flag(said([[0, false], [1, {"a"}]])) == true
	meet.flag(said([[0, false], [1, set()]])) == false
	not meet.flag(set())
}

test_listing if {
	meet.listing(said([[0, {"a"}], [1, true], [2, ["b"]], [3, false], [3, 7]]), "denied") == {"a", "denied by b/1", "b", 7}
	not meet.listing(set(), "denied")
}

test_told if {
	meet.verdict(said([[0, true], [1, []]]), 0, "required") == true
	meet.verdict(said([[0, false], [1, {"a"}]]), 0, "required") == true
	meet.verdict(said([[1, {"a"}]]), 0, "required") == true
	meet.verdict(said([[0, ["a"]], [1, true]]), 0, "required") == {"a", "required by b/1"}
	not meet.verdict(set(), 0, "required")
}

test_strictest if {
	meet.strictest(said([[0, "auto"], [1, "approve"]]), 0, ranks) == "approve"
	meet.strictest(said([[0, "block"], [1, "auto"], [1, null], [1, "unheard of"]]), 0, ranks) == "block"
	meet.strictest(said([[0, "odd"], [1, "block"]]), 0, ranks) == "odd"
	not meet.strictest(said([[1, "block"]]), 0, ranks)
	meet.strictest(said([[0, "halt"], [0, "block"], [1, "end"]]), 0, {"block": 3, "halt": 3, "end": 3}) == "block"
	meet.strictest(said([[0, "halt"], [1, "block"]]), 0, {"block": 3, "halt": 3}) == "halt"
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
	meet.common(said([[0, ["b", "a"]], [0, ["a", "b"]], [1, {"a", "b"}]]), 0) == ["a", "b"]
	meet.common(said([[0, {"a"}], [0, ["b", "a"]]]), 0) == ["a"]
}

test_broadest if {
	meet.broadest(said([[0, 1], [0, 1], [1, 3]]), 0) == 1
	not meet.broadest(said([[0, 1], [0, 2], [1, 3]]), 0)
	not meet.broadest(said([[1, 3]]), 0)
}
