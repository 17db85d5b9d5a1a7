package openclaw.enterprise.actions

autonomy_level = "approve" {
  input.action.type == "read"
}
