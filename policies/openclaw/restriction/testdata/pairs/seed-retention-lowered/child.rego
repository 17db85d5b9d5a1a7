package openclaw.enterprise.audit

retention_days = 30 {
  input.event.category == "debug"
}
