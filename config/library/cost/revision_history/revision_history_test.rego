package library.revision_history_test

import rego.v1

import data.library.revision_history
import data.library.shared.testing

fields := {violation.field | some violation in revision_history.deny}

test_limits if {
	fields == {"spec.revisionHistoryLimit"} with input as testing.object({"kind": "Deployment", "spec": {"revisionHistoryLimit": 50}})
	fields == set() with input as testing.object({"kind": "Deployment", "spec": {"revisionHistoryLimit": 10}})
	fields == set() with input as testing.object({"kind": "Deployment", "spec": {}})
}
