package openclaw.enterprise.actions

autonomy_level = "notify" {
  input.action.type == "write"
}
