package openclaw.enterprise.audit

default retention_days = 400

retention_days = 2555 {
  input.event.category == "finance"
}
