package openclaw.enterprise.actions
default autonomy_level = "blocked"
# Read actions are always autonomous
autonomy_level = "autonomous" {
input.action.type == "read"
}
# Internal write actions require approval
autonomy_level = "approve" {
input.action.type == "write"
input.action.target_system != "external"
}
# External write actions are blocked by default
autonomy_level = "blocked" {
input.action.type == "write"
input.action.target_system == "external"
}
